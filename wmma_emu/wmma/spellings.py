# SPDX-License-Identifier: MIT
"""Other spellings of the names of `wmma_emu.wmma` in C++, PTX and NumPy, for error messages."""

from wmma_emu.wmma.names import ElementType

SPELLINGS: dict[ElementType, str] = {
    ElementType.half: "__half nv_half float16 fp16 f16",
    ElementType.bfloat16: "__nv_bfloat16 nv_bfloat16 bf16",
    ElementType.float32: "float fp32 f32",
    ElementType.double: "float64 fp64 f64",
    ElementType.int8: "signed_char int8_t i8 s8",
    ElementType.uint8: "unsigned_char uint8_t u8",
    ElementType.int32: "int int32_t i32 s32",
    ElementType.tf32: "tf32",
    ElementType.u4: "u4 uint4",
    ElementType.s4: "s4 int4",
    ElementType.b1: "b1",
}
"""The spellings of each element type."""

_ADVICE = {spelling: f"C++'s {x.cpp} is {x}" for x, spellings in SPELLINGS.items() for spelling in spellings.split()}
_ADVICE |= {
    "char": f"fragments hold signed char, {ElementType.int8}, or unsigned char, {ElementType.uint8}",
    "__float_to_tf32": "C++'s __float_to_tf32 is wmma.float_to_tf32",
    **{
        name: f"C++'s experimental::{name} is wmma.experimental.{name}"
        for name in ("bmmaBitOpXOR", "bmmaBitOpAND", "bmmaAccumulateOpPOPC")
    },
}


def advice(name: str) -> str | None:
    """Return the equivalent of a name from another language, or None if it is not known.

    Examples
    --------
    >>> advice("tf32"), advice("float"), advice("flaot")
    ("C++'s precision::tf32 is wmma.precision.tf32", "C++'s float is wmma.float32", None)
    """
    return _ADVICE.get(name)

# SPDX-License-Identifier: MIT
"""The operations of ``cp.reduce.async.bulk``, and the types that each has."""

from wmma_emu.ptx.steps.atomic_table import TYPES, VECTOR_TYPES
from wmma_emu.ptx.tensor_maps.element_types import ElementType

_HALVES = ("f16", "bf16")

REDUCTIONS = {
    name: tuple(x for x in (*TYPES[name], *VECTOR_TYPES.get(name, ())) if not x.endswith("x2"))
    for name in ("add", "min", "max", "inc", "dec", "and", "or", "xor")
}
"""The types of each operation: those of ``red``, except packed ones. ptxas 13.0 accepts exactly these for sm_90a."""

SHARED_REDUCTIONS = {
    "add": ("u32", "s32", "u64"), "min": ("u32", "s32"), "max": ("u32", "s32"), "inc": ("u32",), "dec": ("u32",),
    "and": ("b32",), "or": ("b32",), "xor": ("b32",),
}  # fmt: skip
"""The types of each operation in shared memory, by ``cp.reduce.async.bulk`` and by ``red.async`` (PTX ISA 9.1)."""

_NOT_OF_TENSORS = ("f64",)
"""Types that a tensor map can have, and reductions by a map do not (PTX ISA 9.1, cp.reduce.async.bulk.tensor)."""

_NO_BITS = ("s64",)
"""Integers of maps with which ``and``, ``or`` and ``xor`` stop an H200 with an illegal instruction (2026-11-28); with
those of 64 bits without a sign they work."""


def needs_noftz(name: str, kind: str) -> bool:
    """Return whether a reduction without a map must be written with ``.noftz``: sums of 16 bits.

    Examples
    --------
    >>> needs_noftz("add", "bf16"), needs_noftz("min", "bf16"), needs_noftz("add", "f32")
    (True, False, False)
    """
    return name == "add" and kind in _HALVES


def type_for(name: str, element: ElementType) -> str | None:
    """Return the type in which a reduction combines the elements of a tensor map; None if it does not have them.

    Examples
    --------
    >>> from wmma_emu.ptx.tensor_maps.element_types import element_type_of
    >>> [type_for("and", element_type_of(x)) for x in ("u32", "u64", "s64", "f32")]
    ['b32', 'b64', None, None]
    >>> [type_for("add", element_type_of(x)) for x in ("bf16", "tf32", "u8", "f64")]
    ['bf16', None, None, None]
    """
    is_of_bits = name in ("and", "or", "xor") and not element.is_float and element.name not in _NO_BITS
    kind = f"b{8 * element.bytes}" if is_of_bits else element.name
    return kind if kind in REDUCTIONS[name] and kind not in _NOT_OF_TENSORS else None

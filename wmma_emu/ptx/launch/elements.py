# SPDX-License-Identifier: MIT
"""Element types of pointers and scalars, by their names in C++ and Triton, with the matching dtypes and ranges."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wmma_emu.formats.dtypes import dtype_of


class Element(NamedTuple):
    """A scalar type: the dtypes of arrays with such elements (messages suggest the first), and its number of bits.

    ``kind`` is "int", "uint", "bool" or "float". Integers and bools of the same width are raw bits, and always legal.
    """

    dtypes: tuple[str, ...]
    bits: int
    kind: str

    def holds(self, dtype: "np.dtype[Any]") -> bool:
        """Return whether arrays of a dtype have such elements; for a structured dtype, whether all its fields have.

        Examples
        --------
        >>> float4 = element_of_cpp("float4")
        >>> [float4.holds(np.dtype(x)) for x in ("f4", "u4", "c8", "f8", [("x", "f4"), ("y", "f4", 3)])]
        [True, True, True, False, True]
        """
        if dtype.subdtype is not None:
            return self.holds(dtype.subdtype[0])
        if dtype.fields is not None:
            return all(self.holds(x[0]) for x in dtype.fields.values())
        return dtype.name in self.dtypes or (dtype.kind in "iub" and dtype.itemsize * 8 == self.bits)

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest integer."""
        if self.kind == "bool":
            return 0, 1
        half = 1 << (self.bits - 1)
        return (-half, half - 1) if self.kind == "int" else (0, 2 * half - 1)


_FORMATS = "f16", "bf16", "f32", "f64", "e4m3", "e5m2", "ue8m0", "e3m2", "e2m3", "e2m1"

_FLOATS = {
    **{name: Element((dtype_of(name).name,), dtype_of(name).itemsize * 8, "float") for name in _FORMATS},
    "packed": Element(("uint8",), 8, "uint"),
    "e4m3fnuz": Element(("float8_e4m3fnuz",), 8, "float"),
    "e5m2fnuz": Element(("float8_e5m2fnuz",), 8, "float"),
}
_COMPLEX = {
    "f32": Element(("float32", "complex64"), 32, "float"),
    "f64": Element(("float64", "complex128"), 64, "float"),
}
"""Element types of which two form a complex number."""


def _integer(bits: int, kind: str) -> Element:
    return Element((f"{kind}{bits}",), bits, kind)


_BOOL = Element(("bool",), 8, "bool")

_INTEGERS = {
    **{name: _integer(bits, "int") for name, bits in (
        ("signed char", 8), ("short", 16), ("int", 32), ("long", 64), ("long long", 64),
    )},
    **{f"unsigned {name}": _integer(bits, "uint") for name, bits in (
        ("short", 16), ("int", 32), ("long", 64), ("long long", 64),
    )},
    "wchar_t": _integer(32, "int"), "char8_t": _integer(8, "uint"), "char16_t": _integer(16, "uint"),
    "char32_t": _integer(32, "uint"),
}  # fmt: skip

_SCALARS = {
    "bool": _BOOL,
    "float": _FLOATS["f32"], "double": _FLOATS["f64"],
    **dict.fromkeys(("__half", "_Float16", "__half_raw", "cutlass::half_t", "c10::Half"), _FLOATS["f16"]),
    **dict.fromkeys(
        ("__nv_bfloat16", "__bf16", "__nv_bfloat16_raw", "cutlass::bfloat16_t", "c10::BFloat16"), _FLOATS["bf16"]
    ),
    **dict.fromkeys(("__nv_fp8_e4m3", "cutlass::float_e4m3_t", "c10::Float8_e4m3fn"), _FLOATS["e4m3"]),
    **dict.fromkeys(("__nv_fp8_e5m2", "cutlass::float_e5m2_t", "c10::Float8_e5m2"), _FLOATS["e5m2"]),
    **dict.fromkeys(("__nv_fp8_e8m0", "cutlass::float_ue8m0_t", "c10::Float8_e8m0fnu"), _FLOATS["ue8m0"]),
    "__nv_fp6_e3m2": _FLOATS["e3m2"], "__nv_fp6_e2m3": _FLOATS["e2m3"], "__nv_fp4_e2m1": _FLOATS["e2m1"],
    "cutlass::tfloat32_t": _FLOATS["f32"],
}  # fmt: skip

_VALUES = {"char": _integer(8, "int"), "unsigned char": _integer(8, "uint")}
"""Types that determine the value of a parameter, but not the elements that a pointer reaches: any bytes."""


def _vectors() -> Iterator[tuple[str, Element]]:
    integers = {**_INTEGERS, "char": _VALUES["char"], "unsigned char": _VALUES["unsigned char"]}
    for name in ("char", "short", "int", "long", "longlong"):
        scalar = name.replace("longlong", "long long")
        for n in "1234":
            for suffix in ("", "_16a", "_32a") if name.startswith("long") and n == "4" else ("",):
                yield f"{name}{n}{suffix}", integers[scalar]
                yield f"u{name}{n}{suffix}", integers[f"unsigned {scalar}"]
    for n in "1234":
        yield f"float{n}", (_COMPLEX if n in "24" else _FLOATS)["f32"]
        for suffix in ("", "_16a", "_32a") if n == "4" else ("",):
            yield f"double{n}{suffix}", (_COMPLEX if n in "24" else _FLOATS)["f64"]
    yield "__half2", _FLOATS["f16"]
    yield "__nv_bfloat162", _FLOATS["bf16"]
    for kind in ("e4m3", "e5m2", "e8m0"):
        for n in "24":
            yield f"__nv_fp8x{n}_{kind}", _FLOATS["ue8m0" if kind == "e8m0" else kind]
    for kind in ("e3m2", "e2m3"):
        for n in "24":
            yield f"__nv_fp6x{n}_{kind}", _FLOATS[kind]
    for n in "24":  # two elements per byte, for which there is no dtype
        yield f"__nv_fp4x{n}_e2m1", _FLOATS["packed"]
    for space in ("cuda::std::complex", "thrust::complex", "std::complex", "c10::complex"):
        yield f"{space}<float>", _COMPLEX["f32"]
        yield f"{space}<double>", _COMPLEX["f64"]
    yield "complex64", _COMPLEX["f32"]
    yield "complex128", _COMPLEX["f64"]


_VECTORS = dict(_vectors())

OF_TRITON = {
    "i1": _BOOL, **{f"i{bits}": _integer(bits, "int") for bits in (8, 16, 32, 64)},
    "u1": _BOOL, **{f"u{bits}": _integer(bits, "uint") for bits in (8, 16, 32, 64)},
    "fp16": _FLOATS["f16"], "bf16": _FLOATS["bf16"], "fp32": _FLOATS["f32"], "fp64": _FLOATS["f64"],
    "fp8e4nv": _FLOATS["e4m3"], "fp8e4b8": _FLOATS["e4m3fnuz"], "fp8e4b15": _FLOATS["packed"],
    "fp8e5": _FLOATS["e5m2"], "fp8e5b16": _FLOATS["e5m2fnuz"],
}  # fmt: skip
"""Types of parameters (triton.language.dtype 3.9), without the asterisks of pointers."""


def element_of_cpp(name: str, pointed: bool = True) -> Element | None:
    """Return the element type of a C++ type; None if it does not determine the elements (void, bytes, classes, enums).

    Examples
    --------
    >>> element_of_cpp("__half2").dtypes, element_of_cpp("uint4").dtypes, element_of_cpp("unsigned char")
    (('float16',), ('uint32',), None)
    >>> element_of_cpp("unsigned char", pointed=False).range
    (0, 255)
    """
    found = _SCALARS.get(name) or _INTEGERS.get(name)
    return found or (_VECTORS.get(name) if pointed else _VALUES.get(name))

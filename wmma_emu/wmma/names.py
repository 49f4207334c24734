# SPDX-License-Identifier: MIT
"""The enumerations of `mma.h`: uses, element types, layouts and operations."""

from enum import Enum
from typing import Literal, NamedTuple

from wmma_emu.errors import OptionError, shorten
from wmma_emu.formats import FORMATS, Format, dtypes, format_of


class _Name(Enum):
    """A name of `mma.h`, shown as Python code writes it."""

    def __repr__(self) -> str:
        return f"wmma.{self.name}"

    def __str__(self) -> str:
        return repr(self)


class FragmentUse(_Name):
    """The use of a fragment: one of the multiplicands, or the accumulator."""

    matrix_a = "matrix_a"
    matrix_b = "matrix_b"
    accumulator = "accumulator"


class _Order(_Name):
    """The storage order of a matrix."""

    @property
    def order(self) -> Literal["row", "col"]:
        """The layout in PTX."""
        found: Literal["row", "col"] = self.value
        return found


class FragmentLayout(_Order):
    """The storage order of a multiplicand's matrix; part of the fragment's type."""

    row_major = "row"
    col_major = "col"


class MemoryOrder(_Order):
    """The storage order of an accumulator's matrix; an argument of its load and store."""

    mem_row_major = "row"
    mem_col_major = "col"


class _Element(NamedTuple):
    """An element type: its format, its name in C++, and its namespace in Python."""

    format: str
    cpp: str
    namespace: str = ""


class ElementType(_Name):
    """The type of a fragment's elements.

    Examples
    --------
    >>> ElementType.half, ElementType.tf32, ElementType.tf32.format.name, ElementType.int8.cpp
    (wmma.half, wmma.precision.tf32, 'tf32', 'signed char')
    """

    half = _Element("f16", "half")
    bfloat16 = _Element("bf16", "__nv_bfloat16")
    float32 = _Element("f32", "float")
    double = _Element("f64", "double")
    int8 = _Element("s8", "signed char")
    uint8 = _Element("u8", "unsigned char")
    int32 = _Element("s32", "int")
    tf32 = _Element("tf32", "precision::tf32", "precision.")
    u4 = _Element("u4", "experimental::precision::u4", "experimental.precision.")
    s4 = _Element("s4", "experimental::precision::s4", "experimental.precision.")
    b1 = _Element("b1", "experimental::precision::b1", "experimental.precision.")

    def __repr__(self) -> str:
        return f"wmma.{self.value.namespace}{self.name}"

    @property
    def format(self) -> Format:
        """The format of the elements."""
        return format_of(self.value.format)

    @property
    def cpp(self) -> str:
        """The name in C++."""
        return self.value.cpp


class BitOp(_Name):
    """The operation of `bmma_sync` on two bits; the value is PTX's modifier."""

    bmmaBitOpXOR = "xor.popc"
    bmmaBitOpAND = "and.popc"

    def __repr__(self) -> str:
        return f"wmma.experimental.{self.name}"


class AccumulateOp(_Name):
    """The accumulation of `bmma_sync` over the combined bits: the number of ones."""

    bmmaAccumulateOpPOPC = "popc"

    def __repr__(self) -> str:
        return f"wmma.experimental.{self.name}"


_BY_FORMAT = {x.format.name: x for x in ElementType}
_BY_SPELLING = {spelling: x for x in ElementType for spelling in (x.name, x.cpp, x.format.name, repr(x))}


def element_type_of(given: object) -> ElementType:
    """Return an element type of `mma.h`; the error for other values names the probable type."""
    if isinstance(given, ElementType):
        return given
    if given is float:
        fix = f"C++'s float is {ElementType.float32}, Python's is {ElementType.double}"
    elif (meant := format_from(given)) in _BY_FORMAT:
        fix = f"pass {_BY_FORMAT[meant]}"
    else:
        fix = f"the types are {', '.join(map(repr, ElementType))}"
    raise OptionError(f"the type of a fragment's elements is not {shorten(given)}; {fix}")


def element_type_of_format(name: str) -> ElementType:
    """Return the element type of a format by its PTX name."""
    return _BY_FORMAT[name]


def format_from(given: object) -> str | None:
    """Return the name of the format of a dtype or another spelling of a type, or None if it is not known."""
    if isinstance(given, Format):
        return given.name
    if isinstance(given, str) and given in _BY_SPELLING:
        return _BY_SPELLING[given].format.name
    if isinstance(given, str) and given in FORMATS:
        return given
    if given is int:
        return "s32"
    fmt = dtypes.format_meant(given)
    return None if fmt is None else fmt.name

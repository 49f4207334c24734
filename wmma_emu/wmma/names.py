# SPDX-License-Identifier: MIT
"""The words of `mma.h`: uses, element types, layouts and operations, as small named objects."""

from enum import Enum
from typing import Literal, NamedTuple

from wmma_emu.errors import OptionError, shorten
from wmma_emu.formats import FORMATS, Format, dtypes, format_of


class _Name(Enum):
    """A word of `mma.h` that shows itself as Python code writes it."""

    def __repr__(self) -> str:
        return f"wmma.{self.name}"

    def __str__(self) -> str:
        return repr(self)


class FragmentUse(_Name):
    """What a fragment is for."""

    matrix_a = "matrix_a"
    matrix_b = "matrix_b"
    accumulator = "accumulator"


class _Order(_Name):
    """How a matrix lies in memory."""

    @property
    def order(self) -> Literal["row", "col"]:
        """The layout as PTX writes it."""
        found: Literal["row", "col"] = self.value
        return found


class FragmentLayout(_Order):
    """How the matrix of a multiplicand lies in memory; part of the fragment's type."""

    row_major = "row"
    col_major = "col"


class MemoryOrder(_Order):
    """How an accumulator's matrix lies in memory; an argument of its load and store."""

    mem_row_major = "row"
    mem_col_major = "col"


class _Element(NamedTuple):
    """An element type: its format, its name in C++, and where Python finds it."""

    format: str
    cpp: str
    namespace: str = ""


class ElementType(_Name):
    """What the elements of a fragment are.

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
        """The name that C++ has for it."""
        return self.value.cpp


class BitOp(_Name):
    """How `bmma_sync` combines two bits; the value is PTX's modifier."""

    bmmaBitOpXOR = "xor.popc"
    bmmaBitOpAND = "and.popc"

    def __repr__(self) -> str:
        return f"wmma.experimental.{self.name}"


class AccumulateOp(_Name):
    """How `bmma_sync` sums the combined bits: it counts those that are 1."""

    bmmaAccumulateOpPOPC = "popc"

    def __repr__(self) -> str:
        return f"wmma.experimental.{self.name}"


_BY_FORMAT = {x.format.name: x for x in ElementType}
_BY_SPELLING = {spelling: x for x in ElementType for spelling in (x.name, x.cpp, x.format.name, repr(x))}


def element_type_of(given: object) -> ElementType:
    """Accept an element type of `mma.h` and nothing else; say which one something else may have meant."""
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
    """Name the format that a dtype or another spelling of a type stands for; None for nothing known."""
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

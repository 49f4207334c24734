# SPDX-License-Identifier: MIT
"""The definition of a number format: the fields of its bit pattern, as one frozen entry."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from wmma_emu.drawn_types import drawn_by
from wmma_emu.errors import OptionError, shorten

if TYPE_CHECKING:
    import numpy as np

Rounding = Literal["RNE", "RZ", "RD", "RU", "RNA", "odd"]
"""The rounding modes: nearest even, toward zero, down, up, nearest with ties away from zero, and round to odd."""

ROUNDINGS: tuple[Rounding, ...] = ("RNE", "RZ", "RD", "RU", "RNA", "odd")

Overflow = Literal["ieee", "infinity", "saturate"]
"""The result above the largest finite value: the IEEE 754 result of the rounding mode; always infinity (as in NVIDIA's
matrix units, even for RZ); or the largest finite value, for infinities too (``.satfinite``)."""

OVERFLOWS: tuple[Overflow, ...] = ("ieee", "infinity", "saturate")


def check_modes(rounding: str, overflow: str) -> None:
    """Raise `UnsupportedInstructionError` unless both names are known."""
    if not isinstance(rounding, str) or rounding not in ROUNDINGS:
        raise OptionError(f"there is no rounding {shorten(rounding)}; the roundings are {', '.join(ROUNDINGS)}")
    if not isinstance(overflow, str) or overflow not in OVERFLOWS:
        raise OptionError(f"there is no overflow rule {shorten(overflow)}; the rules are {', '.join(OVERFLOWS)}")


NaNRule = Literal["ieee", "all_ones", "none"]
"""The patterns that are NaN: non-zero fractions with an all-ones exponent; the all-ones pattern; none."""


@cache
def _storage_of(bits: int) -> "np.dtype[np.unsignedinteger]":
    import numpy as np  # imported late, so that the tables do not need NumPy

    width = next(w for w in (8, 16, 32, 64) if w >= bits)
    return np.dtype(f"u{width // 8}")


@drawn_by("formats")
@dataclass(frozen=True, slots=True)
class Format:
    """An entry of the table of formats: the number of bits, their meaning, and the source.

    A bit pattern of ``bits`` bits consists, from the top, of the sign (if any), ``exponent_bits`` of exponent,
    ``fraction_bits`` of fraction, and ``ignored_low_bits`` that the hardware ignores (tf32 only). In formats that do
    not fill ``bits`` (ue4m3) the topmost bits are ignored.

    Parameters
    ----------
    name : str
        The name that PTX uses: ``"f16"``, ``"e4m3"``, ``"s8"``.
    kind : {"float", "integer", "bit"}
    bits : int
        Width of a pattern.
    signed : bool
    exponent_bits, fraction_bits, bias : int
        For floating point; zero otherwise.
    has_infinity : bool
    nan : {"ieee", "all_ones", "none"}
    has_zero : bool
        Only ue8m0 has neither zero nor subnormals: its exponent field 0 is an ordinary exponent.
    ignored_low_bits : int
        Bits below the fraction that the hardware ignores.
    canonical_nan : int
        The pattern that operations produce for NaN, -1 if the format has no NaN.
    source, status : str
        The provenance of the entry.
    """

    name: str
    kind: Literal["float", "integer", "bit"]
    bits: int
    signed: bool
    exponent_bits: int = 0
    fraction_bits: int = 0
    bias: int = 0
    has_infinity: bool = False
    nan: NaNRule = "none"
    has_zero: bool = True
    ignored_low_bits: int = 0
    canonical_nan: int = -1
    source: str = ""
    status: str = "documented"

    def __str__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        """Whether patterns are floating-point numbers."""
        return self.kind == "float"

    @property
    def mask(self) -> int:
        """The pattern with all ``bits`` set."""
        return (1 << self.bits) - 1

    @property
    def magnitude_bits(self) -> int:
        """The number of bits of exponent and fraction together (floating point): the position of the sign bit."""
        return self.exponent_bits + self.fraction_bits

    @property
    def sign_mask(self) -> int:
        """The sign bit of a pattern, 0 for unsigned formats."""
        if not self.signed:
            return 0
        if self.is_float:
            return 1 << (self.magnitude_bits + self.ignored_low_bits)
        return 1 << (self.bits - 1)

    @property
    def emin(self) -> int:
        """The exponent of the smallest normal number; subnormals share it."""
        return (1 if self.has_zero else 0) - self.bias

    @property
    def emax(self) -> int:
        """The exponent of the largest finite number."""
        fields = 1 << self.exponent_bits
        reserved = 2 if self.nan == "ieee" or not self.has_zero else 1
        return fields - reserved - self.bias

    @property
    def max_finite(self) -> int:
        """The pattern of the largest finite number (floating point) or the largest integer."""
        if not self.is_float:
            return self.mask >> (1 if self.signed else 0)
        fraction = (1 << self.fraction_bits) - 1
        if self.nan == "all_ones" and self.fraction_bits:
            fraction -= 1
        return (((self.emax + self.bias) << self.fraction_bits) | fraction) << self.ignored_low_bits

    @property
    def infinity(self) -> int:
        """The pattern of plus infinity; -1 if the format has no infinity."""
        if not self.has_infinity:
            return -1
        return ((1 << self.exponent_bits) - 1) << (self.fraction_bits + self.ignored_low_bits)

    @property
    def min_integer(self) -> int:
        """The smallest value of an integer format."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def max_integer(self) -> int:
        """The largest value of an integer format."""
        return self.mask >> (1 if self.signed else 0)

    def require_float(self) -> None:
        """Raise `UnsupportedInstructionError` unless patterns are floating-point numbers."""
        if not self.is_float:
            raise OptionError(
                f"{self.name} is not a floating-point format; wmma_emu.scalar.convert also converts integers"
            )

    @property
    def storage(self) -> "np.dtype[np.unsignedinteger]":
        """The unsigned NumPy dtype that holds one unpacked pattern."""
        return _storage_of(self.bits)

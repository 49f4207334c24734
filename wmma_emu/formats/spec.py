# SPDX-License-Identifier: MIT
"""What a number format is: the fields of its bit pattern, as one frozen row."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wmma_emu.drawn_types import drawn_by
from wmma_emu.errors import OptionError, shorten

if TYPE_CHECKING:
    import numpy as np

Rounding = Literal["RNE", "RZ", "RD", "RU", "RNA", "odd"]
"""Nearest-even, toward zero, down, up, nearest with ties away from zero, and round to odd."""

ROUNDINGS: tuple[Rounding, ...] = ("RNE", "RZ", "RD", "RU", "RNA", "odd")

Overflow = Literal["ieee", "infinity", "saturate"]
"""Beyond the largest finite value: as IEEE 754 says for the rounding mode; always infinity (as NVIDIA's
matrix units do, even under RZ); or the largest finite value, for infinities too (``.satfinite``)."""

OVERFLOWS: tuple[Overflow, ...] = ("ieee", "infinity", "saturate")


def check_modes(rounding: str, overflow: str) -> None:
    """Raise `UnsupportedInstructionError` unless both names exist."""
    if not isinstance(rounding, str) or rounding not in ROUNDINGS:
        raise OptionError(
            f"there is no rounding {shorten(rounding)}; the roundings are {', '.join(ROUNDINGS)}"
        )
    if not isinstance(overflow, str) or overflow not in OVERFLOWS:
        raise OptionError(
            f"there is no overflow rule {shorten(overflow)}; the rules are {', '.join(OVERFLOWS)}"
        )


NaNRule = Literal["ieee", "all_ones", "none"]
"""Which patterns are NaN: all non-zero fractions under an all-ones exponent; the all-ones pattern; none."""


@drawn_by("formats")
@dataclass(frozen=True, slots=True)
class Format:
    """One row of the table of formats: how many bits, what they mean, and who says so.

    A bit pattern of ``bits`` bits is, from the top: the sign (if any), ``exponent_bits`` of exponent,
    ``fraction_bits`` of fraction, ``ignored_low_bits`` that the hardware does not look at (tf32 only).
    Formats that do not fill ``bits`` (ue4m3) leave the topmost bits unread.

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
        ue8m0 alone has neither zero nor subnormals: its exponent field 0 is an ordinary one.
    ignored_low_bits : int
        Bits below the fraction that the hardware ignores.
    canonical_nan : int
        The pattern that an operation produces for NaN, -1 if the format has none.
    source, status : str
        Provenance of the row.
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
        """All ``bits`` of a pattern set."""
        return (1 << self.bits) - 1

    @property
    def magnitude_bits(self) -> int:
        """Bits of exponent and fraction together (floating point), where the sign bit stands."""
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
        """Exponent of the smallest normal number; subnormals share it."""
        return (1 if self.has_zero else 0) - self.bias

    @property
    def emax(self) -> int:
        """Exponent of the largest finite number."""
        fields = 1 << self.exponent_bits
        reserved = 2 if self.nan == "ieee" or not self.has_zero else 1
        return fields - reserved - self.bias

    @property
    def max_finite(self) -> int:
        """Pattern of the largest finite number (floating point) or largest integer."""
        if not self.is_float:
            return self.mask >> (1 if self.signed else 0)
        fraction = (1 << self.fraction_bits) - 1
        if self.nan == "all_ones" and self.fraction_bits:
            fraction -= 1
        return (((self.emax + self.bias) << self.fraction_bits) | fraction) << self.ignored_low_bits

    @property
    def infinity(self) -> int:
        """Pattern of plus infinity; -1 if the format has none."""
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
                f"{self.name} is not a floating-point format; wmma_emu.scalar.convert reaches integers too"
            )

    @property
    def storage(self) -> "np.dtype[np.unsignedinteger]":
        """The unsigned NumPy dtype that holds one unpacked pattern."""
        import numpy as np  # here, so that the tables need none

        width = next(w for w in (8, 16, 32, 64) if w >= self.bits)
        return np.dtype(f"u{width // 8}")

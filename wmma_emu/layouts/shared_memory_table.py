# SPDX-License-Identifier: MIT
"""Facts about matrices in shared memory: swizzle modes, and the use of a descriptor's offsets."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wmma_emu.evidence import Evidence, Run, Sourced

Major = Literal["k", "mn"]
"""The contiguous axis: k, or the other one, rows of A or columns of B (imm-trans-a, imm-trans-b)."""

OffsetField = Literal["leading", "stride"]

Mode = int | str
"""A swizzle mode: 0 for none, 32, 64, 128, or a name if the number of bytes is ambiguous."""

WINDOW = 1 << 18
"""Bytes that a descriptor can address: 14 bits, in units of 16 bytes."""

CHUNK_BYTES = 16
"""The size of a chunk: swizzling moves chunks as a whole."""

LINES = 8
"""The number of lines of an atom; a line is a run of contiguous elements, along k or along the other axis."""

_MANUAL = "PTX ISA 9.1, sections 9.7.15.5.1.2.1 (strides) and 9.7.15.5.1.2.2 (matrix descriptor)"
_H200 = "NVIDIA H200, driver 580.159.04, 2026-11-21: 4,669 operands read element by element"
_CUTE = "CuTe, mma_traits_sm90_gmma.hpp: canonical layouts"
_SEEN = Evidence("measured", f"{_MANUAL}; {_CUTE}; {_H200}", Run("wgmma operands", "sm_90"))


@dataclass(frozen=True, slots=True)
class Swizzle(Sourced):
    """One swizzle mode.

    Parameters
    ----------
    width : int
        Bytes of a line of an atom, which name the mode; 0 for none, where a line is one chunk.
    code : int
        The code of the mode in the last bits of a descriptor.
    bits : int
        The number of address bits from bit 7 up that are XORed onto the bits from bit 4 up.
    known : Evidence
        The evidence for everything that was run with the mode; `evidence` selects K-major operands.
    lines : int
        The number of lines of an atom.
    unit : int
        The bytes that the pattern moves as a whole: 32 if the XOR applies to the bits from bit 5 up.
    """

    width: int
    code: int
    bits: int
    known: Evidence
    lines: int = LINES
    unit: int = CHUNK_BYTES

    @property
    def evidence(self) -> Evidence:
        """The evidence for the mode."""
        return self.known.of(f"k swizzle {self.width}")

    @property
    def line_bytes(self) -> int:
        """The bytes from a line of an atom to the next."""
        return self.width or CHUNK_BYTES

    @property
    def atom_bytes(self) -> int:
        """The bytes of all lines of an atom; with a swizzle, the period of its pattern."""
        return self.lines * self.line_bytes

    @property
    def chunks(self) -> int:
        """The number of chunks of a line."""
        return self.line_bytes // CHUNK_BYTES

    @property
    def mask(self) -> int:
        """The address bits that are XORed, shifted down."""
        return (1 << self.bits) - 1

    def applied(self, address: NDArray[np.int64], base_offset: int = 0) -> NDArray[np.int64]:
        """Swizzle byte addresses; the pattern is aligned to absolute addresses minus the base offset (in 128 bytes)."""
        swizzled: NDArray[np.int64] = address ^ ((address >> 7) - base_offset & self.mask) * self.unit
        return swizzled


SWIZZLES: dict[Mode, Swizzle] = {
    width: Swizzle(width, code, bits, _SEEN) for width, code, bits in ((0, 0, 0), (32, 3, 1), (64, 2, 2), (128, 1, 3))
}
"""Every swizzle mode of `wgmma` by its width in bytes."""


@dataclass(frozen=True, slots=True)
class Steps(Sourced):
    """The descriptor fields that lead from an atom to the next one.

    ``across_lines`` leads to the next eight lines, ``along_lines`` to the continuation of the same lines.
    """

    across_lines: OffsetField
    along_lines: OffsetField
    run: str
    known: Evidence

    @property
    def evidence(self) -> Evidence:
        """The evidence: the results of the run with this name."""
        return self.known.of(self.run)


STEPS: dict[tuple[Major, bool], Steps] = {
    ("k", False): Steps("stride", "leading", "k swizzle 0", _SEEN),
    ("k", True): Steps("stride", "leading", "k swizzle 128", _SEEN),
    ("mn", False): Steps("leading", "stride", "mn swizzle 0", _SEEN),
    ("mn", True): Steps("stride", "leading", "mn swizzle 128", _SEEN),
}
"""Steps by contiguous axis and presence of a swizzle. With a swizzle and k contiguous, the manual says that the leading
dimension is not used, and indeed it is unused if lines hold all of k. A sparse B is twice as wide as the lines of the
32-byte swizzle; there the GPU uses it to reach the second half."""


@dataclass(frozen=True, slots=True)
class SwizzleRule(Sourced):
    """The swizzle modes that an operand may have.

    ``bits`` is an element's share of memory; ``padded`` is whether elements of 4 and 6 bits are packed in groups of
    sixteen, with padding up to 16 bytes.
    """

    major: Major
    bits: tuple[int, ...]
    padded: bool
    modes: tuple[Mode, ...]
    evidence: Evidence


_ALL = Evidence("documented", f"{_MANUAL}; {_CUTE}")
_TRANSPOSED = Evidence("documented", "PTX ISA 9.1, section 9.7.15.5.2 (imm-trans-a, imm-trans-b)")

RULES: tuple[SwizzleRule, ...] = (
    SwizzleRule("k", (1, 8, 16, 32), False, tuple(SWIZZLES), _ALL),
    SwizzleRule("mn", (16,), False, tuple(SWIZZLES), _TRANSPOSED),
)
"""The operands that `wgmma` reads from shared memory: only 16-bit elements can be transposed."""

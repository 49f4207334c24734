# SPDX-License-Identifier: MIT
"""Facts about matrices in shared memory: swizzle modes, and which offset of a descriptor leads where."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wmma_emu.evidence import Evidence, Run, Sourced

Major = Literal["k", "mn"]
"""Which axis is contiguous: k; or the other one, rows of A or columns of B (imm-trans-a, imm-trans-b)."""

OffsetField = Literal["leading", "stride"]

Mode = int | str
"""A swizzle mode: 0 for none, 32, 64, 128, or the name of one that bytes do not tell apart."""

WINDOW = 1 << 18
"""Bytes that a descriptor can address: 14 bits, in units of 16 bytes."""

CHUNK_BYTES = 16
"""Memory is moved in units of this many bytes: swizzling leaves them whole."""

LINES = 8
"""Lines of an atom: a line is what is contiguous, along k or along the other axis."""

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
        Bytes of a line of an atom, as the mode is called; 0 for none, where a line is one chunk.
    code : int
        The last bits of a descriptor.
    bits : int
        So many address bits from bit 7 on are XORed onto those from bit 4 on.
    known : Evidence
        Of all that was run with it; `evidence` is that of K-major operands.
    lines : int
        Of an atom.
    unit : int
        Bytes that the pattern leaves whole: 32 where the XOR falls on the bits from bit 5 on.
    """

    width: int
    code: int
    bits: int
    known: Evidence
    lines: int = LINES
    unit: int = CHUNK_BYTES

    @property
    def evidence(self) -> Evidence:
        """How the mode is known."""
        return self.known.of(f"k swizzle {self.width}")

    @property
    def line_bytes(self) -> int:
        """Bytes from a line of an atom to the next."""
        return self.width or CHUNK_BYTES

    @property
    def atom_bytes(self) -> int:
        """Bytes of an atom, all its lines; with a swizzle, those after which its pattern repeats."""
        return self.lines * self.line_bytes

    @property
    def chunks(self) -> int:
        """Chunks of a line."""
        return self.line_bytes // CHUNK_BYTES

    @property
    def mask(self) -> int:
        """The address bits that are XORed, shifted down."""
        return (1 << self.bits) - 1

    def applied(self, address: NDArray[np.int64], base_offset: int = 0) -> NDArray[np.int64]:
        """Swizzle byte addresses, the pattern lying on absolute addresses, less the base offset (in 128 bytes)."""
        swizzled: NDArray[np.int64] = address ^ ((address >> 7) - base_offset & self.mask) * self.unit
        return swizzled


SWIZZLES: dict[Mode, Swizzle] = {
    width: Swizzle(width, code, bits, _SEEN)
    for width, code, bits in ((0, 0, 0), (32, 3, 1), (64, 2, 2), (128, 1, 3))
}
"""Every swizzle mode of `wgmma` by its width in bytes."""


@dataclass(frozen=True, slots=True)
class Steps(Sourced):
    """Which field of a descriptor leads from an atom to the next one.

    ``across_lines`` leads to the next eight lines, ``along_lines`` to where lines go on.
    """

    across_lines: OffsetField
    along_lines: OffsetField
    run: str
    known: Evidence

    @property
    def evidence(self) -> Evidence:
        """How it is known: by what was run of that name."""
        return self.known.of(self.run)


STEPS: dict[tuple[Major, bool], Steps] = {
    ("k", False): Steps("stride", "leading", "k swizzle 0", _SEEN),
    ("k", True): Steps("stride", "leading", "k swizzle 128", _SEEN),
    ("mn", False): Steps("leading", "stride", "mn swizzle 0", _SEEN),
    ("mn", True): Steps("stride", "leading", "mn swizzle 128", _SEEN),
}
"""By what is contiguous, and whether there is a swizzle. With a swizzle and k contiguous, the manual says that the
leading dimension is not used, and it is not where lines hold all of k. A sparse B is twice as wide as the lines of the
32-byte swizzle: there the GPU takes it to the second half."""


@dataclass(frozen=True, slots=True)
class SwizzleRule(Sourced):
    """Which swizzle modes an operand may have.

    ``bits`` are those of an element's share of memory; ``padded`` says whether elements of 4 and 6 bits are packed by
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
"""Which operands `wgmma` reads from shared memory: only those of 16 bits are transposed."""

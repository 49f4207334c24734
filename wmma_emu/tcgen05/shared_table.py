# SPDX-License-Identifier: MIT
"""Facts about the shared-memory descriptor of tcgen05: its swizzle modes, and the operands that each can read."""

from dataclasses import dataclass, replace

from wmma_emu.chip_sets import chips_since
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.layouts.shared_memory_table import STEPS, Major, Mode, Steps, Swizzle, SwizzleRule

ATOMS_32B = "128B with 32B atoms"
"""The swizzle of 128 bytes that moves units of 32 bytes: for 32-bit operands that are contiguous along M or N."""

_MANUAL = "PTX ISA 9.0, 9.7.16.4.1 (shared memory descriptor), 9.7.16.10.6 (atoms of the swizzle modes)"
_CUTE = "CuTe, mma_traits_sm100.hpp: canonical layouts of make_umma_desc"
_WRITTEN = Evidence("documented", f"{_MANUAL}; {_CUTE}")


@dataclass(frozen=True, slots=True)
class AbsoluteLeading(Sourced):
    """The operands for which the leading dimension may be an absolute address.

    ``row_bytes`` is the size of k: 96 elements of 4 bits.
    """

    archs: tuple[str, ...]
    row_bytes: int
    evidence: Evidence


ABSOLUTE_LEADING = AbsoluteLeading(
    chips_since("sm_103f"),
    48,
    Evidence("documented", "PTX ISA 9.0, 9.7.16.3.1.2, 9.7.16.4.1.1 (target ISA note: sm_103a)"),
)
"""Bit 52 of a descriptor. That the part after a line's 128 bytes begins the lines of the second chunk is inferred."""

SWIZZLES: dict[Mode, Swizzle] = {
    0: Swizzle(0, 0, 0, _WRITTEN),
    32: Swizzle(32, 6, 1, _WRITTEN),
    64: Swizzle(64, 4, 2, _WRITTEN),
    128: Swizzle(128, 2, 3, _WRITTEN),
    # The manual shows this pattern only in a figure. CuTe: bits 8 and 7 onto 6 and 5, atoms of four lines.
    ATOMS_32B: Swizzle(
        128, 1, 2, Evidence("inferred", f"{_MANUAL}; {_CUTE}, Swizzle<2,5,2> in bytes"), lines=4, unit=32
    ),
}
"""Every swizzle mode; codes 3, 5 and 7 of bits 63 to 61 are invalid."""

_SAME = Evidence("documented", f"PTX ISA 9.0, 9.7.16.3 (strides): the words of `wgmma`; {_CUTE}")
"""The evidence for `wgmma`'s steps in tcgen05: measured for wgmma, documented for tcgen05."""

STEPS_OF_TENSOR: dict[tuple[Major, bool], Steps] = {key: replace(row, known=_SAME) for key, row in STEPS.items()}
"""Steps by contiguous axis and presence of a swizzle. For a K-major operand with a swizzle the manual calls the leading
dimension unused; if lines are longer than the swizzle, it is assumed to lead to their continuation, as on Hopper. With
32-byte atoms the stride leads to the next four lines (CuTe)."""


_VALID = "PTX ISA 9.0, 9.7.16.10.3 (valid combinations of type size, major-ness and swizzling)"
_ATOMS = "9.7.16.10.6: 32-byte atoms have no K-major form"
_PACKED = (
    "9.7.16.10.4.4 (sixteen elements, contiguous, then padding; the order of bits as ldmatrix .b4x16_p64, .b6x16_p32)"
)
_AGAINST = "the manual's table and CuTe's comments in InstrDescriptor name 8-bit and wider types only"
_CUTLASS = "CUTLASS, blackwell_functionality.md, table 2: kind::f8f6f4 runs f4 and f6 operands in TN, NN, NT and TT"

RULES: tuple[SwizzleRule, ...] = (
    SwizzleRule("k", (4, 8, 16, 32), False, (0, 32, 64, 128), Evidence("documented", f"{_VALID}; {_ATOMS}")),
    SwizzleRule("k", (8,), True, (0, 32, 64, 128), Evidence("documented", f"{_VALID}; {_ATOMS}; {_PACKED}")),
    SwizzleRule("mn", (8, 16), False, (0, 32, 64, 128), Evidence("documented", _VALID)),
    SwizzleRule("mn", (8,), True, (0, 32, 64, 128), Evidence("inferred", f"{_CUTLASS}; {_PACKED}; {_AGAINST}")),
    SwizzleRule("mn", (32,), False, (ATOMS_32B,), Evidence("documented", _VALID)),
)
"""The operands that can be read."""

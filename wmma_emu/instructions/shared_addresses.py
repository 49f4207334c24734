# SPDX-License-Identifier: MIT
"""Where the shared memory of a block begins: the address of the first variable, by chip."""

from wmma_emu.chip_sets import chips_since
from wmma_emu.chips import Arch, ChipFact
from wmma_emu.evidence import Evidence

_H200 = Evidence("measured", "addresses that kernels wrote on an NVIDIA H200, 2026-11-28", frozenset({"sm_90"}))
_READ = "the addresses in the machine code that ptxas 13.0 makes for {}"

FIRST_SHARED = (
    ("sm_70", ChipFact(0, Evidence("inferred", _READ.format("sm_75 to sm_89")))),
    ("sm_90", ChipFact(1024, _H200)),
    ("sm_100", ChipFact(1024, Evidence("inferred", _READ.format("sm_100 to sm_121")))),
)
"""The address, by the first chip. On sm_90 and later chips, the bytes before it are the reserved ones; on older chips
these are after the variables."""


def first_shared_address(arch: Arch) -> ChipFact[int]:
    """Return the address at which shared variables begin.

    Examples
    --------
    >>> from wmma_emu.chips import ARCHS
    >>> [first_shared_address(ARCHS[x]).value for x in ("sm_70", "sm_89", "sm_90", "sm_121")]
    [0, 0, 1024, 1024]
    """
    return next(fact for first, fact in reversed(FIRST_SHARED) if arch.name in chips_since(first))

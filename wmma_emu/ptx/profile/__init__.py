# SPDX-License-Identifier: MIT
"""A profiler without a GPU: exact counters of a launch, by kernel, source line and line of the PTX."""

from wmma_emu.ptx.profile.comparison import Change, ProfileChanges
from wmma_emu.ptx.profile.conflicts import ConflictExplanation, ConflictingAccess, Remedy
from wmma_emu.ptx.profile.counters import COUNTERS, RATIOS, Counters
from wmma_emu.ptx.profile.coverage import BranchOutcomes, KernelCoverage
from wmma_emu.ptx.profile.limits import Limit
from wmma_emu.ptx.profile.lines import KernelProfile, ProfiledInstruction, ProfiledLine
from wmma_emu.ptx.profile.profile import Profile
from wmma_emu.ptx.profile.session import CountedLaunches, covering, profiling

__all__ = [
    "COUNTERS",
    "RATIOS",
    "BranchOutcomes",
    "Change",
    "ConflictExplanation",
    "ConflictingAccess",
    "CountedLaunches",
    "Counters",
    "KernelCoverage",
    "KernelProfile",
    "Limit",
    "Profile",
    "ProfileChanges",
    "ProfiledInstruction",
    "ProfiledLine",
    "Remedy",
    "covering",
    "profiling",
]

# SPDX-License-Identifier: MIT
"""Evidence for facts: what was run, recorded or read, for which instructions on which chip."""

from wmma_emu.evidence.evidence import Evidence, Sourced, Status
from wmma_emu.evidence.runs import Run

__all__ = ["Evidence", "Run", "Sourced", "Status"]


def __dir__() -> list[str]:
    return sorted(__all__)

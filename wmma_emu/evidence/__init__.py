# SPDX-License-Identifier: MIT
"""How a fact is known: by what was run, recorded or read, and of which instructions on which chip that speaks."""

from wmma_emu.evidence.evidence import Evidence, Sourced, Status
from wmma_emu.evidence.runs import Run

__all__ = ["Evidence", "Run", "Sourced", "Status"]


def __dir__() -> list[str]:
    return sorted(__all__)

# SPDX-License-Identifier: MIT
"""The names of `wmma_emu.schedule`, step-by-step schedules of instructions, for users of `wmma_emu.warp`."""

from wmma_emu.renamed import renamed_names
from wmma_emu.schedule import (
    Finish,
    MachineStep,
    Ownership,
    Schedule,
    Start,
    StepPart,
    schedule_of,
    scheduled,
    undivided,
)

__all__ = [
    "Finish",
    "MachineStep",
    "Ownership",
    "Schedule",
    "Start",
    "StepPart",
    "schedule_of",
    "scheduled",
    "undivided",
]


def __dir__() -> list[str]:
    return sorted(__all__)


__getattr__ = renamed_names(__name__, {"Held": "Ownership", "Part": "StepPart"})

# SPDX-License-Identifier: MIT
"""The machine instructions of a matrix instruction, step by step: the elements that each one reads and writes."""

from wmma_emu.renamed import renamed_names
from wmma_emu.schedule.lookup import schedule_of, scheduled, undivided
from wmma_emu.schedule.spec import Finish, MachineStep, Ownership, Schedule, Start, StepPart

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

# SPDX-License-Identifier: MIT
"""Step by step: the machine instructions of a matrix instruction, and what each of them reads, makes and writes."""

from wmma_emu.schedule.lookup import schedule_of, scheduled, undivided
from wmma_emu.schedule.spec import Finish, Held, MachineStep, Part, Schedule, Start

__all__ = ["Finish", "Held", "MachineStep", "Part", "Schedule", "Start", "schedule_of", "scheduled", "undivided"]


def __dir__() -> list[str]:
    return sorted(__all__)

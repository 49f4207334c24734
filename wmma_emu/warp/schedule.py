# SPDX-License-Identifier: MIT
"""Step by step, beside the instructions of a warp: see `wmma_emu.schedule`."""

from wmma_emu.schedule import Finish, Held, MachineStep, Part, Schedule, Start, schedule_of, scheduled, undivided

__all__ = ["Finish", "Held", "MachineStep", "Part", "Schedule", "Start", "schedule_of", "scheduled", "undivided"]


def __dir__() -> list[str]:
    return sorted(__all__)

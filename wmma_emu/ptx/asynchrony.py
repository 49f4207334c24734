# SPDX-License-Identifier: MIT
"""When asynchronous operations move their data: at once, or as late as the program allows."""

from dataclasses import dataclass

from wmma_emu.ptx.program.program import PtxInstruction


@dataclass(frozen=True, slots=True)
class Asynchrony:
    """The time at which asynchronous copies and products read their sources and write their results.

    ``lines`` are the lines of the PTX whose operations are late, None for all; the others move their data at once.

    Examples
    --------
    >>> EAGER.is_late, LATE.is_late, Asynchrony(is_late=True, lines=frozenset({12})).is_late
    (False, True, True)
    """

    is_late: bool
    lines: frozenset[int] | None = None

    def delays(self, instruction: PtxInstruction) -> bool:
        """Return whether the operations of an instruction are late."""
        return self.is_late and (self.lines is None or instruction.line in self.lines)


EAGER = Asynchrony(is_late=False)
LATE = Asynchrony(is_late=True)

ASYNCHRONIES: dict[str, tuple[Asynchrony, ...]] = {"eager": (EAGER,), "late": (LATE,), "both": (EAGER, LATE)}
"""The words of the option, with the runs that each means."""

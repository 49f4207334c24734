# SPDX-License-Identifier: MIT
"""The data to run a launch again as it was, kept for launches with findings, to explain the findings."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from wmma_emu.errors import MemoryLimitError
from wmma_emu.ptx.findings import Sighting
from wmma_emu.ptx.launch.arguments import Argument
from wmma_emu.ptx.launch.kept_arrays import KeptArguments, bytes_to_keep, keep
from wmma_emu.ptx.launch.options import Course, LaunchOptions
from wmma_emu.ptx.launch.runner import Runner
from wmma_emu.ptx.launch.schedules import Run
from wmma_emu.ptx.machine.compile import CompiledProgram
from wmma_emu.ptx.machine.run import LaunchRecorder
from wmma_emu.ptx.memory.variables import ModuleMemory
from wmma_emu.ptx.reports.words import Names, NamesOfThePtx

Courses = Mapping[tuple[str, int], Course]
"""The courses in which findings, by kind and line, occurred."""

NOTHING_FOUND: Courses = MappingProxyType({})
"""The courses of a launch without findings."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The state of a launch before its results were copied back.

    The copies of the arguments, and of the module's variables, are None if they were too large (``bytes``).
    ``courses`` are those in which findings, by kind and line, occurred.
    """

    launch: Runner
    options: LaunchOptions
    kept: KeptArguments | None
    variables: ModuleMemory | None
    courses: Courses = field(default_factory=dict)
    bytes: int = 0
    names: Names = field(default_factory=NamesOfThePtx)

    def run(
        self, course: Course, recorder: LaunchRecorder | None = None, compiled: CompiledProgram | None = None
    ) -> list[Sighting]:  # fmt: skip
        """Run the launch again, or another program instead, without writing to the user's arrays."""
        return self.rerun(course, recorder, compiled)[1]

    def rerun(
        self, course: Course, recorder: LaunchRecorder | None = None, compiled: CompiledProgram | None = None
    ) -> tuple[Run, list[Sighting]]:
        """Run the launch again, as `run` does, and return its memory too."""
        if self.kept is None or self.variables is None:
            raise MemoryLimitError(
                f"the arrays of this launch have {self.bytes} bytes; at most {self.options.keep_bytes} bytes are kept "
                f"to run it again: launch it with keep_bytes={self.bytes}"
            )
        options = replace(self.options, max_seconds=None)
        if self.kept.reached:
            options = replace(options, reachable=self.kept.reached)
        return self.launch.run_once(
            self.kept.values,
            copy.deepcopy(self.variables),
            options,
            course,
            recorder=recorder,
            compiled=compiled,
            moved=self.kept.moved,
        )

    @property
    def first(self) -> Course:
        """The course whose results the launch has."""
        return self.options.courses[0]

    def course_of(self, sighting: Sighting) -> Course:
        """Return the course in which a finding occurred."""
        same_line = (x for (_, line), x in self.courses.items() if line == sighting.line)
        key = sighting.kind, sighting.line
        return self.courses[key] if key in self.courses else next(same_line, self.first)

    def __reduce__(self) -> Any:
        """Omit the replay from copied or pickled reports: it is as large as the arrays."""
        return _nothing_kept, ()


def _nothing_kept() -> None:
    return None


def kept_for_replay(launch: Runner, values: Sequence[Argument], options: LaunchOptions, courses: Courses) -> Replay:
    """Keep the state of a launch before its results are copied back."""
    needed = bytes_to_keep(values, options.reached)
    module = launch.kernel.module.variables
    needed += sum(array.nbytes for _, array, is_written in module.arrays() if is_written)
    if needed > options.keep_bytes:
        return Replay(launch, options, None, None, courses, needed)
    return Replay(launch, options, keep(values, options.reached), copy.deepcopy(module), courses, needed)

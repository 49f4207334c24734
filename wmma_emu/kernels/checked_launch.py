# SPDX-License-Identifier: MIT
"""The checks of a launch of a Python kernel: from the trace of its accesses to findings and their report."""

import time
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wmma_emu.errors import KernelFindingsError, KernelFindingsWarning, LaunchLimitError, WmmaEmuError
from wmma_emu.instructions import Arch
from wmma_emu.instructions.launches import Dim3
from wmma_emu.kernels.barriers import MBARRIERS, AnyWaiting, Waiting, WaitingForPhase
from wmma_emu.kernels.memory_of_kernels import Memory
from wmma_emu.kernels.python_words import in_python
from wmma_emu.kernels.replay import Replay
from wmma_emu.kernels.sites import frames_of_error, text_of
from wmma_emu.kernels.trace import MappedTensor, Meeting, Owner, Place, Trace
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.findings import CHECKS, Diagnosis, MemoryLocation, Sighting
from wmma_emu.ptx.launch.actions import Actions
from wmma_emu.ptx.launch.memory_of_arrays import raw
from wmma_emu.ptx.launch.report import Report, summary_of
from wmma_emu.ptx.launch.silenced_lines import apply_launch_silences
from wmma_emu.ptx.launch.silences import silenced_findings
from wmma_emu.ptx.launch.tensor_map import TensorMap
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.reports.causes import Cause
from wmma_emu.ptx.reports.finding import Finding
from wmma_emu.ptx.reports.frames import QuotedLine
from wmma_emu.ptx.reports.make import FindingMaker, numbered
from wmma_emu.watching import watching

_MOST_TRACED = 1 << 18
"""The number of accesses that are kept: when a block ends after this many, they are checked and discarded."""


class _ReportedFinding(NamedTuple):
    """A finding without an access: its kind, its instruction, and the first thread."""

    kind: str
    instruction: PtxInstruction
    message: str
    block: Dim3
    thread: Dim3


class CheckedLaunch:
    """The checks of one launch."""

    def __init__(
        self, name: str, arch: Arch, grid: Dim3, block: Dim3, arguments: Mapping[str, Any], options: Any
    ) -> None:
        self._name, self._arch, self._grid, self._block, self._options = name, arch, grid, block, options
        self.trace = Trace(
            [x for label, value in arguments.items() for x in _owners(label, value)],
            [x for label, value in arguments.items() for x in _maps(label, value)],
        )
        self._replay = Replay(self.trace, name, arch, grid, block, frozenset(options.checks))
        self._reported: list[_ReportedFinding] = []
        self._not_checked = [x for x in CHECKS if x not in options.checks]
        self._begun = time.perf_counter()
        self._current_block: Dim3 = Dim3(0, 0, 0)
        self._current_warp = 0

    def begin_block(self, index: Dim3) -> None:
        """Record which block runs; check the accesses of the earlier blocks now if there are many."""
        if self.trace.count > _MOST_TRACED:
            self._check(is_last=False)
        self._current_block = index
        self.trace.begin_block(index.x + self._grid.x * (index.y + self._grid.y * index.z))

    def begin_warp(self, warp: int) -> None:
        """Record which warp runs next."""
        self._current_warp = warp
        self.trace.begin_warp(warp)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Record the accesses of this thread, if any check is enabled."""
        before = watching.watcher
        watching.watcher = self.trace if self._options.checks else None
        try:
            yield
        finally:
            watching.watcher = before

    def meet(
        self, waiting: Sequence[Waiting], meetings: Sequence[Meeting], for_phases: Sequence[WaitingForPhase] = (),
        arrived: Collection[Place] = (),
    ) -> None:  # fmt: skip
        """Record the warps that barriers released, and those that phases of mbarriers released.

        ``arrived`` are the mbarriers whose copies have arrived before. A barrier of all threads that is reached at
        several lines is reported.
        """
        self.trace.meet(meetings, [(x.warp, x.barrier.machine_call) for x in for_phases], arrived)
        for meeting in meetings:
            here = [x for x in waiting if x.warp in meeting.warps]
            if meeting.is_of_all and len({x.frames for x in here}) > 1:
                last = max(here, key=lambda x: x.lines)
                lines = ", ".join(str(x) for x in sorted({x.lines[-1] for x in here}))
                text = f"the threads of the block reach {last.barrier} at several lines: {lines}"
                self.add_finding("barriers at several instructions", last.frames, text, last.warp)

    def add_finding(self, kind: str, frames: Iterable[Any], message: str, warp: int) -> None:
        """Record a finding that is not caused by an access."""
        site = self.trace.sites.at(frames, "bar.sync")
        self._reported.append(_ReportedFinding(kind, site, message, self._current_block, self._thread(warp)))

    def report_error(self, error: Exception) -> None:
        """Turn the error that ends a launch into a finding of its report, which becomes ``error.report``."""
        kind = getattr(error, "finding_kind", "trap" if isinstance(error, AssertionError) else "")
        if not kind:
            return
        waiting: Sequence[AnyWaiting] = getattr(error, "waiting", ())
        frames = waiting[-1].frames if waiting else frames_of_error(error.__traceback__)
        warp = waiting[-1].warp if waiting else self._current_warp
        text = str(error) or "an assertion of the kernel failed"
        self.add_finding(kind, frames, text, warp)
        report = self._report(completed=False)
        if report is not None and getattr(error, "report", None) is None:
            error.report = report  # type: ignore[attr-defined]
            if others := tuple(x for x in report.findings if x.kind != kind):
                error.add_note(f"findings until then: {summary_of(replace(report, findings=others))}")

    def finish(self) -> Report:
        """Return the report of a launch that has completed, after raising or warning of its findings as configured."""
        report = self._report(completed=True)
        actions: Actions = self._options.actions
        failing, warned = (
            actions.findings_with("error", report.findings),
            actions.findings_with("warn", report.findings),
        )
        if failing:
            said = replace(report, findings=tuple(x for x in report.findings if x in failing + warned))
            raise KernelFindingsError(summary_of(said), report, failing, partial(summary_of, said))
        if warned:
            said = replace(report, findings=warned)
            warnings.warn(KernelFindingsWarning(summary_of(said), [x.title for x in warned]), stacklevel=4)
        return report

    def _check(self, *, is_last: bool, is_complete: bool = True) -> None:
        """Replay the trace, if there is enough memory, and discard it."""
        try:
            if self._options.checks:
                self._replay.run(is_last=is_last, is_complete=is_complete)
        except (LaunchLimitError, MemoryError):
            self._not_checked = list(CHECKS)
        self.trace.clear()

    def _thread(self, warp: int) -> Dim3:
        first, (x, y, _) = warp * LANES, self._block
        return Dim3(first % x, first // x % y, first // (x * y))

    def _report(self, *, completed: bool) -> Report:
        self._check(is_last=True, is_complete=completed)
        findings, deadlock = self._replay.findings, self._replay.deadlock
        for said in self._reported:
            diagnosis = Diagnosis((said.message,))
            if said.kind == "deadlock" and deadlock is not None:
                text = said.message.partition(MBARRIERS)[0]
                diagnosis = deadlock._replace(message=(text, *deadlock.message))
            findings.add(said.kind, said.instruction, diagnosis, block=said.block, thread=said.thread)
        findings.leave_lesser_out()
        program = self.trace.sites.program(self._name, (), 0)
        judged = apply_launch_silences(findings, self._options.silence, (), program, self._options.checks)
        make = _Maker(program, self._name, self._arch.name, text_of, _Names(self.trace), in_ptx=False)
        found, silenced = make(judged.findings), silenced_findings(judged.silenced, make)
        named = numbered([*found, *(x.finding for x in silenced)])
        shared = sum(prod(x.shape) * x.dtype.itemsize for x in self.trace.declared.values())
        return Report(
            self._name, self._arch.name, self._replay.instructions, self._replay.steps,
            time.perf_counter() - self._begun, named[: len(found)], completed=completed,
            silenced=tuple(x._replace(finding=y) for x, y in zip(silenced, named[len(found) :], strict=True)),
            unused_silences=judged.unused, not_checked=tuple(self._not_checked), grid=(*self._grid,),
            block=(*self._block,), shared_bytes=shared,
        )  # fmt: skip


@dataclass(frozen=True)
class _Maker(FindingMaker):
    """A maker of findings whose messages and fixes name calls of a Python kernel."""

    def _finding(self, cause: Cause, met: list[Sighting]) -> Finding:
        found = super()._finding(cause, met)
        return replace(found, message=in_python(found.message))

    def _fix(self, cause: Cause, sides: tuple[QuotedLine, ...], met: list[Sighting]) -> str:
        return in_python(super()._fix(cause, sides, met))


class _Names:
    """The names that a kernel gives its memory."""

    def __init__(self, trace: Trace) -> None:
        self._owners = {x.name: x for x in (*trace.arrays, *trace.declared.values())}

    def variable(self, space: str, owner: str) -> str:
        """Return the kernel's name of an array."""
        return owner

    def described(self, space: str, owner: str) -> str:
        """Return the name of an array with its dtype and shape: "x (float32, shape (64,))"."""
        found = self._owners.get(owner)
        return owner if found is None else f"{owner} ({found.dtype}, shape {found.shape})"

    def elements(self, space: str, owner: str, size: int) -> int:
        """Return how many elements of an array this many bytes are."""
        found = self._owners.get(owner)
        return 0 if found is None or not found.shape or size % found.dtype.itemsize else size // found.dtype.itemsize

    def element(self, location: MemoryLocation) -> str:
        """Return the element at some bytes, "s[3, 0]"; an offset from the start if they are not an element."""
        found = self._owners.get(location.owner)
        if found is None:
            return ""
        number, rest = divmod(location.offset, found.dtype.itemsize)
        if not found.shape or rest or number not in range(prod(found.shape)):
            return f"{location.owner} + {location.offset}"
        return f"{location.owner}[{', '.join(str(int(x)) for x in np.unravel_index(number, found.shape))}]"


def _maps(label: str, value: Any) -> list[MappedTensor]:
    """Return the tensor maps of an argument, or of each argument in a sequence."""
    if isinstance(value, tuple):
        return [y for i, x in enumerate(value) for y in _maps(f"{label}[{i}]", x)]
    if isinstance(value, dict):
        return [y for name, x in value.items() for y in _maps(str(name), x)]
    if not isinstance(value, TensorMap):
        return []
    given = value.tensor
    array = given.array
    shape = array.shape if array.flags.c_contiguous else ()
    owner = Owner(label, "global", shape, array.dtype, given.memory, array.flags.aligned)
    of_map = Owner(f"the tensor map {label}", "global", (), np.dtype(np.uint8))
    return [MappedTensor(value, of_map, owner, given.offset)]


def _owners(label: str, value: Any) -> list[Owner]:
    """Return the memory of an argument, or of each argument in a sequence."""
    if isinstance(value, tuple):
        return [y for i, x in enumerate(value) for y in _owners(f"{label}[{i}]", x)]
    if isinstance(value, dict):
        return [y for name, x in value.items() for y in _owners(str(name), x)]
    if not isinstance(value, Memory) or value.dtype.hasobject:
        return []
    try:
        memory = raw(value.view(np.ndarray)).memory
    except WmmaEmuError:  # another byte order: NumPy converts it, a GPU would not
        return []
    shape = value.shape if value.flags.c_contiguous else ()
    return [Owner(label, "global", shape, value.dtype, memory, value.flags.aligned)]

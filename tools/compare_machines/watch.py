# SPDX-License-Identifier: MIT
"""Launches, each compared with the same launch on the NumPy machine, whichever program makes them."""

import copy
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import LaunchLimitError, WmmaEmuError
from wmma_emu.ptx.launch.machines import FLAG_TEXTS
from wmma_emu.ptx.launch.options import Course, LaunchOptions
from wmma_emu.ptx.launch.runner import Runner
from wmma_emu.ptx.launch.schedules import Run
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.races.race import RacedBytes

__all__ = ["Agreement", "Row", "watched"]

_ONE_IN = 8
"""The part of the launches that run twice or end with an error that is compared with the NumPy machine alone."""


class Agreement(StrEnum):
    """The result of a comparison."""

    EQUAL = "equal"
    """Native, and the NumPy machine has no finding and the same bits."""
    DIFFERENT = "different"
    FOUND = "finding on both"
    """The native machine has a flag, and the NumPy machine a finding."""
    TWICE = "ran twice though right"
    AT_ONCE = "NumPy at once"
    """The kernel or the launch has something without native code."""
    ASKED = "NumPy as asked"
    """The options of the launch need the NumPy machine."""
    ERROR = "error"
    """The launch ends with an error, such as a limit."""
    NO_END = "no end in time"
    """The attempt takes too long; another process continues."""
    NOT_LAUNCHED = "not launched"
    """The text or the launch is illegal."""
    BEYOND = "beyond a limit on NumPy only"
    """The native machine completes the launch; the NumPy machine exceeds a limit of steps, seconds or bytes."""


class Row(NamedTuple):
    """A launch: its place, its kernel, the outcome, and the reason or the difference."""

    place: str
    kernel: str
    outcome: Agreement
    why: str = ""
    has_finding: bool = False

    @property
    def is_difference(self) -> bool:
        """Whether the machines disagree."""
        return self.outcome is Agreement.DIFFERENT


Note = Callable[[Row], None]


@contextmanager
def watched(note: Note, place: str = "") -> Iterator[None]:
    """Compare every launch within the context, and note the outcome."""
    run_once = Runner.run_once
    compare = _Comparison(run_once, note, place)

    def run(self: Runner, values: Any, variables: Any, options: LaunchOptions, course: Course, **more: Any) -> Any:
        if more.get("suspects") is not None or more.get("compiled") is not None:
            return run_once(self, values, variables, options, course, **more)
        return compare(self, values, variables, options, course, more)

    with mock.patch.object(Runner, "run_once", run):
        yield


class _Comparison:
    """Runs a launch, and runs it again on the NumPy machine."""

    def __init__(self, run_once: Callable[..., Any], note: Note, place: str) -> None:
        self._run_once, self._note, self._place = run_once, note, place

    def __call__(
        self, runner: Runner, values: Any, variables: Any, options: LaunchOptions, course: Course, more: dict[str, Any]
    ) -> Any:
        unchanged = copy.deepcopy(variables)

        def alone() -> tuple[Run, Any]:
            again = {x: y for x, y in more.items() if x not in ("raced", "recorder", "spent")}
            if more.get("raced") is not None:
                again["raced"] = RacedBytes()
            asked: tuple[Run, Any] = self._run_once(
                runner, values, unchanged, replace(options, machine="numpy"), course, **again
            )
            return asked

        def note(outcome: Agreement, why: str = "", *, found: bool = False) -> None:
            place = os.environ.get("PYTEST_CURRENT_TEST", self._place).removesuffix(" (call)")
            self._note(Row(place, runner.kernel.called, outcome, why, found))

        try:
            done, sightings = self._run_once(runner, values, variables, options, course, **more)
        except WmmaEmuError as error:
            note(*_of_error(error, alone if _is_chosen(runner, options) else None))
            raise
        note(*_of_run(done, sightings, alone, is_chosen=_is_chosen(runner, options)), found=bool(sightings))
        return done, sightings


_counts: dict[str, int] = {}


def _is_chosen(runner: Runner, options: LaunchOptions) -> bool:
    """Return whether to compare a launch that the NumPy machine runs anyway: the first of a kernel, and some more."""
    if options.machine == "numpy":
        return False
    _counts[runner.kernel.called] = _counts.get(runner.kernel.called, -1) + 1
    return _counts[runner.kernel.called] % _ONE_IN == 0


def _of_error(error: WmmaEmuError, alone: Callable[[], Any] | None) -> tuple[Agreement, str]:
    said = type(error).__name__
    if alone is not None:
        try:
            alone()
        except WmmaEmuError as other:
            if type(other) is not type(error):
                return Agreement.DIFFERENT, f"{said}; on the NumPy machine alone {type(other).__name__}"
        else:
            if not isinstance(error, LaunchLimitError):
                return Agreement.DIFFERENT, f"{said}; on the NumPy machine alone no error"
    return Agreement.ERROR, said


def _of_run(
    done: Run, sightings: list[Any], alone: Callable[[], tuple[Run, Any]], *, is_chosen: bool
) -> tuple[Agreement, str]:  # fmt: skip
    reason = done.counts.machine_reason
    if done.counts.machine == "native":
        try:
            other, found = alone()
        except LaunchLimitError as error:
            return Agreement.BEYOND, str(error).split("\n")[0]
        except WmmaEmuError as error:
            return Agreement.DIFFERENT, f"native, but on the NumPy machine {type(error).__name__}: {error}"
        said = difference(done, [], other, found)
        return (Agreement.DIFFERENT, said) if said else (Agreement.EQUAL, "")
    is_flagged = {*reason.split("; ")} <= {*FLAG_TEXTS.values()}
    if is_flagged and is_chosen:
        try:
            if said := difference(done, sightings, *alone()):
                return Agreement.DIFFERENT, f"after a flag ({reason}), {said}"
        except LaunchLimitError:
            pass  # the time limit; the run after the flag had more time left
    if is_flagged:
        return (Agreement.FOUND if sightings else Agreement.TWICE), reason
    return (Agreement.ASKED if reason in _ASKED else Agreement.AT_ONCE), reason


_ASKED = (
    'machine="numpy"', "the launch is recorded or profiled", "the order of the warps is not the default one",
    "asynchronous operations are late",
)  # fmt: skip


def difference(one: Run, sightings: list[Any], other: Run, found: list[Any]) -> str:
    """Return how two runs of a launch disagree, "" if they do not."""
    kinds, expected = ({x.kind for x in found} for found in (sightings, found))
    if kinds != expected:
        return f"findings: {', '.join(sorted(kinds)) or 'none'}; NumPy: {', '.join(sorted(expected)) or 'none'}"
    for what in ("output", "completed", "instructions"):
        mine, its = getattr(one.counts, what), getattr(other.counts, what)
        if mine != its:
            return f"{what}: {mine!r}; NumPy: {its!r}"
    mine, its = one.heap, other.heap
    ranges = [(x.lo, x.hi, x.name) for x in mine.mapped] + [(x.lo, x.hi, x.name) for x in mine.variables.ranges()]
    for lo, hi, name in ranges:
        places = np.flatnonzero(mine.buffer[lo:hi] != its.buffer[lo:hi])
        if len(places):
            return f"the bits of {name} differ in {len(places)} bytes from byte {places[0]}"
    return _difference_of_writes(mine, its)


def _difference_of_writes(mine: GlobalMemory, its: GlobalMemory) -> str:
    """Compare which bytes are copied back, and which are then initialised."""
    if mine.written != its.written:
        return f"ranges written: {sorted(mine.written)}; NumPy: {sorted(its.written)}"
    if mine.has_uninitialised and its.has_uninitialised:
        kept = [_uninitialised(x) for x in (mine, its)]
        if any((kept[0][x.lo : x.hi] != kept[1][x.lo : x.hi]).any() for x in its.mapped):
            return "the uninitialised bits of arrays differ"
    return ""


def _uninitialised(heap: GlobalMemory) -> NDArray[np.uint8]:
    """Return the uninitialised bits of a heap after a launch, as `GlobalMemory.keep_uninitialised` leaves them."""
    kept = heap.uninitialised.kept.copy()
    if not heap.follows_writes:
        for i in heap.written:
            kept[heap.ranges[i].lo : heap.ranges[i].hi] = 0
    return kept

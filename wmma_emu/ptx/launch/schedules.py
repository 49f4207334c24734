# SPDX-License-Identifier: MIT
"""Comparison of two runs of a launch: the bits of the arrays and of the module's variables, and the output."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import AsynchronyDependenceError, ScheduleDependenceError
from wmma_emu.ptx.launch.options import Course
from wmma_emu.ptx.machine.limits import Counts
from wmma_emu.ptx.memory.heap import GlobalMemory


class Run(NamedTuple):
    """The result of one run of a launch: its memory, its cost and its output."""

    heap: GlobalMemory
    counts: Counts


class _Difference(NamedTuple):
    """The kernel and the course of a run whose results differ from those of the first run."""

    name: str
    course: Course

    def error(self, verb: str, text: str) -> ScheduleDependenceError:
        """Return the error about a difference."""
        seed, is_late = self.course.seed, self.course.asynchrony.is_late
        if not is_late:
            return ScheduleDependenceError(
                f"the order of the warps decides what {self.name} {verb}: with schedule={seed}, {text}"
            )
        order = "" if seed is None else f" and schedule={seed}"
        return AsynchronyDependenceError(
            f"the time of asynchronous operations decides what {self.name} {verb}: with asynchrony='late'{order}, "
            f"{text}"
        )


def require_same_results(name: str, first: Run, other: Run, course: Course) -> None:
    """Compare the bits that two runs of a launch would write, and the lines that they print in any order."""
    where = _Difference(name, course)
    one, two = first.heap, other.heap
    for mine, its in zip(one.mapped, two.mapped, strict=True):
        expected, found = one.buffer[mine.lo : mine.hi], two.buffer[its.lo : its.hi]
        if np.array_equal(expected, found):
            continue
        array = mine.array
        element = int(np.argmax(expected != found)) // array.itemsize
        in_c_order = array.flags.c_contiguous
        found_at = np.unravel_index(element, array.shape if in_c_order else array.shape[::-1])
        index = [int(x) for x in (found_at if in_c_order else found_at[::-1])]
        shown = [_pattern(x[element * array.itemsize :][: array.itemsize]) for x in (found, expected)]
        count = int((expected != found).reshape(-1, array.itemsize).any(axis=1).sum())
        raise where.error(
            "computes", f"element {index} of {mine.name} is {shown[0]}, not {shown[1]}; {count} of {array.size} "
            "elements differ",
        )  # fmt: skip
    for r in one.variables.ranges():
        expected, found = one.buffer[r.lo : r.hi], two.buffer[r.lo : r.hi]
        if not np.array_equal(expected, found):
            raise where.error("computes", _difference(r.name, expected, found))
    _require_same_texts(where, first.counts, other.counts)


def _difference(name: str, expected: NDArray[np.uint8], found: NDArray[np.uint8]) -> str:
    """Describe where the bytes of a variable differ: the whole value of a number, else the first different word."""
    place, size = int(np.argmax(expected != found)), len(found)
    if size > 8:
        unit = 4 if size % 4 == 0 else 1
        place -= place % unit
        shown = [_pattern(x[place : place + unit]) for x in (found, expected)]
        return (
            f"the variable {name} has {shown[0]} at byte {place}, not {shown[1]}; "
            f"{np.count_nonzero(expected != found)} of {size} bytes differ"
        )
    return f"the variable {name} is {_pattern(found)}, not {_pattern(expected)}"


def _require_same_texts(where: "_Difference", first: Counts, other: Counts) -> None:
    """Compare the printed lines in any order, since a GPU guarantees no order."""
    calls = [len(x.printed) + x.left_out for x in (first, other)]
    if calls[0] != calls[1]:
        raise where.error("prints", f"printf is called {calls[1]} times, not {calls[0]}")
    if first.left_out:
        return  # each order keeps other lines
    expected, found = sorted(first.printed), sorted(other.printed)
    for mine, its in zip(expected, found, strict=True):
        if mine != its:
            only = next(iter(sorted(set(found).difference(expected)) or [its]))
            raise where.error("prints", f"{only[:80]!r} is printed")


def _pattern(raw: NDArray[np.uint8]) -> str:
    return f"0x{raw[::-1].tobytes().hex()}" if len(raw) <= 8 else raw.tobytes().hex()

# SPDX-License-Identifier: MIT
"""Reads return the bytes that were written last, for all instructions: loads, matrices, copies, atomics."""

from dataclasses import replace

import pytest

import wmma_emu as we
from tests.ptx.planted.table import PLANTED
from wmma_emu.ptx.findings import Place
from wmma_emu.ptx.history import HistorySubject, RecordingLaunch, Watch
from wmma_emu.ptx.history.story import build_story
from wmma_emu.ptx.launch.arguments import LaunchArguments
from wmma_emu.ptx.launch.options import Course
from wmma_emu.ptx.launch.replay import kept_for_replay
from wmma_emu.ptx.memory.address_map import HEAP

KERNELS = (
    "tree", "overwritten", "double_buffer", "counter", "stage_filled_too_early", "ldmatrix_of_some_lanes",
    "volatile_reduction", "halves_of_a_word", "bytes_through_words", "queue_of_work", "wrong_parity", "semaphore",
    "last_block_without_a_fence", "lock_without_fences",
)  # fmt: skip

WATCHES = (Watch("shared", 0, 1 << 14, block=0), Watch("global", HEAP, 1 << 20))
"""The watched memory: the first block's shared memory, and the first arrays of a launch."""


def events_of(name, watch, fixed):
    """Return the events of a launch at some bytes, and the launch."""
    bug = PLANTED[name]
    module = we.ptx.Module(bug.ptx(fixed), arch="sm_90", findings="report")
    kernel = module[bug.kernel]
    launch = kernel[bug.grid, bug.block, bug.shared]
    given = kernel.read(bug.arguments(), {}, launch.grid)
    assert isinstance(given, LaunchArguments)
    recorder = RecordingLaunch(watch)
    kept_for_replay(launch, given.values, module.options, {}).run(Course(None), recorder)
    recorder.settle()
    subject = HistorySubject("", "", Place(0), (0, 0, 0), 0, 0)
    return build_story(recorder.log, subject, kernel.program).events


def require_followed(events):
    """Check that each byte read comes from the last step that wrote it; return the number of comparisons."""
    left, step, now, compared = {}, 0, {}, 0
    for x in events:
        if x.step != step:
            left.update(now)
            step, now = x.step, {}
        if not x.is_access or x.value is None or x.what == "begins to copy to":
            continue
        found = x.value if x.what == "reads" else x.before
        for i in range(x.size):
            at = x.address + i
            if found is not None and at in left:
                byte = found >> 8 * i & 0xFF
                assert byte in left[at], f"{x} finds {byte:#x} at {at:#x}, not one of {left[at]}"
                compared += 1
            if x.does_write:
                now.setdefault(at, set()).add(x.value >> 8 * i & 0xFF)
    return compared


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_reads_return_the_bytes_that_were_written_last(name, fixed):
    assert sum(require_followed(events_of(name, watch, fixed)) for watch in WATCHES)


def test_a_byte_that_differs_is_noticed():
    events = list(events_of("tree", WATCHES[0], True))
    i = next(i for i, x in enumerate(events) if x.what == "reads")
    events[i] = replace(events[i], value=events[i].value ^ 0x100)
    with pytest.raises(AssertionError, match="finds"):
        require_followed(events)

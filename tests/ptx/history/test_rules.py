# SPDX-License-Identifier: MIT
"""The rules of a finding's history, one fact each: the replay, the events, their order and their bits."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import SHIFT
from wmma_emu.errors import MemoryLimitError


def launched(**options):
    module = we.ptx.Module(SHIFT.replace("BARRIER", ""), arch="sm_90", findings="report")
    x, y = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    return module["shift"][1, 64](x, y, **options), x, y


@pytest.fixture(scope="module")
def history():
    return launched()[0].findings[0].explain()


def test_a_history_runs_the_launch_again_and_reproduces_the_finding(history):
    assert history.is_replayed
    assert history.replayed == "The launch was run again for this, and reproduced the finding."


def test_a_history_of_a_race_shows_both_accesses_with_their_bits(history):
    accesses = [(x.what, x.warps, x.lanes, x.bits) for x in history.events]
    # Thread 32 stores its element, 32; thread 0 reads it.
    assert accesses == [("writes", (1,), (0,), "0x00000020"), ("reads", (0,), (0,), "0x00000020")]


def test_events_are_numbered_by_steps_from_1_and_the_two_of_the_finding_are_marked(history):
    assert [x.step for x in history.events] == [1, 2]
    assert {history.here, history.other} == {0, 1}


def test_the_conclusion_names_the_missing_barrier(history):
    assert history.conclusion == (
        "Nothing orders the two: between step 1, where warp 1 writes 0x00000020, and step 2, where warp 0 reads "
        "0x00000020, warp 1 and warp 0 met no barrier.",
    )


def test_a_replay_uses_the_initial_arrays_and_writes_to_none_of_the_users():
    report, x, y = launched()
    x[:], y[:] = 7, 9
    assert [e.bits for e in report.findings[0].explain().events] == ["0x00000020", "0x00000020"]
    assert (x == 7).all() and (y == 9).all()


def test_a_launch_that_keeps_no_bytes_cannot_be_explained():
    with pytest.raises(MemoryLimitError, match="launch it with keep_bytes=512"):
        launched(keep_bytes=0)[0].findings[0].explain()


def test_a_history_is_text_plain_data_and_a_page(history):
    assert str(history).startswith("history of tile + 128 bytes (4 bytes at 0x480 of shared memory) of block (0, 0, 0)")
    assert history.to_dict()["events"][0]["value"] == "0x00000020"
    assert history.to_html().startswith("<!DOCTYPE html>")

# SPDX-License-Identifier: MIT
"""A log of many notes keeps its beginning and its end, and counts what it leaves out and what comes again."""

from types import SimpleNamespace

import pytest

from wmma_emu.ptx.history import log


def note(number):
    made = SimpleNamespace(number=number, count=1)
    made.repeats = lambda other: other.number == made.number
    return made


@pytest.mark.parametrize(
    ("count", "kept", "left_out"),
    [(4, [0, 1, 2, 3], 0), (5, [0, 1, 3, 4], 1), (9, [0, 1, 7, 8], 5)],
)
def test_what_goes_in_the_middle_is_counted(monkeypatch, count, kept, left_out):
    monkeypatch.setattr(log, "_KEPT", 2)
    notes = log.Log()
    for number in range(count):
        notes.add(note(number))
    assert [x.number for x in notes] == kept and notes.left_out == left_out
    notes.clear()
    assert not list(notes) and notes.left_out == 0


def test_equal_notes_one_after_the_other_are_one(monkeypatch):
    monkeypatch.setattr(log, "_KEPT", 2)
    notes = log.Log()
    for number in (0, 0, 1, 0, 2, 2, 2):
        notes.add(note(number))
    assert [(x.number, x.count) for x in notes] == [(0, 2), (1, 1), (0, 1), (2, 3)]

# SPDX-License-Identifier: MIT
"""The rules of findings, one fact each: kinds and their pages, words of messages, and sightings of one launch."""

import pytest

from wmma_emu.ptx.findings import (
    KINDS,
    UNKNOWN,
    Diagnosis,
    Extent,
    MemoryLocation,
    Place,
    Sighting,
    Sightings,
    Value,
    kind_of_slug,
    merged,
    page_of,
    path_of,
    plain_text,
    slug_of,
)
from wmma_emu.ptx.findings import pages as pages_of_findings

TILE = MemoryLocation("shared", 0xFC, 4, "tile", 252)


class AnyProgram:
    """A program whose statements are named after their lines."""

    def text(self, line):
        return f"statement {line}"


class At:
    """As much of an instruction as a sighting reads: its line."""

    source = None

    def __init__(self, line):
        self.line = line


def sightings(*seen, **options):
    """Record kinds at lines."""
    found = Sightings(AnyProgram(), **options)
    for kind, line in seen:
        found.add(kind, At(line), "a message")
    return found


def race(line, *others):
    return Sighting("race", (), line, "", None, others=tuple(Place(x) for x in others))


@pytest.mark.parametrize(("kind", "severity", "check"), [
    ("out of bounds", "error", "memory"), ("uninitialised", "error", "undefined"), ("race", "error", "races"),
    ("race within a warp", "warning", "races"), ("race of equal bytes", "note", "races"),
    ("barrier divergence", "error", "synchronisation"), ("deadlock", "error", ""), ("trap", "error", ""),
])  # fmt: skip
def test_a_kind_has_one_severity_and_one_check_or_none_if_it_ends_the_launch(kind, severity, check):
    assert (KINDS[kind].severity, KINDS[kind].check) == (severity, check)


@pytest.mark.parametrize(("kind", "may"), [
    ("out of bounds", False), ("misaligned", False), ("trap", False), ("deadlock", False), ("uninitialised", True),
])  # fmt: skip
def test_a_kind_may_be_silenced_only_if_a_kernel_with_it_may_be_correct(kind, may):
    assert KINDS[kind].may_be_silenced == may


def test_a_slug_has_hyphens_for_spaces_and_american_spelling_finds_it_too():
    assert slug_of("race within a warp") == "race-within-a-warp"
    assert kind_of_slug("race-within-a-warp") == "race within a warp"
    assert kind_of_slug("partly-uninitialized") == "partly uninitialised"
    assert kind_of_slug("rice") is None


def test_a_page_is_a_command_until_the_documentation_is_hosted_and_an_address_from_then_on(monkeypatch):
    assert page_of("race within a warp") == "wmma-emu finding race-within-a-warp"
    monkeypatch.setattr(pages_of_findings, "DOCUMENTATION", "https://example.org/docs/")
    assert path_of("race") == "reference/findings/race"
    assert page_of("race") == "https://example.org/docs/reference/findings/race.html"


def test_a_location_has_an_address_and_its_distance_from_a_variable():
    assert str(TILE) == "4 bytes at 0xfc of shared memory (tile + 252)"
    assert str(MemoryLocation("global", 0x100, 1, "x", -4)) == "1 byte at 0x100 of global memory (x - 4)"
    assert str(MemoryLocation("", 0x100, 2)) == "2 bytes at 0x100"


def test_a_value_is_written_as_words_of_4_bytes_with_the_highest_byte_first():
    assert str(Value(", over ", bytes([0x01, 0x02, 0x03, 0x04]))) == ", over 0x04030201"
    assert str(Value("", bytes(range(8)))) == "0x03020100 0x07060504"
    assert str(Value("", bytes([0x3F, 0x80]))) == "0x803f"


def test_a_message_is_its_parts_in_order():
    message = ("reads ", TILE, Extent("shared", "tile", 256, ""), " at ", Place(48))
    assert plain_text(message) == "reads 4 bytes at 0xfc of shared memory (tile + 252) (256 bytes) at line 48"


def test_a_kind_at_a_line_is_recorded_once_and_then_counted():
    found = sightings(("race", 7), ("race", 7), ("race", 9), ("misaligned", 7))
    assert [(x.kind, x.line, x.count) for x in found] == [("race", 7, 2), ("race", 9, 1), ("misaligned", 7, 1)]


def test_the_message_of_the_first_sighting_remains_and_no_other_is_made():
    found = sightings()
    found.add("race", At(7), Diagnosis(("the first",)), thread=(1, 0, 0))
    found.add("race", At(7), lambda: pytest.fail("this message was made"), thread=(2, 0, 0))
    (sighting,) = found
    assert (sighting.message, sighting.thread, sighting.text) == ("the first", (1, 0, 0), "statement 7")


def test_a_check_that_is_off_records_nothing_except_what_ends_a_launch():
    found = sightings(("race", 7), ("misaligned", 8), ("trap", 9), checks=frozenset({"memory"}))
    assert [x.kind for x in found] == ["misaligned", "trap"]
    assert not found.are_sought("race") and found.are_sought("deadlock")


def test_a_race_replaces_a_weaker_kind_at_the_same_line():
    found = sightings(("race within a warp", 7), ("race of equal bytes", 8), ("race", 7))
    found.leave_lesser_out()
    assert [(x.kind, x.line) for x in found] == [("race of equal bytes", 8), ("race", 7)]


def test_other_sides_of_a_race_are_added_once_in_order_of_lines():
    assert race(7, 9).with_others([Place(8), Place(9)]).others == (Place(8), Place(9))


def test_a_sighting_is_its_kind_place_thread_message_and_count():
    seen = Sighting("race", ("reads ", TILE), 7, "ld.shared", None, (0, 0, 0), (1, 0, 0), count=64,
                    others=(Place(3), Place(5), UNKNOWN))  # fmt: skip
    assert str(seen).splitlines() == [
        "race: line 7, block (0, 0, 0), thread (1, 0, 0): reads 4 bytes at 0xfc of shared memory (tile + 252); "
        "it is in a race with lines 3, 5 [64 times]",
        "    ld.shared",
    ]


def test_a_race_that_two_runs_report_from_either_side_is_one_race():
    assert [x.line for x in merged([race(57, 48)], [race(48, 57)])] == [57]
    assert [x.line for x in merged([race(57, 48)], [race(48, 60)])] == [57, 48]

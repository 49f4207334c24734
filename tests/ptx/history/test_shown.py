# SPDX-License-Identifier: MIT
"""A history as text that fits its width, and as a page that contains every event and no scripts."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tests.ptx.history.histories import finding_of
from wmma_emu.ptx.findings import Place
from wmma_emu.ptx.history import Event, History
from wmma_emu.ptx.history.words import place_text, shown_indices
from wmma_emu.ptx.program.program import SourceLine

HOSTILE = "<script>alert(1)</script>\x1b[31m&\"'"


class Page(HTMLParser):
    """The events of a page, its tags, and whether each of them is closed."""

    def __init__(self, text):
        super().__init__()
        self.events, self.tags, self.open, self.texts = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)
        number = dict(attributes).get("data-event")
        if number is not None:
            self.events.append(int(number))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


NAMES = ["reversed", "no_wait", "exchange_of_blocks", "left_early", "mma_of_some_lanes", "border"]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_holds_every_event_and_nothing_from_elsewhere(name):
    history = finding_of(name).explain()
    page = Page(history.to_html())
    assert sorted(page.events) == list(range(len(history.events)))
    assert not page.open
    assert {"script", "link", "img", "iframe"}.isdisjoint(page.tags)
    assert Page(history._repr_html_()).events == page.events
    shown = " ".join(page.texts)
    assert all(x.bits in shown for x in history.events)
    assert all(x in shown for x in history.conclusion)


@pytest.mark.parametrize("width", [60, 80, 100, 140])
@pytest.mark.parametrize("name", NAMES)
def test_text_fits_its_width(name, width):
    text = finding_of(name).explain().text(width)
    assert max(map(len, text.splitlines())) <= width


def event(step, what="reads", warp=0, **more):
    given = {"address": 0, "size": 4, "value": step, **more}
    return Event(step, what, (0, 0, 0), (warp,), (step % 32,), Place(7), "ld.shared.u32 %r1, [%r2];", **given)


def history_of(*events, **more):
    return History("race", "4 bytes", "Run again.", True, events, **more)


def test_untrusted_names_are_escaped():
    place = Place(3, SourceLine(f"/tmp/{HOSTILE}.cu", 4))
    one = replace(event(1), what="synchronises", detail=HOSTILE, place=place, text=HOSTILE)
    history = replace(history_of(one, conclusion=(HOSTILE,)), title=HOSTILE, watched=HOSTILE, replayed=HOSTILE)
    page = Page(history.to_html())
    assert "script" not in page.tags
    assert page.events == [0]
    assert "\x1b" not in history.to_html() + history._repr_html_() + str(history)


def test_a_long_history_is_shortened_around_the_two_accesses():
    history = history_of(*(event(i + 1) for i in range(500)), here=300, other=290)
    short, long = str(history).splitlines(), history.text(verbose=True).splitlines()
    assert len(short) < 40
    assert sum("reads" in x for x in long) == 500
    shown = [int(x[1:5]) for x in short if "reads" in x]
    assert {1, 291, 301, 500} <= set(shown)
    left_out = sum(int(x.split()[1]) for x in short if x.strip().startswith("..."))
    assert left_out + len(shown) == 500


def test_a_shortened_history_keeps_the_first_the_last_and_the_marked_events():
    assert shown_indices([None] * 3, (None, None), 5) == [0, 1, 2]
    assert shown_indices([None] * 100, (50, None), 6) == [0, None, 48, 49, 50, 51, None, 99]


def test_a_page_of_many_events_mentions_omitted_events():
    history = history_of(*(event(i + 1, warp=i % 40) for i in range(3000)), here=2000)
    page = Page(history.to_html())
    assert len(page.events) < 1100
    assert 2000 in page.events
    assert "some events omitted" in page.texts
    assert "other warps" in page.texts


def test_events_of_one_step_are_side_by_side():
    history = history_of(event(1, warp=0), replace(event(1, warp=1), lanes=(5,)))
    page = Page(history.to_html())
    assert page.events == [0, 1]
    assert page.tags.count("tr") == 2


def test_plain_data_can_be_written_as_json():
    history = finding_of("look_beside_atomics").explain()
    data = json.loads(json.dumps(history.to_dict()))
    assert [x["value"] for x in data["events"]] == [x.bits or None for x in history.events]
    assert any(x["before"] == "0x00000000" for x in data["events"])
    assert (data["here"], data["other"]) == (history.here, history.other)


def test_the_position_of_inlined_code_is_its_call_in_the_kernel():
    inner = SourceLine("/a/b/header.cuh", 9, SourceLine("c:\\x\\gemm.cu", 44))
    assert place_text(Place(61, inner)) == "gemm.cu:44 (line 61)"
    assert place_text(Place(61)) == "line 61"

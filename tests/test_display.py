# SPDX-License-Identifier: MIT
import importlib
import io
import sys
from types import SimpleNamespace

import pytest

from wmma_emu import display
from wmma_emu.display import progress_bar


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    now = [0.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def screen(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(display, "sys", SimpleNamespace(stderr=screen))
    return screen


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_nothing_is_shown_where_there_is_no_terminal(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar("gemm") as progress:
        assert progress is None
    assert stream is None or stream.getvalue() == ""


def test_a_closed_standard_error_is_not_a_terminal(monkeypatch):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    with progress_bar("gemm") as progress:
        assert progress is None


def test_nothing_is_shown_in_the_first_second(screen, clock):
    with progress_bar("gemm") as progress:
        clock[0] = 0.9
        progress(0.5)
    assert screen.getvalue() == ""


def test_a_line_shows_share_and_time_left_and_is_wiped(screen, clock):
    with progress_bar("gemm") as progress:
        clock[0] = 10.0
        progress(0.25)
        line = f"gemm [{'=' * 7}{' ' * 23}]  25%, 30 s left"
        assert screen.getvalue() == "\r" + line
        clock[0] = 10.1
        progress(0.26)  # too soon
        assert screen.getvalue() == "\r" + line
    assert screen.getvalue() == f"\r{line}\r{' ' * len(line)}\r"


@pytest.mark.parametrize(("elapsed", "share", "left"), [
    (2.0, 0.0, "  0%"), (100.0, 0.5, " 50%, 100 s left"), (100.0, 0.05, "  5%, 32 min left"),
    (1000.0, 0.05, "  5%, 5.3 h left"), (5.0, 1.5, "100%, 0 s left"), (5.0, -1.0, "  0%"),
])  # fmt: skip
def test_times_are_readable_and_shares_stay_between_none_and_all(screen, clock, elapsed, share, left):
    with progress_bar("x") as progress:
        clock[0] = elapsed
        progress(share)
        assert screen.getvalue().endswith("] " + left)


def test_the_line_is_shortened_to_the_terminal(screen, clock, monkeypatch):
    monkeypatch.setattr(display, "_columns", lambda: 30)
    with progress_bar("gemm") as progress:
        clock[0] = 10.0
        progress(0.25)
        assert len(screen.getvalue()) == 1 + 29


def test_the_line_is_wiped_after_an_error(screen, clock):
    with pytest.raises(KeyboardInterrupt), progress_bar("gemm") as progress:
        clock[0] = 10.0
        progress(0.25)
        raise KeyboardInterrupt
    assert screen.getvalue().endswith(" \r")


def test_renderers_are_imported_by_name_on_use(monkeypatch):
    monkeypatch.setattr(display, "_renderers", {"path.joined": "posixpath:join", "list.json": "json:dumps"})
    assert display.render("path.joined", "a", "b") == "a/b"
    assert display.render("list.json", [1], indent=None) == "[1]"


def test_every_renderer_is_there():
    for where in display._renderers.values():
        module, _, function = where.partition(":")
        assert callable(getattr(importlib.import_module(module), function))


def test_a_name_without_a_renderer_is_an_error_that_lists_the_others():
    with pytest.raises(LookupError, match=r"nothing draws 'sonata'; there is campaign\.html"):
        display.render("sonata", None)

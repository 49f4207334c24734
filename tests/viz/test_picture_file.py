# SPDX-License-Identifier: MIT
"""Pictures go into files whole or not at all."""

import os
import stat

import pytest

from wmma_emu.errors import WmmaEmuError
from wmma_emu.viz.picture import Picture

PICTURE = Picture("a < b", "<svg>é</svg>")


@pytest.mark.parametrize("name", ["a.svg", "a.SVG", "a.html", "a.HTML"])
def test_the_ending_says_what_is_written(tmp_path, name):
    for path in (tmp_path / name, str(tmp_path / name)):
        PICTURE.save(path)
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text == (PICTURE.svg if name.lower().endswith("svg") else PICTURE.html())
    assert [x.name for x in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["a.pdf", "a", ".svg", "a.svg.txt", "x" * 200])
def test_another_ending_is_a_value_error_that_names_those_there_are(tmp_path, name):
    with pytest.raises(
        ValueError,
        match=r"does not end in .*; legal endings are \.svg, \.html, \.tex, \.tikz or "
        r"\.png",
    ) as caught:
        PICTURE.save(tmp_path / name)
    assert isinstance(caught.value, WmmaEmuError) and list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder does not exist; create it first: '.*nowhere'"):
        PICTURE.save(tmp_path / "nowhere" / "a.svg")


def test_a_file_that_cannot_be_replaced_stays_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "a.svg"
    path.write_text("old")

    def refuse(*_):
        raise OSError("no")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="no"):
        PICTURE.save(path)
    assert path.read_text() == "old" and [x.name for x in tmp_path.iterdir()] == ["a.svg"]


def test_half_a_text_is_never_in_the_file(tmp_path):
    path = tmp_path / "a.svg"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        Picture("a", "<svg>" + "x" * 10**6 + "\ud800</svg>").save(path)
    assert path.read_text() == "old" and [x.name for x in tmp_path.iterdir()] == ["a.svg"]


def test_a_link_stays_one_and_a_file_keeps_its_mode(tmp_path):
    path, link = tmp_path / "a.svg", tmp_path / "b.svg"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    PICTURE.save(link)
    assert link.is_symlink() and path.read_text(encoding="utf-8") == PICTURE.svg
    assert stat.S_IMODE(path.stat().st_mode) == 0o640

# SPDX-License-Identifier: MIT
"""``wmma-emu ptx profile``: tables, JSON, CSV, pages, comparisons."""

import json

import numpy as np
import pytest

from tests.ptx.profile.kernels import TRANSPOSED
from wmma_emu.ptx import Profile


@pytest.fixture
def profiled(run, here):
    for name, pitch in (("bad", 128), ("good", 132)):
        text = TRANSPOSED.replace("PITCH", str(pitch)).replace("SHARED", str(pitch * 32))
        (here / f"{name}.ptx").write_text(text)
    np.save("x.npy", np.zeros(32, np.uint32))

    def command(name, *more):
        return run("ptx", "profile", f"{name}.ptx", "--grid", "1", "--block", "32", "--arg", "x.npy", *more)

    return command


def test_the_table_shows_the_conflicts_of_each_line(profiled):
    status, out, err = profiled("bad")
    assert (status, err) == (0, "") and "62 bank conflicts" in out
    assert [x.split()[3] for x in out.splitlines() if x.startswith("transposed.cu:7")] == ["31.0"]
    assert "line 17" in profiled("bad", "--by", "ptx")[1]


def test_json_csv_and_pages_are_written(profiled, here):
    assert profiled("bad", "-o", "a.json")[0] == profiled("bad", "-o", "a.html")[0] == 0
    assert Profile.read("a.json")["transposed.cu:7"].bank_conflicts == 31
    assert (here / "a.html").read_text().startswith("<!DOCTYPE html>")
    assert json.loads(profiled("bad", "--format", "json")[1])["kernels"][0]["kernel"] == "transposed"
    assert profiled("bad", "--format", "csv")[1].startswith("line,executions,")


def test_a_comparison_names_what_became_worse_and_its_status_is_one(profiled):
    profiled("good", "-o", "before.json")
    status, out, _ = profiled("bad", "--compare", "before.json")
    assert status == 1 and "transposed.cu:7: bank conflicts 0 -> 31" in out
    assert profiled("good", "--compare", "before.json")[:2] == (0, "no counter changed\n")
    assert profiled("bad", "--compare", "before.json", "--format", "html")[:1] == (1,)


@pytest.mark.parametrize(("more", "message"), [
    (("--by", "file"), "--by 'file' is not one of line, ptx"),
    (("--format", "svg"), "--format 'svg' is not one of text, json, csv, html"),
    (("--compare", "x.npy"), "x.npy"),
    (("--compare", "x.json", "--format", "csv"), "--compare writes text or HTML, not csv"),
])  # fmt: skip
def test_wrong_uses_are_one_line(profiled, more, message):
    status, out, err = profiled("bad", *more)
    assert (status, out) == (2, "") and message in err and err.count("\n") == 1

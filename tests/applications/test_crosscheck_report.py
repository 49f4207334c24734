# SPDX-License-Identifier: MIT
"""What a campaign says at its end: text, JSON, a page; and rows that replay."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from wmma_emu.applications.campaign.revision import revision
from wmma_emu.applications.campaign.rows import append_rows, load_rows, replay
from wmma_emu.errors import FragmentMismatchError
from wmma_emu.gpu.campaign import EmulatedBackend, crosscheck
from wmma_emu.version import __version__

ROOT = Path(__file__).parents[2]
F16 = "m16n8k16.f32.f16.f16.f32"

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


@dataclass(frozen=True)
class Named(EmulatedBackend):
    """The emulator under the name of a GPU."""

    def describe(self):
        return {"name": "NVIDIA H200", "arch": "sm_90", "driver": "580.1", "toolkit": "nvJitLink 13.0",
                "cuda_core": "1.2.3"}  # fmt: skip


# Reports


@pytest.fixture(scope="module")
def report():
    return crosscheck(F16, count=20_000, workers=0, generators=["single_bits", "normal"],
                      backend=EmulatedBackend(alter={"fraction_bits": 24}))  # fmt: skip


def test_the_report_says_everything_as_text(report):
    text = str(report)
    for words in ("mismatches in", "emulator (fraction_bits=24), sm_90", "dot products per second and core",
                  "dry run: the emulator compared with itself, ",
                  "processes: 1", "seed 0", "fraction_bits 24 instead of 25", "rounded RZ to f32"):  # fmt: skip
        assert words in text
    assert "GPU" not in text.split("mismatch 1 of")[0], "no GPU took part"


def test_the_report_as_json_holds_the_counts_and_the_rows(report, tmp_path):
    report.save(tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text())
    assert data["dot_products"] == sum(x["dot_products"] for x in data["counts"])
    assert data["mismatches"] == report.mismatches
    assert not data["ok"]
    assert set(data["timing"]) == {"elapsed", "rate", "emulated_per_core", "device_share", "workers_busy", "seconds"}
    assert [x["test_row"] for x in data["findings"]] == [x["test_row"] for x in report.findings]


def test_the_page_needs_nothing_else_and_is_well_formed(report, tmp_path):
    from html.parser import HTMLParser

    report.save(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert not re.search(r"<script|<link|<img|src=|href=|@import|url\(|https?:", text)
    assert "prefers-color-scheme: dark" in text
    open_tags = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            if tag not in ("meta",):
                open_tags.append(tag)

        def handle_endtag(self, tag):
            assert open_tags.pop() == tag

    Reader(convert_charrefs=True).feed(text)
    assert open_tags == []
    assert report.findings[0]["mnemonic"] in text
    assert "fraction_bits 24 instead of 25" in text


def test_the_report_of_an_unfinished_campaign_names_it_unfinished(report):
    unfinished = replace(report, counts=[{**x, "mismatches": 0} for x in report.counts], planned=10**9)
    assert "itself, not finished: " in str(unfinished)
    assert not unfinished.ok


def test_a_report_has_its_date_its_revision_and_the_version_of_cuda_core():
    made = crosscheck(F16, count=1000, workers=0, generators=["normal"], backend=Named())
    text = str(made)
    assert re.search(r"date +20\d\d-\d\d-\d\d \d\d:\d\d UTC", text)
    assert "NVIDIA H200, sm_90, driver 580.1, toolkit nvJitLink 13.0, cuda-core 1.2.3" in text
    assert "GPU          ran 0.0% of the time" in text
    assert text.startswith("no mismatch in ")
    data = json.loads(made.to_json())
    assert data["settings"]["date"] == made.settings["date"]
    assert data["settings"]["revision"] == revision()
    assert data["settings"]["wmma_emu"] == made.version == __version__
    assert data["device"]["cuda_core"] == "1.2.3"
    assert (f"(revision {revision()})" in text) == bool(revision())


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="requires a Git checkout")
def test_the_revision_is_the_head_of_the_checkout():
    head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
    assert head.startswith(revision().removesuffix("-dirty"))
    assert len(revision().removesuffix("-dirty")) >= 12


def test_the_header_is_wrapped_at_100_columns_and_no_tag_has_a_stray_space(report):
    first = str(report).split("mismatch 1 of")[0]
    assert max(map(len, first.splitlines())) <= 100
    assert not re.search(r"<\w+ +>", report.to_html())


# Rows


def test_a_mismatch_becomes_a_row_that_replays(tmp_path):
    report = crosscheck("mma.sp.m16n8k32.f32.f16.f16.f32", count=20_000, workers=0, generators=["single_bits"],
                        backend=EmulatedBackend(alter={"fraction_bits": 24}))  # fmt: skip
    file = tmp_path / "rows.json"
    assert report.save_rows(file) == len(report.findings) > 0
    assert report.save_rows(file) == 0, "rows of the file are not added again"
    for row in load_rows(file):
        expected, product, registers = replay(row)
        assert product == registers == int(row["emulated"], 16) != expected


@pytest.mark.parametrize("text", ["", "{}", '[{"a": 1}]', "[1"])
def test_a_file_that_holds_no_rows_is_refused(tmp_path, text):
    file = tmp_path / "rows.json"
    file.write_text(text)
    with pytest.raises(FragmentMismatchError, match="does not contain rows of mismatches"):
        append_rows(file, [])

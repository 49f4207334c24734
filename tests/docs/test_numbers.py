# SPDX-License-Identifier: MIT
"""The numbers on pages agree with the tables and recordings that they describe."""

import re
from pathlib import Path

import pytest

from tests.ptx.planted.mistakes import MISTAKES
from tests.ptx.planted.table import FURTHER, PLANTED
from tools.ptx_atomic_cases import atomic_cases
from tools.ptx_video_cases import spellings
from tools.recordings import load_arrays
from tools.run_nvidia_samples import LAUNCHES, SOURCES
from wmma_emu.ptx.steps.values import ALL_VIDEO_ENTRIES
from wmma_emu.scalar.approx_tables import rows
from wmma_emu.scalar.cvt_table import CVT_FORMS

ROOT = Path(__file__).parents[2]
HOPPER = sum("sm_90" in form.archs for form in CVT_FORMS.values())
TUTORIALS = sum(source.tree == "cutlass" for source in SOURCES.values())
WORDS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TABLES = ("rcp", "rsqrt", "sqrt", "ex2", "lg2", "sin", "tanh")


def recorded_kernels():
    return len(load_arrays(ROOT / "tests/data/sm90_ptx_kernels.npz")[1]["inputs"])


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("docs/features.md", f"`cvt` in all {HOPPER} forms of Hopper"),
        ("docs/reference/ptx-scalars.md", f"{len(ALL_VIDEO_ENTRIES)} spellings, 5,120 inputs of each"),
        ("docs/reference/ptx-scalars.md", f"{len(list(spellings()))} spellings, what is not there among them"),
        ("docs/evidence/README.md", f"{len(ALL_VIDEO_ENTRIES)} spellings, 5,120 inputs of each"),
        ("docs/evidence/README.md", f"{sum(len(case.rows) for case in atomic_cases())} kernels of up to 10,240 inputs"),
        ("docs/evidence/README.md", f"assembled by the driver | {recorded_kernels()} launches, each twice"),
        (
            "docs/evidence/README.md",
            f"synccheck | {recorded_kernels()} launches, each twice, and {len(PLANTED) - len(FURTHER)}",
        ),
        (
            "docs/evidence/planted-bugs-2026-11-23.md",
            f"{len(PLANTED)} kernels of `tests/ptx/planted/`, of {len(MISTAKES)}",
        ),
        ("docs/evidence/README.md", f"{WORDS[TUTORIALS]} of CuTe's tutorials, from the reader's copies"),
        ("docs/evidence/README.md", f"from the reader's copies | {len(LAUNCHES)} launches, every byte"),
        ("docs/explanation/approximate-functions.md", f"All {sum(len(rows(x)) for x in TABLES)} rows"),
    ],
)
def test_a_page_gives_the_number(page, sentence):
    assert sentence in " ".join((ROOT / page).read_text(encoding="utf-8").split())


def test_the_table_of_the_samples_has_every_launch():
    page = (ROOT / "docs/how-to/run-nvidia-samples.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| (\w+) \| (\w+)(, [NT]+)? \| [\d,]+ \|", page, re.MULTILINE)
    assert sorted((source, kernel) for source, kernel, _ in found) == sorted((x.source, x.kernel) for x in LAUNCHES)
    known = {x.source for x in LAUNCHES if x.known}
    assert f"In the other {sum(x.source not in known for x in LAUNCHES)} launches nothing is found." in page

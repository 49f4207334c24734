# SPDX-License-Identifier: MIT
"""WMMA fragments against what a GPU answered, element by element."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from wmma_emu.instructions.arch import ARCHS
from wmma_emu.layouts import fragment_layout

DATA = Path(__file__).parents[1] / "data"
FILE = "sm90_wmma_layouts.npz"

pytestmark = pytest.mark.vectors


def recorded():
    """Every fragment's arguments, its recorded coordinates as (element, lane, 2), and its num_elements."""
    arrays = np.load(DATA / FILE)
    stored = {key: key for key in arrays.files if key.startswith("layout|")}
    stored |= {str(key): str(key).replace("col_major", "row_major") for key in arrays["same_as_row_major"]}
    for key, file_key in stored.items():
        if key.endswith("|num_elements"):
            continue
        _, use, shape, multiplicands, accumulator, memory_layout = key.split("|")
        m, n, k = (int(x) for x in re.findall("[0-9]+", shape))
        fmt = accumulator or multiplicands
        memory_layout = None if use == "accumulator" else memory_layout.removesuffix("_major")
        count = int(arrays[stored[f"{key}|num_elements"]][0])
        yield (use, m, n, k, fmt, memory_layout), arrays[file_key].transpose(1, 0, 2), count


def test_the_recording_is_the_one_whose_source_is_given():
    source = json.loads((DATA / "sources.json").read_text())[FILE]
    assert hashlib.sha256((DATA / FILE).read_bytes()).hexdigest() == source["sha256"]
    assert source["gpu"] and source["driver"] and source["date"] and source["generator"]


def test_every_fragment_of_hopper_equals_the_recording():
    compared = []
    for arguments, coords, num_elements in recorded():
        layout = fragment_layout(*arguments, "sm_90")
        assert np.array_equal(layout.coords, coords), arguments
        assert layout.num_elements == num_elements, arguments
        assert layout.status == "measured"
        compared.append(arguments)
    assert {use for use, *_ in compared} == {"matrix_a", "matrix_b", "accumulator"}
    assert {fmt for *_, fmt, _ in compared} == set("f16 bf16 tf32 f64 s8 u8 s4 u4 b1 f32 s32".split())


@pytest.mark.parametrize("arch", [x for x, row in ARCHS.items() if row.number >= 80 and x != "sm_90"])
def test_chips_since_ampere_are_taken_to_have_hoppers_fragments(arch):
    for arguments, coords, _ in recorded():
        layout = fragment_layout(*arguments, arch)
        assert np.array_equal(layout.coords, coords), arguments
        assert layout.status == "inferred"


def test_turing_differs_from_hopper_in_the_integer_m8n32k16_accumulator_alone():
    different = set()
    for arguments, coords, _ in recorded():
        use, m, n, k, fmt, _ = arguments
        if fmt in ("bf16", "tf32", "f64") or (m, n, k) == (16, 16, 8):
            continue
        if not np.array_equal(fragment_layout(*arguments, "sm_75").coords, coords):
            different.add((use, m, n, k, fmt))
    assert different == {("accumulator", 8, 32, 16, "s32")}

# SPDX-License-Identifier: MIT
"""Published dot products of eight GPUs against the emulator, and the tools that cut and check them."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from tools import check_dot_products as tool
from tools import sample_dot_products
from tools.recordings import load_arrays
from wmma_emu.formats import format_of

DATA = Path(__file__).parents[1] / "data"
FILE = DATA / "recorded_dot_products.npz"


@pytest.mark.vectors
@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
def test_every_committed_dot_product_has_the_recorded_bits():
    arrays, _ = load_arrays(FILE)
    results = list(tool.check(arrays, "numpy"))
    assert {x.gpu for x in results} == set(tool.ARCHS)
    assert sum(x.outputs for x in results) > 10_000
    assert [x for x in results if x.mismatches] == []


def test_the_committed_file_is_the_one_whose_source_is_given():
    source = json.loads((DATA / "sources.json").read_text())[FILE.name]
    assert hashlib.sha256(FILE.read_bytes()).hexdigest() == source["sha256"]
    assert (DATA / source["licence"].split(", ")[1]).read_text().startswith("BSD 2-Clause License")


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
def test_one_flipped_bit_is_found():
    arrays, _ = load_arrays(FILE)
    arrays = {key: x for key, x in arrays.items() if key.startswith("H200|tf32")}
    arrays["H200|tf32|D_fp32"] = arrays["H200|tf32|D_fp32"].copy()
    arrays["H200|tf32|D_fp32"][77] ^= 1
    assert [x.mismatches for x in tool.check(arrays, "numpy")] == [1, 1, 1, 1]


def test_a_sample_has_patterns_of_the_formats_and_its_licence(tmp_path):
    full, _ = load_arrays(FILE)
    f32 = format_of("f32")
    widened = {}
    for key, array in full.items():
        _, name, kind = key.split("|")
        fmt = format_of({"C": "f32", "D_fp32": "f32", "D_fp16": "f16"}.get(kind) or tool.FORMATS[name])
        widened[key] = tool.convert(array, fmt, f32)
    np.savez(tmp_path / "full.npz", **widened)
    (tmp_path / "full.LICENCE").write_text("a licence")
    sample_dot_products.main([str(tmp_path / "full.npz"), "--rows", "3", "--out", str(tmp_path / "cut.npz")])
    cut, metadata = load_arrays(tmp_path / "cut.npz")
    assert metadata == {"rows": 3}
    assert cut["V100|fp16|A"].dtype == np.uint16 and cut["Ada|E4M3|A"].dtype == np.uint8
    assert all(np.array_equal(cut[key], full[key][:3]) for key in full)
    assert (tmp_path / "cut.LICENCE").read_text() == "a licence"


def test_a_pattern_that_the_format_does_not_have_is_refused():
    with pytest.raises(ValueError, match="not an f16 number"):
        tool.patterns(np.array([0x3F800001], np.uint32), format_of("f16"))


def test_vectors_and_scalars_land_where_element_i_i_is_their_product():
    rows = np.arange(1, 7, dtype=np.uint8).reshape(3, 2)
    assert tool.tiles(rows, 2, (2, 4)).tolist() == [[[1, 2, 0, 0], [3, 4, 0, 0]], [[5, 6, 0, 0], [0, 0, 0, 0]]]
    assert tool.diagonals(rows[:, 0], 2, (2, 2)).tolist() == [[[1, 0], [0, 3]], [[5, 0], [0, 0]]]

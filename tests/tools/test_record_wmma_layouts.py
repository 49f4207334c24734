# SPDX-License-Identifier: MIT
"""Recording WMMA layouts: element numbers through memory and lanes and back, with a table instead of a GPU."""

from pathlib import Path

import numpy as np
import pytest

from tools import record_wmma_layouts as tool
from tools.recordings import differences

COMMITTED = Path(__file__).parents[1] / "data" / "sm90_wmma_layouts.npz"


def hand_out(fragments, tables):
    """Do what `load_matrix_sync` does by the tables: a stand-in for the GPU."""
    by_kernel = {x.kernel: x for x in fragments}

    def run(kernel, inputs, shape, dtype, ldm):
        fragment = by_kernel[kernel]
        width = tool._BITS[fragment.element]
        bits = np.unpackbits(inputs[0].reshape(-1).view(np.uint8), bitorder="little").reshape(-1, width)
        row, col = np.moveaxis(tables[fragment.key].astype(int), -1, 0)
        at = row * ldm + col if fragment.is_row_major else col * ldm + row
        x = np.packbits(bits[at].reshape(32, -1), axis=1, bitorder="little")
        out = np.zeros(shape, dtype)
        out[:2] = tables[f"{fragment.key}|num_elements"]
        out[2 : 2 + x.size // 4] = np.ascontiguousarray(x).view(np.uint32).T.reshape(-1)
        return out

    return run


def test_what_is_probed_by_the_committed_tables_are_the_committed_tables(tmp_path):
    fragments = tool.fragments(90)
    run = hand_out(fragments, tool.load(COMMITTED))
    tool.save(tmp_path / "probed.npz", {x.key: tool.probe(x, run) for x in fragments})
    assert differences(tool.load(tmp_path / "probed.npz"), tool.load(COMMITTED)) == []
    with np.load(tmp_path / "probed.npz") as probed, np.load(COMMITTED) as committed:
        assert set(probed.files) == set(committed.files)


def test_a_different_table_is_noticed(tmp_path):
    tables = tool.load(COMMITTED)
    key = "layout|matrix_a|m16n16k16|f16||row_major"
    tables[key] = tables[key][::-1]
    np.savez(tmp_path / "other.npz", **tables)
    assert differences(tool.load(tmp_path / "other.npz"), tool.load(COMMITTED)) == [key]


def test_older_chips_have_fewer_fragments():
    formats = {x: {f.multiplicands for f in tool.fragments(x)} for x in (70, 72, 75, 80)}
    assert formats[70] == {"f16"}
    assert formats[72] == {"f16", "s8", "u8"}
    assert formats[75] == {"f16", "s8", "u8", "s4", "u4", "b1"}
    assert formats[80] == {*formats[75], "bf16", "tf32", "f64"} and tool.fragments(80) == tool.fragments(90)


def test_a_number_that_no_element_has_is_refused():
    fragment = tool.Fragment("matrix_a", 8, 8, 4, "f64", "", "row_major")

    def run(kernel, inputs, shape, dtype, ldm):
        out = np.full(shape, 99, dtype)
        out[:2] = 1, 8
        return out

    with pytest.raises(ValueError, match="no element of the matrix has"):
        tool.probe(fragment, run)


def test_strides_are_at_least_sixteen_bytes():
    for fragment in tool.fragments(90):
        assert fragment.ldm * tool._BITS[fragment.element] >= 128
        image = tool.memory_image(fragment, 0)
        assert image.nbytes * 8 % (fragment.ldm * tool._BITS[fragment.element]) == 0

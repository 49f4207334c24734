# SPDX-License-Identifier: MIT
"""Recordings of the PTX kernels: what is stored of an output, and when a recording is refused."""

from pathlib import Path

import numpy as np
import pytest

from examples.ptx import texts
from examples.ptx.cases import CASES
from examples.ptx.texts import TEXTS, compiled
from tools.build_example_ptx import without_paths
from tools.record_ptx_kernels import kept, load, parameter_types

FILE = Path(__file__).parents[1] / "data" / "sm90_ptx_kernels.npz"


def test_a_small_output_is_stored_whole_and_as_bits():
    output = np.array([[1.0, -0.0]], np.float32)
    assert kept(output).keys() == {"whole"}
    np.testing.assert_array_equal(kept(output)["whole"], np.array([[0x3F800000, 0x80000000]], np.uint32))


def test_a_large_output_is_stored_as_a_hash_and_some_rows():
    output = np.arange(512 * 512, dtype=np.uint16).reshape(512, 512)
    stored = kept(output)
    assert stored.keys() == {"hash", "rows"}
    np.testing.assert_array_equal(stored["rows"], output[::64])
    output[5, 5] += 1  # in no row that is stored
    assert kept(output)["hash"] != stored["hash"]


def test_parameter_types_are_read_from_the_text():
    assert parameter_types(compiled("naive_wmma"), "naive_wmma") == ["u64"] * 3 + ["u32"] * 3
    assert parameter_types(compiled("functions"), "structures") == ["u64"] * 4 + ["b8", "u32"]
    with pytest.raises(ValueError, match="no kernel nothing"):
        parameter_types(compiled("naive_wmma"), "nothing")


def test_a_text_that_changed_since_the_recording_is_refused(tmp_path, monkeypatch):
    (tmp_path / "compiled").mkdir()
    for name in TEXTS:
        end = "// a comment\n" if name == "bits" else ""
        (tmp_path / "compiled" / f"{name}.ptx").write_text(compiled(name) + end, encoding="utf-8")
    monkeypatch.setattr(texts, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match=r"bits\.ptx is no longer the text that was recorded"):
        load(FILE)


def test_inputs_that_changed_since_the_recording_are_refused(monkeypatch):
    monkeypatch.setitem(CASES, "votes", CASES["votes"]._replace(arguments=lambda rng: (np.zeros(1),)))
    with pytest.raises(ValueError, match=r"inputs of votes are no longer those of the recording"):
        load(FILE)


def test_every_case_draws_the_same_arguments_again_and_others_from_another_seed():
    for case in CASES.values():
        one, same, other = case.draw(1), case.draw(1), case.draw(2)
        arrays = [i for i, x in enumerate(one) if isinstance(x, np.ndarray)]
        assert all(one[i].tobytes() == same[i].tobytes() for i in arrays)
        inputs = [i for i in arrays if i not in case.outputs and case.name != "last_block"]
        assert not inputs or any(one[i].tobytes() != other[i].tobytes() for i in inputs)


def test_folders_are_cut_out_of_a_text():
    text = '.version 9.0\n\t.file\t1 "/somewhere/else/kernel.cu", 1700000000, 512  \n\tret;   \n\n'
    assert without_paths(text) == '.version 9.0\n\t.file\t1 "kernel.cu"\n\tret;\n'

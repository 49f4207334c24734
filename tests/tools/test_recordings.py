# SPDX-License-Identifier: MIT
"""The common parts of recording scripts: the arrays that differ, and the exit status."""

import numpy as np
import pytest

from tools.recordings import compare, differences, recording_parser, save_arrays

ONE = {"a": np.array([0.0, np.nan], np.float32), "b": np.arange(4, dtype=np.int8)}


@pytest.mark.parametrize(
    "array",
    [
        np.array([-0.0, np.nan], np.float32),
        np.array([0, 0xFFC00000], np.uint32).view(np.float32),
        ONE["a"].view(np.uint32),
        ONE["a"].astype(np.float64),
        np.array([[0.0, np.nan]], np.float32),
        np.array([0.0], np.float32),
    ],
)
def test_any_bit_the_dtype_and_the_shape_make_a_difference(array):
    assert differences(ONE, {key: x.copy() for key, x in ONE.items()}) == []
    assert differences(ONE, ONE | {"a": array}) == differences(ONE | {"a": array}, ONE) == ["a"]


def test_keys_that_one_side_lacks_differ():
    assert differences(ONE, {"b": ONE["b"], "c": ONE["b"]}) == ["a", "c"]


def test_the_exit_status_says_whether_the_file_holds_the_same(tmp_path, capsys):
    path = tmp_path / "one.npz"
    save_arrays(path, ONE, seed=1)
    assert compare({}, None) == 0 and capsys.readouterr().out == ""
    assert compare(ONE, path) == 0 and capsys.readouterr().out.startswith(f"0 arrays differ from {path}")
    assert compare(ONE | {"b": ONE["b"] + 1}, path) == 1
    assert capsys.readouterr().out == f"1 arrays differ from {path}: b\n"
    assert compare(ONE, path, lambda path: {"a": ONE["a"]}) == 1


def test_the_file_to_write_must_be_named(tmp_path, capsys):
    given = recording_parser("text").parse_args(["--out", str(tmp_path / "x.npz")])
    assert (given.out, given.compare) == (tmp_path / "x.npz", None)
    with pytest.raises(SystemExit):
        recording_parser("text").parse_args([])
    assert "--out" in capsys.readouterr().err

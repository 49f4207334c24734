# SPDX-License-Identifier: MIT
"""Recording cuBLAS: inputs, file and comparison, with the emulator in place of the library."""

import zlib

import numpy as np
import pytest

from tools import check_cublas, record_cublas
from tools.cublas_cases import CASES, Case, inputs
from tools.recordings import load_arrays, save_arrays
from wmma_emu.formats import decode, format_of

SMALL = tuple(x for x in CASES if x.m * x.n * x.k <= 64**3)


@pytest.fixture
def file(tmp_path):
    arrays = record_cublas.record(SMALL, 1, lambda case, a, b: check_cublas.emulate(case, 1))
    path = tmp_path / "cublas.npz"
    record_cublas._save(path, arrays, 1, {"gpu": "none"}, {})
    return path


def test_keys_are_distinct():
    assert len({x.key for x in CASES}) == len(CASES) == 34


def test_inputs_come_out_of_the_seed_alike_for_ever():
    a, b = inputs(Case("bf16", 33, 65, 130), seed=1)
    assert a.shape == (33, 130) and b.shape == (130, 65)
    assert [zlib.crc32(x.astype("<u2").tobytes()) for x in (a, b)] == [0x29ECCF0C, 0xF0F17A87]


def test_inputs_have_unit_scale_and_no_specials():
    for fmt in ("f16", "bf16"):
        a, _ = inputs(Case(fmt, 256, 128, 512), seed=1)
        values = decode(a, format_of(fmt))
        assert np.isfinite(values).all()
        assert 1.1 < values.std() < 1.2 and abs(values.mean()) < 0.02


def test_a_recording_of_the_emulator_equals_the_emulator(file, capsys):
    assert check_cublas.main([str(file)]) == 0
    assert f"{len(SMALL)} products, 0 differ that should be equal" in capsys.readouterr().out


@pytest.mark.parametrize("part", ["rows", "corner"])
def test_a_difference_is_an_error_only_where_equality_is_expected(file, tmp_path, part, capsys):
    arrays, metadata = load_arrays(file)
    for case in SMALL:
        changed = arrays[f"{case.key}|{part}"].copy()
        changed.reshape(-1)[0] ^= 1
        save_arrays(tmp_path / "changed.npz", arrays | {f"{case.key}|{part}": changed}, **metadata)
        assert check_cublas.main([str(tmp_path / "changed.npz")]) == 1
    assert "DIFFERS" in capsys.readouterr().out


def test_products_known_to_differ_are_reported_and_no_error(tmp_path, capsys):
    case = next(x for x in CASES if not x.expected_equal)
    arrays = {
        f"{case.key}|rows": np.zeros(case.m, np.uint32),
        f"{case.key}|corner": np.zeros((16, 16), np.uint16),
    }
    save_arrays(tmp_path / "known.npz", arrays, version=1, seed=1)
    assert check_cublas.main([str(tmp_path / "known.npz")]) == 0
    assert f"differs, as known: {case.why_not}" in capsys.readouterr().out


def test_inputs_of_another_version_are_refused(file, tmp_path):
    arrays, metadata = load_arrays(file)
    with pytest.raises(ValueError, match="version 0 of the inputs"):
        list(check_cublas.check(arrays, metadata | {"version": 0}))

# SPDX-License-Identifier: MIT
"""Recording cuBLAS: inputs, file and comparison, with the emulator instead of the library."""

import re
import zlib

import numpy as np
import pytest

from tools import check_cublas, fit_k_order, probe_k_order, record_cublas
from tools.cublas_cases import CASES, CublasProduct, addend, inputs
from tools.recordings import load_arrays, save_arrays
from wmma_emu.formats import decode, format_of
from wmma_emu.formats.dtypes import dtype_of
from wmma_emu.gemm import KOrder, gemm

SMALL = tuple(x for x in CASES if x.m * x.n * x.k <= 64**3 and x.preset)


@pytest.fixture
def file(tmp_path):
    arrays = record_cublas.record(SMALL, 1, lambda case, seed: check_cublas.emulate(case, seed)[0])
    path = tmp_path / "cublas.npz"
    record_cublas._save(path, arrays, 1, {"gpu": "none"}, {})
    return path


def test_keys_are_distinct():
    assert len({x.key for x in CASES}) == len(CASES)


def test_inputs_of_a_seed_never_change():
    a, b = inputs(CublasProduct("bf16", 33, 65, 130), seed=1)
    assert a.shape == (33, 130) and b.shape == (130, 65)
    assert [zlib.crc32(x.astype("<u2").tobytes()) for x in (a, b)] == [0x29ECCF0C, 0xF0F17A87]


def test_inputs_have_unit_scale_and_no_specials():
    for fmt in ("f16", "bf16"):
        a, _ = inputs(CublasProduct(fmt, 256, 128, 512), seed=1)
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


def test_what_no_preset_claims_is_reported_and_no_error(tmp_path, capsys):
    case = next(x for x in CASES if not x.preset)
    arrays = {
        f"{case.key}|rows": np.zeros(case.m, np.uint32),
        f"{case.key}|corner": np.zeros((16, 16), np.uint32),
    }
    save_arrays(tmp_path / "unclaimed.npz", arrays, version=1, seed=1)
    assert check_cublas.main([str(tmp_path / "unclaimed.npz")]) == 0
    assert "differs, and no preset claims equality" in capsys.readouterr().out


def test_what_the_library_refuses_is_left_out(capsys):
    def refuse(case, seed):
        raise RuntimeError("not supported\nat all")

    assert record_cublas.record(SMALL[:1], 1, refuse) == {}
    assert capsys.readouterr().out == f"{SMALL[0].key}: refused: not supported\n"


@pytest.mark.thorough
@pytest.mark.parametrize("fmt", ["f16", "bf16"])
def test_a_c_that_cancels_leaves_the_last_digits_of_the_sum(fmt):
    case = next(x for x in CASES if x.call == "addmm cancel" and x[:4] == (fmt, 64, 128, 8192))
    A, B = (decode(x, format_of(fmt)) for x in inputs(case, 1))
    C = decode(addend(case, 1), format_of(fmt))
    assert np.array_equal(A @ B, A[:, ::-1] @ B[::-1])  # exact in float64, in any order
    assert (abs(case.alpha * (A @ B) + case.beta * C) <= abs(C) * 2.0 ** -(8 if fmt == "bf16" else 11)).all()


def test_orders_are_recovered_and_misfits_are_reported(tmp_path, capsys):
    case = next(x for x in CASES if x[:4] == ("f16", 64, 64, 136) and x.call == "matmul")
    order = KOrder(tile=32, residue="first", splits=2)
    instr = "m16n8k16.f32.f16.f16.f32"
    arrays = record_cublas.record([case], 1, lambda case, seed: fit_k_order.emulate(case, seed, instr, order))
    save_arrays(tmp_path / "one.npz", arrays, version=1, seed=1)
    assert fit_k_order.main([str(tmp_path / "one.npz")]) == 0
    assert re.search(rf"{re.escape(case.key)} +{instr} KOrder\(.*splits=2", capsys.readouterr().out)
    found = fit_k_order.fits(case, arrays[f"{case.key}|rows"], 1, first=8, most=1)
    ((instr, fit),) = found
    assert fit.ranges(136, 16) == order.ranges(136, 16)


def test_probes_show_where_a_sum_is_cut():
    case = next(x for x in CASES if x[:4] == ("bf16", 64, 64, 256) or x[:4] == ("bf16", 64, 128, 8192))
    a, b, places = probe_k_order.probe_inputs(case, pivot=0)
    A, B = (x.view(dtype_of("bf16")) for x in (a, b))
    D = gemm(A, B, out_dtype=dtype_of("bf16"), k_order=KOrder(tile=64, splits=6), arch="sm_90")
    counts = probe_k_order.survivors(case, D.view(np.uint16))
    row = int(np.argmax(places > 1408))  # in the second of the ranges, which end at 1408, 2816, ...
    assert not counts[row, : 2816 // 64].any() and counts[row, 2816 // 64 :].all()


def test_inputs_of_another_version_are_refused(file, tmp_path):
    arrays, metadata = load_arrays(file)
    with pytest.raises(ValueError, match="version 0 of the inputs"):
        list(check_cublas.check(arrays, metadata | {"version": 0}))

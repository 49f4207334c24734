# SPDX-License-Identifier: MIT
"""FP8 products with float32 scales: `wmma_emu.gemm` equals what cuBLAS returned on a Hopper GPU, row by row."""

import dataclasses
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from tools.record_cublas import row_checksums
from tools.record_scaled_mm import CASES, CORNER, VERSION, inputs
from tools.recordings import load_arrays
from wmma_emu.gemm import SCALE_ORDERS, float_scales
from wmma_emu.scalar import add

E4M3, BF16 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.bfloat16)
FILE = Path(__file__).parents[1] / "data" / "sm90_scaled_mm.npz"
ARRAYS, METADATA = load_arrays(FILE)
MEASURED = [x for x in SCALE_ORDERS if x.status == "measured"]

pytestmark = pytest.mark.vectors


def product_of(case):
    """Return the emulated result of a recorded product, as patterns."""
    given = inputs(case)
    blocks = "128" in case.a
    d = we.gemm(
        given["a"].view(E4M3), given["b"].view(E4M3), instr="wgmma.m64n8k32.f32.e4m3.e4m3", arch="h200",
        scale_a=given["scale_a"], scale_b=given["scale_b"],
        k_order=None if case.fast or blocks else we.KOrder(promote_every=4),
        bias=given["bias"].view(BF16) if case.bias else None, out_dtype=np.float32 if case.out == "f32" else BF16,
        **({"C": given["c"].view(BF16), "alpha": case.alpha, "beta": case.beta} if case.draw else {}),
    )  # fmt: skip
    return d.view(f"u{d.itemsize}")


def test_every_case_is_recorded():
    assert METADATA["version"] == VERSION
    assert {f"{case.key}|{what}" for case in CASES for what in ("rows", "corner")} == set(ARRAYS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_scales_in_float32_give_the_bits_of_the_library(case):
    bits = product_of(case)
    np.testing.assert_array_equal(bits[:CORNER, :CORNER], ARRAYS[f"{case.key}|corner"])
    np.testing.assert_array_equal(row_checksums(bits), ARRAYS[f"{case.key}|rows"])


@pytest.mark.parametrize(
    "row", [x for x in SCALE_ORDERS if x.status == "measured"], ids=lambda row: row.granularities[0]
)
@pytest.mark.parametrize("steps", ["factor", "a_first", "b_first"])
def test_every_other_order_of_multiplications_is_refuted(row, steps, monkeypatch):
    # The float32 results of each granularity: rounding to bf16 hides most of the difference.
    kinds = {"tensor": "tensor", "row": "row", "block": "128x128", "vector": "1x128"}
    [case, *_] = [x for x in CASES if x.b == kinds[row.granularities[0]] and x.out == "f32"]
    if row.granularities[0] == "vector":
        case = next(x for x in CASES if x.a == x.b == "1x128" and x.out == "f32")
    monkeypatch.setattr(float_scales, "SCALE_ORDERS", (dataclasses.replace(row, steps=steps),))
    differ = (row_checksums(product_of(case)) != ARRAYS[f"{case.key}|rows"]).mean()
    assert differ == 0 if steps == row.steps else differ == 1


@pytest.mark.parametrize("kind", ["128x128", "1x128"])
def test_a_sum_that_is_not_fused_is_refuted(kind, monkeypatch):
    case = next(x for x in CASES if x.a == "1x128" and x.b == kind and x.out == "f32")
    fused = float_scales.FloatScales._multiply_add

    def not_fused(scales, x, a, b, total):
        return add(fused(scales, x, a, b, None), total, "f32")

    monkeypatch.setattr(float_scales.FloatScales, "_multiply_add", not_fused)
    assert (row_checksums(product_of(case)) != ARRAYS[f"{case.key}|rows"]).all()


def test_rows_that_are_measured_are_those_that_are_recorded():
    assert {x.granularities for x in SCALE_ORDERS if x.status == "measured"} == {
        ("tensor",), ("row",), ("block",), ("vector",),
    }  # fmt: skip

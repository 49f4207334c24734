# SPDX-License-Identifier: MIT
"""Whole products: `wmma_emu.gemm` equals what PyTorch returned on a Hopper GPU, checked row by row."""

from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tools.check_cublas import check
from tools.cublas_cases import CASES, MODEL_CASES, inputs
from tools.record_cublas import row_checksums
from tools.recordings import load_arrays
from wmma_emu.formats.dtypes import dtype_of
from wmma_emu.gemm import PRESETS

DATA = Path(__file__).parents[1] / "data"
ARRAYS, METADATA = load_arrays(DATA / "sm90_cublas.npz")
OF_MODELS, METADATA_OF_MODELS = load_arrays(DATA / "sm90_cublas_models.npz")
PRODUCTS: dict[tuple, list] = {}
for _case in (*CASES, *MODEL_CASES):
    PRODUCTS.setdefault(_case._replace(transposed="NN", strict=True), []).append(_case)
WITH_PRESET = [
    pytest.param(product, id=product.key, marks=[pytest.mark.slow] if product.k * product.n > 2**23 else [])
    for product in PRODUCTS
    if product.preset
]

pytestmark = pytest.mark.vectors


def epilogue_of(case):
    parts = ["alpha"] if case.alpha != 1 else []
    parts += ["beta of 1" if case.beta == 1 else "beta"] if case.adds_c else []
    return " and ".join(parts + (["bias"] if case.call == "linear" else []))


def test_every_case_is_recorded():
    for cases, arrays in ((CASES, ARRAYS), (MODEL_CASES, OF_MODELS)):
        assert {f"{case.key}|{what}" for case in cases for what in ("rows", "corner")} == set(arrays)
    facts = ("seed", "version", "gpu", "torch", "cublas")
    assert [METADATA[x] for x in facts] == [METADATA_OF_MODELS[x] for x in facts]


@pytest.mark.sweep(keep=1 / 10)
@pytest.mark.parametrize("product", WITH_PRESET)
def test_a_preset_gives_the_bits_of_the_library_in_every_layout_and_mode(product):
    results = list(check(ARRAYS | OF_MODELS, METADATA, PRODUCTS[product]))
    assert len(results) == len(PRODUCTS[product])
    for result in results:
        assert result.claimed and (result.rows_differ, result.corner_differs) == (0, 0), result


def test_presets_claim_what_is_recorded_and_nothing_else():
    claims = {
        (row.name, matrices, shape, out, epilogue)
        for row in PRESETS
        for x in row.recorded
        for shape in x.shapes
        for out in row.outs
        if x.serves(out)
        for epilogue in x.epilogues
        for matrices in x.batches
    }
    recorded = {
        (x.preset, x.matrices, (x.m, x.n, x.k), x.out_format, epilogue_of(x))
        for x in (*CASES, *MODEL_CASES)
        if x.preset
    }
    assert claims == recorded


@pytest.mark.parametrize("fmt", ["f16", "bf16"])
def test_a_plain_loop_does_not_explain_a_product_whose_k_is_split(fmt):
    case = next(case for case in CASES if case[:4] == (fmt, 64, 128, 8192))
    A, B = (x.view(dtype_of(fmt)) for x in inputs(case, METADATA["seed"]))
    D = we.gemm(A, B, arch="sm_90", out_dtype=dtype_of(fmt))
    assert (row_checksums(D.view(np.uint16)) != ARRAYS[f"{case.key}|rows"]).any()


def test_a_plain_loop_does_not_explain_a_partial_tile_first():
    case = next(case for case in CASES if case[:4] == ("f16", 33, 65, 130))
    A, B = (x.view(np.float16) for x in inputs(case, METADATA["seed"]))
    D = we.gemm(A, B, arch="sm_90", out_dtype=np.float16)
    assert (row_checksums(D.view(np.uint16)) != ARRAYS[f"{case.key}|rows"]).sum() == 2


def test_float32_is_added_in_orders_that_no_preset_claims():
    cases = [case for case in CASES if not case.preset]
    assert {case.fmt for case in cases} == {"f32"}
    assert any(result.rows_differ for result in check(ARRAYS, METADATA, cases))

"""Whole products: `wmma_emu.gemm` equals what `torch.matmul` returned on a Hopper GPU, checked row by row."""

from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tools.check_cublas import check
from tools.cublas_cases import CASES, inputs
from tools.record_cublas import row_checksums
from tools.recordings import load_arrays
from wmma_emu.formats import format_of
from wmma_emu.formats.dtypes import dtype_of

FILE = Path(__file__).parents[1] / "data" / "sm90_cublas.npz"
ARRAYS, METADATA = load_arrays(FILE)
PRODUCTS: dict[tuple, list] = {}
for _case in CASES:
    PRODUCTS.setdefault(_case[:4], []).append(_case)

pytestmark = pytest.mark.vectors


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda p: "-".join(map(str, p)))
def test_gemm_equals_cublas_where_the_library_does_not_split_k(product):
    results = list(check(ARRAYS, METADATA, PRODUCTS[product]))
    assert len(results) == len(PRODUCTS[product])
    for result in results:
        if result.case.expected_equal:
            assert (result.rows_differ, result.corner_differs) == (0, 0), result


@pytest.mark.parametrize("case", [case for case in CASES if not case.expected_equal], ids=lambda case: case.key)
def test_a_product_that_the_library_adds_up_in_another_order_differs(case):
    assert [result.rows_differ > 0 for result in check(ARRAYS, METADATA, [case])] == [True]


@pytest.mark.parametrize("fmt", ["f16", "bf16"])
def test_a_k_that_is_no_multiple_of_the_tile_is_explained_by_the_partial_tile_first(fmt):
    case = next(case for case in CASES if case[:4] == (fmt, 33, 65, 130))
    dtype = dtype_of(format_of(fmt))
    A, B = (x.view(dtype) for x in inputs(case, METADATA["seed"]))
    rest = case.k % 16
    D = we.gemm(A[:, rest:], B[rest:], we.gemm(A[:, :rest], B[:rest]), out_dtype=dtype)
    np.testing.assert_array_equal(row_checksums(D.view(np.uint16)), ARRAYS[f"{case.key}|rows"])

"""Whole products: `wmma_emu.gemm` equals what `torch.matmul` returned on a Hopper GPU, checked row by row."""

from pathlib import Path

import pytest

from tools.check_cublas import check
from tools.cublas_cases import CASES
from tools.recordings import load_arrays

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


def test_a_product_whose_k_the_library_splits_differs():
    split = [case for case in CASES if case.key.startswith("f16|64x128x8192")]
    assert [result.rows_differ > 0 for result in check(ARRAYS, METADATA, split)] == [True]

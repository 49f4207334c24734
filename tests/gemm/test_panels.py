# SPDX-License-Identifier: MIT
"""Products of any size: panels of D and parts of A and B, which do not show, and bound the memory."""

import tracemalloc
from math import prod

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.gemm import accumulation, epilogue
from wmma_emu.gemm import panels as module
from wmma_emu.gemm.panels import panel_size, panels

ORDER = we.KOrder(tile=64, residue="first", splits=3)


def normal(shape, dtype=np.float16, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32).astype(dtype)


@pytest.fixture
def small_panels(monkeypatch):
    monkeypatch.setattr(module, "PANEL_BYTES", 1 << 11)
    monkeypatch.setattr(module, "_WIDTH", 8)
    monkeypatch.setattr(module, "_LONGEST", 24)


CASES = {
    "one matrix": ((70, 130), (130, 50), {}),
    "C": ((70, 130), (130, 50), {"C": normal((70, 50), np.float32)}),
    "one row": ((1, 3000), (3000, 7), {}),
    "one column": ((300, 40), (40, 1), {}),
    "a batch": ((5, 1, 9, 33), (4, 33, 6), {"C": normal((4, 9, 6), np.float32)}),
    "small matrices": ((100, 3, 20), (100, 20, 2), {}),
    "one B": ((6, 7, 9, 33), (33, 10), {}),
    "an order": ((70, 230), (230, 50), {"k_order": ORDER}),
    "promotion": ((20, 230), (230, 50), {"k_order": we.KOrder(promote_every=2), "out_dtype": np.float16}),
    "an epilogue": ((70, 130), (130, 50), {"C": normal((70, 50)), "alpha": 0.3, "beta": 0.7, "bias": normal(50)}),
}


@pytest.mark.parametrize("case", CASES)
def test_panels_do_not_show(case, monkeypatch):
    a, b, keywords = CASES[case]
    A, B = normal(a), normal(b, seed=1)
    whole = we.gemm(A, B, **keywords)
    monkeypatch.setattr(module, "PANEL_BYTES", 1 << 11)
    monkeypatch.setattr(module, "_WIDTH", 8)
    monkeypatch.setattr(module, "_LONGEST", 24)
    np.testing.assert_array_equal(we.gemm(A, B, **keywords), whole)


def test_panels_of_packed_and_sparse_matrices_do_not_show(small_panels):
    rng = np.random.default_rng(0)
    A, B = rng.integers(0, 16, (40, 70), np.uint8), rng.integers(0, 16, (70, 30), np.uint8)
    D = we.gemm(A[:, ::2] | A[:, 1::2] << 4, B[::2] | B[1::2] << 4, arch="sm_80", a_format="u4", b_format="u4")
    np.testing.assert_array_equal(D, A.astype(int) @ B)
    S = rng.integers(-100, 100, (40, 300), np.int8)
    S[:, 2::4] = S[:, 3::4] = 0
    T = rng.integers(-100, 100, (300, 30), np.int8)
    np.testing.assert_array_equal(we.gemm(S, T, instr="mma.sp.m16n8k64.s32.s8.s8.s32"), S.astype(int) @ T)


def test_what_is_wrong_with_a_sparse_a_is_found_in_all_of_it(small_panels):
    A = np.zeros((2, 1, 40, 300), np.int8)
    A[1, 0, 33, 260:264] = 1
    message = r"^row 33, columns 260 to 263 of A of matrix \(1, 0\) have 4"
    with pytest.raises(we.FragmentMismatchError, match=message):
        we.gemm(A, np.zeros((3, 300, 30), np.int8), instr="mma.sp.m16n8k64.s32.s8.s8.s32")


SHAPES = [(1, 1), (7, 1), (1, 10**6), (10**6, 1), (5000, 9000), (3, 1, 400, 20, 30), (0, 5), (5, 0), (0, 4, 4)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("k", [0, 16, 100000])
def test_panels_cover_d_once(shape, k):
    size = panel_size(shape, k, 16, 4, 2)
    seen = 0
    for index in panels(shape, size):
        lengths = [len(range(*x.indices(n))) for x, n in zip(index, shape, strict=True)]
        assert all(lengths) and prod(lengths) * 4 <= module.PANEL_BYTES
        seen += prod(lengths)
    assert seen == prod(shape)
    assert size.depth % 16 == 0 and max(size.rows, size.columns) * size.depth * 2 <= module.PANEL_BYTES


def peak_of(function):
    """Return the largest number of bytes in use, without the operands and the result."""
    tracemalloc.start()
    d = function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - d.nbytes


def no_engine(product, a, b, c, **keywords):
    """Return a D without computing a product, so that only the panels take memory."""
    return np.zeros(c.shape, product.d.storage)


@pytest.mark.parametrize(
    ("a", "b", "keywords"),
    [
        ((1000, 1000), (1000, 1000), {}),
        pytest.param((2000, 3000), (3000, 1500), {"out_dtype": np.float16}, marks=pytest.mark.slow),
        ((1000, 1000), (1000, 1000), {"k_order": we.KOrder(splits=4, tile=64, reduction="pairwise")}),
        pytest.param(
            (2000, 700), (700, 1500), {"k_order": we.KOrder(promote_every=4, tile=64, residue="first")},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            (2000, 700), (700, 1500), {"alpha": 0.3, "out_dtype": ml_dtypes.bfloat16, "bias": normal(1500)},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            (2000, 700), (700, 1500), {"C": normal((2000, 1500)), "alpha": 0.3, "beta": 0.7}, marks=pytest.mark.slow
        ),
        ((1000, 1000), (1000, 1000), {"C": normal((1000, 1000), np.float32)}),
        ((1, 1000001), (1000001, 2), {}),
        ((2000, 30, 33), (2000, 33, 40), {}),
    ],
    ids=["plain", "rounded", "split", "promoted", "bias", "C in the epilogue", "C", "long k", "batch"],
)  # fmt: skip
def test_memory_beyond_the_matrices_is_eight_panels_and_a_block_of_the_epilogue(a, b, keywords, monkeypatch):
    limit, block = 1 << 17, 1 << 10
    monkeypatch.setattr(module, "PANEL_BYTES", limit)
    monkeypatch.setattr(epilogue, "_BLOCK", block)
    monkeypatch.setattr(accumulation, "matmul", no_engine)
    A, B = normal(a), normal(b, seed=1)
    bound = 8 * limit + 256 * block + 2**19  # the last for the blocks of a sum in float32
    assert A.nbytes > bound and B.nbytes > bound
    we.gemm(A, B, **keywords)  # imports, which take memory too
    assert peak_of(lambda: we.gemm(A, B, **keywords)) < bound


@pytest.mark.slow
def test_memory_stays_below_half_a_gibibyte_beyond_the_matrices():
    A, B, C = normal((6144, 4100)), normal((4100, 6144), seed=1), normal((6144, 6144), seed=2)
    order = we.KOrder(tile=64, splits=2)
    found = peak_of(lambda: we.gemm(A, B, C, alpha=0.3, beta=0.7, out_dtype=np.float16, k_order=order))
    assert found < 2**29


@pytest.mark.parametrize(
    "m, k, n", [(0, 5, 3), (3, 5, 0), (3, 0, 2), (0, 0, 0), (1, 1, 1), (13, 37, 11), (127, 131, 3)]
)
def test_hostile_sizes_with_an_epilogue_and_an_order(m, k, n):
    A, B, C = normal((m, k)), normal((k, n), seed=1), normal((m, n), seed=2)
    D = we.gemm(A, B, C, alpha=0.5, beta=2, bias=np.zeros(n, np.float16), k_order=we.KOrder(tile=64, residue="first"))
    assert D.shape == (m, n) and D.dtype == np.float32
    if k == 0:
        np.testing.assert_array_equal(D, 2 * C.astype(np.float32))
    elif m * n:
        row = we.gemm(A[:1], B, C[:1], alpha=0.5, beta=2, k_order=we.KOrder(tile=64, residue="first"))
        np.testing.assert_array_equal(D[:1], row)


def test_strided_read_only_and_foreign_byte_order_inputs_are_left_alone(small_panels):
    A, B, C = normal((40, 400)), normal((30, 400), seed=1), normal((30, 40), np.float32, 2)
    views = A[::2, ::-2], B.T[::2].astype(">f2"), C.T[::2].astype(">f4")
    for x in (A, B, C):
        x.flags.writeable = False
    before = [x.tobytes() for x in (A, B, C)]
    D = we.gemm(*views, beta=0.7, alpha=0.3, k_order=ORDER)
    plain = [np.ascontiguousarray(x, x.dtype.newbyteorder("=")) for x in views]
    np.testing.assert_array_equal(D, we.gemm(*plain, beta=0.7, alpha=0.3, k_order=ORDER))
    assert [x.tobytes() for x in (A, B, C)] == before


def test_nan_everywhere_stays_nan_through_panels_orders_and_epilogues(small_panels):
    A, B = np.full((40, 200), np.nan, np.float16), normal((200, 30))
    D = we.gemm(A, B, k_order=ORDER, alpha=2, bias=np.ones(30, np.float32))
    assert (D.view(np.uint32) == 0x7FFF_FFFF).all()

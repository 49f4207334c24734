# SPDX-License-Identifier: MIT
"""Rows of a Triton product in other batches and orders: atomic additions of a split K, a configuration by the batch."""

import numpy as np
import pytest

import wmma_emu as we

pytest.importorskip("triton")
import triton
import triton.language as tl

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")]


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


@triton.jit
def product(a, b, c, M, K, N: tl.constexpr, SPLIT: tl.constexpr):
    m, n = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, N)
    total = tl.zeros((16, N), tl.float32)
    for first in range(tl.program_id(1) * 16, K, 16 * SPLIT):
        k = first + tl.arange(0, 16)
        x = tl.load(a + m[:, None] * K + k, mask=m[:, None] < M, other=0)
        total = tl.dot(x, tl.load(b + k[:, None] * N + n), total)
    if SPLIT == 1:
        tl.store(c + m[:, None] * N + n, total, mask=m[:, None] < M)
    else:
        tl.atomic_add(c + m[:, None] * N + n, total, mask=m[:, None] < M)


DRAWN = np.random.default_rng(0).standard_normal((32 + 16, 64)).astype(np.float16)
A, B = DRAWN[:32], np.ascontiguousarray(DRAWN[32:].T)


def run(rows, split):
    c = np.zeros((len(rows), 16), np.float32)
    product[(triton.cdiv(len(rows), 16), split)](A[rows], B, c, len(rows), 64, N=16, SPLIT=split)
    return c


@pytest.fixture
def emulation():
    with we.emulate("a100", findings="raise", languages=["Triton"]) as session:
        yield session


def test_rows_of_a_tile_are_invariant(emulation):
    report = we.ptx.invariance(lambda rows: run(rows, 1), rows=32, batches=[3, [20, 1]], schedules=1)
    assert report.is_invariant, report
    assert emulation.launches


def test_the_atomic_additions_of_a_split_k_are_named_with_their_line(emulation):
    report = we.ptx.invariance(lambda rows: run(rows, 4), rows=16, batches=[2], schedules=2)
    assert report.is_batch_invariant
    assert not report.is_deterministic
    first = report.changes[0].first
    assert first.kind == "order of atomic operations"
    assert first.place.source.file == __file__
    assert "atom" in first.text
    assert first.said[0].startswith("4 atomic operations make the element")


def test_a_configuration_that_the_batch_chooses_is_another_kernel(emulation):
    report = we.ptx.invariance(lambda rows: run(rows, 4 if len(rows) < 16 else 1), rows=16, batches=[2], schedules=0)
    (change,) = report.changes
    assert change.first.kind == "another kernel"
    assert "product[(1, 4, 1), (128, 1, 1)]" in change.first.said[0]
    assert "SPLIT=4" in change.first.said[0]
    assert "SPLIT=1" in change.first.said[1]
    # The first part ends after one of four instructions: 16 of 64 k.
    assert "the 1 operation before it has equal results" in change.first.said

# SPDX-License-Identifier: MIT
"""A product of tiles in a pipeline of two stages: one warp copies with tensor maps, four warps multiply."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu import wmma

TILE, DEPTH, STAGES = 32, 32, 2


def product(t, A, B, D, steps, bug=""):
    a_tiles = t.shared((STAGES, TILE, DEPTH), np.float16)
    b_tiles = t.shared((STAGES, DEPTH, TILE), np.float16)
    d_tile = t.shared((TILE, TILE), np.float32)
    full, empty = t.mbarrier(STAGES), t.mbarrier(STAGES)
    row, column = t.blockIdx.y * TILE, t.blockIdx.x * TILE
    if t.warp_id == 0:
        for stage in range(STAGES):
            full[stage].init(1)
            empty[stage].init(4)
    yield t.syncthreads()
    if t.warp_id == 4:
        for step in range(steps):
            stage, turn = step % STAGES, step // STAGES
            if turn and bug != "empty":
                yield empty[stage].wait((turn - 1) % 2)
            full[stage].arrive_expect_tx(t.box_bytes(A) + t.box_bytes(B))
            t.load_tensor(a_tiles[stage], A, (row, step * DEPTH), full[stage])
            t.load_tensor(b_tiles[stage], B, (step * DEPTH, column), full[stage])
        return
    i, j = 16 * (t.warp_id // 2), 16 * (t.warp_id % 2)
    a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    b = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.row_major)
    c = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
    wmma.fill_fragment(c, 0.0)
    for step in range(steps):
        stage, turn = step % STAGES, step // STAGES
        yield full[stage].wait(0 if bug == "parity" else turn % 2)
        for k in range(0, DEPTH, 16):
            wmma.load_matrix_sync(a, a_tiles[stage][i:, k:])
            wmma.load_matrix_sync(b, b_tiles[stage][k:, j:])
            wmma.mma_sync(c, a, b, c)
        t.fence_proxy_async()  # before the next copy overwrites what was read
        empty[stage].arrive()
    wmma.store_matrix_sync(d_tile[i:, j:], c, TILE, wmma.mem_row_major)
    t.fence_proxy_async()
    yield t.barrier_sync(1, 128)
    if t.warp_id == 0:
        t.store_tensor(D, (row, column), d_tile)
        t.commit_group()
        t.wait_group(0)


def launched(bug="", depth=160):
    rng = np.random.default_rng(1)
    A, B = (rng.standard_normal(shape).astype(np.float16) for shape in ((64, depth), (depth, 96)))
    D = np.zeros((64, 96), np.float32)
    maps = we.ptx.tensor_map(A, (TILE, DEPTH)), we.ptx.tensor_map(B, (DEPTH, TILE)), we.ptx.tensor_map(D, (TILE, TILE))
    report = we.kernel(findings="report")(product)[(3, 2), 160](*maps, depth // DEPTH, bug)
    return report, D, we.gemm(A, B, instr="wmma.mma.m16n16k16.f32.f32")


def test_the_product_has_the_bits_of_gemm_and_no_findings():
    report, D, expected = launched()
    assert np.array_equal(D.view(np.uint32), expected.view(np.uint32))
    assert report.findings == () and report.completed


@pytest.mark.parametrize("bug", ["empty", "parity"])
def test_a_missing_wait_for_a_stage_is_found(bug):
    try:
        report, _, _ = launched(bug)
    except we.errors.DivergenceError as error:
        report = error.report
    assert {x.kind for x in report.errors} & {"missing wait", "race"}, str(report)
    assert any(x.variable in ("a_tiles", "b_tiles") for x in report.errors)

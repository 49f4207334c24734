# SPDX-License-Identifier: MIT
"""A grouped GEMM in Triton with tables of addresses, compiled for each launch, on several chips."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.ptx import Module, TritonTensor, empty

pytest.importorskip("triton")

from tests.ptx.triton_kernels import add_twice, product
from tests.ptx.triton_pointers import grouped_gemm

pytestmark = pytest.mark.thorough


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


def groups(sizes, seed=0):
    rng = np.random.default_rng(seed)
    a, b = ([rng.standard_normal((x[i], x[j])).astype(np.float16) for x in sizes] for i, j in ((0, 2), (2, 1)))
    return a, b, [empty((m, n), np.float32) for m, n, _ in sizes]


def addresses_of(*columns) -> np.ndarray:
    rows = zip(*columns, strict=True)
    return np.array([[TritonTensor(x, "host").data_ptr() for x in row] for row in rows], np.uint64)


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
@pytest.mark.parametrize(("arch", "block", "warps"), [("sm_80", 32, 4), ("sm_90", 64, 4), ("sm_120", 32, 2)])
def test_a_grouped_gemm_has_the_bits_of_single_products_and_no_findings(arch, block, warps):
    sizes = np.array([[block] * 3, [2 * block, block, 3 * block], [block, 2 * block, block]], np.int32)
    a, b, d = groups(sizes)
    module = Module.from_triton(grouped_gemm, arch=arch, addresses="host", findings="raise")
    report = module.kernel[2](
        addresses_of(a, b, d), sizes, len(sizes), BLOCK=block, PROGRAMS=2, num_warps=warps, reachable=[*a, *b, *d],
    )  # fmt: skip
    assert not report.findings and not report.assumed
    single = Module.from_triton(product, arch=arch, findings="raise")
    alone = np.zeros((block, block), np.float32)
    single.kernel[1](a[0], b[0], alone, block, N=block, num_warps=warps)
    assert np.array_equal(np.asarray(d[0]).view(np.uint32), alone.view(np.uint32))
    for x, y, found in zip(a, b, d, strict=True):
        expected = we.gemm(x, y, arch=arch)
        assert np.array_equal(np.asarray(found).view(np.uint32), np.asarray(expected, np.float32).view(np.uint32))


@pytest.mark.parametrize("schedules", [1, 4])
def test_ragged_groups_in_any_order_of_warps(schedules):
    sizes = np.array([[48, 40, 64], [5, 70, 20], [1, 1, 1], [33, 32, 31]], np.int32)
    a, b, d = groups(sizes, 2)
    module = Module.from_triton(grouped_gemm, arch="sm_80", addresses="host", findings="raise", schedules=schedules)
    module.kernel[3](addresses_of(a, b, d), sizes, 4, BLOCK=32, PROGRAMS=3, num_warps=2, reachable=[*a, *b, *d])
    for x, y, found in zip(a, b, d, strict=True):
        more = -x.shape[1] % 32
        expected = we.gemm(np.pad(x, ((0, 0), (0, more))), np.pad(y, ((0, more), (0, 0))), arch="sm_80")
        assert np.array_equal(np.asarray(found).view(np.uint32), expected.view(np.uint32))


def test_a_matrix_that_was_left_out_is_the_only_finding():
    sizes = np.array([[32, 32, 32]] * 3, np.int32)
    a, b, d = groups(sizes, 3)
    module = Module.from_triton(grouped_gemm, arch="sm_80", addresses="host", findings="report")
    report = module.kernel[1](
        addresses_of(a, b, d), sizes, 3, BLOCK=32, PROGRAMS=1, reachable=[*a[:2], *b, *d], num_warps=4
    )
    assert {f.kind for f in report.findings} == {"out of bounds"}
    assert all("reachable=[...]" in f.message for f in report.findings)


def test_without_the_option_every_pointer_of_the_table_is_out_of_bounds():
    sizes = np.array([[32, 32, 32]], np.int32)
    a, b, d = groups(sizes, 4)
    module = Module.from_triton(grouped_gemm, arch="sm_80", findings="report")
    report = module.kernel[1](addresses_of(a, b, d), sizes, 1, BLOCK=32, PROGRAMS=1)
    assert any('launch with addresses="host"' in f.message for f in report.findings)


def test_the_alignment_of_the_host_decides_what_triton_assumes():
    whole = empty(80, np.float32)
    whole[:] = 1
    x = np.frombuffer(np.asarray(whole).data[1:65], np.float32)  # a buffer that begins 4 bytes past a multiple of 16
    assert TritonTensor(x).data_ptr() % 16 == 0 and TritonTensor(x, "host").data_ptr() == x.ctypes.data
    y, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    module = Module.from_triton(add_twice, arch="sm_80", findings="raise")
    module.kernel[1](x, y, out, 64, BLOCK=64, addresses="host")
    module.kernel[1](x, y, out, 64, BLOCK=64)
    assert (out == 3).all() and len(module.variants) == 2

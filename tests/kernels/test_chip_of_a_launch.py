# SPDX-License-Identifier: MIT
"""Fragments and instructions that a kernel makes without naming a chip use the chip of the launch."""

import threading

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu import wmma
from wmma_emu.instructions import ARCHS, default_arch

MMA = "wmma.mma.m16n16k16.f32.f32"


def accumulator(**chip):
    return wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32, **chip)


def product(t, A, B, D):
    a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    b = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.row_major)
    c = accumulator()
    wmma.fill_fragment(c, 0.0)
    wmma.load_matrix_sync(a, A)
    wmma.load_matrix_sync(b, B)
    wmma.mma_sync(c, a, b, c)
    wmma.store_matrix_sync(D, c, 16, wmma.mem_row_major)


def test_fragments_that_name_no_chip_give_the_bits_of_the_launchs():
    rng = np.random.default_rng(20261121)
    A, B = rng.standard_normal((2, 16, 16)).astype(np.float16)
    found = {}
    for arch in ("v100", "a100", "h100"):
        D = np.empty(256, np.float32)
        we.kernel(arch=arch)(product)[1, 32](A, B, D)
        expected = we.gemm(A, B, instr="wmma.mma.m16n16k16.f32.f32", arch=arch)
        np.testing.assert_array_equal(D.view(np.uint32), expected.reshape(-1).view(np.uint32))
        found[arch] = D.tobytes()
    assert len({*found.values()}) == 3


@pytest.mark.parametrize("arch", ARCHS)
def test_every_default_chip_is_the_chip_of_the_kernel(arch):
    seen = []
    we.kernel(arch=arch)(lambda t: seen.append((default_arch().name, accumulator().arch.name, t.arch.name)))[1, 32]()
    assert seen == [(arch,) * 3]


def test_an_instruction_that_names_no_chip_is_bound_to_the_launchs():
    seen = []
    we.kernel(arch="v100")(lambda t: seen.append(we.instruction(MMA).arch.name))[1, 32]()
    assert (seen, we.instruction(MMA).arch.name) == (["sm_70"], "sm_90")


def test_a_chip_that_is_named_wins():
    seen = []
    we.kernel(arch="v100")(lambda t: seen.extend([accumulator(arch="a100"), we.instruction(MMA, arch="a100")]))[1, 32]()
    assert [x.arch.name for x in seen] == ["sm_80", "sm_80"]


def test_outside_of_a_kernel_and_in_one_without_a_chip_it_is_sm_90():
    seen = []
    we.kernel(lambda t: seen.append(default_arch().name))[1, 32]()
    assert (seen, default_arch().name, accumulator().arch.name) == (["sm_90"], "sm_90", "sm_90")


def test_a_kernel_that_is_launched_by_another_has_its_own_and_gives_it_back():
    seen = []

    @we.kernel(arch="a100")
    def child(t):
        seen.append(default_arch().name)
        yield t.syncthreads()
        seen.append(default_arch().name)

    @we.kernel(arch="v100")
    def parent(t):
        child[1, 32]()
        seen.append(default_arch().name)
        yield t.syncthreads()
        seen.append(default_arch().name)

    parent[1, 32]()
    assert seen == ["sm_80", "sm_80", "sm_70", "sm_70"]
    assert default_arch().name == "sm_90"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, we.DivergenceError])
def test_an_error_gives_the_default_back(error):
    seen = []

    @we.kernel(arch="a100")
    def fails(t):
        yield t.syncthreads()
        raise error

    @we.kernel(arch="v100")
    def parent(t):
        with pytest.raises(error):
            fails[1, 64]()
        seen.append(default_arch().name)
        raise error

    with pytest.raises(error):
        parent[1, 32]()
    assert (seen, default_arch().name) == (["sm_70"], "sm_90")


def test_threads_do_not_see_the_chip_of_one_another():
    both = threading.Barrier(3, timeout=30)
    seen = {}

    def run(arch):
        def look(t):
            both.wait()
            seen[arch] = default_arch().name
            both.wait()

        we.kernel(arch=arch)(look)[1, 32]()

    threads = [threading.Thread(target=run, args=(arch,)) for arch in ("sm_70", "sm_80")]
    for thread in threads:
        thread.start()
    both.wait()
    seen["here"] = default_arch().name
    both.wait()
    for thread in threads:
        thread.join()
    assert seen == {"sm_70": "sm_70", "sm_80": "sm_80", "here": "sm_90"}

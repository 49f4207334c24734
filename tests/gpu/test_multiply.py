# SPDX-License-Identifier: MIT
"""Matrices through the GPU's instruction, with a stand-in for the GPU: packed, executed, unpacked as the emulator's."""

import sys

import numpy as np
import pytest

import wmma_emu as we
from tests.gpu.emulated_gpu import EmulatedGpu
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.gpu import multiply
from wmma_emu.testing import generators
from wmma_emu.warp.sparse import expand

MNEMONICS = (
    "m16n8k16.f32.f16.f16.f32", "m16n8k8.f32.tf32.tf32.f32", "m16n8k32.s32.u8.s8.s32", "m16n8k8.f64.f64.f64.f64",
    "m8n8k4.f32.f16.f16.f32", "m8n8k4.f16.f16.f16.f16", "wgmma.m64n8k32.f32.e4m3.e5m2",
    "mma.sp.m16n8k32.f32.f16.f16.f32", "mma.sp.m16n8k64.s32.s8.s8.s32", "wmma.mma.row.col.m16n16k16.f32.f32",
)  # fmt: skip


@pytest.fixture
def on(monkeypatch):
    def place(ins):
        gpu = EmulatedGpu(ins)
        monkeypatch.setattr(sys.modules["wmma_emu.gpu.execute"], "open_gpu", lambda: gpu)
        return gpu

    return place


def matrices_of(ins, batch):
    generator = generators.generators_of(ins)[0]
    pools = generators.draw(ins, generator, 5, batch, batch, batch)
    a = pools.a if pools.indices is None else expand(ins.instruction, pools.a, pools.indices)
    return [from_bits(bits, fmt) for bits, fmt in ((a, ins.a.format), (pools.b, ins.b.format), (pools.c, ins.c.format))]


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize("mnemonic", MNEMONICS)
def test_matrices_and_batches_have_the_bits_of_the_emulator(on, mnemonic):
    ins = we.instruction(mnemonic, arch="sm_90")
    gpu = on(ins)
    A, B, C = matrices_of(ins, 3)
    for given in ((A[0], B[0], C[0]), (A, B, C), (A[0], B[0])):
        storage = ins.d.format.storage
        np.testing.assert_array_equal(multiply(ins, *given).view(storage), ins(*given).view(storage))
    assert gpu.launches


def test_what_is_not_bound_or_has_another_shape_is_refused(on):
    ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
    on(ins)
    A, B = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)
    with pytest.raises(we.UnsupportedInstructionError, match="is not bound to a chip"):
        multiply("m16n8k16.f32.f16.f16.f32", A, B)
    with pytest.raises(we.FragmentMismatchError, match="B has shape"):
        multiply(ins, A, B.T)


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
def test_block_scales_come_as_matrices(on):
    ins = we.instruction("m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", arch="sm_120")
    on(ins)
    rng = np.random.default_rng(3)
    A, B = (from_bits(rng.integers(0, 16, x, np.uint8), "e2m1") for x in ((2, 16, 64), (64, 8)))
    scales = {"scale_a": rng.integers(40, 70, (2, 16, 4), np.uint8), "scale_b": rng.integers(40, 70, (4, 8), np.uint8)}
    np.testing.assert_array_equal(multiply(ins, A, B, **scales), ins(A, B, **scales))
    with pytest.raises(we.FragmentMismatchError, match="needs scale_a="):
        multiply(ins, A, B, scale_b=scales["scale_b"])

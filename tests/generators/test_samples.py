# SPDX-License-Identifier: MIT
"""generators.matrices: plain matrices of every generator, equal to the operands of draw, legal for the instruction."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats.dtypes import dtype_of
from wmma_emu.instructions import lookup
from wmma_emu.testing import bits, generators

MNEMONICS = [
    "m16n8k16.f32.f16.f16.f32", "m16n8k8.f32.tf32.tf32.f32", "m8n8k4.f64.f64.f64.f64", "m16n8k32.f16.e4m3.e5m2.f16",
    "m8n8k4.f32.f16.f16.f32", "m16n8k32.s32.s8.u8.s32", "m16n8k64.s32.u4.s4.s32", "m16n8k256.s32.b1.b1.s32.and.popc",
    "mma.sp.m16n8k16.f32.tf32.tf32.f32", "mma.sp.m16n8k128.s32.s4.s4.s32", "wgmma.m64n24k16.f32.bf16.bf16",
    "wgmma.sp.m64n8k64.f32.e4m3.e5m2", "mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32",
]  # fmt: skip


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("mnemonic", MNEMONICS)
def test_samples_of_every_generator_are_taken_by_the_instruction(mnemonic):
    row = lookup(mnemonic)
    ins = we.instruction(mnemonic, arch="sm_90")
    names = []
    for generator, number, A, B, C in generators.matrices(row, seed=3):
        names.append(generator)
        assert number == 3 and (A.dtype, B.dtype, C.dtype) == tuple(dtype_of(x) for x in (row.a, row.b, row.c))
        assert A.shape == (row.m, row.k)
        assert ins(A, B, C).shape == (row.m, row.n)
    assert tuple(names) == generators.generators_of(row)


def test_samples_are_the_bits_of_draw():
    for row in map(lookup, ("m16n8k16.f32.bf16.bf16.f32", "mma.sp.m16n8k32.f32.bf16.bf16.f32")):
        for generator, number, A, B, C in generators.matrices(row, ["ties", "raw"], seed=-2, count=3):
            drawn = generators.draw(row, generator, number, 1, 1, 1)
            packed = bits(A)
            if drawn.indices is not None:
                assert (packed != 0).sum() == (drawn.a[0] != 0).sum()
                packed = np.take_along_axis(packed, drawn.indices[0], axis=1)
            assert np.array_equal(packed, drawn.a[0])
            assert np.array_equal(bits(B), drawn.b[0]) and np.array_equal(bits(C), drawn.c[0])


def test_each_generator_comes_as_often_as_asked_with_seeds_that_follow():
    samples = generators.matrices(lookup(MNEMONICS[0]), ("wide", "ties"), seed=8, count=2)
    found = [(x.generator, x.seed) for x in samples]
    assert found == [("wide", 8), ("wide", 9), ("ties", 8), ("ties", 9)]
    assert not list(generators.matrices(lookup(MNEMONICS[0]), count=0))


@pytest.mark.parametrize("names", ["ties", ["tie"], 3, [3], ["integer_raw"]], ids=str)
def test_names_that_are_not_generators_of_the_instruction_are_refused_at_once(names):
    with pytest.raises(UnsupportedInstructionError):
        generators.matrices(lookup(MNEMONICS[0]), names)


@pytest.mark.parametrize(
    "wrong", [{"seed": 1.5}, {"count": -1}, {"count": "2"}, {"seed": None}, {"count": True}], ids=str
)
def test_seeds_and_counts_of_another_type_or_below_0_are_refused_at_once(wrong):
    with pytest.raises(FragmentMismatchError):
        generators.matrices(lookup(MNEMONICS[0]), **wrong)


def test_mnemonics_are_taken_and_other_objects_are_refused_with_the_fix():
    name = "m16n8k16.f32.f16.f16.f32"
    assert generators.generators_of(name) == generators.generators_of(we.instruction(name))
    assert next(generators.matrices(name)).A.shape == (16, 16)
    for wrong in (None, 7):
        for ask in (generators.generators_of, generators.matrices, lambda x: generators.draw(x, "normal", 0, 1, 1, 1)):
            with pytest.raises(we.UnsupportedInstructionError, match="is not an instruction; pass wmma_emu"):
                ask(wrong)
    with pytest.raises(we.UnsupportedInstructionError, match="generators is empty; name some of normal, wide"):
        generators.matrices(name, [])

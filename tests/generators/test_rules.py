# SPDX-License-Identifier: MIT
"""The rules of input generators, one fact per test.

An input generator draws A, B and C for any instruction from a seed. Adversarial generators expose one rule of the
arithmetic each; an instruction has the generators that make sense for its formats.
"""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.testing import generators

F16 = we.instruction("m16n8k16.f32.f16.f16.f32", arch="h100")
S8 = we.instruction("m16n8k32.s32.s8.s8.s32", arch="h100")


def drawn(name, ins=F16, seed=0):
    [sample] = generators.matrices(ins, [name], seed=seed)
    return sample


def test_the_same_seed_gives_the_same_bits():
    x, y = drawn("wide", seed=3), drawn("wide", seed=3)
    assert x.A.tobytes() == y.A.tobytes()
    assert x.B.tobytes() == y.B.tobytes()


def test_another_seed_gives_other_inputs():
    assert drawn("wide", seed=3).A.tobytes() != drawn("wide", seed=4).A.tobytes()


def test_samples_fit_the_instruction():
    sample = drawn("normal")
    assert (sample.A.shape, sample.B.shape, sample.C.shape) == ((16, 16), (16, 8), (16, 8))
    assert (sample.A.dtype, sample.C.dtype) == (np.float16, np.float32)
    assert F16(sample.A, sample.B, sample.C).shape == (16, 8)


def test_an_integer_instruction_has_no_generators_of_floating_point_numbers():
    names = set(generators.generators_of(S8.instruction))
    assert names
    assert not {"specials", "subnormal_operands", "signed_zeros"} & names


def test_specials_contain_infinities_or_nan():
    samples = generators.matrices(F16, ["specials"], seed=0, count=20)
    assert any(not np.isfinite(x.A.astype(np.float32)).all() for x in samples)


def test_subnormal_operands_contain_subnormal_numbers():
    samples = generators.matrices(F16, ["subnormal_operands"], seed=0, count=20)
    numbers = np.concatenate([np.abs(x.A.astype(np.float32)).ravel() for x in samples])
    assert ((numbers > 0) & (numbers < 2.0**-14)).any()


def test_signed_zeros_contain_zeros_of_both_signs():
    samples = generators.matrices(F16, ["signed_zeros"], seed=0, count=20)
    signs = np.concatenate([np.signbit(x.A[x.A == 0]) for x in samples])
    assert signs.any()
    assert not signs.all()


def test_c_alone_has_only_zero_products():
    sample = drawn("c_alone")
    assert (sample.A.astype(np.float64) @ sample.B.astype(np.float64) == 0).all()


def test_an_unknown_name_is_an_error():
    with pytest.raises(we.WmmaEmuError, match="normal"):
        drawn("norml")

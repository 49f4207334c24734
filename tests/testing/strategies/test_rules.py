# SPDX-License-Identifier: MIT
"""The rules of the strategies, one fact each: what is drawn, what is not, and the simplest example of each.

`find` returns the simplest example that satisfies a condition, so that each test shows one that is known in advance.
"""

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import wmma_emu as we
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.testing import bits
from wmma_emu.testing.strategies import (
    archs,
    bit_patterns,
    formats,
    fragments,
    from_dtype,
    instructions,
    matrices,
    metadata,
    operands,
    registers,
    scales,
)

F16 = "m16n8k16.f32.f16.f16.f32"
SPARSE = "mma.sp.m16n8k16.f32.f16.f16.f32"
MXF4 = "m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
SIMPLEST = settings(
    database=None, derandomize=True, deadline=None, max_examples=500, phases=[Phase.generate, Phase.shrink]
)  # fmt: skip
FEW = settings(SIMPLEST, max_examples=25, phases=[Phase.generate])
FEW_HUNDRED = settings(FEW, max_examples=200)


def simplest(strategy, condition=lambda value: True):
    return find(strategy, condition, settings=SIMPLEST)


def always(strategy, condition, examples=FEW):
    """Return whether all of some examples satisfy a condition."""
    found = []
    examples(given(strategy)(lambda value: found.append(condition(value))))()
    return len(found) > 2 and all(found)


def test_the_simplest_pattern_is_plus_zero_and_the_simplest_other_number_is_1():
    assert simplest(bit_patterns("f16")) == 0x0000
    assert simplest(bit_patterns("f16"), lambda word: word & 0x7FFF) == 0x3C00
    assert simplest(bit_patterns("f16"), lambda word: word > 0x8000) == 0xBC00


def test_the_simplest_integer_is_0_and_the_simplest_scale_is_1():
    assert simplest(bit_patterns("s8"), lambda word: word > 0x7F) == 0xFF
    assert simplest(bit_patterns("ue8m0")) == 0x7F


def test_values_that_are_not_allowed_do_not_occur():
    assert simplest(bit_patterns("e5m2"), lambda word: word & 0x7F > 0x7C) & 0x7F > 0x7C
    assert always(bit_patterns("e5m2", allow_nan=False), lambda word: word & 0x7F <= 0x7C)
    assert always(bit_patterns("e5m2", allow_infinity=False), lambda word: word & 0x7F != 0x7C)
    assert always(bit_patterns("e5m2", allow_subnormal=False), lambda word: word & 0x7F not in (1, 2, 3))


def test_a_dtype_gives_scalars_of_that_dtype():
    assert type(simplest(from_dtype("bfloat16"))).__name__ == "bfloat16"
    assert type(simplest(from_dtype(np.float16))) is np.float16


def test_formats_are_drawn_by_kind():
    assert always(formats(kind="integer"), lambda fmt: not fmt.is_float)


def test_a_matrix_has_its_shape_and_dtype_and_the_simplest_that_is_not_zero_has_one_element():
    A = simplest(matrices("f16", (5, 3)), lambda A: A.any())
    assert (A.shape, A.dtype) == ((5, 3), np.float16)
    assert np.count_nonzero(A) == 1


def test_a_matrix_has_no_values_that_are_not_allowed():
    assert np.isnan(simplest(matrices("f16", (5, 3)), lambda A: np.isnan(A).any())).any()
    assert always(matrices("f16", (5, 3), allow_nan=False), lambda A: not np.isnan(A).any(), FEW_HUNDRED)


def test_operands_are_matrices_of_an_instruction_and_the_simplest_are_zeros():
    A, B, C = simplest(operands(F16))
    assert (A.shape, B.shape, C.shape) == ((16, 16), (16, 8), (16, 8))
    assert not bits(A).any() and not bits(B).any() and not bits(C).any()


def test_operands_name_their_origin_and_their_generator():
    ties = simplest(operands(F16, generators=["ties"]), lambda x: "generator" in x.origin)
    assert "generator 'ties'" in ties.origin


def test_registers_have_a_column_for_every_lane():
    a, b, c = simplest(registers(we.instruction(F16)))
    assert (a.shape, b.shape, c.shape) == ((4, 32), (2, 32), (4, 32))
    assert a.dtype == np.uint32 and not a.any()


def test_metadata_are_one_word_per_lane_and_the_first_two_of_four_elements_at_the_simplest():
    words = simplest(metadata(SPARSE))
    assert (words.shape, words.dtype) == ((32,), np.uint32)
    assert {hex(x) for x in words if x} == {"0x44444444"}


def test_scales_have_the_shapes_of_the_instruction():
    a, b = simplest(scales(MXF4))
    assert (a.shape, b.shape) == ((16, 2), (2, 8))
    assert (a.view(np.uint8) == 0x7F).all() and (b.view(np.uint8) == 0x7F).all()


def test_a_fragment_has_the_requested_type_and_its_copies_agree():
    drawn = fragments(use=we.wmma.matrix_a, shape="m16n16k16", type=we.wmma.half, arch="v100")
    assert always(drawn, lambda x: (x.arch.name, x.m, x.n, x.k, x.format.name) == ("sm_70", 16, 16, 16, "f16"))
    assert simplest(drawn).to_matrix().shape == (16, 16)  # to_matrix rejects copies that differ


def test_instructions_and_chips_are_drawn_with_the_requested_properties():
    assert always(instructions(arch="sm_75"), lambda ins: ins.arch.name == "sm_75")
    assert always(archs(), lambda arch: arch.name.startswith("sm_"))


def test_the_type_of_an_argument_is_enough():
    assert isinstance(simplest(st.from_type(we.Format)), we.Format)


@pytest.mark.parametrize(("make", "words"), [
    (lambda: operands("m16n8k16.f16"), "Nearest"), (lambda: operands(F16, generators=["tie"]), "did you mean 'ties'"),
    (lambda: scales(F16), "has no block scales"), (lambda: bit_patterns("f17"), "f16"),
])  # fmt: skip
def test_an_error_is_raised_when_an_example_is_drawn_and_not_before(make, words):
    strategy = make()
    with pytest.raises(UnsupportedInstructionError, match=words):
        simplest(strategy)

# SPDX-License-Identifier: MIT
"""operands: every generator, raw bits and edits; legal for every instruction; small where they fail."""

import pickle
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, seed, settings
from hypothesis.errors import InvalidArgument

import wmma_emu as we
from tests.representatives import REPRESENTATIVES
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.formats import format_of, unpack
from wmma_emu.instructions import lookup
from wmma_emu.testing import assert_bits_equal, bits, generators
from wmma_emu.testing.strategies import OperandMatrices, operands, scales

pytestmark = pytest.mark.property

ANEW = settings(
    max_examples=500, database=None, deadline=None, suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)  # fmt: skip
EACH = {(i.family, i.d, i.a, i.b, i.m, i.k): i for i in reversed(REPRESENTATIVES.values())}
F16 = lookup("m16n8k16.f32.f16.f16.f32")
SPARSE = lookup("mma.sp.m16n8k32.f32.f16.f16.f32")


def drawn(strategy, examples=200, run=0):
    found = []

    @seed(run)
    @settings(ANEW, max_examples=examples, phases=[Phase.generate])
    @given(strategy)
    def collect(value):
        found.append(value)

    collect()
    return found


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.filterwarnings("ignore::wmma_emu.UnverifiedModelWarning")
@pytest.mark.parametrize("row", EACH.values(), ids=lambda i: i.mnemonic)
def test_operands_of_every_instruction_are_taken_by_it(row):
    # compress refuses a sparse A without its zeros; shapes and dtypes are checked by the call.
    ins = we.instruction(row.mnemonic, arch="sm_90" if "sm_90" in row.archs else row.archs[-1])
    for found in drawn(operands(ins), 2):
        options = dict(zip(("scale_a", "scale_b"), drawn(scales(ins), 1)[0], strict=True)) if ins.scale_a else {}
        assert ins(*found, **options).shape == (row.m, row.n)
        assert repr(found).startswith(f"<{row.mnemonic}: ")


def test_the_strategy_takes_an_instruction_a_row_and_a_mnemonic():
    for given_as in (we.instruction("m16n8k8.f32.f16.f16.f32", arch="sm_90"), F16, "m16n8k16.f32.f16.f16.f32"):
        assert find(operands(given_as), lambda found: True, settings=ANEW).C.shape == (16, 8)


@pytest.mark.thorough
def test_every_generator_comes_and_raw_bits_and_zeros():
    found = [x for run in range(3) for x in drawn(operands(F16), 200, run)]
    bases = Counter(x.origin.split(": ", 1)[1].split(",")[0].split(";")[0] for x in found)
    expected = {f"generator {name!r}" for name in generators.generators_of(F16)} | {"zeros", "raw bits"}
    assert set(bases) <= expected and len(bases) >= len(expected) - 5
    only = drawn(operands(F16, generators=["ties", "normal"]), 100)
    assert {found.origin.split(": ", 1)[1].split(",")[0].split(";")[0] for found in only} == {
        "zeros", "generator 'ties'", "generator 'normal'",
    }  # fmt: skip


@pytest.mark.parametrize("row", [F16, SPARSE], ids=str)
def test_a_generator_without_edits_yields_the_matrices_of_its_seed(row):
    checked = 0
    # What a run draws depends on every source file that Hypothesis reads: draw until three examples are whole.
    for found in (x for run in range(30) for x in drawn(operands(row), 100, run)):
        _, _, origin = found.origin.partition(": ")
        if origin.startswith("generator") and origin.count(",") == 1 and ";" not in origin:
            name, number = origin.removeprefix("generator ").split(", seed ")
            (sample,) = generators.matrices(row, [name.strip("'")], seed=int(number))
            for mine, plain in zip(found, sample[2:], strict=True):
                assert_bits_equal(mine, plain)
            checked += 1
        if checked == 3:
            return
    raise AssertionError(f"only {checked} draws of 3,000 were whole")


@pytest.mark.thorough
def test_edits_reach_any_place_and_are_named():
    found = find(operands(F16), lambda x: bits(x.A)[9, 3] == 0x8000, settings=ANEW)
    assert bits(found.A)[9, 3] == 0x8000
    edited = [x for x in drawn(operands(F16), 200) if "edits" in x.origin]
    assert edited
    for x in edited:
        name, row, column, word = re.findall(r"([ABC])\[(\d+), (\d+)\] = (0x[0-9a-f]+)", x.origin)[-1]
        assert bits(getattr(x, name))[int(row), int(column)] == int(word, 16)


def test_operands_shrink_to_zeros():
    found = find(operands(F16), lambda x: True, settings=ANEW)
    assert found.origin.endswith(": zeros") and not any(bits(x).any() for x in found)
    assert "all +0" in repr(found)


def first_failure(ins, other, run):
    failed = []

    @seed(run)
    @settings(ANEW, max_examples=200)
    @given(operands(ins))
    def both_are_equal(x):
        if other(*x).tobytes() != ins(*x).tobytes():
            failed.append(x)
            raise AssertionError("differ")

    with pytest.raises(AssertionError, match="differ"):
        both_are_equal()
    return failed[-1]


@pytest.mark.thorough
def test_a_failure_shrinks_to_one_dot_product_of_few_terms():
    ins = we.instruction(F16.mnemonic, arch="sm_90")
    other = ins.with_model(replace(ins.model, fraction_bits=24))
    to_one = 0
    for run in range(2):
        failed = first_failure(ins, other, run)
        A, B, C = (bits(matrix) != 0 for matrix in failed)
        rows, columns = A.any(axis=1).sum(), B.any(axis=0).sum()
        # An edit can keep a second row or column, in one run of ten or so.
        assert rows <= 2 and columns <= 2 and C.sum() <= 2
        assert A.sum() <= 16 and B.sum() <= 16 and len(repr(failed)) < 1000
        to_one += rows == columns == 1
    assert to_one >= 1


@pytest.mark.thorough
def test_large_shapes_are_drawn_in_milliseconds_and_shrink():
    ins = we.instruction("wgmma.m64n256k16.f32.f16.f16")
    found = find(operands(ins), lambda x: bits(x.B)[:, 200].any(), settings=ANEW)
    assert found.B.shape == (16, 256) and np.count_nonzero(bits(found.B)) <= 16


@pytest.mark.parametrize("mnemonic", ["m16n8k16.f32.bf16.bf16.f32", "m16n8k8.f32.tf32.tf32.f32", SPARSE.mnemonic])
def test_what_is_not_allowed_is_in_no_operand(mnemonic):
    row = lookup(mnemonic)
    for x in drawn(operands(row, allow_nan=False, allow_infinity=False, allow_subnormal=False), 150):
        for matrix, name in zip(x, (row.a, row.b, row.c), strict=True):
            fmt = format_of(name)
            u = unpack(bits(matrix, name), fmt)
            assert not (u.is_nan | u.is_infinity).any()
            assert not ((u.significand != 0) & (u.significand < 1 << fmt.fraction_bits)).any()


def test_a_sparse_a_has_its_zeros_and_any_pair_of_places():
    ins = we.instruction(SPARSE.mnemonic)
    pairs = set()
    for x in drawn(operands(ins), 60):
        _, metadata = ins.compress(x.A)
        groups = (bits(x.A).reshape(16, 8, 4) != 0).reshape(-1, 4)
        assert groups.sum(1).max() <= 2
        pairs.update(map(tuple, np.array([np.flatnonzero(g) for g in groups if g.sum() == 2]).tolist()))
        assert metadata.shape == (32,)
    assert pairs == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}


def test_operands_are_a_tuple_that_can_be_copied_pickled_and_read():
    x = find(operands(F16), lambda x: bits(x.C).any(), settings=ANEW)
    A, _, C = x
    assert isinstance(x, OperandMatrices) and x.A is A and x[2] is C
    again = pickle.loads(pickle.dumps(x))
    assert again.origin == x.origin and repr(again) == repr(x)
    lines = repr(x).splitlines()
    assert len(lines) == 4 and "C 16x8 f32, all +0 but [" in lines[3]


def test_names_of_generators_may_come_from_an_iterator_which_every_draw_needs():
    found = drawn(operands(F16, generators=iter(["ties", "normal"])), 60)
    assert {x.origin.split(": ", 1)[1].split(",")[0].split(";")[0] for x in found} == {
        "zeros", "generator 'ties'", "generator 'normal'",
    }  # fmt: skip


def test_no_names_at_all_are_refused_with_the_legal_ones():
    for none in ([], (), iter([]), {}):
        with pytest.raises(InvalidArgument, match=r"generators is empty.*'ties'"):
            find(operands(F16, generators=none), lambda value: True, settings=ANEW)


def test_operands_of_which_one_is_replaced_are_operands_and_say_so():
    x = find(operands(F16), lambda x: bits(x.C).any(), settings=ANEW)
    other = x._replace(A=np.ones_like(x.A))
    assert isinstance(other, OperandMatrices) and other.origin.endswith("; replaced: A")
    assert "A 16x16 f16: [0, 0] 1.0 (0x3c00)" in repr(other)
    assert repr(x._replace(A=7)).count("A 7\n") == 1
    assert repr(OperandMatrices._make([1, 2, 3])) == "OperandMatrices(A=1, B=2, C=3)"


BAD = {
    "no instruction": (lambda: operands(None), "not an instruction"),
    "no mnemonic": (lambda: operands("m16n8k16.f16"), "Nearest"),
    "a format": (lambda: operands(np.float16), "pass wmma_emu.instruction"),
    "a float generator": (lambda: operands("m16n8k32.s32.s8.s8.s32", generators=["ties"]), "integer_normal"),
    "a misspelt generator": (lambda: operands(F16, generators=["tie"]), "did you mean 'ties'"),
    "one name": (lambda: operands(F16, generators="ties"), r"\['ties'\]"),
    "no names": (lambda: operands(F16, generators=3), "list of names"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_use_is_an_error_when_drawn_that_names_the_fix(case):
    make, words = BAD[case]
    strategy = make()
    with pytest.raises(UnsupportedInstructionError, match=words):
        find(strategy, lambda value: True, settings=ANEW)

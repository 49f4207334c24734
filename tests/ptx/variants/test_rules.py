# SPDX-License-Identifier: MIT
"""The rules of comparisons of variants, one fact each, with bits written by hand."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.variants.kernels import row_sums
from wmma_emu.errors import ArgumentError, ArgumentValueError, OptionError, ShapeError

# In f32, 2^24 + 1 is 2^24: from left to right a row is 2^24 + 1 + 1 - 2^24 = 0, and in two parts 2^24 + (1 - 2^24) = 1.
ROWS = np.tile(np.float32([2**24, 1, 1, -(2**24)]), (4, 1))


def compared(parts_of=lambda rows: 1, two_steps=False, **options):
    return we.ptx.invariance(row_sums(ROWS, parts_of, two_steps), **{"rows": 4, "schedules": 0, **options})


def test_a_row_that_depends_on_nothing_else_is_invariant():
    report = compared(batches=[1, 3, [3, 0]], schedules=2)
    assert report.is_invariant
    assert report.is_deterministic
    assert report.is_batch_invariant
    assert str(report).splitlines()[:2] == [
        "no bit changes; reference: a batch of rows 0-3, 1 launch",
        "equal: a batch of row 0; a batch of rows 0-2; a batch of rows 3, 0; schedule=1; schedule=2",
    ]


def test_a_sum_that_the_grid_divides_changes_with_the_batch():
    report = compared(lambda rows: 2 if rows == 1 else 1, batches=[1, 2])
    (change,) = report.changes
    assert not report.is_batch_invariant
    assert report.is_deterministic
    assert (str(change.variant), change.rows, change.count, change.compared) == ("a batch of row 0", (0,), 1, 1)
    assert (change.index, change.bits, change.reference_bits) == ((0,), "0x3f800000 (1.0)", "0x00000000 (0.0)")


def test_the_first_difference_is_where_a_sum_ends_and_the_other_continues():
    first = compared(lambda rows: 2 if rows == 1 else 1, batches=[1]).changes[0].first
    assert (first.kind, first.kernel, first.text) == ("other operations", "partial", "red.global.add.f32 [%d2], %f1;")
    assert (first.place.line, first.reference_place.line) == (36, 21)
    assert first.said == (
        "the 2 operations before it have equal results",
        "here: red.global.add.f32 [%d2], %f1; at line 36 of the PTX",
        "in the reference: add.rn.f32 %f1, %f1, %f2; at line 21 of the PTX",
        "red.global.add.f32 at line 36: 2 of the element's operations, 1 in the reference",
    )


def test_the_order_of_atomic_operations_is_named_with_the_threads():
    report = compared(lambda rows: 4, rows=1, schedules=1)
    (change,) = report.changes_by("schedule")
    assert not report.is_deterministic
    # Block 3 adds -2^24 after 1 and 1: the sum is 2^24 - 2^24 + ..., with other roundings.
    assert change.first.kind == "order of atomic operations"
    assert change.first.place.line == 36
    assert change.first.said[0] == "4 atomic operations make the element; the order of the threads is not determined"
    assert any("partial adds floats atomically at line 36" in x for x in report.notes)


def test_a_difference_is_followed_into_the_launch_that_made_the_terms():
    first = compared(lambda rows: 2 if rows == 1 else 4, two_steps=True, batches=[1]).changes[0].first
    assert first.kernel == "partial"
    assert first.kind == "other operations"
    assert (first.place.line, first.reference_place.line) == (21, 32)  # here a third term, there the end of a part
    assert first.said[-1] == "combine then loads it as x + 4 bytes"


def test_keywords_are_variants_too_and_a_batch_may_have_its_rows_in_any_order():
    report = compared(variants=[{"parts": 2}], batches=[[2, 1]])
    assert [str(x.variant) for x in report.changes] == ["parts=2"]
    assert report.changes[0].rows == (0, 1, 2, 3)


def test_rows_keep_their_numbers_when_they_move():
    x = np.arange(16, dtype=np.float32).reshape(4, 4)

    def run(rows):
        # The value of a row depends on its place in the batch.
        partial = row_sums(x)(rows)
        return partial + np.arange(len(rows), dtype=np.float32)

    (change,) = we.ptx.invariance(run, rows=4, batches=[[3, 0]], schedules=0).changes
    assert change.rows == (3, 0)
    assert (change.index, change.bits, change.reference_bits) == ((0,), "0x42580000 (54.0)", "0x42640000 (57.0)")
    assert change.first.kind == "unknown"
    assert "computed or rearranged on the host" in change.first.said[0]


def test_a_function_with_a_state_is_recognised():
    calls = []

    def run(rows):
        calls.append(1)
        return row_sums(ROWS)(rows) + np.float32(len(calls))

    (change,) = we.ptx.invariance(run, rows=1, schedules=1).changes
    assert "a second call for a batch of row 0 gave other bits" in change.first.said[0]


def test_the_same_kernel_compiled_in_another_way_is_compared_by_opcodes():
    steps = "fma.rn.f32 %f, %f, 0f40000000, %f", "mul.rn.f32 %f, %f, 0f40400001"
    kernels = [we.ptx.Module(_TRIPLE.replace("ADD", x))["triple"] for x in steps]

    def run(rows, other=0):
        out = np.zeros(len(rows), np.float32)
        kernels[other][len(rows), 1](ROWS[rows, 1].copy(), out)
        return out

    (change,) = we.ptx.invariance(run, rows=2, variants=[{"other": 1}], schedules=0).changes
    assert (change.bits, change.reference_bits) == ("0x40400001 (3.0000002)", "0x40400000 (3.0)")
    assert change.first.kind == "another kernel"
    assert change.first.said[:2] == (
        "here it is triple[(2, 1, 1), (1, 1, 1)]", "in the reference triple[(2, 1, 1), (1, 1, 1)]",
    )  # fmt: skip
    assert "here the element is made by 1 mul.rn.f32 (line 8), 1 st.global.f32 (line 9)" in change.first.said


def test_the_order_of_maxima_is_not_a_difference():
    steps = "max.f32 %f, %f, 0f3F800000; max.f32 %f, %f, 0f40000000", "max.f32 %f, %f, 0f40000000"
    steps = [f"{x}; mul.rn.f32 %f, %f, 0f4040000{i}" for i, x in enumerate(steps)]
    kernels = [we.ptx.Module(_TRIPLE.replace("ADD", x))["triple"] for x in steps]

    def run(rows, other=0):
        out = np.zeros(len(rows), np.float32)
        kernels[other][len(rows), 1](np.zeros(len(rows), np.float32), out)
        return out

    (change,) = we.ptx.invariance(run, rows=2, variants=[{"other": 1}], schedules=0).changes
    assert change.first.text.startswith("max.f32 %f, %f, 0f40000000; mul.rn.f32")
    assert "the result is 0x40c00001, in the reference 0x40c00000" in change.first.said
    assert "%f is 0x40000000, as in the reference" in change.first.said
    assert not any("equal results" in x for x in change.first.said)


_TRIPLE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry triple(.param .u64 x, .param .u64 y) {
  .reg .b64 %d<4>; .reg .b32 %i; .reg .f32 %f;
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; mov.u32 %i, %ctaid.x;
  mad.wide.u32 %d1, %i, 4, %d1; mad.wide.u32 %d2, %i, 4, %d2; ld.global.f32 %f, [%d1];
  ADD;
  st.global.f32 [%d2], %f; ret; }"""


def test_a_comparison_leaves_the_inputs_unchanged():
    x = ROWS.copy()
    report = we.ptx.invariance(row_sums(x, lambda rows: 1 + (rows == 1)), rows=4, batches=[1], schedules=0)
    assert not report.is_invariant
    assert x.tobytes() == ROWS.tobytes()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, OptionError, "there is nothing to compare"),
        ({"batches": 3}, ArgumentError, r"write \[1, 2, 8\]"),
        ({"batches": [0]}, ArgumentValueError, "a batch of 0 rows is empty"),
        ({"batches": [[9]]}, ArgumentValueError, "has no row of the reference, which has rows 0-3"),
        ({"batches": [[-1]]}, ArgumentValueError, "row numbers from 0 upwards"),
        ({"rows": "4", "schedules": 1}, ArgumentValueError, "expected a number of rows"),
        ({"variants": {"parts": 2}}, ArgumentError, "not a sequence of mappings"),
        ({"variants": [2]}, ArgumentError, "not a mapping of keywords"),
        ({"schedules": -1}, OptionError, "not an integer from 0 to 1000"),
    ],
)
def test_illegal_requests_name_the_legal_ones(options, error, message):
    with pytest.raises(error, match=message):
        compared(**options)


def test_a_function_returns_its_rows_first():
    with pytest.raises(ShapeError, match=r"output has shape \(1, 4\) for 4 rows"):
        we.ptx.invariance(lambda rows: row_sums(ROWS)(rows)[None], rows=4, schedules=1)
    with pytest.raises(ArgumentError, match="run returned None"):
        we.ptx.invariance(lambda rows: None, schedules=1)
    with pytest.raises(ArgumentError, match="cannot be called"):
        we.ptx.invariance(ROWS, schedules=1)


def test_a_function_that_launches_nothing_gets_a_note():
    report = we.ptx.invariance(lambda rows: {"y": np.ones((len(rows), 2))}, rows=2, batches=[1], schedules=0)
    assert report.is_invariant
    assert report.notes == ("run launched no kernel on the emulator in this thread; only its outputs were compared",)

# SPDX-License-Identifier: MIT
"""A launch: legality, findings and what becomes of them, limits, schedules."""

import re
import warnings

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import ORDER, SCALE, SHIFT, entry
from wmma_emu.errors import (
    KernelFindingsError,
    KernelFindingsWarning,
    LaunchLimitError,
    ScheduleDependenceError,
    UnsupportedInstructionError,
)

RACE, SAFE = SHIFT.replace("BARRIER", ""), SHIFT.replace("BARRIER", "bar.sync 0;")


def shifted(text, **options):
    x, y = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    report = we.ptx.Module(text)["shift"][1, 128](x, y, **options)
    return y, report


def test_arrays_are_updated_in_place_and_the_report_counts():
    x = np.arange(100, dtype=np.float32)
    report = we.ptx.Module(SCALE, "a100")["scale"][(2, 1), (64, 1, 1)](x, 0.5, 99)
    assert x[[0, 3, 98, 99]].tolist() == [0, 1.5, 49, 99]
    assert (report.kernel, report.arch, report.findings, report.not_bit_exact) == ("scale", "sm_80", (), ())
    assert report.instructions == 128 * 9 + 99 * 5 + 128 and report.completed
    assert str(report).startswith(f"scale on sm_80: {report.instructions} thread-instructions in ")
    assert "findings: none\nnot bit-exact: none\ncontracted: none" in str(report)


def test_a_block_need_not_be_whole_warps():
    x = np.ones(50, np.float32)
    we.ptx.Module(SCALE)["scale"][1, 33](x, 2.0, 50)
    assert x.tolist() == [2] * 33 + [1] * 17


def test_views_of_one_array_are_pointers_into_it():
    x = np.ones((4, 8), np.float32)
    we.ptx.Module(SCALE)["scale"][1, 32](x[2:], 3.0, 8)
    assert x.tolist() == [[1] * 8, [1] * 8, [3] * 8, [1] * 8]


def test_arrays_that_may_not_be_written_are_inputs():
    x, y = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    x.flags.writeable = False
    assert we.ptx.Module(SAFE)["shift"][1, 128](x, y).findings == () and y[0] == 32
    ones = np.ones(32, np.float32)
    ones.flags.writeable = False
    report = we.ptx.Module(SCALE)["scale"][1, 32](ones, 2.0, 32, findings="report")
    assert [x.kind for x in report.findings] == ["read-only"] and ones.tolist() == [1] * 32


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.complex64, "V4", [("a", "<u2")]], ids=str
)
def test_arrays_of_any_dtype_are_bytes_in_memory(dtype):
    x = np.arange(512, dtype=np.uint8).view(dtype)
    y = np.zeros(512, np.uint8).view(dtype)
    we.ptx.Module(SAFE)["shift"][1, 128](x, y)
    assert y.tobytes() == x.view(np.uint32).reshape(2, 2, 32)[:, ::-1].tobytes()


def test_a_warning_says_what_is_wrong_and_the_rest_is_done():
    x = np.ones(100, np.float32)
    with pytest.warns(KernelFindingsWarning, match=r"scale: 2 findings\nout of bounds: line \d+, block \(3, 0, 0\)"):
        report = we.ptx.Module(SCALE)["scale"][4, 32](x, 2.0, 104)
    assert x.tolist() == [2] * 100
    assert [(x.kind, x.count) for x in report.findings] == [("out of bounds", 4)] * 2


def test_an_error_leaves_the_arrays_as_they_were():
    x = np.ones(100, np.float32)
    module = we.ptx.Module(SCALE, findings="raise")
    with pytest.raises(KernelFindingsError, match="scale: 2 findings") as error:
        module["scale"][4, 32](x, 2.0, 104)
    assert x.tolist() == [1] * 100 and len(error.value.report.findings) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(module["scale"][4, 32](x, 2.0, 104, findings="report").findings) == 2
    assert x.tolist() == [2] * 100


def test_a_race_is_found_without_a_barrier_and_none_with_one():
    y, report = shifted(RACE, findings="report")
    assert {x.kind for x in report.findings} == {"race"}
    y, report = shifted(SAFE, schedules=4)
    assert y.tolist() == [x ^ 32 for x in range(128)] and report.findings == ()


def test_results_that_depend_on_the_order_are_an_error_that_names_the_element():
    out = np.zeros(64, np.uint32)
    launch = we.ptx.Module(ORDER)["order"][64, 1]
    launch(np.zeros(1, np.uint32), out)
    before = out.copy()
    message = (
        r"what order computes: with schedule=1, element \[\d+\] of argument 1 \(out\) of order is 0x[0-9a-f]{8}, not"
    )
    with pytest.raises(ScheduleDependenceError, match=message):
        launch(np.zeros(1, np.uint32), out, schedules=2)
    assert np.array_equal(out, before)
    launch(np.zeros(1, np.uint32), out, schedule=7)
    assert sorted(out.tolist()) == list(range(64)) and not np.array_equal(out, before)
    again = np.zeros(64, np.uint32)
    launch(np.zeros(1, np.uint32), again, schedule=7)
    assert np.array_equal(out, again)


def test_limits_stop_a_launch_and_leave_the_arrays_alone():
    forever = entry(".param .u64 x", "$loop:\n    bra $loop;")
    with pytest.raises(LaunchLimitError, match="more than 1000 steps"):
        we.ptx.Module(forever)["k"][1, 32](0, max_steps=1000)
    with pytest.raises(LaunchLimitError, match="seconds"):
        we.ptx.Module(forever, max_seconds=0.02)["k"][1, 32](0)
    with pytest.raises(LaunchLimitError, match="bytes"):
        we.ptx.Module(SCALE, max_bytes=100)["scale"][1, 32](np.zeros(100, np.float32), 1.0, 1)


@pytest.mark.parametrize(("launch", "message"), [
    ((1,), "a launch names a grid and a block"),
    ((1, 32, 0, 0), "a launch names a grid and a block"),
    ((0, 32), "the grid is one to three positive integers, not 0"),
    ((1, 1.0), r"the block is one to three positive integers, not 1\.0"),
    ((1, 1025), "block.x is 1025; sm_90 takes at most 1024"),
    ((1, (32, 33)), "a block of 32 x 33 x 1 has 1056 threads; sm_90 takes at most 1024"),
    (((1, 70000), 32), "grid.y is 70000; sm_90 takes at most 65535"),
    ((1, 32, -1), "the bytes of dynamic shared memory are an integer from 0 on, not -1"),
    ((1, 32, 10**12), "scale needs 1000000000000 bytes of shared memory a block, 0 declared and 10+ dynamic"),
])  # fmt: skip
def test_a_launch_that_a_chip_refuses_is_refused(launch, message):
    kernel = we.ptx.Module(SCALE)["scale"]
    with pytest.raises(UnsupportedInstructionError, match=message):
        kernel[launch if len(launch) > 1 else launch[0]]
    with pytest.raises(UnsupportedInstructionError, match=re.escape("scale[grid, block](...)")):
        kernel(1)


@pytest.mark.parametrize(("text", "block", "message"), [
    (entry("", directives=".reqntid 64, 2"), 128,
     r"k was compiled for blocks of \(64, 2, 1\) \(\.reqntid\), not \(128, 1, 1\)"),
    (entry("", directives=".maxntid 64"), 65,
     r"at most 64 threads a block \(\.maxntid, __launch_bounds__\); .* has 65"),
    (entry("", ".reg .b32 %r; .shared .b8 x[1099511627776]; mov.u32 %r, x; ret;"), 1,
     "k declares 1099511627776 bytes of shared memory; 49152 at most"),
    (entry("", ".reg .b32 %r; .local .b8 x[1048576]; mov.u32 %r, x; ret;"), 1,
     "k needs 1048576 bytes of local memory a thread; sm_90 has 524288"),
    (entry("", directives=".reqnctapercluster 2"), 1,
     r"k runs in clusters of \(2, 1, 1\) blocks, which are not modelled"),
])  # fmt: skip
def test_what_the_text_says_of_its_launches_is_kept(text, block, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        we.ptx.Module(text.replace("sm_80", "sm_90"))["k"][1, block]


def test_a_block_that_is_asked_for_is_taken():
    module = we.ptx.Module(entry("", directives=".reqntid 64, 2"))
    assert module["k"][3, (64, 2)]().instructions == 3 * 128
    assert repr(module["k"][3, (64, 2)]) == "k[(3, 1, 1), (64, 2, 1), 0]"

# SPDX-License-Identifier: MIT
"""Asynchronous operations at once and as late as the program allows: the bits of correct and of faulty kernels."""

import re

import numpy as np
import pytest

from tests.ptx.launch.asynchronous_kernels import CASES, PIPELINE, TENSOR
from wmma_emu import AsynchronyDependenceError, ScheduleDependenceError
from wmma_emu.errors import KernelFindingsError, OptionError
from wmma_emu.ptx import LaunchOptions, Module, tensor_map
from wmma_emu.ptx.launch.delays import asynchronous_lines
from wmma_emu.ptx.launch.emulated_gpu import EmulatedGpu
from wmma_emu.ptx.launch.launching import Launch
from wmma_emu.ptx.program.build import program_of

EACH = pytest.mark.parametrize("name", CASES)


def launched(case, text, asynchrony, **options):
    out = np.zeros(len(case.right), np.uint32)
    given = [x.copy() if isinstance(x, np.ndarray) else x for x in case.arguments]
    options = {"findings": "report", **options}
    kernel = Module(text, arch="sm_90a")["k"]
    report = kernel[1, case.block](*given, out, asynchrony=asynchrony, **options)
    return out, report


@EACH
@pytest.mark.parametrize("asynchrony", ["eager", "late", "both"])
def test_a_correct_kernel_has_the_same_bits_whenever_its_operations_are_done(name, asynchrony):
    case = CASES[name]
    out, report = launched(case, case.correct, asynchrony, findings="raise")
    assert np.array_equal(out, case.right)
    assert report.findings == ()


@EACH
def test_a_fault_does_not_show_at_once_and_shows_late(name):
    case = CASES[name]
    assert np.array_equal(launched(case, case.faulty, "eager")[0], case.right)
    assert np.array_equal(launched(case, case.faulty, "late")[0], case.late)


@EACH
def test_both_names_the_element_and_the_statement(name):
    case = CASES[name]
    with pytest.raises(AsynchronyDependenceError) as caught:
        launched(case, case.faulty, "both", checks=())
    said = str(caught.value)
    first = int(np.argmax(case.right != case.late))
    assert "the time of asynchronous operations decides what k computes: with asynchrony='late', element " in said
    assert f"element [{first}]" in said
    assert f"is 0x{case.late[first]:08x}, not 0x{case.right[first]:08x}" in said
    assert re.search(rf"The operation that changes it when it is late: line \d+ of the PTX \({case.culprit}", said)


@EACH
def test_late_operations_have_the_same_findings_or_more(name):
    case = CASES[name]
    eager, late = ({x.kind for x in launched(case, case.faulty, x)[1].findings} for x in ("eager", "late"))
    assert eager <= late
    assert late


def test_a_refused_launch_leaves_the_array_unchanged():
    case = CASES["a copy is read before its group"]
    out = np.full(32, 5, np.uint32)
    kernel = Module(case.faulty, arch="sm_90a")["k"]
    with pytest.raises(AsynchronyDependenceError):
        kernel[1, 32](*case.arguments, out, asynchrony="both", checks=())
    assert set(out.tolist()) == {5}


def test_findings_come_before_the_comparison():
    case = CASES["a copy is read before its group"]
    with pytest.raises(KernelFindingsError, match="missing wait"):
        launched(case, case.faulty, "both", findings="raise")


def test_the_error_is_one_about_schedules_too():
    assert issubclass(AsynchronyDependenceError, ScheduleDependenceError)


def test_the_default_is_at_once():
    assert LaunchOptions().asynchrony == "eager"
    out = np.zeros(32, np.uint32)
    case = CASES["a copy is read before its group"]
    Module(case.faulty, arch="sm_90a")["k"][1, 32](*case.arguments, out, findings="report")
    assert np.array_equal(out, case.right)


@pytest.mark.parametrize("given", ["lazy", "", None, 1, ("late",)])
def test_another_word_is_refused_with_the_legal_ones(given):
    with pytest.raises(OptionError, match=r"asynchrony=.* does not exist.*'eager', 'late', 'both'"):
        LaunchOptions(asynchrony=given)


def test_an_emulated_gpu_takes_the_option():
    assert EmulatedGpu(asynchrony="both").ptx(TENSOR.replace("@WAIT@", "")).options.asynchrony == "both"


def test_each_order_of_warps_runs_in_both_ways():
    courses = LaunchOptions(schedules=2, asynchrony="both").courses
    assert [(x.seed, x.asynchrony.is_late) for x in courses] == [(None, False), (None, True), (1, False), (1, True)]


def test_a_kernel_without_asynchronous_operations_runs_once(monkeypatch):
    text = ".version 8.4 .target sm_90a .address_size 64 .entry k() { ret; }"
    courses, run_once = [], Launch.run_once
    monkeypatch.setattr(Launch, "run_once", lambda *x, **y: courses.append(x[4]) or run_once(*x, **y))
    Module(text, arch="sm_90a")["k"][1, 1](asynchrony="both")
    assert [x.asynchrony.is_late for x in courses] == [False]


def test_operations_that_move_data_are_known_by_their_lines():
    text = """.version 8.4
.target sm_90a
.address_size 64
.shared .align 16 .b8 s[16];
.global .align 16 .b8 g[16];
.entry k() {
cp.async.ca.shared.global [s], [g], 4;
cp.async.commit_group;
cp.async.wait_group 0;
cp.async.bulk.prefetch.L2.global [g], 16;
cp.async.bulk.global.shared::cta.bulk_group [g], [s], 16;
cp.async.bulk.wait_group 0;
st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [s], 1, [s+8];
ret; }"""
    assert asynchronous_lines(program_of(text).kernels["k"]) == [7, 11, 13]


def test_blocks_complete_their_copies_on_their_own():
    rows = np.arange(8 * 32, dtype=np.uint32).reshape(8, 32)
    text = TENSOR.replace("mov.u32 %r3, 3;", "mov.u32 %r3, %ctaid.x;").replace(
        "mad.wide.u32 %rd4, %r1, 4, %rd2;", "mov.u32 %r7, %ctaid.x; mad.lo.u32 %r7, %r7, 32, %r1;"
        "mad.wide.u32 %rd4, %r7, 4, %rd2;",
    )  # fmt: skip
    wait = CASES["a tensor's box is read before its phase"].wait
    out = np.zeros((8, 32), np.uint32)
    Module(text.replace("@WAIT@", wait), arch="sm_90a")["k"][8, 32](
        tensor_map(rows, (1, 32)), out, asynchrony="both", schedules=3, findings="raise"
    )
    assert np.array_equal(out, rows)


SPINS = """mov.u32 %r6, %clock; xor.b32 %r6, %r6, %r6; mbarrier.try_wait.parity.shared::cta.b64 %w, [bar], 0;
@!%w bra WAIT;"""


def test_a_loop_that_reads_the_clock_ends():
    out = np.zeros(32, np.uint32)
    given = tensor_map(np.arange(16 * 64, dtype=np.uint32).reshape(16, 64), (1, 32))
    Module(TENSOR.replace("@WAIT@", SPINS), arch="sm_90a")["k"][1, 32](given, out, asynchrony="late", findings="raise")
    assert out.tolist() == list(range(3 * 64, 3 * 64 + 32))


NEVER = "mbarrier.try_wait.parity.shared::cta.b64 %w, [bar], 0; @!%w bra WAIT;"


def test_a_phase_that_never_completes_is_still_a_deadlock():
    text = TENSOR.replace("[bar], 128;", "[bar], 144;").replace("@WAIT@", NEVER)
    given = tensor_map(np.arange(16 * 64, dtype=np.uint32).reshape(16, 64), (1, 32))
    with pytest.raises(KernelFindingsError, match="lacks 0 of 1 arrivals and 16 bytes"):
        Module(text, arch="sm_90a")["k"][1, 32](given, np.zeros(32, np.uint32), asynchrony="late", findings="raise")


ARRIVES = """.version 8.4
.target sm_80
.address_size 64
.shared .align 16 .b8 box[128];
.shared .align 8 .b64 bar;
.visible .entry k(.param .u64 x, .param .u64 out) {
.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p, %w;
ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; shl.b32 %r4, %r1, 2;
mov.u32 %r5, box; add.u32 %r5, %r5, %r4; mov.u32 %r6, 7; st.shared.u32 [%r5], %r6; setp.eq.u32 %p, %r1, 0;
mad.wide.u32 %rd3, %r1, 4, %rd1; mad.wide.u32 %rd4, %r1, 4, %rd2;
@%p mbarrier.init.shared.b64 [bar], 32; bar.sync 0;
cp.async.ca.shared.global [%r5], [%rd3], 4;
ARRIVE
WAIT: mbarrier.test_wait.parity.shared.b64 %w, [bar], 0;
@!%w bra WAIT;
ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd4], %r6;
ret; }
"""


@pytest.mark.parametrize(
    "arrive",
    [
        "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];",
        "cp.async.mbarrier.arrive.shared.b64 [bar]; mbarrier.arrive.shared.b64 %rd5, [bar];",
    ],
)
def test_copies_that_arrive_at_a_barrier_complete_its_phase_late(arrive):
    x, out = np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32)
    kernel = Module(ARRIVES.replace("ARRIVE", arrive), arch="sm_80")["k"]
    kernel[1, 32](x, out, asynchrony="late", findings="raise")
    assert np.array_equal(out, x)
    one_look = Module(ARRIVES.replace("ARRIVE", arrive).replace("@!%w bra WAIT;", ""), arch="sm_80")["k"]
    one_look[1, 32](x, out, asynchrony="late", findings="report")
    assert set(out.tolist()) == {7}


def pipelined(pending, asynchrony, **options):
    tiles = np.repeat(np.arange(1, 9, dtype=np.float16), 128)
    out = np.zeros(128, np.float32)
    text = PIPELINE.replace("@PENDING@", str(pending))
    report = Module(text, arch="sm_90a")["k"][1, 256](tiles, out, asynchrony=asynchrony, findings="report", **options)
    return set(out.tolist()), [x.kind for x in report.findings]


@pytest.mark.parametrize(("asynchrony", "schedules"), [("eager", 1), ("late", 1), ("late", 2), ("both", 1)])
def test_a_pipeline_of_two_stages_has_the_same_bits(asynchrony, schedules):
    assert pipelined(1, asynchrony, schedules=schedules) == ({16.0 * sum(range(1, 9))}, [])


def test_a_stage_that_is_returned_before_its_product_is_over_shows_late():
    assert pipelined(2, "eager")[0] == {16.0 * sum(range(1, 9))}
    late, found = pipelined(2, "late")
    assert late != {16.0 * sum(range(1, 9))}
    assert "missing wait" in found


FLAG = """@%p bra WAIT; mov.u32 %r5, box;
SPIN: ld.volatile.shared.u32 %r6, [%r5]; setp.eq.u32 %w, %r6, 7; @%w bra SPIN; bra DONE;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %w, [bar], 0; @!%w bra WAIT;
DONE: mov.u32 %r5, box; add.u32 %r5, %r5, %r4;"""


def test_threads_that_wait_for_a_written_value_are_not_a_deadlock():
    text = TENSOR.replace("WAIT:\n@WAIT@", f"WAITS:\n{FLAG}").replace("@!%p bra WAIT;", "@!%p bra WAITS;")
    out = np.zeros(32, np.uint32)
    given = tensor_map(np.arange(16 * 64, dtype=np.uint32).reshape(16, 64), (1, 32))
    report = Module(text, arch="sm_90a")["k"][1, 32](given, out, asynchrony="late", findings="report")
    assert report.completed
    assert "deadlock" not in {x.kind for x in report.findings}
    assert out.tolist() == list(range(3 * 64, 3 * 64 + 32))

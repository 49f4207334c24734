# SPDX-License-Identifier: MIT
"""Barriers of the whole grid, as nvcc compiles cooperative groups: blocks wait for each other in a workspace."""

import re

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_kernels import launch, text_of
from wmma_emu.errors import LaunchConfigurationError, LaunchLimitError, OptionError, UnsupportedInstructionError

WORKSPACE = "mov.u32 %r10, %envreg2;\nmov.u32 %r11, %envreg1;\nmov.b64 %rd10, {%r10, %r11};\n"

BARRIER = """
barrier.sync 0;
setp.ne.u32 %p1, %r0, 0;
@%p1 bra MET;
mov.u32 %r12, %nctaid.x;
sub.u32 %r12, 0x80000001, %r12;
setp.eq.u32 %p2, %r1, 0;
selp.b32 %r12, %r12, 1, %p2;
atom.add.release.gpu.u32 %r13, [%rd10+4], %r12;
WAIT: ld.acquire.gpu.u32 %r14, [%rd10+4];
xor.b32 %r14, %r14, %r13;
setp.gt.s32 %p3, %r14, -1;
@%p3 bra WAIT;
MET: barrier.sync 0;
"""

EXCHANGE = """
mov.u32 %r2, %ntid.x;
mad.lo.u32 %r3, %r1, %r2, %r0;
mul.wide.u32 %rd5, %r3, 4;
add.s64 %rd5, %rd1, %rd5;
st.global.u32 [%rd5], %r3;
{barrier}
mov.u32 %r4, %nctaid.x;
mul.lo.u32 %r5, %r4, %r2;
sub.u32 %r5, %r5, %r3;
sub.u32 %r5, %r5, 1;
mul.wide.u32 %rd6, %r5, 4;
add.s64 %rd7, %rd1, %rd6;
ld.global.u32 %r6, [%rd7];
add.s64 %rd8, %rd2, %rd6;
st.global.u32 [%rd8], %r6;
ret;
"""
"""Each thread writes its number, and copies that of a thread of another block."""


def exchanged(barrier: str, **options):
    ours, theirs = np.zeros(256, np.uint32), np.zeros(256, np.uint32)
    body = WORKSPACE + EXCHANGE.format(barrier=barrier)
    report = launch(body, ours, theirs, grid=4, block=64, cooperative=True, **options)
    return theirs, [x.kind for x in report.findings]


@pytest.mark.parametrize("schedule", [None, 1, 2])
def test_blocks_read_words_that_others_wrote_before_a_barrier_of_the_grid(schedule):
    theirs, found = exchanged(BARRIER, schedule=schedule)
    assert np.array_equal(theirs, np.arange(256, dtype=np.uint32)) and not found


def test_the_workspace_has_an_address_of_the_emulator_whatever_addresses_arrays_have():
    theirs, found = exchanged(BARRIER, addresses="host")
    assert np.array_equal(theirs, np.arange(256, dtype=np.uint32)) and not found


WEAKER = [("atom.add.release", "atom.add.relaxed"), ("release.gpu", "release.cta"), (BARRIER, "")]


@pytest.mark.parametrize("weaker", WEAKER)
def test_a_weaker_barrier_of_the_grid_leaves_a_race(weaker):
    assert set(exchanged(BARRIER.replace(*weaker))[1]) == {"race"}


def test_each_launch_has_a_workspace_of_zeros():
    body = (
        WORKSPACE
        + "atom.global.add.u32 %r5, [%rd10+4], 1;\nadd.s64 %rd5, %rd1, %rd0;\nst.global.u32 [%rd5], %r5;\nret;"
    )
    for _ in range(2):
        found = np.zeros(32, np.uint32)
        assert not launch(body, found, cooperative=True).findings
        assert sorted(found.tolist()) == list(range(32))


def test_an_access_past_the_workspace_is_out_of_bounds():
    body = WORKSPACE + "ld.global.u32 %r5, [%rd10+64];\nst.global.u32 [%rd1], %r5;\nret;"
    (found,) = launch(body, np.zeros(1, np.uint32), block=1, cooperative=True).findings
    assert found.kind == "out of bounds" and "the grid's workspace" in found.message


def test_all_blocks_of_a_cooperative_launch_run_concurrently():
    body = WORKSPACE + BARRIER + "ret;"
    report = launch(body, np.zeros(1, np.uint32), grid=66, block=1024, cooperative=True)
    assert not report.findings


def test_a_launch_of_a_kernel_that_synchronises_its_grid_says_whether_it_is_cooperative():
    x = np.full(1, 9, np.uint32)
    with pytest.raises(LaunchConfigurationError, match=r"k synchronises its grid.*cooperative=True"):
        launch(WORKSPACE + BARRIER + "st.global.u32 [%rd1], 1;\nret;", x, grid=2, block=32)
    assert x[0] == 9


def test_the_grid_group_of_a_launch_that_is_not_cooperative_has_no_workspace():
    found = np.full(1, 9, np.uint64)
    assert not launch(WORKSPACE + "st.global.u64 [%rd1], %rd10;\nret;", found, block=1, cooperative=False).findings
    assert found[0] == 0


def test_a_barrier_of_the_grid_without_a_workspace_is_found_and_ends_the_launch():
    report = launch(WORKSPACE + BARRIER + "ret;", np.zeros(1, np.uint32), grid=2, cooperative=False)
    assert {x.kind for x in report.findings} == {"out of bounds", "deadlock"} and not report.completed
    assert "a null pointer" in str(report.findings[0])


@pytest.mark.parametrize(
    ("arch", "block", "shared", "most"),
    [("sm_90", 1024, 0, 264), ("sm_90", 32, 0, 32 * 132), ("sm_90", 128, 100 * 1024, 2 * 132), ("sm_75", 1024, 0, 72),
     ("sm_80", 64, 48 * 1024, 3 * 108), ("sm_89", 1024, 0, 142)],
)  # fmt: skip
def test_a_cooperative_grid_that_is_larger_than_the_chip_can_hold_is_rejected(arch, block, shared, most):
    text = text_of(".extern .shared .align 4 .b8 s[];\nst.shared.u32 [s], 1;\nret;" if shared else "ret;")
    kernel = we.ptx.Module(text.replace("sm_90", "sm_75"), arch=arch, findings="report")["k"]
    with pytest.raises(LaunchConfigurationError, match=f"holds {most}: .*cudaErrorCooperativeLaunchTooLarge"):
        kernel[most + 1, block, shared](np.zeros(1, np.uint32), cooperative=True)
    kernel[most + 1, block, shared](np.zeros(1, np.uint32), checks=())
    assert kernel[most, block, shared](np.zeros(1, np.uint32), cooperative=True, checks=()).completed


def test_a_cooperative_grid_that_does_not_fit_into_the_memory_of_the_host_is_rejected():
    x = np.full(1, 9, np.uint32)
    body = "st.global.u32 [%rd1], 1;\n.local .b8 large[100000];\nst.local.u8 [large], 1;\nret;"
    with pytest.raises(LaunchLimitError, match=r"the 8 blocks of a cooperative launch .* raise max_bytes"):
        launch(body, x, grid=8, cooperative=True, max_bytes=1 << 26)
    assert x[0] == 9


@pytest.mark.parametrize("given", [1, 0, "yes", 1.0])
def test_cooperative_is_true_or_false(given):
    with pytest.raises(OptionError, match="cooperative="):
        launch("ret;", np.zeros(1, np.uint32), cooperative=given)


@pytest.mark.parametrize("schedule", [None, 3])
def test_a_barrier_of_the_grid_that_a_block_does_not_reach_is_a_deadlock(schedule):
    body = WORKSPACE + "setp.eq.u32 %p1, %r1, 2;\n@%p1 exit;\n" + BARRIER + "ret;"
    report = launch(body, np.zeros(1, np.uint32), grid=4, block=64, cooperative=True, schedule=schedule)
    (found,) = report.findings
    assert found.kind == "deadlock" and not report.completed
    assert re.search(r"values that no thread writes: block \(\d, 0, 0\).*ld\.acquire", " ".join(str(found).split()))


def test_threads_that_have_exited_do_not_hold_up_the_others_of_their_block_at_a_barrier_of_the_grid():
    body = WORKSPACE + "setp.gt.u32 %p1, %r0, 40;\n@%p1 exit;\n" + BARRIER + "ret;"
    assert not launch(body, np.zeros(1, np.uint32), grid=4, block=64, cooperative=True).findings


def test_a_multi_grid_barrier_is_refused_with_the_reason():
    before = ".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 h, .param .b32 f);"
    body = """{ .param .b64 h; .param .b32 f; .param .b32 r;
    st.param.b64 [h], %rd1; st.param.b32 [f], 0; call.uni (r), cudaCGSynchronize, (h, f); }
    ret;"""
    with pytest.raises(UnsupportedInstructionError, match=r"several GPUs \(this_multi_grid\), .* are not modelled"):
        launch(body, np.zeros(1, np.uint32), before=before)


RUNTIME = """.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 r) cudaCGGetIntrinsicHandle (.param .b32 s);
.extern .func (.param .b32 r) cudaCGSynchronize (.param .b64 h, .param .b32 f);
.visible .entry reversed(.param .u64 x, .param .u64 y) {
.reg .b32 %r<6>; .reg .b64 %rd<6>; .param .b32 s; .param .b64 h; .param .b32 e;
ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;
mad.wide.u32 %rd3, %r1, 4, %rd1; add.u32 %r3, %r1, 40; st.global.u32 [%rd3], %r3;
st.param.b32 [s], 1; call (h), cudaCGGetIntrinsicHandle, (s); st.param.b32 [s], 0;
call (e), cudaCGSynchronize, (h, s);
sub.u32 %r4, %r2, %r1; sub.u32 %r4, %r4, 1; mad.wide.u32 %rd4, %r4, 4, %rd1; ld.global.u32 %r5, [%rd4];
mad.wide.u32 %rd5, %r1, 4, %rd2; st.global.u32 [%rd5], %r5; ret; }
"""
"""Each block copies what another has written before a barrier of the grid, a function of the device runtime."""


def test_the_device_runtime_is_linked_where_a_source_declares_it():
    module = we.ptx.Module(RUNTIME, "a100").link()
    x, y = np.zeros(7, np.int32), np.zeros(7, np.int32)
    report = module["reversed"][7, 1](x, y, cooperative=True, schedules=3, findings="raise")
    assert y.tolist() == [46, 45, 44, 43, 42, 41, 40]
    assert not report.findings
    with pytest.raises(UnsupportedInstructionError, match=r"cudaCGSynchronize is .* module.link\(\) links"):
        we.ptx.Module(RUNTIME.replace("call (h), cudaCGGetIntrinsicHandle, (s);", ""), "a100")["reversed"][7, 1](x, y)


def test_a_group_of_several_gpus_has_no_handle():
    text = RUNTIME.replace("st.param.b32 [s], 1;", "st.param.b32 [s], 2;")
    module = we.ptx.Module(text, "a100", findings="report").link()
    report = module["reversed"][7, 1](*np.zeros((2, 7), np.int32), cooperative=True)
    assert "out of bounds" in {x.kind for x in report.findings}

# SPDX-License-Identifier: MIT
"""A launch: legality, findings and their actions, limits, schedules."""

import re
import signal
import threading
import traceback
import warnings

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import ORDER, SCALE, SHIFT, VPRINTF, entry
from wmma_emu.errors import (
    KernelFindingsError,
    KernelFindingsWarning,
    LaunchLimitError,
    ScheduleDependenceError,
    UnsupportedInstructionError,
)
from wmma_emu.ptx.launch.emulated_gpu import EmulatedGpu
from wmma_emu.ptx.memory.heap import GlobalMemory

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


def test_read_only_arrays_are_inputs():
    x, y = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    x.flags.writeable = False
    assert we.ptx.Module(SAFE)["shift"][1, 128](x, y).findings == () and y[0] == 32
    ones = np.ones(32, np.float32)
    ones.flags.writeable = False
    report = we.ptx.Module(SCALE)["scale"][1, 32](ones, 2.0, 32, findings="report")
    assert [x.kind for x in report.findings] == ["read-only"] and ones.tolist() == [1] * 32


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.complex64, [("a", "<u2")]], ids=str)
def test_arrays_of_any_dtype_are_bytes_in_memory(dtype):
    x = np.arange(512, dtype=np.uint8).view(dtype)
    y = np.zeros(512, np.uint8).view(dtype)
    we.ptx.Module(SAFE)["shift"][1, 128](x, y)
    assert y.tobytes() == x.view(np.uint32).reshape(2, 2, 32)[:, ::-1].tobytes()


SAID = r"scale: 2 errors\nerror: out of bounds of x at line \d+\n(.*\n)+.*block \(3, 0, 0\)"


def test_a_warning_describes_the_fault_and_the_kernel_continues():
    x = np.ones(100, np.float32)
    with pytest.warns(KernelFindingsWarning, match=SAID):
        report = we.ptx.Module(SCALE)["scale"][4, 32](x, 2.0, 104)
    assert x.tolist() == [2] * 100
    assert [(x.kind, x.count, x.block, x.thread) for x in report.findings] == [
        ("out of bounds", 4, (3, 0, 0), (4, 0, 0)),
    ] * 2
    assert [[side.role for side in x.sides] for x in report.findings] == [["reads"], ["writes"]]


def test_an_error_leaves_the_arrays_as_they_were():
    x = np.ones(100, np.float32)
    module = we.ptx.Module(SCALE, findings="raise")
    with pytest.raises(KernelFindingsError, match="scale: 2 errors") as error:
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
    ((1,), "a launch needs a grid and a block"),
    ((1, 32, 0, 0), "a launch needs a grid and a block"),
    ((0, 32), "the grid is one to three positive integers, not 0"),
    ((1, 1.0), r"the block is one to three positive integers, not 1\.0"),
    ((1, 1025), "block.x is 1025; sm_90 takes at most 1024"),
    ((1, (32, 33)), "a block of 32 x 33 x 1 has 1056 threads; sm_90 takes at most 1024"),
    (((1, 70000), 32), "grid.y is 70000; sm_90 takes at most 65535"),
    ((1, 32, -1), "the bytes of dynamic shared memory must be a non-negative integer, not -1"),
    ((1, 32, 10**12), "scale needs 1000000000000 bytes of shared memory per block, 0 declared and 10+ dynamic"),
])  # fmt: skip
def test_a_launch_that_a_chip_rejects_is_rejected(launch, message):
    kernel = we.ptx.Module(SCALE)["scale"]
    with pytest.raises(UnsupportedInstructionError, match=message):
        kernel[launch if len(launch) > 1 else launch[0]]
    with pytest.raises(UnsupportedInstructionError, match=re.escape("scale[grid, block](...)")):
        kernel(1)


@pytest.mark.parametrize(("text", "block", "message"), [
    (entry("", directives=".reqntid 64, 2"), 128,
     r"k was compiled for blocks of \(64, 2, 1\) \(\.reqntid\), not \(128, 1, 1\)"),
    (entry("", directives=".maxntid 64"), 65,
     r"at most 64 threads per block \(\.maxntid, __launch_bounds__\); .* has 65"),
    (entry("", ".reg .b32 %r; .shared .b8 x[1099511627776]; mov.u32 %r, x; ret;"), 1,
     "k declares 1099511627776 bytes of shared memory; at most 49152"),
    (entry("", ".reg .b32 %r; .local .b8 x[1048576]; mov.u32 %r, x; ret;"), 1,
     "k needs 1048576 bytes of local memory per thread; sm_90 has 524288"),
    (entry("", directives=".reqnctapercluster 2"), 1,
     r"k runs in clusters of \(2, 1, 1\) blocks, which are not modelled"),
])  # fmt: skip
def test_launch_bounds_in_the_ptx_are_enforced(text, block, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        we.ptx.Module(text.replace("sm_80", "sm_90"))["k"][1, block]


def test_a_required_block_size_is_accepted():
    module = we.ptx.Module(entry("", directives=".reqntid 64, 2"))
    assert module["k"][3, (64, 2)]().instructions == 3 * 128
    assert repr(module["k"][3, (64, 2)]) == "k[(3, 1, 1), (64, 2, 1), 0]"


LAST = entry(
    ".param .u64 x",
    """.reg .b32 %r<3>; .reg .b64 %a<2>; .reg .pred %p;
    mov.u32 %r0, %ctaid.x;
    st.global.VALUE.u32 [last+PLACE], %r0;
    ret;""",
    before=".global .align 4 .b8 last[BYTES];",
)


@pytest.mark.parametrize(("size", "place", "message"), [
    (4, 0, r"with schedule=[12], the variable last is 0x000000[0-9a-f]{2}, not 0x0000001f"),
    (32, 8, r"the variable last has 0x000000[0-9a-f]{2} at byte 8, not 0x0000001f; 1 of 32 bytes differ"),
])  # fmt: skip
def test_variables_that_depend_on_the_order_are_an_error_too(size, place, message):
    text = LAST.replace("BYTES", str(size)).replace("PLACE", str(place)).replace("VALUE", "relaxed.gpu")
    module = we.ptx.Module(text, findings="report")
    module.variable("last")[...] = 7
    with pytest.raises(ScheduleDependenceError, match=message):
        module["k"][32, 1](None, schedules=3)
    assert module.variable("last").tolist() == [7] * size
    module["k"][1, 1](None, schedules=4)
    assert module.variable("last", np.uint32)[place // 4] == 0


def printing(body):
    letters = ", ".join(str(x) for x in b"%d\n\0")
    before = f"""{VPRINTF}
    .global .align 1 .b8 text[] = {{{letters}}};
    .global .u32 next;"""
    call = """{ .param .b64 p0; .param .b64 p1; .param .b32 q;
    st.param.b64 [p0], %a1; st.param.b64 [p1], %a3;
    call.uni (q), vprintf, (p0, p1); }"""
    registers = """.reg .b32 %r<4>; .reg .b64 %a<5>; .reg .pred %p; .local .align 8 .b8 buffer[8];
    mov.u64 %a0, text; cvta.global.u64 %a1, %a0; mov.u64 %a2, buffer; cvta.local.u64 %a3, %a2; mov.u64 %a4, next;
    mov.u32 %r0, %ctaid.x;"""
    return entry("", f"{registers}\n{body.replace('PRINT', call)}\nret;", before=before)


def test_printed_lines_may_come_in_any_order():
    same = "st.local.u32 [buffer], %r0; PRINT"
    assert we.ptx.Module(printing(same))["k"][9, 1](schedules=4).output.split() == [str(x) for x in range(9)]


def test_output_must_not_depend_on_the_order():
    body = """atom.global.inc.u32 %r1, [%a4], 63; setp.ne.u32 %p, %r1, 0; @%p bra no;
    st.local.u32 [buffer], %r0; PRINT
no:"""
    with pytest.raises(ScheduleDependenceError, match=r"what k prints: with schedule=1, '\d+\\n' is printed"):
        we.ptx.Module(printing(body))["k"][64, 1](schedules=2)
    body = """atom.global.inc.u32 %r1, [%a4], 63; setp.ne.u32 %p, %r1, %r0; @%p bra no;
    st.local.u32 [buffer], %r0; PRINT
no:"""
    with pytest.raises(ScheduleDependenceError, match=r"with schedule=1, printf is called \d+ times, not 64"):
        we.ptx.Module(printing(body))["k"][64, 1](schedules=2)


def test_a_launch_has_five_minutes_and_in_a_test_one_minute():
    assert we.ptx.LaunchOptions().max_seconds == 300 and EmulatedGpu().ptx(SCALE).options.max_seconds == 60
    assert EmulatedGpu(max_seconds=None).ptx(SCALE).options.limits.seconds is None
    with pytest.raises(UnsupportedInstructionError, match="max_seconds=0 is not a positive number"):
        we.ptx.LaunchOptions(max_seconds=0)


@pytest.fixture
def interruptible():
    """Let Ctrl-C raise KeyboardInterrupt, also if the tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_in_mid_launch_leaves_everything_as_it_was(interruptible):
    text = entry(
        ".param .u64 x",
        """.reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [x]; mov.u32 %r, 5;
    st.global.u32 [%a], %r; st.global.u32 [v], %r;
$loop:
    bra $loop;""",
        before=".global .u32 v = 3;",
    )
    module, x = we.ptx.Module(text), np.ones(1, np.uint32)
    timer = threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        module["k"][1, 1](x, max_seconds=20)
    timer.join()
    assert x.tolist() == [1] and module.variable("v", np.uint32).tolist() == [3]
    with pytest.raises(LaunchLimitError):
        module["k"][1, 1](x, max_steps=1000)
    assert x.tolist() == [1] and module.variable("v", np.uint32).tolist() == [3]


def test_an_interrupt_while_arrays_are_updated_waits_for_the_last(monkeypatch, interruptible):
    copy_back = GlobalMemory.copy_back

    def interrupted(heap):
        signal.raise_signal(signal.SIGINT)
        copy_back(heap)

    monkeypatch.setattr(GlobalMemory, "copy_back", interrupted)
    x = np.ones(4, np.float32)
    with pytest.raises(KeyboardInterrupt):
        we.ptx.Module(SCALE)["scale"][1, 4](x, 3.0, 4)
    assert x.tolist() == [3] * 4 and signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("wrong", [
    lambda module: module["scale"][1, 32](1, 2),
    lambda module: module["scale"][1, 3200],
    lambda module: module["scael"],
    lambda module: module["scale"](1),
    lambda module: module["scale"][1, 32](np.zeros(2, np.float32), 1.0, 5, findings="raise"),
    lambda module: module["scale"][1, 32](np.zeros(2, np.float32), 1.0, 2, max_steps=1),
    lambda module: we.ptx.Module("nothing"),
])  # fmt: skip
def test_an_error_ends_at_the_line_of_the_test(wrong):
    module = we.ptx.Module(SCALE)
    with pytest.raises(we.WmmaEmuError) as error:
        wrong(module)
    frames = [x for x, _ in traceback.walk_tb(error.value.__traceback__)]
    last = [x.f_code.co_filename for x in frames if not x.f_locals.get("__tracebackhide__")]
    assert last[-1] == __file__ and len(frames) == len(last) + 1


def test_a_warning_names_the_line_of_the_launch():
    with pytest.warns(KernelFindingsWarning) as caught:
        we.ptx.Module(SCALE)["scale"][4, 32](np.ones(100, np.float32), 2.0, 104)
    assert [x.filename for x in caught] == [__file__]


@pytest.mark.parametrize("library", ["triton.runtime", "numba.cuda.dispatcher"])
def test_a_warning_names_the_line_of_the_program_that_launches_through_a_library(library):
    names = {"__name__": library}
    exec("def launch(kernel, *arguments):\n    return kernel[4, 32](*arguments)\n", names)
    with pytest.warns(KernelFindingsWarning) as caught:
        names["launch"](we.ptx.Module(SCALE)["scale"], np.ones(100, np.float32), 2.0, 104)
    assert [x.filename for x in caught] == [__file__]


def test_lanes_at_the_same_instruction_in_many_warps_are_named_once():
    text = entry(
        "",
        """.reg .b32 %r<2>; .reg .pred %p; mov.u32 %r0, %laneid; setp.lt.u32 %p, %r0, 18;
@%p bra $spin;
$other:
    bra $other;
$spin:
    bra $spin;""",
    )
    message = (
        r"block \(0, 0, 0\): lanes 18-31 of each of warps 0-3 are at line \d+ of the PTX \(bra \$other;\), "
        r"lanes 0-17 of each of warps 0-3 are at line \d+ of the PTX \(bra \$spin;\)$"
    )
    with pytest.raises(LaunchLimitError, match=message):
        we.ptx.Module(text)["k"][1, 128](max_steps=1000)


def test_a_single_tuple_is_a_grid_and_a_block_and_the_launch_shows_it():
    assert repr(we.ptx.Module(SCALE)["scale"][(2, 3)]) == "scale[(2, 1, 1), (3, 1, 1), 0]"

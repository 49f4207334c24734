# SPDX-License-Identifier: MIT
"""Facts about the two machines, one at a time: which of them runs a launch, and how the report describes it."""

import importlib.util

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.native.machines import module
from wmma_emu.errors import BackendUnavailableError, OptionError, UnsupportedInstructionError
from wmma_emu.ptx.launch import machines

pytest.importorskip("llvmlite")

DOUBLE = "ld.global.u32 %r1, [%d3]; add.u32 %r1, %r1, %r1; st.global.u32 [%d1], %r1; ret;"
CLOCK = "mov.u32 %r1, %clock; st.global.u32 [%d1], %r1; ret;"


@pytest.fixture
def x():
    return np.arange(64, dtype=np.uint32)


def launch(body, x, **options):
    return module(body)["k"][2, 32](x, x, **options)


def test_a_kernel_with_native_code_runs_on_the_native_machine(x):
    report = launch(DOUBLE, x)
    assert (report.machine, report.machine_reason) == ("native", "")
    assert x.tolist() == [2 * i for i in range(64)]
    assert " on the native machine" in str(report)
    assert report.to_dict()["machine"] == "native"


def test_the_numpy_machine_can_be_chosen(x):
    report = launch(DOUBLE, x, machine="numpy")
    assert (report.machine, report.machine_reason) == ("numpy", 'machine="numpy"')
    assert 'machine: numpy, because machine="numpy"' in report.to_text(verbose=True)


def test_a_kernel_without_native_code_runs_on_the_numpy_machine(x):
    report = launch(CLOCK, x)
    assert (report.machine, report.machine_reason) == ("numpy", "%clock advances while the kernel runs")


def test_asked_for_the_native_machine_such_a_kernel_is_an_error(x):
    with pytest.raises(UnsupportedInstructionError, match=r"k cannot run on the native machine: %clock advances"):
        launch(CLOCK, x, machine="native")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"schedule": 3}, "order of the warps"),
        ({"cooperative": True}, "cooperative"),
    ],
)
def test_some_options_need_the_numpy_machine(options, reason, x):
    assert reason in launch(DOUBLE, x, **options).machine_reason


def test_the_first_of_several_orders_may_be_native(x):
    assert launch(DOUBLE, x, schedules=2).machine == "native"


def test_without_llvmlite_the_numpy_machine_runs_everything(x, monkeypatch):
    monkeypatch.setattr(machines, "find_spec", lambda name: None)
    assert importlib.util.find_spec("llvmlite") is not None
    assert launch(DOUBLE, x).machine_reason == "llvmlite is not installed"
    with pytest.raises(BackendUnavailableError, match=r"needs llvmlite.*fast"):
        launch(DOUBLE, x, machine="native")


@pytest.mark.parametrize("given", ["Native", "gpu", 3, None])
def test_a_machine_that_does_not_exist_is_an_error(given, x):
    with pytest.raises(OptionError, match="machine="):
        launch(DOUBLE, x, machine=given)


def test_a_flag_runs_the_launch_again_from_the_beginning(x):
    # The second store is out of bounds; the first one is done once.
    report = launch(
        "ld.global.u32 %r1, [%d3]; add.u32 %r1, %r1, 1; st.global.u32 [%d1], %r1; st.global.u32 [%d1+4096], %r1; ret;",
        x,
    )
    assert report.machine_reason == "an access may be out of bounds"
    assert {f.kind for f in report.findings} == {"out of bounds"}
    assert x.tolist() == [i + 1 for i in range(64)]


def test_variables_of_the_module_keep_their_values():
    made = we.ptx.Module(
        """.version 8.0\n.target sm_80\n.address_size 64\n.global .u32 count = 5;
        .visible .entry k() { .reg .b32 %r<3>; ld.global.u32 %r1, [count]; add.u32 %r1, %r1, 1;
        st.global.u32 [count], %r1; ret; }"""
    )
    assert [made["k"][1, 1]().machine for _ in range(2)] == ["native"] * 2
    assert int(made.variable("count")[0]) == 7


MALLOC = """.extern .func (.param .b64 p) malloc (.param .b64 size);
.visible .entry keep(.param .u64 x) {
  .reg .b64 %d<3>; ld.param.u64 %d0, [x];
  { .param .b64 size; .param .b64 p; st.param.b64 [size], 16; call (p), malloc, (size); ld.param.b64 %d1, [p]; }
  st.global.u32 [%d1], 7; st.global.u64 [%d0], %d1; ret;
}"""


def test_only_kernels_that_use_the_device_heap_need_the_numpy_machine(x):
    follow = "ld.global.u64 %d4, [%d0]; ld.global.u32 %r1, [%d4]; st.global.u32 [%d1], %r1; ret;"
    kept = np.zeros(1, np.uint64)
    made = module(follow, before=MALLOC)
    assert "malloc" in made["keep"][1, 1](kept).machine_reason
    report = made["k"][1, 1](kept, x)
    assert (report.machine_reason, report.findings, int(x[0])) == ("an access may be out of bounds", (), 7)
    assert module(DOUBLE, before=MALLOC)["k"][2, 32](x, x).machine == "native"

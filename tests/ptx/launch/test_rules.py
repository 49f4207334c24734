# SPDX-License-Identifier: MIT
"""The rules of a launch, one fact each: arguments, results, findings, options, fusion."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import HEAD, SCALE, SHIFT, entry
from wmma_emu.errors import (
    ArgumentError,
    ArgumentValueError,
    KernelFindingsError,
    KernelFindingsWarning,
    LaunchConfigurationError,
    UnsupportedInstructionError,
)

RACE, RIGHT = SHIFT.replace("BARRIER", ""), SHIFT.replace("BARRIER", "bar.sync 0;")


def stored(parameter: str, value) -> int:
    """The bits that a kernel finds in its parameter."""
    kind = parameter.replace("u64", "b64").replace("f32", "b32").replace("s32", "b32")
    body = f".reg .b64 %a; .reg .{kind} %v; ld.param.u64 %a, [out]; ld.param.{kind} %v, [v];"
    out = np.zeros(1, np.uint64)
    body += f"st.global.{kind} [%a], %v; ret;"
    we.ptx.Module(entry(f".param .u64 out, .param .{parameter} v", body))["k"][1, 1](out, value)
    return int(out[0])


def test_a_kernel_updates_arrays_in_place():
    x = np.arange(4, dtype=np.float32)
    report = we.ptx.Module(SCALE)["scale"][1, 32](x, 2.0, 3)
    assert x.tolist() == [0, 2, 4, 3] and report.findings == ()


def test_integers_are_twos_complement_and_floats_are_rounded_to_nearest():
    assert stored("s32", -2) == 0xFFFFFFFE
    assert stored("f32", 0.1) == 0x3DCCCCCD  # 0.1 rounded up; truncated it would be 0x3DCCCCCC
    assert stored("u64", None) == 0


def test_a_struct_has_the_padding_of_cpp():
    struct = we.ptx.Struct(np.int8(1), np.int32(2), np.float16(1))
    assert struct.pack(lambda array: 0).hex(" ", 4) == "01000000 02000000 003c0000"


def test_a_struct_of_bytes_has_pointers_at_offsets():
    struct = we.ptx.Struct(bytes(16), pointers={8: np.zeros(4)})
    assert struct.pack(lambda array: 0x1234).hex(" ", 8) == "0000000000000000 3412000000000000"


def test_with_addresses_of_the_host_pointers_in_data_reach_arrays():
    text = entry(
        ".param .u64 places",
        ".reg .b64 %a<2>; ld.param.u64 %a0, [places]; ld.global.u64 %a1, [%a0]; st.global.u32 [%a1+4], 7; ret;",
    )
    x = np.zeros(2, np.uint32)
    places = np.array([x.ctypes.data], np.uint64)
    we.ptx.Module(text)["k"][1, 1](places, addresses="host", reachable=[x], findings="raise")
    assert x.tolist() == [0, 7]
    with pytest.raises(KernelFindingsError, match="out of bounds"):
        we.ptx.Module(text)["k"][1, 1](places, findings="raise")


def test_a_value_outside_the_range_of_its_parameter_is_rejected():
    kernel = we.ptx.Module(SCALE)["scale"]
    with pytest.raises(ArgumentValueError, match="from -2147483648 to 4294967295, not 4294967296"):
        kernel[1, 32](np.zeros(4, np.float32), 2.0, 1 << 32)
    with pytest.raises(ArgumentError, match="takes 3 arguments, 2 were given"):
        kernel[1, 32](np.zeros(4, np.float32), 2.0)


def test_a_launch_needs_a_grid_and_a_legal_block():
    kernel = we.ptx.Module(SCALE)["scale"]
    with pytest.raises(LaunchConfigurationError, match="launch it with a grid and a block"):
        kernel(np.zeros(4, np.float32), 2.0, 4)
    with pytest.raises(LaunchConfigurationError, match="1024"):
        kernel[1, 1025]


def test_ptx_for_a_later_chip_is_rejected():
    with pytest.raises(UnsupportedInstructionError, match=r"the PTX is for sm_80, and sm_75 .* is an older chip"):
        we.ptx.Module(SCALE, arch="sm_75")


def test_findings_warn_by_default_and_raise_on_request_without_changing_the_arrays():
    x, y = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    with pytest.raises(KernelFindingsError, match="race"):
        we.ptx.Module(RACE)["shift"][1, 64](x, y, findings="raise")
    assert not y.any()
    with pytest.warns(KernelFindingsWarning, match="race"):
        we.ptx.Module(RACE)["shift"][1, 64](x, y)
    assert y.any()


def test_a_kernel_without_faults_has_no_findings():
    x, y = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    assert we.ptx.Module(RIGHT)["shift"][1, 64](x, y, findings="raise", schedules=3).findings == ()
    assert y.tolist() == [*range(32, 64), *range(32)]


def test_a_silenced_finding_neither_warns_nor_raises():
    line = RACE.splitlines().index("    st.shared.u32 [%r4], %r1;") + 1
    module = we.ptx.Module(RACE, silence=[we.ptx.Silence("race", line, "the test")])
    report = module["shift"][1, 64](np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32), findings="raise")
    assert report.findings == () and [x.finding.kind for x in report.silenced] == ["race"]


@pytest.mark.parametrize(("contraction", "bits"), [("rules", 0x3A000400), ("never", 0x3A000000)])
def test_a_product_and_a_sum_without_a_rounding_are_fused_as_ptxas_does(contraction, bits):
    # (1 + 2**-12)**2 - 1 is 2**-11 + 2**-24; the rounded product loses 2**-24.
    text = f"""{HEAD}
.visible .entry k(.param .u64 out, .param .f32 v)
{{
    .reg .b64 %a; .reg .f32 %f<4>;
    ld.param.u64 %a, [out];
    ld.param.f32 %f0, [v];
    mul.f32 %f1, %f0, %f0;
    add.f32 %f2, %f1, 0fBF800000;
    st.global.f32 [%a], %f2;
    ret;
}}"""
    out = np.zeros(1, np.uint32)
    report = we.ptx.Module(text, contraction=contraction)["k"][1, 1](out, 1 + 2.0**-12)
    assert out[0] == bits and bool(report.contracted) == (contraction == "rules")

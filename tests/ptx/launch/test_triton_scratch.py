# SPDX-License-Identifier: MIT
"""The scratch memory of a kernel that Triton compiled: every block has its own, after the arguments."""

import numpy as np
import pytest

from wmma_emu.errors import LaunchLimitError, UnsupportedInstructionError
from wmma_emu.ptx import Module
from wmma_emu.ptx.launch.triton_compiled import CompiledTriton, Scratch

TEXT = """
.version 8.0 .target sm_80 .address_size 64
.visible .entry f(.param .u64 out, .param .u64 global, .param .u64 profile)
{
    .reg .b32 %r<5>; .reg .b64 %a<8>;
    ld.param.u64 %a0, [out];
    ld.param.u64 %a1, [global];
    ld.param.u64 %a2, [profile];
    mov.u32 %r0, %ctaid.x;
    mul.wide.u32 %a3, %r0, 32;
    add.s64 %a4, %a1, %a3;
    st.global.u32 [%a4+28], %r0;
    bar.warp.sync 0xffffffff;
    ld.global.u32 %r1, [%a4+28];
    ld.global.u32 %r2, [%a4];
    mul.wide.u32 %a5, %r0, 8;
    add.s64 %a6, %a0, %a5;
    st.global.u32 [%a6], %r1;
    st.global.u32 [%a6+4], %r2;
    ret;
}"""


def module(**changes):
    made = Module(TEXT, arch="sm_80", findings="raise")
    compiled = CompiledTriton(
        ptx=TEXT, name="f", num_warps=1, num_ctas=1, shared_bytes=0, signature={"out": "*i32"}, constants={},
        divisible=frozenset(), given=("out",), fusion=True, tensor_maps=(),
        scratch=(Scratch(32, 128), Scratch(0, 1)),
    )  # fmt: skip
    made.triton = compiled._replace(**changes)
    return made


def test_every_block_has_separate_uninitialised_scratch_memory():
    out = np.zeros((6, 2), np.uint32)
    findings = module().kernel[3](out, findings="report").findings
    assert {(x.kind, x.text) for x in findings if x.severity == "error"} == {
        ("uninitialised", "st.global.u32 [%a6+4], %r2;")
    }
    assert out[:3, 0].tolist() == [0, 1, 2] and (out[:3, 1] == 0xFFFFFFFF).all()


def test_scratch_memory_counts_as_memory_of_the_launch():
    with pytest.raises(LaunchLimitError, match="the global scratch of f"):
        module().kernel[1 << 20](np.zeros(4, np.uint32), max_bytes=1 << 20)


@pytest.mark.parametrize(("changes", "message"), [
    ({"num_ctas": 2}, "f runs in clusters of 2 blocks, which is not modelled"),
    ({"tensor_maps": True}, "takes tensor maps"),
    ({"signature": {}, "given": ()}, "parameters that Triton's instrumentation added"),
])  # fmt: skip
def test_unsupported_scratch_parameters_are_rejected(changes, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        module(**changes).kernel[1](*[np.zeros(4, np.uint32)] * (not changes.get("given") == ()))

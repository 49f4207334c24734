# SPDX-License-Identifier: MIT
"""A module in which some kernels cannot run: the others run as usual."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import HEAD
from wmma_emu.errors import UnsupportedInstructionError

TEXT = (
    HEAD
    + """.func f { ret; }
.func missing;
.global .align 8 .u64 table[2] = {f, missing};
.visible .entry good(.param .u64 x)
{
    .reg .b64 %a; .reg .b32 %r;
    ld.param.u64 %a, [x];
    mov.u32 %r, %tid.x;
    red.global.add.u32 [%a], %r;
    call f;
    ret;
}
.visible .entry indirect(.param .u64 x)
{
    .reg .b64 %a<2>;
    mov.u64 %a0, good;
    ld.param.u64 %a1, [x];
    P: .callprototype _ (.reg .b32 _);
    call.uni %a1, (1), P;
    frob.s32 %a1, %a1;
    ret;
}
.visible .entry dispatch()
{
    .reg .b64 %a;
    ld.global.u64 %a, [table];
    ret;
}
.func g(.reg .b32 n) { call g, (n); ret; }
.visible .entry recursive()
{
    call g, (1);
    ret;
}
"""
)


@pytest.mark.parametrize("contraction", ["rules", "never"])
def test_the_kernels_that_are_not_concerned_run(contraction):
    x = np.zeros(1, np.uint32)
    report = we.ptx.Module(TEXT, contraction=contraction)["good"][1, 32](x)
    assert (x[0], report.findings) == (496, ())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "indirect",
            "indirect cannot run, line 19: mov.u64 %a0, good;\n"
            "the address of good is used, which is a kernel; kernels cannot be launched from kernels; and 2 more, "
            "which explain() lists",
        ),
        (
            "dispatch",
            "dispatch cannot run, line 6: .global .align 8 .u64 table[2] = {f, missing};\n"
            "missing, in the initial value of table, is a function without a body; link the PTX that defines it: "
            "module.link(other)",
        ),
        (
            "recursive",
            "recursive cannot run, line 32: .func g(.reg .b32 n) { call g, (n); ret; }\n"
            "recursion: g may be called while it is running, and has .reg parameters; declare its parameters and "
            "results .param",
        ),
    ],
)
def test_a_launch_of_the_others_names_the_line_and_the_reason(name, message):
    kernel = we.ptx.Module(TEXT)[name]
    arguments = [np.zeros(1, np.uint64)] * len(kernel.parameters)
    with pytest.raises(UnsupportedInstructionError) as found:
        kernel[1, 32](*arguments)
    assert str(found.value) == message


def test_explain_lists_what_is_missing_and_why():
    explanation = we.ptx.Module(TEXT).explain()
    good, indirect, dispatch, recursive = explanation.kernels
    assert good.missing == ()
    assert [(x.opcode, x.line) for x in indirect.missing] == [("mov.u64", 19), ("call.uni", 22), ("frob.s32", 23)]
    assert [(x.opcode, x.line) for x in (*dispatch.missing, *recursive.missing)] == [(".global", 6), (".func", 32)]
    shown = str(explanation).splitlines()
    missing = "mov.u64: the address of good is used, which is a kernel; kernels cannot be launched from kernels"
    assert f"missing        line 19: {missing}" in shown
    missing = "a function with .reg parameters is called through an address; declare them .param"
    assert f"               line 22: call.uni: {missing}" in shown
    reason = (
        "recursion: g may be called while it is running, and has .reg parameters; declare its parameters and results "
        ".param"
    )
    assert explanation.to_dict()["kernels"][3]["missing"] == [{"opcode": ".func", "line": 32, "reason": reason}]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("__nv_abs", "libdevice, which nvcc, NVRTC and clang link before they write PTX, defines it"),
        ("cudaDeviceSynchronize", "cudadevrt defines it, for launches from kernels, which the emulator does not have"),
        ("curand_init", r"the headers of cuRAND define it: #include <curand_kernel.h>"),
        ("helper", r"link the PTX that defines it: module.link\(other\)"),
    ],
)
def test_a_function_that_nothing_defines_is_named_with_what_would_define_it(name, what):
    declared = f".extern .func (.param .b32 r) {name}(.param .b32 n);\n"
    body = f""".visible .entry k() {{ .param .b32 r; .param .b32 n;
        st.param.b32 [n], 16;
        call.uni (r), {name}, (n);
        ret; }}\n.visible .entry other() {{ ret; }}"""
    module = we.ptx.Module(HEAD + declared + body)
    assert not module["other"][1, 32]().findings
    said = rf"k cannot run, line 7: .*\n.*{name} is not defined.*{what}"
    with pytest.raises(UnsupportedInstructionError, match=said):
        module["k"][1, 32]()

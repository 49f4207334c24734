# SPDX-License-Identifier: MIT
"""The tool that compiles LLVM's NVPTX tests, on a synthetic checkout."""

import pytest

pytest.importorskip("llvmlite")

from tools.peers.llvm import COMPLETE, REFUSED, UNDEFINED, chip_of, main, row_of, with_calls
from tools.peers.llvm_compile import runs_of

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
FUNCTION = (
    HEAD
    + """.visible .func (.param .b32 r) half(.param .b32 x, .param .align 8 .b8 y[16])
{ .reg .b32 %r1; ld.param.b32 %r1, [x]; shr.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }
"""
)
SOURCE = """
; RUN: llc < %s -mtriple=nvptx64 -mcpu=sm_80 -mattr=+ptx71 | FileCheck %s
; RUN: %if ptxas %{ llc < %s -mtriple=nvptx64 -mcpu=sm_80 -mattr=+ptx71 | %ptxas-verify %}
define i32 @add(i32 %a, i32 %b) {
  %c = add i32 %a, %b
  ret i32 %c
}
"""


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("llc < %s -march=nvptx64 -mcpu=sm_20 | FileCheck %s", ["nvptx64 sm_20"]),
        ("llc < %s -mtriple=nvptx -O0 -verify-machineinstrs", ["nvptx"]),
        ("llc %s -o - -mtriple=nvptx64 -mcpu=sm_90 -nvptx-fma-level=0", ["nvptx64 sm_90 nvptx-fma-level"]),
        ("%if ptxas-isa-8.0 %{ llc < %s -mcpu=sm_90 | %ptxas-verify %}", ["nvptx64 sm_90"]),
        ("llc < %s -mtriple=nvptx64 \\\n; RUN:   -mcpu=sm_70 | FileCheck %s", ["nvptx64 sm_70"]),
        ("not --crash llc < %s -mtriple=nvptx64 2>&1", []), ("opt < %s -S -passes=nvvm-reflect", []),
        ("llc < %t -mtriple=nvptx64", []),
    ],
)  # fmt: skip
def test_commands_that_compile_the_file_itself_are_read(line, runs):
    assert [str(x) for x in runs_of(f'; RUN: {line}\ntarget triple = "nvptx64-nvidia-cuda"\n')] == runs


def test_a_function_is_compiled_because_a_kernel_calls_it():
    assert with_calls(FUNCTION).splitlines()[-1] == (
        ".entry call_0() { .param .b32 r0; .param .b32 p0; .param .align 8 .b8 p1[16]; "
        "call.uni (r0), half, (p0, p1); ret; }"
    )
    assert row_of("f", FUNCTION, None).outcome == COMPLETE
    row = row_of("f", FUNCTION.replace("shr.u32", "frob.u32"), None)
    assert (row.outcome, row.reason.partition(":")[0]) == (REFUSED, "frob")


@pytest.mark.parametrize("body", ["call.uni f;", "p: .callprototype _ (); mov.b64 %rd1, f; call %rd1, p;"])
def test_a_function_that_is_only_declared_is_not_a_refusal(body):
    text = f"{HEAD}.extern .func f();\n.visible .entry k() {{ .reg .b64 %rd1; {body} ret; }}"
    assert row_of("k", text, None).outcome == UNDEFINED


@pytest.mark.parametrize(
    ("target", "chip"), [("sm_61", "sm_90"), ("sm_75", "sm_75"), ("sm_120a", "sm_120"), ("sm_110f", "sm_110")]
)
def test_code_for_chips_without_tensor_cores_runs_on_a_newer_one(target, chip):
    assert chip_of(f".target {target}") == chip


def test_a_checkout_is_compiled_and_its_ptx_is_kept(tmp_path, capsys):
    folder = tmp_path / "llvm/test/CodeGen/NVPTX"
    folder.mkdir(parents=True)
    (folder / "add.ll").write_text(SOURCE)
    (folder / "wrong.ll").write_text("; RUN: llc < %s -mtriple=nvptx64\nnonsense\n")
    kept = tmp_path / "ptx"
    assert main([str(tmp_path), "--ptxas", "", "--keep", str(kept)]) == 0
    assert [x.name for x in kept.iterdir()] == ["add.0.ptx"]
    table = capsys.readouterr().out
    assert "| complete | 1 |" in table
    assert "| not compiled by this LLVM | 1 |" in table


def test_a_folder_that_is_not_a_checkout_of_llvm_is_rejected(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "give a checkout of LLVM" in capsys.readouterr().err

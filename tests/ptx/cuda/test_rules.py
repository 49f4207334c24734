# SPDX-License-Identifier: MIT
"""The rules of compiling CUDA C++, one fact each: targets, options, host code, messages; no compiler is needed."""

from pathlib import Path

import pytest

from wmma_emu.errors import ArgumentError, ArgumentValueError, OptionError
from wmma_emu.ptx.cuda.compile import compile_cuda
from wmma_emu.ptx.cuda.host_code import device_code_of
from wmma_emu.ptx.cuda.include_files import inclusions_of
from wmma_emu.ptx.cuda.messages import errors_of, missing_header, warnings_of
from wmma_emu.ptx.cuda.options import of_nvcc, of_nvrtc
from wmma_emu.ptx.cuda.request import virtual_architecture


def test_a_chip_is_compiled_for_as_its_virtual_architecture():
    assert virtual_architecture("h100") == "compute_90"
    assert virtual_architecture("sm_90a") == "compute_90a"  # wgmma exists only there
    assert virtual_architecture("sm_100f") == "compute_100f"


def test_options_for_host_code_and_linking_are_removed_for_nvrtc():
    assert of_nvrtc(["-O3", "-Xcompiler", "-Wall", "-lcublas", "-DN=4", "-lineinfo"]) == ["-DN=4", "-lineinfo"]


def test_nvcc_gets_the_permissions_that_nvrtc_has_by_default():
    assert of_nvcc(["-DN=4"]) == ["--expt-relaxed-constexpr", "--extended-lambda", "-DN=4"]


def test_host_functions_are_blanked_out_and_lines_do_not_move():
    source = "int helper() { return 1; }\n__global__ void k(int* x) { *x = 2; }\nint main() { helper(); }\n"
    found = device_code_of({"k.cu": source})
    assert found.texts["k.cu"].splitlines()[1] == "__global__ void k(int* x) { *x = 2; }"
    assert [x.strip() for x in found.texts["k.cu"].splitlines()] == ["", "__global__ void k(int* x) { *x = 2; }", ""]
    assert found.left_out == {"helper": ("k.cu", 1), "main": ("k.cu", 3)}


def test_declarations_that_a_kernel_uses_are_kept():
    source = "struct P { int n; };\nstruct Q { int n; };\n__global__ void k(P p) { }\n"
    assert [bool(x.strip()) for x in device_code_of({"k.cu": source}).texts["k.cu"].splitlines()] == [True, False, True]


def test_templates_that_the_host_launches_are_found_with_their_constants():
    source = "template <int N> __global__ void k() { }\nint main() { const int n = 32; k<n><<<1, 1>>>(); }\n"
    assert device_code_of({"k.cu": source}).launches == ("k<(32)>",)


def test_an_included_file_is_the_users_or_missing(tmp_path):
    Path(tmp_path, "mine.cuh").write_text("#include <other.h>\n")
    found = inclusions_of('#include "mine.cuh"\n', [tmp_path], [])
    assert [x.name for x in found.files] == ["mine.cuh"] and found.missing == ("other.h",) and found.is_complete
    assert not inclusions_of("#include NAME\n", [], []).is_complete


def test_errors_are_separated_from_warnings():
    log = 'k.cu(1): warning #177-D: variable "n" is unused\nk.cu(2): error: expected a ";"\n1 error detected'
    assert errors_of(log, {}) == 'k.cu(2): error: expected a ";"'
    assert warnings_of(log) == 'k.cu(1): warning #177-D: variable "n" is unused'


def test_a_missing_header_is_named():
    assert missing_header('k.cu(1): catastrophic error: cannot open source file "mine.cuh"') == "mine.cuh"
    assert missing_header("k.cu:1:10: fatal error: mine.h: No such file or directory") == "mine.h"
    assert missing_header("k.cu(1): error: expected a declaration") == ""


def test_invalid_requests_are_rejected_before_any_compiler_runs():
    with pytest.raises(ArgumentError, match=r"a CUDA source is a str, not int 7; Module.from_file reads files"):
        compile_cuda(7, "sm_90")
    with pytest.raises(ArgumentValueError, match="the source has a NUL"):
        compile_cuda("int\0x;", "sm_90")
    with pytest.raises(OptionError, match="compiler='gcc' is not one of 'auto', 'nvrtc', 'nvcc', 'device part'"):
        compile_cuda("", "sm_90", compiler="gcc")

# SPDX-License-Identifier: MIT
"""The tools that run other projects' suites, on synthetic checkouts."""

import argparse
import json
import shutil

import numpy as np
import pytest

from tools.peers import cuda_samples, ocelot, tinygrad
from tools.peers.cub_cases import CASES, source_of
from tools.peers.table import Row, print_table, revision, table_of
from wmma_emu.languages.tinygrad import argument_of, run_kernel

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
ADD = (
    HEAD
    + """.visible .entry add(.param .u64 d, .param .u64 x, .param .s32 n) {
.reg .b32 %r<4>; .reg .b64 %a<3>; ld.param.u64 %a1, [x]; ld.param.u64 %a2, [d]; ld.param.s32 %r1, [n];
ld.global.u32 %r2, [%a1]; add.s32 %r3, %r2, %r1; st.global.u32 [%a2], %r3; ret; }
"""
)


def test_a_table_counts_outcomes_and_groups_cases_by_reason():
    rows = [Row("a", "equal"), Row("b", "refused", "no | textures"), Row("c", "refused", "no | textures")]
    text = table_of("suite", "r1", rows, reasons=1)
    assert text.splitlines()[0].startswith("suite, r1; wmma_emu ")
    assert text.endswith("| refused | no / textures | 2 | b, and 1 more |")


def test_the_exit_status_says_whether_every_outcome_is_good(capsys):
    assert print_table("suite", "r1", [Row("a", "equal")], ("equal",)) == 0
    assert print_table("suite", "r1", [Row("a", "equal"), Row("b", "wrong", "x")], ("equal",)) == 1
    assert "| wrong | x | 1 | b |" in capsys.readouterr().out


def test_a_folder_that_git_does_not_know_has_its_name(tmp_path):
    assert revision(tmp_path) == f"{tmp_path.name} (no git)"


def test_a_launch_of_tinygrad_gets_the_memory_of_its_driver():
    memory = {4096: bytearray(np.array([7, 8, 9], np.int32).tobytes()), 8192: bytearray(8)}
    values = [8196, 4104, 0xFFFFFFFF]
    run_kernel(ADD, values, ((1, 1, 1), (1, 1, 1), 0), memory)
    assert memory[8192].hex() == "00000000" + "08000000"


def test_an_address_outside_the_memory_stays_a_number():
    assert argument_of(12, 64, {4096: bytearray(4)}) == 12


def test_a_failed_launch_fails_its_test_and_gives_the_reason():
    records = [
        {"test": "test/backend/test_x.py::a", "outcome": "passed", "error": "", "launch": ""},
        {"test": "test/backend/test_x.py::b", "outcome": "failed", "error": "AssertionError: 1", "launch": ""},
        {"test": "test/backend/test_x.py::c", "outcome": "failed", "error": "", "launch": "no textures"},
    ]
    assert tinygrad.rows_of(records) == [
        Row("test_x.py::a", "passed"), Row("test_x.py::b", "failed", "AssertionError: 1"),
        Row("test_x.py::c", "failed in a launch", "no textures"),
    ]  # fmt: skip


def test_tinygrads_own_tests_are_chosen_by_file(tmp_path):
    folder = tmp_path / "test/backend"
    folder.mkdir(parents=True)
    for name in ("test_ops.py", "test_multitensor.py", "helpers.py"):
        (folder / name).touch()
    assert tinygrad.files_on_mock_gpu(tmp_path) == ["test/backend/test_ops.py"]


MOCK = {
    "tinygrad/__init__.py": "",
    "test/__init__.py": "",
    "test/mockgpu/__init__.py": "",
    "test/mockgpu/helpers.py": "def ptx_run(*_): raise AssertionError\n",
    "test/mockgpu/cuda/__init__.py": "",
    "test/mockgpu/cuda/cuda.py": """
import ctypes
from types import SimpleNamespace
from test.mockgpu.helpers import ptx_run
cuda_state = SimpleNamespace(memory={4096: bytearray(8)})
def launch(text, *values):
  ptx_run(ctypes.c_char_p(text.encode()), len(values), (ctypes.c_void_p * len(values))(*values), 1, 1, 1, 1, 1, 1, 0)
""",
    "test/backend/test_x.py": f"""
from test.mockgpu.cuda.cuda import cuda_state, launch
TEXT = {ADD!r}
def test_good():
  launch(TEXT, 4100, 4096, 5)
  assert cuda_state.memory[4096][4:].hex() == "05000000"
def test_wrong(): assert cuda_state.memory[4096][4:].hex() == "06000000"
def test_unsupported(): launch(TEXT.replace("add.s32 %r3", "frob.s32 %r3"), 4100, 4096, 5)
""",
}


@pytest.mark.thorough
def test_a_checkout_of_tinygrad_runs_its_tests_in_its_own_process(tmp_path, capsys):
    for name, text in MOCK.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    kept = tmp_path / "results.jsonl"
    assert tinygrad.main([str(tmp_path), "--keep", str(kept), "--", "-p", "no:randomly"]) == 1
    records = [json.loads(x) for x in kept.read_text().splitlines()]
    assert {x["test"].partition("::")[2]: x["outcome"] for x in records} == {
        "test_good": "passed", "test_wrong": "failed", "test_unsupported": "failed",
    }  # fmt: skip
    table = capsys.readouterr().out
    assert "| failed in a launch | UnsupportedInstructionError:" in table
    assert "| failed | AssertionError: " in table


def test_a_folder_that_is_not_a_checkout_of_tinygrad_is_rejected(tmp_path, capsys):
    with pytest.raises(SystemExit):
        tinygrad.main([str(tmp_path)])
    assert "give a checkout of tinygrad" in capsys.readouterr().err


def _ocelot_case(**changes):
    text = HEAD + (
        ".entry test(.param .u64 out, .param .u64 in) { .reg .b64 %a<3>; .reg .f32 %f; ld.param.u64 %a1, [in]; "
        "ld.param.u64 %a2, [out]; ld.global.f32 %f, [%a1]; add.f32 %f, %f, 0f3F800000; st.global.f32 [%a2], %f; exit; }"
    )
    case = {
        "name": "TestAdd", "ptx": text, "input": "0000803f", "expected": "00000040", "results": "f", "seed": 1,
        "threads": 1, "blocks": 1, "epsilon": 0,
    }  # fmt: skip
    return case | changes


def test_a_case_of_gpuocelot_is_equal_near_or_wrong():
    assert ocelot.row_of(_ocelot_case(), None) == Row("TestAdd (1)", ocelot.EQUAL)
    assert ocelot.row_of(_ocelot_case(expected="01000040", epsilon=1), None) == Row("TestAdd (1)", ocelot.NEAR)
    wrong = ocelot.row_of(_ocelot_case(expected="0000803f"), None)
    assert wrong == Row("TestAdd (1)", "differs", "0x40000000, expected 0x3f800000")


def test_a_case_of_gpuocelot_that_cannot_run_is_refused():
    row = ocelot.row_of(_ocelot_case(ptx=_ocelot_case()["ptx"].replace("add.f32", "frob.f32")), None)
    assert row.outcome == "refused"
    assert "frob.f32" in row.reason


@pytest.mark.parametrize(
    ("here", "there", "epsilon", "near"),
    [
        ("f32 nan", "f32 nan", 0, True), ("f32 inf", "f32 inf", 0, True), ("f32 inf", "f32 -inf", 0, False),
        ("f32 1e8", "f32 100000008", 0, True), ("f32 1e8", "f32 100000016", 0, False),
        ("f64 1", "f64 1.0000000000000002", 0, True), ("f64 1", "f64 1.0000000000000005", 0, False),
    ],
)  # fmt: skip
def test_numbers_are_compared_as_gpuocelot_does(here, there, epsilon, near):
    first, second = (
        np.dtype(x.split()[0].replace("f32", "f4").replace("f64", "f8")).type(x.split()[1]) for x in (here, there)
    )
    assert ocelot.is_near(first, second, epsilon) is near


def test_every_algorithm_of_cub_has_a_kernel():
    text = source_of(CASES)
    assert len({x.name for x in CASES}) == len(CASES)
    assert all(f"void {x.name}(" in text for x in CASES)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("block_scan_raking", [0, 3, 4, 8]), ("block_radix_sort_pairs", [1, 3, 0, 2]),
        ("block_radix_sort_descending", [255] * 4), ("block_discontinuity", [1, 1, 1, 1]),
        ("thrust_copy_if", [4, 0, 0, 0]), ("thrust_max_element", [4, 0, 0, 0]),
        ("block_adjacent_difference", [3, -2, 3, -3]),
    ],
)  # fmt: skip
def test_expected_results_of_algorithms_equal_those_by_hand(name, values):
    case = next(x for x in CASES if x.name == name)
    block = np.full(256, 255, np.int32)
    block[:4] = [3, 1, 4, 1]
    assert case.expected(block)[:4].tolist() == values


def test_sources_that_other_sources_include_are_not_compiled(tmp_path):
    sample, other = (tmp_path / "Samples/0_Introduction" / x for x in ("scan", "host"))
    for folder in (sample, other):
        folder.mkdir(parents=True)
        (folder / "CMakeLists.txt").touch()
    (sample / "scan.cu").write_text('#include "scan_kernel.cu"\n')
    (sample / "scan_kernel.cu").touch()
    (other / "main.cpp").touch()
    (found,) = cuda_samples.samples_of(tmp_path)
    assert (found.name, [x.name for x in found.sources]) == ("0_Introduction/scan", ["scan.cu"])


def test_a_sample_is_as_complete_as_its_worst_source(tmp_path):
    kept = tmp_path / "ptx"
    kept.mkdir()
    (kept / "s-a.cu.ptx").write_text(ADD)
    (kept / "s-b.cu.ptx").write_text(ADD.replace("add.s32 %r3", "frob.s32 %r3"))
    given = argparse.Namespace(keep=kept, checkout=tmp_path, include=[], arch="sm_90")
    sample = cuda_samples.Sample("s", tmp_path, (tmp_path / "a.cu", tmp_path / "b.cu"))
    assert cuda_samples.row_of(sample._replace(sources=sample.sources[:1]), given) == Row("s", "complete")
    row = cuda_samples.row_of(sample, given)
    assert row.outcome == "refused"
    assert row.reason.startswith("frob.s32: ")


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_a_kernel_that_only_host_code_and_itself_instantiate_is_compiled(tmp_path):
    source = tmp_path / "again.cu"
    source.write_text(
        "template <int N> __global__ void again(int *x) { if (*x > N) again<N><<<1, 1>>>(x); }\n"
        "void host(int *x) { const int n = 3; again<n><<<1, 1>>>(x); }\n"
    )
    text = cuda_samples.ptx_of(source, [], "sm_90")
    outcome, reason = cuda_samples.judged(text, "sm_90")
    assert outcome == "refused"
    assert "kernels cannot be launched from kernels" in reason

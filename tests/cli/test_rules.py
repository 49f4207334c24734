# SPDX-License-Identifier: MIT
"""The rules of the command line, one fact each: what is written where, exit statuses, words, and errors."""

import json
import warnings

import numpy as np
import pytest

import wmma_emu
from wmma_emu.errors import UnverifiedModelWarning

F16 = "m16n8k16.f32.f16.f16.f32"


@pytest.fixture
def ones(tmp_path, monkeypatch):
    """A current directory with a.npy (2 x 3) and b.npy (3 x 2), ones of f16."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.ones((2, 3), np.float16))
    np.save("b.npy", np.ones((3, 2), np.float16))
    return tmp_path


def last_lines(outcome, count):
    assert outcome.status == 0
    return [x.split() for x in outcome.out.splitlines()[-count:]]


def test_a_result_goes_to_standard_output_with_status_0(run):
    assert run("--version") == (0, f"wmma-emu {wmma_emu.__version__}\n", "")


def test_an_error_is_one_line_on_standard_error_with_status_2(run):
    assert run("gemm", "none.npy", "none.npy") == (2, "", "wmma-emu: error: none.npy: No such file or directory\n")


def test_without_arguments_the_commands_are_explained(run):
    status, out, err = run()
    assert (status, err) == (0, "")
    assert out.startswith("wmma-emu: NVIDIA's matrix instructions, bit for bit, on a machine without a GPU.\n")


def test_a_misspelt_command_gets_the_nearest_one(run):
    status, out, err = run("layuot", F16, "A")
    assert (status, out) == (2, "")
    assert err == (
        "wmma-emu: error: 'layuot' is not a command; did you mean layout? (wmma-emu help lists all commands)\n"
    )


def test_an_unknown_chip_gets_the_nearest_one(run):
    err = run("show", F16, "--arch", "h1000").err
    assert err.startswith("wmma-emu: error: there is no chip 'h1000'; did you mean 'h100' (sm_90)? ")


def test_a_chip_that_lacks_an_instruction_is_an_error_that_names_the_first_that_has_it(run):
    assert run("schedule", F16, "--arch", "sm_75").err.startswith(
        f"wmma-emu: error: sm_75 (Turing) has no '{F16}'; the first chip that supports it is sm_80. "
    )


def test_where_finds_the_lane_and_register_of_an_element(run):
    assert last_lines(run("where", F16, "A", "9", "2"), 2) == [
        ["LANE", "REGISTER", "BITS", "ELEMENT", "ROW", "COL"],
        ["5", "1", "15:0", "x2", "9", "2"],
    ]


def test_what_finds_the_elements_of_a_register(run):
    assert last_lines(run("what", F16, "A", "5", "1"), 2) == [
        ["5", "1", "15:0", "x2", "9", "2"],
        ["5", "1", "31:16", "x3", "9", "3"],
    ]


@pytest.mark.parametrize("words", [
    ("A[9,2]",), ("A[9][2]",), ("a(9, 2)",), ("--operand", "A", "--row", "9", "--col", "2"),
], ids=" ".join)  # fmt: skip
def test_an_element_may_be_written_in_several_ways(run, words):
    assert run("where", F16, *words) == run("where", F16, "A", "9", "2")


def test_a_position_outside_a_matrix_is_an_error_that_names_the_legal_ones(run):
    assert run("where", F16, "A", "16", "0").err == (
        "wmma-emu: error: --row 16: A has 16 rows; legal values are 0 to 15\n"
    )


def test_layout_shows_lanes_and_elements_in_the_shape_of_the_matrix(run):
    row_9 = next(x for x in run("layout", F16, "A").out.splitlines() if x.startswith(" 9|"))
    assert row_9.split("|")[1:5] == ["T4 x2-3 ", "T5 x2-3 ", "T6 x2-3 ", "T7 x2-3 "]


def test_words_of_list_combine_and_a_word_that_nothing_has_is_named(run):
    names = [x.split()[0] for x in run("list", "m16n8k8", "bf16", "dense").out.splitlines()[1:] if x.startswith("m16")]
    assert names == ["m16n8k8.f32.bf16.bf16.f32"]
    assert run("list", "bf16", "nosuch").err.startswith("wmma-emu: error: 'nosuch' names no instruction, chip, format")


def test_json_is_one_document_with_one_object_for_each_row(run):
    assert json.loads(run("where", F16, "A", "9", "2", "--format", "json").out) == [
        {"lane": 5, "register": 1, "bit_low": 0, "bit_high": 15, "element": 2, "row": 9, "col": 2, "read": True}
    ]


def test_an_output_file_has_what_standard_output_would_have_had(run, ones):
    expected = run("layout", F16, "A", "--format", "svg").out
    assert run("layout", F16, "A", "--format", "svg", "-o", "x.svg") == (0, "", "")
    assert (ones / "x.svg").read_text(encoding="utf-8") == expected


def test_a_file_name_of_another_format_is_an_error_and_writes_nothing(run, ones):
    status, _, err = run("layout", F16, "A", "--format", "svg", "-o", "x.json")
    assert status == 2 and "x.json: the output has format svg" in err
    assert sorted(x.name for x in ones.iterdir()) == ["a.npy", "b.npy"]


def test_gemm_writes_the_product_and_names_its_instruction_and_evidence(run, ones):
    status, out, _ = run("gemm", "a.npy", "b.npy", "-o", "d.npy", "--arch", "h100")
    assert status == 0 and np.load("d.npy").tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert "computed by  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 on sm_90 (Hopper)\n" in out
    assert "(measured)\n" in out


def test_explain_shows_the_bits_of_one_element(run, ones):
    assert run("explain", "a.npy", "b.npy", "1", "1").out.startswith("D[1, 1] = 0x40400000 (f32) = 3.0 = +0x1.8p+1\n")


def test_a_warning_is_one_line_on_standard_error_and_not_an_error(run, monkeypatch):
    def warned(*_):
        warnings.warn("these bits are not confirmed", UnverifiedModelWarning, stacklevel=1)

    monkeypatch.setattr("wmma_emu.cli.doctor.run", warned)
    assert run("doctor") == (0, "", "warning: these bits are not confirmed\n")


def test_an_interrupt_has_status_130_and_no_traceback(run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("wmma_emu.cli.doctor.run", interrupted)
    assert run("doctor") == (130, "", "")

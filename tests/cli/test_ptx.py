# SPDX-License-Identifier: MIT
"""``wmma-emu ptx``: PTX explained, kernels run on files, exit statuses, no partly written files."""

import json
import os
import re

import ml_dtypes
import numpy as np
import pytest

from tests.ptx.launch.asynchronous_kernels import CASES
from tests.ptx.planted.table import PLANTED
from tests.ptx.tensor_maps.test_maps_in_memory import module_with
from tests.ptx.texts_of_launches import SCALE, SHIFT, entry
from wmma_emu.cli import main


@pytest.fixture
def texts(here):
    (here / "scale.ptx").write_text(SCALE)
    (here / "race.ptx").write_text(SHIFT.replace("BARRIER", ""))
    (here / "two.ptx").write_text(entry("") + entry("").replace("k()", "l()").split("\n", 3)[3])
    (here / "later.ptx").write_text(SCALE.replace("sm_80", "sm_120a"))
    (here / "loop.ptx").write_text(entry("", "$l: bra $l;"))
    np.save("x.npy", np.arange(8, dtype=np.float32))
    np.save("u.npy", np.arange(128, dtype=np.uint32))
    np.save("half.npy", np.ones((2, 2), ml_dtypes.bfloat16))
    return here


def scale(*arguments):
    return ("ptx", "run", "scale.ptx", "--grid", "1", "--block", "32", *(y for x in arguments for y in ("--arg", x)))


def test_a_text_is_explained_to_people(run, texts):
    status, out, err = run("ptx", "explain", "scale.ptx")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[:4] == [
        "scale.ptx: PTX 8.0 for sm_80, on sm_90", "", "kernel         scale",
        "parameters     0: .u64 x, 8 bytes at 0",
    ]  # fmt: skip
    assert lines[-2:] == ["missing        nothing", "not bit-exact  nothing"]


def test_a_text_is_explained_to_programs(run, texts):
    status, out, _ = run("ptx", "explain", "later.ptx", "--format", "json")
    found = json.loads(out)
    assert status == 0 and (found["target"], found["arch"]) == ("sm_120a", "sm_120")
    assert [x["bytes"] for x in found["kernels"][0]["parameters"]] == [8, 4, 4]
    assert found["kernels"][0]["opcodes"]["mov.u32"] == 3 and found["kernels"][0]["missing"] == []


def test_a_kernel_runs_on_files_and_writes_those_that_are_named(run, texts):
    status, out, err = run(*scale("y.npy=x.npy", "0.5", "6"), "--arch", "a100", "--schedules", "2")
    assert (status, err) == (0, "")
    assert np.load("y.npy").tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 6, 7] and np.load("x.npy")[1] == 1
    assert out.startswith("scale on sm_80: ") and "findings: none" in out
    assert "y.npy" in out.splitlines()[-1] or "y.npy" in out.splitlines()[-2]


def test_asynchronous_operations_run_both_ways(run, here):
    case = CASES["a copy is read before its group"]
    (here / "k.ptx").write_text(case.faulty, encoding="utf-8")
    np.save("words.npy", case.arguments[0])
    given = ("ptx", "run", "k.ptx", "--grid", "1", "--block", "32", "--arg", "words.npy", "--arg", "o.npy=zeros:u32:32")
    status, _, err = run(*given, "--checks", "none", "--asynchrony", "both")
    assert status == 2
    assert "with --asynchrony 'late', element [0] of argument 1 (out) of k is 0x00000007, not 0x00000064" in err
    status, _, err = run(*given, "--checks", "none", "--asynchrony", "late")
    assert (status, err) == (0, "")
    assert np.load("o.npy").tolist() == [7] * 32
    status, _, err = run(*given, "--asynchrony", "lazy")
    assert status == 2
    assert "'eager', 'late', 'both'" in err


@pytest.mark.parametrize(("argument", "expected"), [
    ("o.npy=zeros:f32:2x4", np.zeros((2, 4), np.float32)),
    ("o.npy=zeros:bf16:16", np.zeros(16, np.uint16)),
    ("o.npy=zeros:s64:4", np.zeros(4, np.int64)),
    ("o.npy=half.npy", np.full((2, 2), 0x3F80, np.uint16)),
])  # fmt: skip
def test_outputs_have_the_type_and_the_shape_that_are_named(run, texts, argument, expected):
    assert run(*scale(argument, "-0x1p0" if argument is None else "1", "0")).status == 0
    found = np.load("o.npy")
    assert found.dtype == expected.dtype and np.array_equal(found, expected)


def test_arrays_are_checked_against_the_types_of_the_source(run, texts):
    text = SCALE.replace("entry scale(", "entry _Z5scalePffj(")
    with open("typed.ptx", "w", encoding="utf-8") as file:
        file.write(text)
    np.save("d.npy", np.zeros(8)), np.save("f.npy", np.asfortranarray(np.arange(8, dtype=np.float32).reshape(2, 4)))
    command = ("ptx", "run", "typed.ptx", "--grid", "1", "--block", "32", "--arg=2", "--arg=8")
    for source, message in (("d.npy", "is float*, but the array is of float64"), ("f.npy", "is a view that is not")):
        status, _, err = run(*command[:-2], "--arg", f"y.npy={source}", *command[-2:])
        assert status == 2 and message in err and "on the command line raw:x.npy" in err
    assert run(*command[:-2], "--arg", "y.npy=raw:f.npy", *command[-2:]).status == 0
    assert np.load("y.npy").tolist() == (2 * np.arange(8).reshape(2, 4)).tolist()
    assert run(*command[:-2], "--arg", "raw:x.npy", *command[-2:]).status == 1  # read-only
    assert "parameters     0: float* x; .u64, 8 bytes at 0" in run("ptx", "explain", "typed.ptx").out


def test_a_tensor_map_is_an_argument(run, here):
    (here / "rows.ptx").write_text(module_with("a parameter").text)
    np.save("rows.npy", np.arange(64, dtype=np.int32).reshape(2, 32))
    given = ("ptx", "run", "rows.ptx", "--arch", "sm_90a", "--grid", "1", "--block", "32")
    text = (here / "rows.ptx").read_text().replace("given[256]", "given[128]").replace("tensor.1d", "tensor.2d")
    (here / "rows.ptx").write_text(text.replace("{%x}]", "{%x, %x}]"))
    given = (*given, "--arg", "out.npy=zeros:s32:32", "--arg")
    assert run(*given, "map:1x32:rows.npy").status == 0 and np.load("out.npy").tolist() == list(range(32))
    assert run(*given, "m.npy=map:2x16:swizzle:32B:rows.npy").status == 2  # rows of 64 bytes are too long
    assert run(*given, "m.npy=map:1x32:element_strides:2x1:dtype:f32:fill:nan:zeros:s32:2x32").status == 0
    assert np.load("m.npy").shape == (2, 32)


def test_findings_are_printed_and_the_status_is_one(run, texts):
    status, out, err = run("ptx", "run", "race.ptx", "--grid", "1", "--block", "128", "--arg", "u.npy",
        "--arg", "y.npy=zeros:u32:128")  # fmt: skip
    assert (status, err) == (1, "") and "  error: race on tile at line " in out and os.path.exists("y.npy")
    status, out, _ = run(*scale("x.npy", "2", "8"))
    assert status == 1 and "  error: write to read-only memory of x at line" in out


@pytest.mark.parametrize(("argv", "line"), [
    (["ptx"], "ptx needs an action; its actions are explain, run, profile, tensor-map (wmma-emu ptx --help describes "
     "them)"),
    (["ptx", "rnu"], "ptx has no action 'rnu'; its actions are explain, run, profile, tensor-map; did you mean run?"),
    (["ptx", "explain"], "ptx explain needs FILE: PTX, or CUDA C++ (.cu) that NVRTC compiles"),
    (["ptx", "run", "x", "--grid", "1"], "ptx run needs --block: threads of a block"),
    (["ptx", "explain", "none.ptx"], "none.ptx: No such file or directory"),
    (["ptx", "explain", "x.npy"], "x.npy is not a text file; cuobjdump -ptx extracts the PTX of a binary"),
    (["ptx", "explain", ""], ""),
    (["ptx", "explain", "a\0b"], ""),
    (["ptx", "explain", "scale.ptx", "--fromat", "x"],
     "ptx explain has no option '--fromat'; it has --help, --arch, --contraction, --keep, --format, --output, "
     "--verbose; did you mean --format?"),
    (["ptx", "explain", "scale.ptx", "--keep", "x.npy"], "--keep 'x.npy' does not end in .ptx; name a file such as"),
    (["ptx", "explain", "scale.ptx", "--keep", "scale.ptx"], "scale.ptx is also an input; name another file to write"),
    (["ptx", "explain", "scale.ptx", "--keep", "no/x.ptx"], "no/x.ptx: the directory "),
    (["ptx", "explain", "scale.ptx", "--format", "csv"], "--format 'csv' is not one of text, json"),
    (["ptx", "explain", "scale.ptx", "--contraction", "x"], "--contraction 'x' is not one of rules, ptxas, never"),
    (["ptx", "explain", "later.ptx", "--arch", "a100"], "the PTX is for sm_120a, and sm_80 (Ampere) is an older chip"),
    (["ptx", "run", "two.ptx", "--grid", "1", "--block", "1"], "two.ptx has 2 kernels, k, l; name one: --kernel k\n"),
    (["ptx", "run", "scale.ptx", "--grid", "1;2", "--block", "1"], "--grid '1;2' is not one to three positive"),
    (["ptx", "run", "scale.ptx", "--grid", "1", "--block", "2000"], "block.x is 2000; sm_90 takes at most 1024"),
    (["ptx", "run", "scale.ptx", "--grid", "1", "--block", "1", "--max-steps", "x"], "--max-steps 'x' is not a "
        "positive"),
    (["ptx", "run", "loop.ptx", "--grid", "1", "--block", "1", "--max-steps", "1e3"], "took more than 1000 steps"),
    (scale("x.npy", "1"), "scale takes 3 arguments, 2 were given"),
    (scale("x.npy", "1", "1.5"), "argument 2 (n) of scale is a .u32: an integer, not 1.5"),
    (scale("x.npy", "one", "1"), "--arg 'one' is not one of a number, FILE.npy, raw:FILE.npy, OUT.npy=FILE.npy"),
    (scale("none.npy", "1", "1"), "--arg 'none.npy': there is no such file; --arg none.npy=zeros:f32:1024 "
     "passes 1024 zeros, and writes them to the file after the launch"),
    (scale("y=x.npy", "1", "1"), "--arg 'y=x.npy': 'y' is not a .npy file to write"),
    (scale("x.npy=x.npy", "1", "1"), "x.npy is also an input; name another file to write"),
    (scale("map:8x64", "1", "1"), "--arg 'map:8x64' names no array; expected map:8x64:x.npy"),
    (scale("map:x.npy", "1", "1"), "--arg 'map:x.npy': 'x.npy' is not one to five sizes, such as 8x64"),
    (scale("map:8,64:x.npy", "1", "1"), "--arg 'map:8,64:x.npy': '8,64' is not one to five sizes, such as 8x64"),
    (scale("map:8:swizle:32B:x.npy", "1", "1"), "dtype; did you mean swizzle?"),
    (scale("map:8:swizle:32B", "1", "1"), "'swizle:32B' is neither a .npy file nor zeros:f16:64x128"),
    (scale("map:8x8:x.npy", "1", "1"), "--arg 'map:8x8:x.npy': "),
    (scale("y.npy=3", "1", "1"), "--arg 'y.npy=3': '3' is not an array"),
    (scale("y.npy=zeros:f33:3", "1", "1"), "--arg 'zeros:f33:3': 'f33' is not a type; expected one of"),
    (scale("y.npy=zeros:f32:3y", "1", "1"), "--arg 'zeros:f32:3y': '3y' is not a shape"),
    (scale("y.npy=zeros:f32:999999999999", "1", "1"), "takes 3999999999996 bytes; at most 4294967296 are allowed"),
    (scale("y.npy=zeros:f32:3", "y.npy=zeros:f32:3", "1"), "y.npy is written twice"),
    (scale("bytes:0g", "1", "1"), "'0g' is not pairs of hexadecimal digits"),
])  # fmt: skip
def test_wrong_use_is_one_line_and_status_two_and_no_file(run, texts, argv, line):
    before = sorted(os.listdir())
    status, out, err = run(*argv)
    assert (status, out) == (2, "") and err.startswith("wmma-emu: error: ") and err.count("\n") == 1
    assert line in err
    assert sorted(os.listdir()) == before


@pytest.mark.thorough
def test_a_file_of_cuda_is_compiled(run, texts):
    pytest.importorskip("nvidia", reason="NVRTC is not installed")
    (texts / "k.cu").write_text("__global__ void twice(float* x) { x[threadIdx.x] *= 2; }")
    status, _, err = run("ptx", "run", "k.cu", "--grid", "1", "--block", "8", "--arg", "y.npy=x.npy")
    assert (status, err) == (0, "") and np.load("y.npy").tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    (texts / "k.cu").write_text("__global__ void twice(float* x) { y; }")
    status, _, err = run("ptx", "explain", "k.cu")
    assert status == 2 and 'k.cu(1): error: identifier "y" is undefined' in err


@pytest.mark.thorough
def test_the_text_that_findings_name_lines_of_is_kept(run, texts):
    pytest.importorskip("nvidia", reason="NVRTC is not installed")
    (texts / "k.cu").write_text("__global__ void twice(float* x) { x[threadIdx.x] *= 2; }")
    argv = ("--grid", "1", "--block", "9", "--arg", "x.npy", "--keep", "k.ptx")
    status, out, _ = run("ptx", "run", "k.cu", *argv)
    assert "error: out of bounds of x at k.cu:1\n" in out
    _, verbose, _ = run("ptx", "run", "k.cu", *argv, "--verbose")
    seen = re.findall(r"^ +line (\d+) \(k\.cu:1\), block .*, once: (.*)", verbose, re.MULTILINE)
    kept = (texts / "k.ptx").read_text().splitlines()
    assert status == 1 and [x.split(".")[0] for _, x in seen] == ["ld", "st"]
    assert [" ".join(kept[int(line) - 1].split()) for line, _ in seen] == [x for _, x in seen]
    status, out, _ = run("ptx", "explain", "k.ptx", "--keep", "again.ptx")
    assert status == 0 and (texts / "again.ptx").read_text() == (texts / "k.ptx").read_text()


def test_tabs_of_the_source_are_spaces_in_findings(run, texts):
    (texts / "tabs.ptx").write_text(entry("", ".reg .b64 %a;\n\tmov.u64\t%a, 0;\n\tst.global.u32\t[%a],\t0;\nret;"))
    status, out, _ = run("ptx", "run", "tabs.ptx", "--grid", "1", "--block", "1")
    assert status == 1 and "st.global.u32 [%a], 0;" in out and "\\t" not in out


def test_a_caret_points_at_what_is_wrong_in_a_text(run, texts):
    (texts / "wrong.ptx").write_text(entry("", "add.s32 %r1,, 3;"))
    status, out, err = run("ptx", "explain", "wrong.ptx")
    first, text, caret = err.splitlines()
    assert (status, out) == (2, "") and first.startswith("wmma-emu: error: line 7, column 13: ")
    assert (text, caret) == ("    add.s32 %r1,, 3;", "    " + " " * 12 + "^")


def test_an_interrupt_leaves_no_file(run, texts, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("wmma_emu.ptx.machine.wave_execution.WaveExecution.run", interrupted)
    before = sorted(os.listdir())
    assert main([*scale("y.npy=x.npy", "0.5", "6"), "--machine", "numpy"]) == 130
    assert sorted(os.listdir()) == before


RACE = "races.ptx", "reversed", "--grid", "1", "--block", "64", "--arg", "zeros:s32:64", "--arg", "zeros:s32:64"


def race(run, folder, *options):
    (folder / "races.ptx").write_text(PLANTED["reversed"].ptx(False), encoding="utf-8")
    return run("ptx", "run", RACE[0], "--kernel", *RACE[1:], *options)


def test_checks_select_the_findings_that_are_reported(run, texts):
    assert race(run, texts)[0] == 1
    assert race(run, texts, "--checks", "memory, undefined")[0] == 0
    status, out, _ = race(run, texts, "--checks", "none")
    assert status == 0 and "not looked for: memory, undefined, races, synchronisation" in out
    assert "not looked for" not in race(run, texts)[1]
    status, _, error = race(run, texts, "--checks", "memory,race")
    assert status == 2 and "--checks 'race' is not a check; did you mean 'races'? The checks are" in error


@pytest.mark.parametrize("given", ["", "memory,", "none,races"])
def test_checks_are_never_turned_off_by_an_empty_name(run, texts, given):
    status, _, error = race(run, texts, "--checks", given)
    assert status == 2 and "is not a comma-separated list of checks, nor the single word none" in error


def test_a_finding_is_silenced_with_a_reason(run, texts):
    status, out, _ = race(run, texts, "--silence", "race at races.cu:16: the halves are equal")
    assert status == 0 and "silenced: the halves are equal" in out
    status, out, _ = race(run, texts, "--silence", "race at 54: the halves are equal")
    assert status == 0
    for wrong, said in (
        (
            "race races.cu:16",
            "--silence 'race races.cu:16' has the wrong form; expected, for example, 'race at "
            "kernel.cu:16: the reason'",
        ),
        ("race at races.cu:16: ", "a silence needs a reason: why is the kernel correct?"),
        ("raec at races.cu:16: x", "'raec' is not a kind of finding"),
        ("race at races.cu:1: x", "the nearest lines of races.cu are"),
    ):
        status, _, error = race(run, texts, "--silence", wrong)
        assert status == 2 and said in " ".join(error.split()), error

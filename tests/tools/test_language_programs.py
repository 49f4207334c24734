# SPDX-License-Identifier: MIT
"""Programs in kernel languages: the fixed list, the bundles of observed launches, and the report of a case."""

import csv
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import tools.language_programs.projects  # noqa: F401 # which adds the cases
from tools.atomic_order import arrays_that_differ
from tools.bundle_launcher import image_of, modules_of, read_bundle
from tools.language_programs.__main__ import row, summary
from tools.language_programs.bundles import BundleWriter, memory_of_launch
from tools.language_programs.case import CASES, Project, cases_of
from tools.language_programs.checkouts import absent, bare_package, beginning_of, given
from tools.language_programs.fixed_list import listed
from tools.language_programs.interpreted import Interpreted
from tools.language_programs.running import Outcome
from tools.launch_bundles import emulated_bundle, main
from tools.ordered_atomics import ordered_atomics
from wmma_emu.ptx import Module, Struct, raw, tensor_map
from wmma_emu.ptx.launch.arguments import Argument

LIST = Path(__file__).parents[2] / "tools" / "language_programs" / "fixed_list.csv"

HEAD = ".version 9.4 .target sm_80 .address_size 64 .visible .entry k(.param .u64 x, .param .u32 n) {"
DECLARED = ".reg .b32 %r<4>; .reg .b64 %d<4>; .reg .f32 %f<4>; .reg .pred %p;"
TWICE = f"""{HEAD} {DECLARED}
ld.param.u64 %d1, [x]; ld.param.u32 %r2, [n]; mov.u32 %r1, %tid.x; setp.ge.u32 %p, %r1, %r2; @%p ret;
mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; ld.global.f32 %f1, [%d1]; add.f32 %f1, %f1, %f1;
st.global.f32 [%d1], %f1; ret; }}"""
SUM = f"""{HEAD} {DECLARED}
ld.param.u64 %d1, [x]; mov.u32 %r1, %ctaid.x; cvt.rn.f32.u32 %f1, %r1; add.f32 %f1, %f1, 0f3F8CCCCD; BODY ret; }}"""
INDIRECT = f"""{HEAD.replace("x, .param .u32 n", "table")} {DECLARED}
ld.param.u64 %d1, [table]; mov.u32 %r1, %tid.x; ld.global.u64 %d2, [%d1]; ld.global.u64 %d3, [%d1+8];
mul.wide.u32 %d1, %r1, 4; add.u64 %d2, %d2, %d1; add.u64 %d3, %d3, %d1; ld.global.f32 %f1, [%d2];
st.global.f32 [%d3], %f1; ret; }}"""
PROJECT = Project("toys", "owner/toys", "0" * 40, "MIT")


def atomics(body):
    return [x.opcode for x in ordered_atomics(Module(SUM.replace("BODY", body)).program.kernels["k"])]


@pytest.fixture
def bundle(tmp_path):
    """A bundle of a launch on the end of an array."""
    writer = BundleWriter(tmp_path / "bundles", "toy", "sm_90", {"licence": "MIT"})
    x = np.arange(8, dtype=np.float32)
    module = Module(TWICE, "h100", observe=writer.observe)
    module["k"][1, 32](raw(x[2:]), 6)
    module["k"][1, 32](raw(x[2:]), 1)
    assert x.tolist() == [0, 1, 8, 6, 8, 10, 12, 14]
    (found,) = writer.written
    return found


def test_the_cases_of_the_list_are_still_there_with_all_of_their_kernels():
    rows = set(listed())
    lost = [x for x in LIST.read_text().splitlines(keepends=True) if x not in rows]
    assert lost == []


def test_the_list_has_a_commit_or_a_release_for_each_kernel():
    with LIST.open(newline="") as file:
        assert all(re.fullmatch(r"[0-9a-f]{40}|v\d+\.\d+\.\d+", x["revision"]) and x["kernel"]
                   for x in csv.DictReader(file))  # fmt: skip


def test_a_case_without_a_file_or_with_a_name_that_exists_is_rejected():
    case = cases_of(PROJECT)
    with pytest.raises(ValueError, match="'kernel' is not 'FILE: KERNEL KERNEL"):
        case("kernel")(lambda: 0.0)
    named = next(iter(CASES))

    def function():
        return 0.0

    function.__name__ = named
    with pytest.raises(ValueError, match=f"there are two cases {named}"):
        case("toys.py: one")(function)


def test_arrays_that_overlap_are_one_piece_of_memory():
    x, y = np.arange(8, dtype=np.uint8), np.ones(4, np.uint8)
    values = [raw(x[4:]), raw(x[:6]), Struct(np.int64(7), y), b"\1\2", raw(np.zeros(0))]
    memory = memory_of_launch([Argument(None, f"a{i} of k", value) for i, value in enumerate(values)])
    before = x.ctypes.data % 16
    assert sorted(memory.arrays) == ["a1", "a2"]
    assert memory.arrays["a1"].tolist() == [0] * before + list(range(8))
    places = [x["pointers"] for x in memory.arguments]
    assert places[0] == [[0, "a1", before + 4]] and places[1] == [[0, "a1", before]]
    assert places[2] == [[8, "a2", y.ctypes.data % 16]] and memory.arguments[2]["bytes"] == "07" + "00" * 15
    assert memory.arguments[3] == {"bytes": "0102", "pointers": []} and places[4] == []


def test_a_tensor_map_is_its_128_bytes_and_the_place_of_its_address():
    x = np.zeros((16, 128), np.float16)
    made = tensor_map(x, (8, 64), swizzle="128B")
    memory = memory_of_launch([Argument(None, "argument 0 (map) of k", made)])
    (described,) = memory.arguments
    assert bytes.fromhex(described["bytes"]) == made.pack(lambda array: 0)
    assert described["pointers"] == [[0, "map", x.ctypes.data % 16]] and described["struct"]
    assert list(memory.arrays) == ["map"]


def test_arrays_that_only_pointers_in_data_reach_are_in_the_bundle_with_the_addresses_of_all_arrays(tmp_path):
    x, y = np.arange(4, dtype=np.float32), np.full(4, 7, np.float32)
    table = np.array([x.ctypes.data, y.ctypes.data])
    writer = BundleWriter(tmp_path, "toy", "sm_90", {}, pointed={"x": x, "y": y})
    module = Module(INDIRECT, "h100", observe=writer.observe)
    module["k"][1, 4](table, addresses="host", reachable={"x": x, "y": y})
    launch, arrays = read_bundle(writer.written[0])
    assert set(launch["addresses"]) == {"x", "y", "table"} == set(arrays)
    after, report = emulated_bundle(writer.written[0])
    assert not report.findings
    held = after["y"].view(np.float32)
    assert held[-4:].tolist() == x.tolist() == [0, 1, 2, 3]


def test_a_bundle_has_the_memory_before_the_launch_and_a_version_that_drivers_read(bundle):
    launch, arrays = read_bundle(bundle)
    (name,) = arrays
    ((_, pointed, offset),) = launch["arguments"][0]["pointers"]
    assert pointed == name and arrays[name][offset:].view(np.float32).tolist() == [2, 3, 4, 5, 6, 7]
    assert (launch["kernel"], launch["grid"], launch["block"], launch["arch"]) == ("k", [1, 1, 1], [32, 1, 1], "sm_90")
    (module,) = modules_of(bundle)
    assert image_of(module).decode() == TWICE.replace("9.4", "9.0")


def test_a_bundle_gives_the_bits_of_the_program_again(bundle, capsys):
    assert main(["emulate", str(bundle.parent)]) == 0
    assert "changed: x" in capsys.readouterr().out
    launch = json.loads((bundle / "launch.json").read_text())
    launch["after"] = dict.fromkeys(launch["after"], "0" * 32)
    (bundle / "launch.json").write_text(json.dumps(launch))
    assert main(["emulate", str(bundle.parent)]) == 1
    assert "not as in the program: x" in capsys.readouterr().out


def compared(bundle, out, capsys, change):
    """Compare a bundle with a recording in which one byte is changed; return the status and the line."""
    arrays = emulated_bundle(bundle)[0]
    next(iter(arrays.values()))[-1] ^= change
    (module,) = modules_of(bundle)
    out.mkdir()
    np.savez(out / f"{bundle.name}--{module.name}.npz", **arrays)
    (out / f"{bundle.name}--{module.name}.txt").write_text("recorded\n")
    return main(["compare", str(bundle.parent), str(out)]), capsys.readouterr().out


@pytest.mark.parametrize(("change", "expected"), [(0, (0, "equal (1 arrays changed)")), (1, (1, "elements differ"))])
def test_a_recording_is_compared_bit_for_bit(bundle, tmp_path, capsys, change, expected):
    status, printed = compared(bundle, tmp_path / "out", capsys, change)
    assert status == expected[0] and expected[1] in printed and "the order of" not in printed


def test_other_bits_are_explained_by_the_atomic_operations_of_the_kernel(tmp_path, capsys):
    writer = BundleWriter(tmp_path / "bundles", "toy", "sm_90", {})
    text = SUM.replace("BODY", "red.global.add.f32 [%d1], %f1;")
    Module(text, "h100", observe=writer.observe)["k"][2, 1](np.zeros(1, np.float32), 0)
    status, printed = compared(writer.written[0], tmp_path / "out", capsys, 1)
    assert status == 1 and "the order of red.global.add.f32 at line 2 of the PTX may matter" in printed


def test_atomic_operations_are_named_where_a_result_shows_their_order():
    assert atomics("red.global.add.f32 [%d1], %f1;") == ["red.global.add.f32"]
    assert atomics("atom.global.add.f32 %f2, [%d1], %f1;") == ["atom.global.add.f32"]
    assert atomics("red.global.max.u32 [%d1], %r1;") == []
    assert atomics("atom.global.add.u32 %r2, [%d1], 1;") == []
    assert atomics("atom.global.add.u32 %r2, [%d1], 1; st.global.u32 [%d1+4], %r2;") == ["atom.global.add.u32"]
    assert atomics("atom.global.cas.b32 %r2, [%d1], 0, 1; setp.eq.u32 %p, %r2, 0;") == ["atom.global.cas.b32"]


@pytest.mark.parametrize(("body", "differs"), [("red.global.add.f32 [%d1], %f1;", True), ("", False)])
def test_an_unordered_sum_differs_in_another_order(tmp_path, body, differs):
    writer = BundleWriter(tmp_path, "toy", "sm_90", {})
    Module(SUM.replace("BODY", body), "h100", observe=writer.observe)["k"][200, 1](np.zeros(1, np.float32), 0)
    assert bool(arrays_that_differ(writer.written[0], 3)) == differs


def test_a_case_ran_if_its_kernels_were_launched_and_it_returned_a_number():
    outcome = Outcome("toy", "toys", "sm_90", kernels={"k": 2}, distance=0.5, seconds=1.0, again=0.5)
    assert outcome.ran
    assert not Outcome("toy", "toys", "sm_90", distance=0.5, missing=["k"]).ran
    assert not Outcome("toy", "toys", "sm_90", distance=float("nan")).ran
    assert "not launched: k" in row(Outcome("toy", "toys", "sm_90", distance=0.5, missing=["k"]), None)
    assert "| `toy` | 2 | 0 | 0 | 5.0e-01 | 1.0 | 0.50 | 0.00 | 0.25 s, 1.0e-01 |" in row(
        outcome, Interpreted(0.1, "", 1.0, 0.25)
    )


def test_the_summary_has_the_median_of_the_ratios_of_cases_that_both_ran(monkeypatch):
    @cases_of(PROJECT)("toys.py: k")
    def toy():
        return 0.0

    monkeypatch.setitem(CASES, "toy", CASES.pop("toy"))
    outcome = Outcome("toy", "toys", "sm_90", kernels={"k": 1}, distance=0.0, again=0.5, unchecked=0.25)
    theirs = [*(Interpreted(0.0, "", 1, x) for x in (0.25, 1.0)), Interpreted(None, "E", 1, 0)]
    lines = list(summary([outcome] * 3, theirs))
    assert lines[0] == "3 of 3 cases ran, with 1 kernels of the list."
    assert lines[1].startswith("The interpreter: of 3 cases, 1 ended with an error or are not run by it, and 0 are")
    assert "with all checks, over the interpreter's, of 2 cases: median 1.25, from 0.50 to 2.00" in lines[2]
    assert "without checks, over the interpreter's, of 2 cases: median 0.62, from 0.25 to 1.00" in lines[3]


@pytest.fixture
def modules(monkeypatch):
    """Forget the modules that a test makes."""
    before, finders = set(sys.modules), [*sys.meta_path]
    yield
    monkeypatch.setattr(sys, "meta_path", finders)
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_file_is_imported_without_what_its_package_imports(tmp_path, modules):
    package = tmp_path / "toy_library" / "ops"
    package.mkdir(parents=True)
    (tmp_path / "toy_library" / "__init__.py").write_text("raise ImportError('everything')")
    (package / "add.py").write_text("from toy_missing.deep import anything\nfrom ..settings import TWO\nX = TWO + 1\n")
    bare_package("toy_library.ops", tmp_path)
    absent("toy_missing")
    given("toy_library.settings", TWO=2)
    import toy_library.ops.add

    assert toy_library.ops.add.X == 3


def test_a_script_is_imported_up_to_a_line(tmp_path, modules):
    (tmp_path / "toy-script.py").write_text("X = 1\nif True:\n    X = 2\nmeasure()\n")
    module = beginning_of(tmp_path / "toy-script.py", ("measure(",))
    assert module.X == 2 and module.__file__.endswith("toy-script.py")
    with pytest.raises(NameError, match="measure"):
        beginning_of(tmp_path / "toy-script.py", (), "all_of_it")


def test_a_missing_checkout_is_named_with_its_revision(tmp_path, monkeypatch):
    monkeypatch.setattr("tools.language_programs.case._ROOT", [tmp_path])
    with pytest.raises(FileNotFoundError, match=r"check out https://github.com/owner/toys at 0{40}"):
        print(PROJECT.folder)

# SPDX-License-Identifier: MIT
"""A test run reads a baseline, updates it, and writes SARIF and JSON, also with several processes."""

import json

import pytest

import wmma_emu as we
from tests.ptx.launch.test_pytest_findings import LANES_TITLE, TITLE, run  # noqa: F401  (a fixture)
from tests.ptx.reports.sarif_subset import LOG
from wmma_emu.ptx import Baseline, KnownFinding

jsonschema = pytest.importorskip("jsonschema")

TESTS = """
def test_race(emulated_gpu): assert shift(emulated_gpu)

@pytest.mark.parametrize("n", range(3))
def test_lanes(emulated_gpu, n): lanes(emulated_gpu)

@pytest.mark.wmma_emu_silence("race", "gemm.cu:51", "the two halves are equal")
def test_silenced(emulated_gpu): assert shift(emulated_gpu).silenced
"""
PROCESSES = pytest.mark.parametrize("processes", [(), ("-n2",)], ids=["one process", "two processes"])


def plugins(processes):
    return {"plugins": ("xdist",)} if processes else {}


@pytest.mark.thorough
@PROCESSES
def test_a_baseline_is_made_and_then_nothing_fails(run, pytester, processes):  # noqa: F811
    options = ("--kernel-baseline=known.json", *processes)
    result, out = run(TESTS, *options, "--kernel-baseline-update", **plugins(processes))
    result.assert_outcomes(passed=5)
    assert ": 2 known findings seen, 0 entries not seen (stale?)" in out and "written: " in out
    path = pytester.path / "known.json"
    assert sorted(x.title for x in Baseline.read(path)) == sorted([TITLE, LANES_TITLE])
    before = path.read_bytes()
    result, out = run(TESTS, *options, **plugins(processes))
    result.assert_outcomes(passed=5)
    assert "warning" not in out.lower() and "0 entries not seen" in out and path.read_bytes() == before


def test_unknown_findings_fail_and_entries_that_did_not_occur_are_named(run, pytester):  # noqa: F811
    Baseline([KnownFinding("race-0123456789", "race", "k", "race on x at k.cu:5")]).write(pytester.path / "known.json")
    result, out = run("def test_race(emulated_gpu): shift(emulated_gpu)", "--kernel-baseline=known.json")
    result.assert_outcomes(failed=1)
    assert "1 entry not seen (stale?)\n  race on x at k.cu:5, in k [race-0123456789]" in out


def test_an_update_adds_and_leaves_the_others(run, pytester):  # noqa: F811
    path = pytester.path / "known.json"
    Baseline([KnownFinding("race-0123456789", "race", "k", "race on x at k.cu:5")]).write(path)
    run("def test_race(emulated_gpu): shift(emulated_gpu)", f"--kernel-baseline={path}", "--kernel-baseline-update")
    assert {x.title for x in Baseline.read(path)} == {TITLE, "race on x at k.cu:5"}


@pytest.mark.thorough
@PROCESSES
def test_sarif_and_json_have_the_launches_of_all_tests(run, pytester, processes):  # noqa: F811
    options = ("--kernel-sarif=findings.sarif", "--kernel-json=reports.json", *processes)
    result, _ = run(TESTS + "\ndef test_plain(emulated_gpu): shift(emulated_gpu, checks=())", *options,
                    **plugins(processes))  # fmt: skip
    result.assert_outcomes(passed=5, failed=1)
    log = json.loads((pytester.path / "findings.sarif").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(LOG).validate(log)
    results = {x["ruleId"]: x for x in log["runs"][0]["results"]}
    assert {x: results[x]["occurrenceCount"] for x in results} == {"race": 2, "race-within-a-warp": 3}
    reports = json.loads((pytester.path / "reports.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(we.ptx.report_schema()).validate(reports)
    assert sorted(x["test"] for x in reports) == [
        *(f"test_gemm.py::test_lanes[{i}]" for i in range(3)), "test_gemm.py::test_plain", "test_gemm.py::test_race",
        "test_gemm.py::test_silenced",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--kernel-baseline=no.json"], "there is no such file; --kernel-baseline-update creates it"),
        (["--kernel-baseline=bad.json"], "is not a baseline"),
        (["--kernel-baseline-update"], "name a file"),
        (["--kernel-sarif=no/findings.sarif"], "there is no directory"),
    ],
)
def test_unusable_files_are_reported_before_any_test_runs(run, pytester, options, said):  # noqa: F811
    (pytester.path / "bad.json").write_text("[]", encoding="utf-8")
    result, _ = run("def test_it(): pass", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR and "passed" not in result.stdout.str()
    result.stderr.fnmatch_lines([f"*{said}*"])


def test_a_kernel_is_found_in_the_current_folder_or_next_to_its_test(run, pytester):  # noqa: F811
    nothing = ".version 8.0 .target sm_80 .address_size 64 .visible .entry NAME() { ret; }"
    for place in ("here.ptx", "kernels/beside.ptx", "kernels/both.ptx"):
        (pytester.path / place).parent.mkdir(exist_ok=True)
        (pytester.path / place).write_text(nothing.replace("NAME", "a"), encoding="utf-8")
    (pytester.path / "both.ptx").write_text(nothing.replace("NAME", "b"), encoding="utf-8")
    (pytester.path / "kernels/test_here.py").write_text(
        "def test_found(emulated_gpu):\n"
        "    names = [emulated_gpu.file(f'{x}.ptx').kernel.name for x in ('here', 'beside', 'both')]\n"
        "    assert names == ['a', 'a', 'b']\n"
        "def test_missing(emulated_gpu): emulated_gpu.file('nowhere.ptx')\n",
        encoding="utf-8",
    )
    result, out = run("", "kernels")
    result.assert_outcomes(passed=1, failed=1)
    joined = "".join(x.removeprefix("E ").strip() for x in out.splitlines())
    assert "No such file in the current folder," in joined and "nor in that of the test," in joined

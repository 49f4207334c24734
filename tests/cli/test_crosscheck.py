# SPDX-License-Identifier: MIT
"""``wmma-emu crosscheck``, as a dry run: the emulator replaces the GPU."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from wmma_emu.gpu.availability import available
from wmma_emu.gpu.campaign import EmulatedBackend

ROOT = Path(__file__).parents[2]

F16 = "m16n8k16.f32.f16.f16.f32"
DRY = ("crosscheck", "--dry-run", "--instr", F16, "--workers", "0")


def errors_in(text: str) -> list[str]:
    """Return the lines of standard error without progress, which only slow machines print."""
    return [x for x in text.splitlines() if " a second, " not in x]


def test_a_campaign_writes_its_reports_and_a_summary(run, tmp_path):
    files = [tmp_path / name for name in ("r.txt", "r.json", "r.html")]
    options = [x for file in files for x in ("--report", file)]
    done = run(*DRY, "--count", "2e4", "--generators", "normal,single_bits", *options)
    assert (done.status, errors_in(done.err)) == (0, [])
    assert files[0].read_text() == done.out
    compared = json.loads(files[1].read_text())["dot_products"]
    assert compared >= 20_000
    said = f"dry run: the emulator compared with itself, no mismatch in {compared:,} dot products"
    assert done.out.startswith(said) and said in files[2].read_text()


def test_the_same_command_continues_from_the_saved_state(run, tmp_path):
    command = (*DRY, "--count", "20000", "--generators", "normal", "--state", tmp_path / "s.json")
    first, second = run(*command), run(*command)
    assert first.status == second.status == 0
    assert first.out.splitlines()[0] == second.out.splitlines()[0]


def test_the_state_of_another_seed_is_refused(run, tmp_path):
    command = (*DRY, "--count", "20000", "--generators", "normal", "--state", tmp_path / "s.json")
    run(*command)
    done = run(*command, "--seed", "7")
    assert done.status == 2
    assert "the state of another campaign (seed: 0 in the file, 7 in this call)" in done.err


def test_rows_of_no_mismatch_are_an_empty_list(run, tmp_path):
    done = run(*DRY, "--count", "1e3", "--generators", "normal", "--rows", tmp_path / "rows.json")
    assert done.status == 0
    assert json.loads((tmp_path / "rows.json").read_text()) == []


def test_per_group_counts_kinds(run):
    what = ("--instr", r"^m16n8k\d+\.s32\.[su]8\.s8", "--generators", "integer_raw")
    done = run("crosscheck", "--dry-run", "--workers", "0", *what, "--per-group", "3e4")
    assert done.status == 0
    assert any(line.split()[:2] == ["8-bit", "4"] for line in done.out.splitlines())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--instr", "nothing_of_the_kind"), "'nothing_of_the_kind' matches no instruction"),
        (("--instr", "("), "neither a mnemonic nor a regular expression"),
        (("--count", "0"), "--count 0 is not a number of at least 1"),
        (("--count", "many"), "--count 'many' is not a number"),
        (("--count", "1.5"), "--count '1.5' is not a number"),
        (("--count", "1e999"), "--count '1e999' is not a number"),
        (("--count", "5", "--per-group", "5"), "exclude each other"),
        (("--seed", "-3"), "--seed -3 is not a number of at least 0"),
        (("--generators", "normul"), "there is no input generator 'normul'"),
        (("--generators", ","), "generators is empty"),
        (("--report", "r.pdf"), "should end in .txt, .json or .html"),
        (("--report", "nowhere/at/all/r.html"), "the directory 'nowhere/at/all' does not exist"),
        (("--rows", "nowhere/at/all/r.json"), "the directory 'nowhere/at/all' does not exist"),
        (("--state", "nowhere/at/all/s.json"), "the directory 'nowhere/at/all' does not exist"),
        (("--state", ""), "is a directory; name a file"),
        (("--count", "1e30"), "exceed the limit of a campaign"),
        (("--arch", "sm_1"), "sm_1"),
        (("--stat", "x"), "no option '--stat'"),
    ],
)
def test_what_cannot_be_done_is_one_line(run, arguments, words):
    done = run("crosscheck", "--dry-run", "--workers", "0", *arguments)
    assert done.status == 2
    assert words in done.err
    assert done.err.startswith("wmma-emu: error: ")
    assert done.err.count("\n") == 1
    assert done.out == ""


def test_a_directory_given_as_the_report_is_rejected_before_anything_runs(run, tmp_path):
    (tmp_path / "report.html").mkdir()
    done = run("crosscheck", "--dry-run", "--workers", "0", "--count", "1e12", "--report", tmp_path / "report.html")
    assert (done.status, done.out) == (2, "")
    assert "is a directory; name a file" in done.err


def test_a_damaged_state_is_one_line(run, tmp_path):
    (tmp_path / "s.json").write_text("{")
    done = run(*DRY, "--count", "1000", "--state", tmp_path / "s.json")
    assert done.status == 2
    assert "is damaged" in done.err


@pytest.mark.skipif(available(), reason="there is a GPU")
def test_without_a_gpu_it_says_what_is_missing(run):
    done = run("crosscheck", "--instr", F16, "--count", "1000")
    assert done.status == 2
    assert any(word in done.err for word in ("cuda-core", "driver", "GPU"))
    assert done.err.count("\n") == 1


WITH_A_PLANTED_ERROR = """
import sys
from wmma_emu.cli import crosscheck, main
from wmma_emu.gpu.campaign import EmulatedBackend

crosscheck.EmulatedBackend = lambda arch: EmulatedBackend(arch, {"fraction_bits": 24})
sys.exit(main(sys.argv[1:]))
"""

WITH_A_FAULT_OF_ITS_OWN = """
import sys
from wmma_emu.cli import main
from wmma_emu.warp import BoundInstruction

execute = BoundInstruction.execute
BoundInstruction.execute = lambda self, *a, **k: execute(self, *a, **k) ^ 1
sys.exit(main(sys.argv[1:]))
"""


def run_script(text, *arguments):
    command = [sys.executable, "-c", text, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_mismatches_are_a_report_and_status_1_not_an_error(tmp_path):
    rows = tmp_path / "rows.json"
    done = run_script(WITH_A_PLANTED_ERROR, *DRY, "--count", "2e4", "--generators", "single_bits", "--rows", rows)
    assert (done.returncode, errors_in(done.stderr)) == (1, [])
    words = "explain this and the instruction's other mismatches, 3 in total:\n    fraction_bits 24 instead of 25\n"
    assert words in done.stdout
    assert len(json.loads(rows.read_text())) == 3


def test_a_fault_of_the_emulator_itself_is_status_1(tmp_path):
    done = run_script(WITH_A_FAULT_OF_ITS_OWN, *DRY, "--count", "2e4", "--generators", "normal")
    assert (done.returncode, errors_in(done.stderr)) == (1, [])
    said = re.search(
        r"no mismatch in ([\d,]+) dot products; the emulator is inconsistent in (\d+)", " ".join(done.stdout.split())
    )
    assert said and int(said[1].replace(",", "")) >= 20_000 and int(said[2]) > 0


def test_help_says_what_the_exit_status_means(run):
    done = run("crosscheck", "--help")
    assert "The exit status is 0 if all are the same, 1 if any differ, 2 after an error" in " ".join(done.out.split())


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [80, 40])
def test_the_summary_fits_a_terminal(screen, monkeypatch, columns):
    from wmma_emu.cli import crosscheck as command
    from wmma_emu.cli import main

    monkeypatch.setattr(command, "EmulatedBackend", lambda arch: EmulatedBackend(arch, {"fraction_bits": 24}))
    shown = screen(columns)
    monkeypatch.setenv("NO_COLOR", "1")
    assert main([*DRY, "--count", "2e4"]) == 1
    summary, findings = shown.text.split("mismatch 1 of", 1)
    assert "busy" in summary
    if columns == 80:
        assert max(map(len, summary.splitlines())) <= columns
    assert max(map(len, findings.splitlines())) <= columns

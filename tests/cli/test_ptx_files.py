# SPDX-License-Identifier: MIT
"""``ptx run`` reads and writes baselines, and writes JSON and SARIF: to files, or alone on standard output."""

import json

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.reports.launches import REVERSED
from tests.ptx.reports.sarif_subset import LOG
from wmma_emu.cli import main

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the kernel of a race; gives the exit status and what was printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "races.ptx").write_text(REVERSED.ptx(False), encoding="utf-8")
    np.save(tmp_path / "x.npy", REVERSED.arguments()[0])

    def run(*options, kernel="reversed"):
        arguments = ["--grid", "1", "--block", "64", "--arg", "x.npy", "--arg", "out.npy=zeros:s32:64"]
        status = main(["ptx", "run", "races.ptx", "--kernel", kernel, *arguments, *options])
        return status, *capsys.readouterr()

    return run


def test_what_is_written_to_a_baseline_is_known_at_once_and_later(run, tmp_path):
    assert run()[0] == 1
    status, out, _ = run("--write-baseline", "known.json")
    assert status == 0 and "known.json  1 known finding\n" in out and "race on tile at races.cu:14/16" in out
    status, out, _ = run("--baseline", "known.json")
    assert status == 0 and "1 known finding, of known.json:\n  race on tile at races.cu:14/16 [race-" in out
    assert run("--baseline", "known.json", kernel="two_writers")[0] == 1
    assert run("--baseline", "known.json", "--write-baseline", "known.json", kernel="two_writers")[0] == 0
    assert [x.kernel for x in we.ptx.Baseline.read(tmp_path / "known.json")] == ["reversed", "two_writers"]


def test_json_and_sarif_are_written(run, tmp_path):
    assert run("--json", "report.json", "--sarif", "findings.sarif")[0] == 1
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(we.ptx.report_schema()).validate(report)
    assert report["kernel"] == "reversed" and report["ptx_file"] == "races.ptx"
    log = json.loads((tmp_path / "findings.sarif").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(LOG).validate(log)
    assert [x["ruleId"] for x in log["runs"][0]["results"]] == ["race"]


@pytest.mark.parametrize("option", ["--json", "--sarif"])
def test_standard_output_has_nothing_else(run, option, tmp_path):
    status, out, _ = run(option, "-")
    assert status == 1 and json.loads(out) and (tmp_path / "out.npy").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--json", "-", "--sarif", "-"],
            "--json and --sarif both write to standard output; name a file for one of them",
        ),
        (["--json", "a", "--write-baseline", "a"], "--write-baseline and --json both write 'a'; name two files"),
        (["--write-baseline", "-"], "--write-baseline writes a file"),
        (["--sarif", "no/findings.sarif"], "no/findings.sarif: the directory "),
        (["--json", "races.ptx"], "races.ptx is also an input"),
        (["--baseline", "no.json"], "no.json: No such file or directory"),
        (["--baseline", "x.npy"], "x.npy is not a baseline"),
    ],
)
def test_files_that_cannot_be_used_are_said_before_anything_is_written(run, options, said, tmp_path):
    status, out, err = run(*options)
    assert status == 2 and said in err and not out
    assert sorted(x.name for x in tmp_path.iterdir()) == ["races.ptx", "x.npy"]

# SPDX-License-Identifier: MIT
"""SARIF of reports: valid, at the lines, each finding once, with silenced and known findings marked."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.planted.table import PLANTED
from tests.ptx.reports.launches import REVERSED, UNUSED, launched, one_of_each_kind
from tests.ptx.reports.sarif_subset import LOG
from wmma_emu.errors import BackendUnavailableError
from wmma_emu.ptx import Baseline, Silence

jsonschema = pytest.importorskip("jsonschema")

VALIDATOR = jsonschema.Draft202012Validator(LOG)


def results(*reports, **options):
    log = we.ptx.sarif(reports, **options)
    VALIDATOR.validate(log)
    return log["runs"][0]["results"]


@pytest.mark.parametrize("kind", we.ptx.KINDS)
def test_a_finding_of_each_kind_is_a_result_of_its_rule(kind):
    log = one_of_each_kind()[kind].to_sarif()
    VALIDATOR.validate(json.loads(json.dumps(log)))
    (run,) = log["runs"]
    found = next(x for x in run["results"] if x["ruleId"] == kind.replace(" ", "-"))
    rule = run["tool"]["driver"]["rules"][found["ruleIndex"]]
    assert rule["id"] == found["ruleId"] and rule["defaultConfiguration"]["level"] == found["level"]
    assert we.ptx.KINDS[kind].says in rule["shortDescription"]["text"]


def test_a_race_is_at_one_line_and_leads_to_the_other():
    (found,) = results(launched(), root="/repo")
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "races.cu", "uriBaseId": "%SRCROOT%"}
    line = REVERSED.source.splitlines()[13]
    assert place["region"] == {
        "startLine": 14, "startColumn": 5, "endLine": 14, "endColumn": len(line) + 1, "snippet": {"text": line[4:]}
    }  # fmt: skip
    (other,) = found["relatedLocations"]
    assert other["physicalLocation"]["region"]["startLine"] == 16
    assert found["message"]["text"].endswith(" See [reads, line 16](1).")
    assert found["message"]["text"].startswith("race on tile at races.cu:14/16: warp 0 reads")
    assert found["locations"][0]["logicalLocations"][0]["name"] == "reversed"


def test_a_finding_of_several_launches_is_one_result():
    report = launched()
    (found,) = results(report, report.to_dict(), report)
    assert found["occurrenceCount"] == 3
    assert found["partialFingerprints"]["wmmaEmuFinding/v1"] == report.findings[0].id


def test_what_is_new_in_one_launch_is_new():
    silenced = launched(silence=[Silence("race", "races.cu:16", "the halves are equal")])
    known = launched(baseline=Baseline.of([launched()]))
    assert results(silenced)[0]["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "the halves are equal"}
    ]
    assert results(known)[0]["baselineState"] == "unchanged"
    assert results(launched(baseline=Baseline()))[0]["baselineState"] == "new"
    (found,) = results(silenced, known, launched())
    assert found["suppressions"] == [] and "baselineState" not in found


@pytest.mark.thorough
def test_a_comment_is_a_suppression_in_the_source():
    source = """extern "C" __global__ void k(int* x) {
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[63 - threadIdx.x];  // wmma-emu: ignore[race] the halves are equal
}"""
    try:
        module = we.ptx.Module.from_cuda(source, findings="report")
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    (found,) = results(module["k"][1, 64](np.arange(64, dtype=np.int32)))
    assert found["suppressions"][0] == {
        "kind": "inSource", "status": "accepted", "justification": "the halves are equal"
    }  # fmt: skip


def test_files_below_the_root_are_relative_and_others_are_not(tmp_path, monkeypatch):
    folder = tmp_path / "a b" / "kernels"
    folder.mkdir(parents=True)
    text = REVERSED.ptx(False).replace('.file\t1 "races.cu"', f'.file\t1 "{folder / "races.cu"}"')
    (folder / "races.cu").write_text(REVERSED.source, encoding="utf-8")
    module = we.ptx.Module(text, arch="sm_90", findings="report")
    report = module["reversed"][1, 64](*REVERSED.arguments())

    def address(root):
        return results(report, root=root)[0]["locations"][0]["physicalLocation"]["artifactLocation"]

    assert address(tmp_path / "a b") == {"uri": "kernels/races.cu", "uriBaseId": "%SRCROOT%"}
    assert address(tmp_path) == {"uri": "a%20b/kernels/races.cu", "uriBaseId": "%SRCROOT%"}
    assert address(tmp_path / "other") == {"uri": (folder / "races.cu").as_uri()}
    monkeypatch.chdir(folder)
    assert address(None) == {"uri": "races.cu", "uriBaseId": "%SRCROOT%"}


def test_findings_without_a_source_are_in_the_ptx_file_or_in_the_test_file(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(UNUSED, encoding="utf-8")
    report = we.ptx.Module.from_file(path, "sm_90", findings="report")["k"][1, 64](np.zeros(64, np.uint32))
    place = results(report, root=tmp_path)[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "k.ptx"
    assert place["region"]["startLine"] == report.findings[0].sides[0].number
    unnamed = replace(report, paths={}).to_dict()
    assert "physicalLocation" not in results(unnamed)[0]["locations"][0]
    test = results({**unnamed, "test": "tests/test_k.py::test_it[1]"})[0]["locations"][0]
    assert test["physicalLocation"]["artifactLocation"]["uri"] == "tests/test_k.py"


@pytest.mark.thorough
def test_a_file_of_cuda_is_found_by_its_path(tmp_path):
    path = tmp_path / "kernels" / "race.cu"
    path.parent.mkdir()
    path.write_text('extern "C" __global__ void k(int* x) { x[1000] = 1; }\n', encoding="utf-8")
    try:
        module = we.ptx.Module.from_file(path, findings="report")
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    report = module["k"][1, 1](np.zeros(1, np.int32))
    place = results(report, root=tmp_path)[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "kernels/race.cu"
    assert report.to_dict()["findings"][0]["sides"][0]["path"] == str(path)


def test_a_fix_is_called_a_possible_fix():
    (finding,) = (data := launched().to_dict())["findings"]
    finding["mend"] = "a barrier"
    (found,) = results(data)
    assert " Possible fix: a barrier." in found["message"]["text"]
    assert "\n\n**Possible fix:** a barrier.\n\n" in found["message"]["markdown"]


@pytest.mark.thorough
def test_names_that_look_like_links_or_markdown_are_escaped():
    (finding,) = (data := launched().to_dict())["findings"]
    finding["title"], finding["message"] = "race on [x](1)", "```` **bold** <b>"
    (found,) = results(data)
    assert r"\[x\](1)" in found["message"]["text"]
    assert r"\*\*bold\*\* \<b\>" in found["message"]["markdown"]
    finding["sides"][0]["text"] = "a ```` b"
    assert re.search("^`````$", results(data)[0]["message"]["markdown"], re.MULTILINE)


@pytest.mark.thorough
def test_all_planted_bugs_are_valid_and_have_distinct_fingerprints():
    found = results(*(launched(PLANTED[x]) for x in sorted(PLANTED)[::9]), root=Path(__file__).parent)
    hashes = [x["partialFingerprints"]["primaryLocationLineHash"] for x in found]
    assert hashes and len(set(hashes)) == len(hashes)

# SPDX-License-Identifier: MIT
"""A report as JSON is complete and conforms to its schema, with a finding of every kind, and only then."""

import json
from dataclasses import replace

import pytest

import wmma_emu as we
from tests.ptx.reports.launches import launched, one_of_each_kind
from wmma_emu.ptx import Silence
from wmma_emu.ptx.reports.plain import sighting_as_dict

jsonschema = pytest.importorskip("jsonschema")

VALIDATOR = jsonschema.Draft202012Validator(we.ptx.report_schema())


def test_the_schema_is_a_valid_json_schema():
    jsonschema.Draft202012Validator.check_schema(we.ptx.report_schema())


@pytest.mark.parametrize("kind", we.ptx.KINDS)
def test_a_report_with_a_finding_of_each_kind_conforms_to_the_schema(kind):
    report = one_of_each_kind()[kind]
    data = json.loads(report.to_json())
    VALIDATOR.validate(data)
    assert data == report.to_dict()
    assert kind in [x["kind"] for x in data["findings"]]


def test_the_report_contains_the_launch():
    report = launched(silence=[Silence("misaligned", 54, "it is not")], checks=["races", "synchronisation"])
    data = report.to_dict()
    assert (data["kernel"], data["arch"], data["grid"], data["block"]) == ("reversed", "sm_90", [1, 1, 1], [64, 1, 1])
    assert (data["shared_bytes"], data["completed"], data["version"]) == (0, True, 1)
    assert data["instructions"] == report.instructions and data["not_checked"] == ["memory", "undefined"]
    assert data["tool"] == {"name": "wmma-emu", "version": we.__version__}


def test_a_report_says_which_version_made_it_and_keeps_that_in_files():
    report = launched()
    assert report.version == we.__version__
    assert f"wmma_emu: {we.__version__}" in report.to_text(verbose=True).splitlines()
    older = replace(report, version="0.0.1")
    assert older.to_dict()["tool"]["version"] == "0.0.1" and older != report


def test_a_finding_has_both_lines_of_the_file_and_addresses_as_strings():
    (finding,) = launched().to_dict()["findings"]
    assert [(x["role"], x["file"], x["line"]) for x in finding["sides"]] == [
        ("writes", "races.cu", 14), ("reads", "races.cu", 16)
    ]  # fmt: skip
    assert finding["sides"][1]["text"] == "    out[threadIdx.x] = tile[63 - threadIdx.x]; // <- race"
    (sighting,) = finding["sightings"]
    assert (sighting["address"], sighting["count"], sighting["ptx_line"]) == ("0x4fc", 64, 54)
    assert sighting["others"] == [
        {"ptx_line": 48, "source": {"file": "races.cu", "line": 14, "column": 5, "inlined_at": None}}
    ]


def test_a_sighting_names_the_first_block_and_thread_and_nothing_where_there_is_none():
    (finding,) = launched().findings
    (sighting,) = finding.sightings
    named = sighting_as_dict(replace(sighting, block=(2, 0, 0), thread=(5, 1, 0)))
    assert (named["block"], named["thread"]) == ([2, 0, 0], [5, 1, 0])
    nobody = sighting_as_dict(replace(sighting, block=None, thread=None, address=None))
    assert (nobody["block"], nobody["thread"], nobody["address"]) == (None, None, None)


def test_silenced_and_known_findings_are_apart_and_valid():
    silenced = launched(silence=[Silence("race", "races.cu:16", "the halves are equal")])
    known = launched(baseline=we.ptx.Baseline.of([launched()]))
    for report in (silenced, known):
        VALIDATOR.validate(report.to_dict())
        assert not report.to_dict()["findings"]
    (entry,) = silenced.to_dict()["silenced"]
    assert entry["finding"]["id"] == known.to_dict()["known"][0]["id"]
    assert entry["silence"]["reason"] == "the halves are equal" and entry["silence"]["comment"] == ""


def test_what_was_printed_may_be_any_text():
    report = replace(launched(), output="\x1b[31m \udcff \0 é\n")
    text = report.to_json()
    assert text.isascii() and json.loads(text)["output"] == report.output


@pytest.mark.parametrize(
    ("change", "value"),
    [
        (("version",), 2), (("kernel",), None), (("findings", 0, "severity"), "bad"), (("findings", 0, "id"), "race"),
        (("findings", 0, "sides"), []), (("findings", 0, "sightings", 0, "address"), 0xFC), (("grid",), [1, 1]),
        (("instructions",), 0.5), (("unheard_of",), 1), (("findings", 0, "unheard_of"), 1),
    ],
)  # fmt: skip
def test_a_broken_report_is_rejected_by_the_schema(change, value):
    data = launched().to_dict()
    place = data
    for key in change[:-1]:
        place = place[key]
    place[change[-1]] = value
    assert not VALIDATOR.is_valid(data)
    assert not VALIDATOR.is_valid([data])


def test_several_reports_are_a_list():
    VALIDATOR.validate([launched().to_dict()] * 2)


def test_each_field_of_the_schema_has_a_description():
    def walk(schema):
        for name, field in schema.get("properties", {}).items():
            assert "description" in field or "$ref" in field, name
        assert "properties" not in schema or schema["additionalProperties"] is False
        for field in schema.values():
            for each in (field, *field.values()) if isinstance(field, dict) else ():
                if isinstance(each, dict):
                    walk(each)

    walk(we.ptx.report_schema())

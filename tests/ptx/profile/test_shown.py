# SPDX-License-Identifier: MIT
"""Profiles as text, JSON, CSV and HTML; their lines by name; comparisons."""

import csv
import html.parser
import json

import pytest

import wmma_emu as we
from tests.ptx.profile.kernels import transposed


@pytest.fixture(scope="module")
def profile():
    return transposed(128)


def test_a_line_is_found_by_its_file_and_number(profile):
    assert profile["transposed.cu:7"].where == "transposed.cu:7"
    assert profile["line 15"].text == "mad.lo.u32 %r3, %r1, 128, %r3;"
    assert profile["transposed"].kernel == "transposed"


@pytest.mark.parametrize(("key", "message"), [
    ("transposed.cu:70", "no instruction of transposed.cu:70; the nearest lines with instructions are 7, 8 and 9"),
    ("gemm.cu:7", "no instruction of gemm.cu:7; its files are transposed.cu"),
    ("line 1", "the PTX has no instruction at line 1"),
    ("transposing", "no kernel or line 'transposing'; it has transposed, and lines such as 'gemm.cu:41'"),
    (7, "no kernel or line 7; it has transposed"),
])  # fmt: skip
def test_a_line_without_instructions_is_an_error_that_names_the_nearest(profile, key, message):
    with pytest.raises(we.errors.UnknownNameError, match=message):
        profile[key]


def test_the_text_says_what_conflicts(profile):
    text = profile.to_text(100)
    assert "shared memory: 2 accesses, 32.0 wavefronts each, 62 bank conflicts" in text
    line = next(x for x in text.splitlines() if x.startswith("transposed.cu:7"))
    assert line.split()[1:] == ["1", "1", "31.0"]
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b[31mtransposed.cu:7" in profile.to_text(color=True)
    assert "st.shared" in profile.to_text(160, by="ptx")


def test_the_text_of_an_empty_profile_is_a_sentence():
    assert str(we.ptx.Profile()) == "the profile is empty: no kernel was launched while it counted"


def test_json_is_read_again(profile, tmp_path):
    profile.write(tmp_path / "a.json")
    again = we.ptx.Profile.read(tmp_path / "a.json")
    assert again == profile and again.to_dict() == profile.to_dict()
    assert str(again.compare(profile)) == "no counter changed"


def test_a_file_that_is_not_a_profile_is_an_error(tmp_path):
    for text in ("{}", "no", '{"version": 9}'):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(we.errors.ArgumentValueError, match=r"a\.json"):
            we.ptx.Profile.read(tmp_path / "a.json")


def test_csv_has_a_row_for_each_line(profile):
    rows = list(csv.DictReader(profile.to_csv().splitlines()))
    assert {x["line"]: x["bank_conflicts"] for x in rows}["transposed.cu:7"] == "31"
    assert len(list(csv.DictReader(profile.to_csv("ptx").splitlines()))) == len(profile.ptx_lines)
    with pytest.raises(we.errors.UnknownNameError, match="by='file' is neither"):
        profile.to_csv("file")


@pytest.mark.parametrize(("part", "damage", "message"), [
    ("kernel", {"arch": "sm_999"}, "there is no chip 'sm_999'"),
    ("kernel", {"block": [0, 1, 1]}, "a size of the block is 0, not an integer of at least 1"),
    ("kernel", {"launches": "a"}, "launches is 'a'"),
    ("kernel", {"kernel": None}, "kernel is None, not a string"),
    ("instruction", {"executions": -4}, "executions is -4"),
    ("instruction", {"shared_requests": 1.5}, r"shared_requests is 1\.5"),
    ("instruction", {"text": 5}, "text is 5, not a string"),
    ("instruction", {"conflicting": [[0, 4], 4, True, 0]}, "the number of lanes is 2"),
    ("instruction", {"unknown": 1}, "unexpected keyword argument 'unknown'"),
])  # fmt: skip
def test_a_damaged_file_is_refused(profile, part, damage, message):
    given = json.loads(profile.to_json())
    (kernel,) = given["kernels"]
    (kernel if part == "kernel" else kernel["instructions"][0]).update(damage)
    with pytest.raises(we.errors.ArgumentValueError, match=f"is not a profile .*{message}"):
        we.ptx.Profile.from_json(json.dumps(given))


class _Balance(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.cells = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta",):
            self.open.append(tag)
        if dict(attrs).get("class") in ("hot", "warm"):
            self.cells.append(dict(attrs)["class"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("form", ["to_html", "_repr_html_"])
def test_the_page_marks_conflicts(profile, form):
    found = _Balance()
    found.feed(getattr(profile, form)())
    assert found.open == [] and found.cells.count("hot") == 2


def test_a_comparison_names_what_became_worse_and_better():
    changes = transposed(128).compare(transposed(132))
    assert str(changes).splitlines()[:2] == ["worse:", "  transposed: shared wavefronts 2 -> 64"]
    assert "transposed.cu:7: bank conflicts 0 -> 31" in str(changes) and changes.better == ()
    assert transposed(132).compare(transposed(128)).worse == ()


@pytest.mark.parametrize(("use", "message"), [
    (lambda p: p.bank_conflicts, "a Profile has no bank_conflicts; profile.total.bank_conflicts and profile"),
    (lambda p: p["transposed"].bank_conflicts, r"a KernelProfile has no bank_conflicts; \.total\.bank_conflicts is"),
    (lambda p: p["transposed.cu:7"].bank_conflict, "ProfiledLine has no bank_conflict; did you mean 'bank_conflicts'"),
    (lambda p: p.require(), "there is no limit to require; pass, for example, 'bank_conflicts <= 0'"),
    (lambda p: p.require("bank_conflicts == 0"), "expected a counter, <= or >=, and a number: 'bank_conflicts <= 0'"),
    (lambda p: p.require("conflicts <= 0"), "there is no counter conflicts; did you mean .bank_conflicts"),
    (lambda p: p.conflicts_at(), "no line was given to explain .*; there are conflicts at transposed.cu:7 and"),
    (lambda p: p.conflicts_at("transposed.cu:9"), "9 has no bank conflicts; there are conflicts at transposed.cu:7"),
    (lambda p: p.conflicts_at("transposed.cu:7", row_bytes=0), "row_bytes=0; expected the bytes of a row, a positive"),
    (lambda p: p.compare("before.json"), r"before is 'before\.json'; pass a Profile: Profile\.read\(file\) reads one"),
    (lambda p: p.to_text("80"), "width='80' is not a number of columns"),
    (lambda p: we.ptx.Profile()["gemm.cu:41"], "the profile is empty: no kernel was launched while it counted"),
    (lambda p: we.ptx.Profile().require("bank_conflicts <= 0"), "nothing shows whether bank_conflicts <= 0 holds"),
    (lambda p: p + 1, "unsupported operand"),
])  # fmt: skip
def test_a_wrong_use_says_what_is_expected(profile, use, message):
    with pytest.raises((AttributeError, TypeError, we.errors.WmmaEmuError), match=message):
        use(profile)


def test_a_broken_limit_names_the_lines_and_a_fix(profile):
    with pytest.raises(we.errors.ProfileLimitError) as caught:
        profile.require("bank_conflicts <= 0", "sectors_per_request <= 2")
    assert str(caught.value).splitlines() == [
        "transposed: bank_conflicts is 62; the limit is bank_conflicts <= 0",
        "  transposed.cu:7: 31",
        "  transposed.cu:8: 31",
        "  rows of 132 instead of 128 bytes: 1 wavefront; profile.conflicts_at('transposed.cu:7') shows the banks",
        "transposed: sectors_per_request is 4.00; the limit is sectors_per_request <= 2",
        "  transposed.cu:9: 4.00",
        "  line 13: 4.00  ld.global.u32 %r2, [%d1];",
        "  lanes that access adjacent addresses share sectors: 32 words of 4 bytes are 4 sectors",
    ]


@pytest.mark.parametrize(("limit", "lines"), [
    ("global_sectors <= 7", ["  transposed.cu:9: 4", "  line 13: 4  ld.global.u32 %r2, [%d1];"]),
    ("sector_use >= 2", ["  transposed.cu:9: 1.00", "  line 13: 1.00  ld.global.u32 %r2, [%d1];"]),
    ("global_requests >= 3", []),
])  # fmt: skip
def test_a_broken_limit_names_the_parts_of_a_sum_and_lines_that_have_the_ratio(profile, limit, lines):
    with pytest.raises(we.errors.ProfileLimitError) as caught:
        profile.require(limit)
    assert [x for x in str(caught.value).splitlines()[1:] if ": " in x and "lanes that" not in x] == lines


def test_a_line_without_accesses_is_within_every_limit_of_their_ratios(profile):
    profile.require("sector_use >= 0.5", line="line 15")


def test_a_line_is_shown_in_a_failed_assertion_by_its_source(profile):
    assert repr(profile["line 15"]) == "<line 15: mad.lo.u32 %r3, %r1, 128, %r3;>"
    assert repr(we.ptx.profile.Counters(bank_conflicts=31)) == "Counters(bank_conflicts=31)"

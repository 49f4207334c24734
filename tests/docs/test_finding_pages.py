# SPDX-License-Identifier: MIT
"""Every kind of finding has a page with its entry, its kernel and its measurement; there are no other pages."""

import re
from pathlib import Path

import pytest

from docs._ext.finding_pages import finding_pages
from wmma_emu.ptx.examples import FIRST_LINE, launch_of, source_of
from wmma_emu.ptx.findings import CHECKS, KINDS, path_of, slug_of

DOCS = Path(__file__).parents[2] / "docs"
PAGES = finding_pages()
HEADINGS = [
    "A bug", "Its report", "How to fix it", "When it may be silenced", "What compute-sanitizer says",
]  # fmt: skip


def blocks(page, language):
    return re.findall(rf"^```{re.escape(language)}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def test_there_is_a_page_for_each_kind_and_an_index_and_nothing_else():
    assert set(PAGES) == {path_of(kind) for kind in KINDS} | {"reference/findings/index"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_what_the_table_says_of_its_kind(kind):
    page, row = PAGES[path_of(kind)], KINDS[kind]
    assert f"\n# {kind}\n" in page
    assert re.findall("^## (.*)$", page, re.MULTILINE) == HEADINGS
    assert "Seen with" in page
    for text in (row.says[1:], row.reason, row.fix, row.silence, row.sanitizer):
        assert text in page
    assert f"**{row.severity.capitalize()}**" in page and (not row.check or f"`{row.check}`" in page)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_shows_the_bug_with_the_numbers_of_its_lines_and_the_report_of_its_launch(kind):
    page = PAGES[path_of(kind)]
    (shown,) = blocks(page, "{code-block} cuda")
    number, code = re.fullmatch(r":lineno-start: (\d+)\n\n(.*)", shown, re.DOTALL).groups()
    assert ["", *source_of(kind).splitlines()][int(number) :] == code.splitlines()
    assert int(number) == FIRST_LINE and 4 < len(code.splitlines()) <= 14
    (report,) = blocks(page, "text")[:1]
    assert report == "".join(f"{x}\n" for x in launch_of(kind).findings)


@pytest.mark.parametrize("kind", KINDS)
def test_the_lines_that_fix_a_bug_turn_its_kernel_into_the_fixed_one(kind):
    (diff,) = blocks(PAGES[path_of(kind)], "diff")
    old = "".join(f"{x[1:]}\n" for x in diff.splitlines() if x[0] != "+")
    taken_out = {x[1:] for x in diff.splitlines() if x[0] == "-"}
    put_in = {x[1:] for x in diff.splitlines() if x[0] == "+"}
    assert put_in and set(old.splitlines()) <= set(source_of(kind).splitlines())
    before, after = (set(source_of(kind, fixed).splitlines()) for fixed in (False, True))
    assert after - before <= put_in <= after and before - after <= taken_out <= before


@pytest.mark.parametrize("name", PAGES)
def test_links_of_the_pages_lead_to_pages_and_their_sections(name):
    for target in re.findall(r"\]\(([^)]+)\)", PAGES[name]):
        path, _, anchor = target.partition("#")
        found = (DOCS / name).parent.joinpath(path).resolve()
        if found.relative_to(DOCS.resolve()).with_suffix("").as_posix() in PAGES:
            continue
        sections = re.findall("^#+ (.*)$", found.read_text(encoding="utf-8"), re.MULTILINE)
        slugs = [re.sub(r"[^\w -]", "", x.casefold()).replace(" ", "-") for x in sections]
        assert not anchor or anchor in slugs, target


def test_the_index_has_each_kind_with_its_severity_below_its_check():
    page = PAGES["reference/findings/index"]
    for check in (*CHECKS, ""):
        section = page.partition(f"\n## The check `{check}`\n" if check else "\n## Kinds that end a launch\n")[2]
        rows = re.findall(r"^- \[(.+?)\]\((.+?)\.md\), (\w+): (.*)\.$", section.partition("\n## ")[0], re.MULTILINE)
        expected = [(kind, slug_of(kind), x.severity, x.says) for kind, x in KINDS.items() if x.check == check]
        assert rows == expected and rows
    tree = page.partition("{toctree}")[2].split("\n")
    assert [x for x in tree if x and x[0] not in ":`"] == [slug_of(kind) for kind in KINDS]


def test_pages_give_the_measured_number_of_kernels_that_a_sanitizer_reports():
    said = {
        kind: re.findall(r"of (\d+) kernels with such a bug, .* reports (\d+)", PAGES[path_of(kind)]) for kind in KINDS
    }
    assert said["out of bounds"] == [("24", "20")] and said["illegal metadata"] == [("2", "0")]
    of_proxies = {"missing proxy fence", "omitted proxy fence", "stale tensor map"}
    of_copies = {"copy by several lanes", "copy in flight at the end", "load in flight at the end"}
    of_barriers = {"mbarrier not initialised", "over-arrival", "transaction bytes", "wrong parity"}
    not_measured = {"race of an unused value", "race of equal bytes"} | of_proxies | of_copies | of_barriers
    assert {kind for kind, found in said.items() if not found} == not_measured

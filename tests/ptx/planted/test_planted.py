# SPDX-License-Identifier: MIT
"""Every planted bug is found, at its line and as what it is, and nothing else; repaired, nothing is found."""

import re
from collections import Counter
from functools import cache

import pytest

import wmma_emu as we
from tests.ptx.planted.table import FILES, PLANTED
from wmma_emu.errors import BackendUnavailableError

BUGS = list(PLANTED)

UNPLANTED = {"race of equal bytes", "race within a warp", "lanes store to one place"}
"""Kinds that no planted bug has."""


@cache
def module(file, fixed):
    one = next(x for x in PLANTED.values() if x.file == file)
    return we.ptx.Module(one.ptx(fixed), arch="sm_90", findings="report")


def launch(text, bug, **options):
    return text[bug.kernel][bug.grid, bug.block, bug.shared](*bug.arguments(), **options)


def source_lines(bug, ptx, line):
    """Lines of the source that a line of PTX comes from: the function's own, and where it was put in its place."""
    lines = ptx.splitlines()
    number = next(re.match(r'\s*\.file\s+(\d+)\s+"', x)[0].split()[1] for x in lines if f'"{bug.file}.cu"' in x)
    location = next(x for x in reversed(lines[:line]) if x.lstrip().startswith(".loc"))
    return {int(x) for x in re.findall(rf"(?:\.loc|inlined_at)\s+{number}\s+(\d+)", location)}


def require_found(bug, ptx, report):
    assert report.findings, f"{bug.kernel}: nothing is found"
    for finding in report.findings:
        if finding.kind == "race within a warp" and bug.kind == "race":
            continue  # what several warps race for, lanes of one warp may race for too
        said = f"{finding}\n(expected {bug.kind}, line {bug.marked_lines()} of {bug.file}.cu)"
        assert finding.kind == bug.kind, said
        assert bug.marked_lines() & source_lines(bug, ptx, finding.line), said
        assert re.sub(r"^@!?%\w+\s+", "", finding.text).startswith(bug.opcode), said


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found_at_its_line(name):
    bug = PLANTED[name]
    require_found(bug, bug.ptx(False), launch(module(bug.file, False), bug))


@pytest.mark.parametrize("name", BUGS)
def test_nothing_is_found_in_the_repaired_kernel(name):
    bug = PLANTED[name]
    report = launch(module(bug.file, True), bug)
    assert not report.findings, "\n".join(map(str, report.findings))
    assert report.completed


@pytest.mark.parametrize("file", FILES)
def test_what_nvrtc_compiles_is_found_too(file):
    tool = pytest.importorskip("tools.build_planted_ptx")
    ptx = [_compiled(tool, file, fixed) for fixed in (False, True)]
    texts = [we.ptx.Module(x, arch="sm_90", findings="report") for x in ptx]
    for bug in (x for x in PLANTED.values() if x.file == file):
        require_found(bug, ptx[0], launch(texts[0], bug))
        assert not launch(texts[1], bug).findings


def _compiled(tool, file, fixed):
    try:
        return tool.build(file, fixed)
    except BackendUnavailableError as error:
        pytest.skip(str(error))


def test_there_are_bugs_of_every_kind():
    kinds = Counter(x.kind for x in PLANTED.values())
    assert sum(kinds.values()) >= 36
    assert kinds.keys() == set(we.ptx.findings.KINDS) - UNPLANTED

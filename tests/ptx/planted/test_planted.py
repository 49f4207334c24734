# SPDX-License-Identifier: MIT
"""Every planted bug is found, at its line and with its kind, and nothing else; fixed kernels have no findings."""

import re
from collections import Counter
from functools import cache

import pytest

import wmma_emu as we
from tests.ptx.memory.proxies.rows import ROWS
from tests.ptx.planted.mistakes import MISTAKES
from tests.ptx.planted.table import FILES, PLANTED
from wmma_emu.errors import BackendUnavailableError
from wmma_emu.ptx.findings import KINDS

BUGS = list(PLANTED)

LESSER = {
    "race": {"race within a warp", "lanes store to one place"},
    "race within a warp": {"lanes store to one place"},
}
"""Kinds for lanes of one warp that may race for the same bytes as several warps, some of them in one instruction."""


@cache
def module(file, fixed):
    one = next(x for x in PLANTED.values() if x.file == file)
    return we.ptx.Module(one.ptx(fixed), arch="sm_90", findings="report")


def launch(text, bug, **options):
    return text[bug.kernel][bug.grid, bug.block, bug.shared](*bug.arguments(), **options)


def source_lines(bug, ptx, line):
    """Return the source lines of a line of PTX: the function's own, and those where it was inlined."""
    lines = ptx.splitlines()
    number = next(re.match(r'\s*\.file\s+(\d+)\s+"', x)[0].split()[1] for x in lines if f'"{bug.file}.cu"' in x)
    location = next(x for x in reversed(lines[:line]) if x.lstrip().startswith(".loc"))
    return {int(x) for x in re.findall(rf"(?:\.loc|inlined_at)\s+{number}\s+(\d+)", location)}


CONSEQUENCES = {
    "wrong parity": {"race", "over-arrival", "deadlock"}, "transaction bytes": {"missing wait", "deadlock"},
    "mbarrier not initialised": {"load in flight at the end"},
}  # fmt: skip
"""Kinds that a bug of a kind may cause at other lines: threads continue too early, or never."""


def require_found(bug, ptx, report):
    found = [x for x in report.findings if x.kind == bug.kind]
    assert found, f"{bug.kernel}: no {bug.kind} is found\n" + "\n".join(map(str, report.findings))
    assert {x.severity for x in found} == {bug.severity}
    consequences = CONSEQUENCES.get(bug.kind, set())
    for finding in (x for x in report.findings if x in found or not (x.severity == "note" or x.kind in consequences)):
        said = f"{finding}\n(expected {bug.kind}, line {bug.marked_lines()} of {bug.file}.cu)"
        assert finding.kind in {bug.kind, *LESSER.get(bug.kind, ())}, said
        assert bug.marked_lines() & source_lines(bug, ptx, finding.line), said
        assert re.sub(r"^@!?%\w+\s+", "", finding.text).startswith(bug.opcode), said


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found_at_its_line(name):
    bug = PLANTED[name]
    require_found(bug, bug.ptx(False), launch(module(bug.file, False), bug))


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("name", BUGS)
def test_nothing_is_found_in_the_repaired_kernel(name):
    bug = PLANTED[name]
    report = launch(module(bug.file, True), bug)
    require_silent(report)
    assert report.completed


def require_silent(report):
    """Check that there is no error or warning; notes about stores of equal bytes are allowed."""
    assert all(x.severity == "note" for x in report.findings), "\n".join(map(str, report.findings))


@pytest.mark.thorough
@pytest.mark.parametrize("file", FILES)
def test_bugs_in_kernels_compiled_by_nvrtc_are_found_too(file):
    tool = pytest.importorskip("tools.build_planted_ptx")
    ptx = [_compiled(tool, file, fixed) for fixed in (False, True)]
    texts = [we.ptx.Module(x, arch="sm_90", findings="report") for x in ptx]
    for bug in (x for x in PLANTED.values() if x.file == file):
        require_found(bug, ptx[0], launch(texts[0], bug))
        require_silent(launch(texts[1], bug))


def _compiled(tool, file, fixed):
    try:
        return tool.build(file, fixed)
    except BackendUnavailableError as error:
        pytest.skip(str(error))


def test_there_are_bugs_of_every_kind():
    kinds = Counter(x.kind for x in PLANTED.values())
    elsewhere = {x.kind for x in ROWS.values()}  # of proxies
    assert kinds.keys() | elsewhere | {"race of an unused value", "race of equal bytes"} == KINDS.keys()
    assert all(KINDS[x.kind].severity == x.severity for x in PLANTED.values())


def test_every_planted_bug_shows_one_mistake_of_the_list():
    planted = [x for names in MISTAKES.values() for x in names.split()]
    assert sorted(planted) == sorted(PLANTED)
    assert MISTAKES.keys() >= {
        "missing __syncthreads", "__syncwarp for __syncthreads", "missing __syncwarp", "different membermasks",
        "flag without a fence", "fence of too narrow a scope", "atomic of too narrow a scope",
        "missing barrier of the grid", "cp.async without a wait", "mbarrier of the wrong phase",
        "uninitialised address", "out of bounds of global memory", "out of bounds of shared memory", "misaligned",
        "write to read-only memory", "illegal metadata", "assertion or trap",
    }  # fmt: skip

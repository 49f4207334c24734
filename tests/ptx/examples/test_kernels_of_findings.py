# SPDX-License-Identifier: MIT
"""The short kernel of each kind has only that finding, and none when fixed, also when compiled by NVRTC."""

import re

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import BackendUnavailableError, OptionError
from wmma_emu.ptx.examples import EXAMPLES, FOLDER, launch_of, ptx_of, source_of
from wmma_emu.ptx.findings import CHECKS, KINDS, SEVERITIES, kind_of_slug, slug_of
from wmma_emu.ptx.launch.silencing_comments import comment_of, silences_in

ENDINGS = (".cu", ".fixed.cu", ".ptx", ".fixed.ptx")


def test_every_kind_has_a_kernel_and_there_are_no_other_files():
    assert list(EXAMPLES) == list(KINDS)
    assert {x.name for x in FOLDER.iterdir()} == {f"{slug_of(kind)}{x}" for kind in KINDS for x in ENDINGS}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_severity_a_fix_a_rule_for_silences_and_the_sanitizers_result(kind):
    row = KINDS[kind]
    assert row.severity in SEVERITIES and (row.check in CHECKS or not row.check)
    for text in (row.fix, row.silence, row.sanitizer):
        assert text.endswith(".") and len(text) > 20
    assert re.search("memcheck|racecheck|synccheck|initcheck|tool|Nothing", row.sanitizer)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kernel_has_its_finding_and_no_other(kind):
    report = launch_of(kind)
    assert [(x.kind, x.severity) for x in report.findings] == [(kind, KINDS[kind].severity)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_fixed_kernel_has_no_finding(kind):
    report = launch_of(kind, fixed=True)
    assert not report.findings and report.completed


@pytest.mark.thorough
@pytest.mark.parametrize("fixed", [False, True], ids=["bug", "fixed"])
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_compiled_by_nvrtc_have_the_same_finding(kind, fixed):
    tool = pytest.importorskip("tools.build_finding_ptx")
    try:
        ptx = tool.build(kind, fixed)
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    example = EXAMPLES[kind]
    module = we.ptx.Module(ptx, arch=example.target, findings="report")
    report = module.kernel[example.grid, example.block](*example.arguments())
    assert [x.kind for x in report.findings] == ([] if fixed else [kind])


@pytest.mark.parametrize("kind", KINDS)
def test_a_kernel_with_a_bug_is_short(kind):
    for fixed in (False, True):
        lines = source_of(kind, fixed).splitlines()
        assert lines[0] == "// SPDX-License-Identifier: MIT" and len(lines) <= 15
        assert max(map(len, lines)) <= 74
    assert len(ptx_of(kind)) < 6000


@pytest.mark.parametrize("kind", KINDS)
def test_a_slug_belongs_to_one_kind(kind):
    assert kind_of_slug(slug_of(kind)) == kind and re.fullmatch("[a-z]+(-[a-z]+)*", slug_of(kind))


@pytest.mark.parametrize("kind", [x for x in KINDS if KINDS[x].may_be_silenced])
def test_the_comment_that_is_shown_silences_the_finding_of_the_kernel(kind):
    line = f"out[0] = 1; {comment_of(kind, 'it is meant')}"
    assert [(x.kind, x.line, x.reason) for x in silences_in(line, "k.cu")] == [(kind, "k.cu:1", "it is meant")]


def test_kinds_that_end_a_launch_cannot_be_silenced():
    for kind in (x for x in KINDS if not KINDS[x].check):
        assert not KINDS[kind].may_be_silenced
        with pytest.raises(OptionError):
            we.ptx.Silence(kind, 1, "it is meant")


def test_arguments_of_a_launch_are_new_ones_each_time():
    for example in EXAMPLES.values():
        arrays = [[x for x in example.arguments() if isinstance(x, np.ndarray)] for _ in range(2)]
        assert all(not np.shares_memory(x, y) for x, y in zip(*arrays, strict=True))

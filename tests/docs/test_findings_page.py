# SPDX-License-Identifier: MIT
"""The page on findings covers every kind, and explains the reports; what it calls not found is not found."""

import re
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.planted.table import PLANTED
from tests.ptx.texts_of_kernels import launch, numbers, put
from wmma_emu.ptx.examples import launch_of
from wmma_emu.ptx.findings import CHECKS, KINDS, SEVERITIES, path_of

PAGE = (Path(__file__).parents[2] / "docs/explanation/findings.md").read_text(encoding="utf-8")
HOPPER = PLANTED["result_without_a_wait"]


def report_of(bug, ptx=None):
    module = we.ptx.Module(ptx or bug.ptx(False), arch="sm_90", findings="report")
    return module[bug.kernel][bug.grid, bug.block, bug.shared](*bug.arguments())


def test_the_page_has_a_section_for_every_kind_that_begins_with_a_link_to_its_page():
    links = re.findall(r"^## (.*)\n\n\[A bug, its report, its fix\]\(\.\./(.*)\.md\)\.$", PAGE, re.MULTILINE)
    assert links == [(kind, path_of(kind)) for kind in KINDS]
    assert re.findall(r"^## (.*)$", PAGE, re.MULTILINE) == [
        *KINDS, "Severities, checks and silences", "In kernels of Python", "What is not checked",
    ]  # fmt: skip


def test_the_page_says_what_severities_mean_as_the_program_does():
    rows = re.findall(r"^\| (\w+) \| .* \| .* \| (.*) \|$", PAGE, re.MULTILINE)
    assert [x for x in rows if x[0] in SEVERITIES] == list(SEVERITIES.items())
    assert all(f"`{x}`" in PAGE for x in CHECKS)


def test_the_page_begins_with_the_report_of_a_race_and_explains_what_is_in_it():
    assert "```{include} ../reference/findings/race.md\n" in PAGE
    assert not re.findall("^(error|race): ", PAGE, re.MULTILINE)
    (finding,) = launch_of("race").findings
    head = PAGE.partition("\n## ")[0]
    assert f"`{finding.count} times`" in head and f"`line {finding.line} of the PTX`" in head
    assert f"{finding.count} times" in str(finding) and f"line {finding.line} of the PTX" in str(finding)


BARRIERS = {
    "whole warps return before the barrier": "setp.ge.u32 %p1, %r0, 32; @%p1 bra END; bar.sync 0;",
    "some lanes of a warp return before the barrier": "setp.ge.u32 %p1, %r0, 48; @%p1 bra END; bar.sync 0;",
    "some lanes of a warp skip the barrier, and continue": "setp.ge.u32 %p1, %r0, 48; @%p1 bra ON; bar.sync 0; ON:",
    "two branches with a barrier in each": """setp.ge.u32 %p1, %r0, 32; @%p1 bra ELSE; bar.sync 0; bra.uni ON;
        ELSE: bar.sync 0; ON:""",
    "one branch with one barrier more than the other": """setp.ge.u32 %p1, %r0, 32; @%p1 bra ON; bar.sync 0;
        ON: bar.sync 0;""",
}


@pytest.mark.parametrize("kernel", BARRIERS)
def test_barriers_have_the_findings_that_the_page_compares_with_the_sanitizer(kernel):
    (said,) = re.findall(rf"^\| {kernel} \| .* \| (.*) \|$", PAGE, re.MULTILINE)
    report = launch(BARRIERS[kernel] + put("%r0") + "END: ret;", numbers(64), block=64)
    assert [x.kind for x in report.findings] == ([] if said == "nothing" else [said])
    assert report.completed


SHARED = """.shared .align 4 .b32 tile[64]; mov.u32 %r5, tile; shl.b32 %r6, %r0, 2; add.u32 %r7, %r5, %r6;
    xor.b32 %r8, %r6, {other}; add.u32 %r8, %r5, %r8;"""
EXCHANGE = "st.shared.u32 [%r7], %r0; {between} ld.shared.u32 %r9, [%r8];" + put("%r9")


def test_lanes_of_one_warp_race_less_than_two_warps_do():
    body = SHARED.format(other=4) + EXCHANGE.format(between="")
    (finding,) = launch(body + "ret;", numbers(), block=32).findings
    assert (finding.kind, finding.severity) == ("race within a warp", "warning")
    assert not launch(body.replace("ld.shared", "bar.warp.sync -1; ld.shared") + "ret;", numbers(), block=32).findings
    beyond = SHARED.format(other=128) + EXCHANGE.format(between="")
    assert [x.kind for x in launch(beyond + "ret;", numbers(64), block=64).findings] == ["race"]


def test_atomics_order_accesses_before_a_release_before_accesses_after_an_acquire():
    # Warp 0 stores, and executes an atomic; warp 1 waits for it, and loads.
    def kinds(before, after, offset=0):
        body = f"""{SHARED.format(other=128)} setp.gt.u32 %p1, %r0, 31; @%p1 bra OTHER; st.shared.u32 [%r7], %r0;
            bar.warp.sync -1; {before} atom.global.add.u32 %r11, [%rd2], 1; ret;
            OTHER: atom.global.add.u32 %r11, [%rd2+{offset}], 0; setp.lt.u32 %p2, %r11, {0 if offset else 32};
            @%p2 bra OTHER; {after} ld.shared.u32 %r9, [%r8];{put("%r9")} ret;"""
        return [x.kind for x in launch(body, numbers(64), numbers(2), block=64).findings]

    assert kinds("", "") == ["race"]
    assert kinds("membar.gl;", "") == []  # an atomic that polls acquires
    assert kinds("membar.gl;", "membar.gl;") == []
    assert kinds("membar.gl;", "membar.gl;", offset=4) == ["race"]


def test_threads_race_on_global_memory():
    report = launch("st.global.u32 [%rd1], %r0; ret;", numbers(1), grid=2, block=64)
    assert [x.kind for x in report.findings] == ["race"]


def test_a_missing_fence_of_wgmma_is_not_found_and_one_between_proxies_is():
    without, count = re.subn(r"wgmma\.fence\.sync\.aligned;", "", HOPPER.ptx(True))
    assert count and not report_of(HOPPER, without).findings
    without, count = re.subn(r"fence\.proxy\.async[^;]*;", "", HOPPER.ptx(True))
    assert count and {x.kind for x in report_of(HOPPER, without).findings} == {"missing proxy fence"}


def test_memory_of_the_arrays_counts_as_written():
    body = "add.s64 %rd3, %rd2, %rd0; ld.global.u32 %r2, [%rd3];" + put("%r2") + "ret;"
    assert not launch(body, numbers(), np.empty(32, np.uint32)).findings


def test_an_index_may_lead_from_one_local_array_into_the_next():
    body = """.local .align 4 .b32 one[32]; .local .align 4 .b32 other[32];
        mov.u32 %r5, one; mov.u32 %r6, other; st.local.u32 [%r5+128], %r0; ret;"""
    assert not launch(body, numbers(), block=1).findings
    assert [x.kind for x in launch(body.replace("+128", "+256"), numbers(), block=1).findings] == ["out of bounds"]


def test_an_index_does_not_lead_from_one_shared_array_into_the_next():
    body = """.shared .align 4 .b32 one[32]; .shared .align 4 .b32 other[32];
        mov.u32 %r5, one; mov.u32 %r6, other; st.shared.u32 [%r5+128], %r0; ret;"""
    (finding,) = launch(body, numbers(), block=1).findings
    assert finding.kind == "out of bounds" and "just past the end of one, which has 32 elements" in finding.message

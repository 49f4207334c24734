# SPDX-License-Identifier: MIT
"""Coverage: lines and branches that launches reach, merged, in the formats of lcov and Cobertura."""

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.profile.kernels import HEAD
from wmma_emu.ptx import KernelCoverage

KERNELS = (
    HEAD
    + """
.file 1 "two.cu"
.visible .entry stores(.param .u64 x, .param .u32 n)
{
  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %d<3>;
  .loc 1 3 1
  ld.param.u64 %d1, [x];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  .loc 1 4 1
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra DONE;
  .loc 1 5 1
  mul.wide.u32 %d2, %r2, 4;
  add.u64 %d1, %d1, %d2;
  st.global.u32 [%d1], %r2;
DONE:
  .loc 1 6 1
  ret;
}
.visible .entry other()
{
  .loc 1 9 1
  ret;
}
"""
)
BRANCH = ("two.cu", 4, 15)


def covered(*numbers):
    module = we.ptx.Module(KERNELS, arch="sm_90")
    with we.ptx.covering() as found:
        for n in numbers:
            assert module["stores"][1, 32](np.zeros(32, np.uint32), n).profile is None
    return found


def test_lines_of_all_kernels_are_listed_and_those_reached_are_counted():
    found = covered(32).coverage
    assert found.lines == {("two.cu", 3): 3, ("two.cu", 4): 2, ("two.cu", 5): 3, ("two.cu", 6): 1, ("two.cu", 9): 0}
    assert found.missing("two.cu") == (9,) and covered(0).coverage.missing("two.cu") == (5, 9)


@pytest.mark.parametrize(("n", "outcomes"), [(32, (0, 32, 0)), (0, (32, 0, 0)), (8, (24, 8, 1))])
def test_a_branch_is_taken_not_taken_or_both_within_a_warp(n, outcomes):
    assert covered(n).coverage.branches == {BRANCH: outcomes}


def test_a_launch_that_is_stopped_covers_what_it_reached():
    endless = KERNELS.replace("  ret;\n}\n.visible", "  bra DONE;\n}\n.visible")
    module = we.ptx.Module(endless, arch="sm_90", max_steps=1000)
    with we.ptx.covering() as found, pytest.raises(we.errors.LaunchLimitError):
        module["stores"][1, 32](np.zeros(32, np.uint32), 0)
    assert found.coverage.missing("two.cu") == (5, 9) and found.coverage.lines["two.cu", 6] > 900


def test_launches_and_processes_are_merged():
    both, one, other = covered(0, 32).coverage, covered(0).coverage, covered(32).coverage
    assert one + KernelCoverage.from_dict(json.loads(json.dumps(other.to_dict()))) == both
    assert both.branches[BRANCH] == (32, 32, 0)


def test_files_have_the_formats_of_lcov_and_cobertura(tmp_path):
    found = covered(32)
    found.write(tmp_path / "a.info")
    lines = (tmp_path / "a.info").read_text().splitlines()
    assert lines[:2] == ["TN:", "SF:two.cu"] and "DA:9,0" in lines and "BRDA:4,15,0,0" in lines and "BRH:1" in lines
    found.write(tmp_path / "a.xml")
    root = ElementTree.parse(tmp_path / "a.xml").getroot()
    assert root.attrib["line-rate"] == "0.8000"
    hits = {x.attrib["number"]: x.attrib["hits"] for x in root.iter("line")}
    assert hits == {"3": "3", "4": "2", "5": "3", "6": "1", "9": "0"}
    assert [x.attrib["condition-coverage"] for x in root.iter("line") if "branch" in x.attrib] == ["50% (1/2)"]


def test_the_text_names_the_lines_that_were_not_reached():
    assert str(covered(0)).splitlines()[1].split() == ["two.cu", "5", "60%", "1", "0", "0", "5,", "9"]
    assert str(covered(8)).splitlines()[1].split()[4:6] == ["1", "1"]

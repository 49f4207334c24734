# SPDX-License-Identifier: MIT
"""Old names of the public API: each gives the new object, with a warning that names it and points at the caller."""

from importlib import import_module

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.ptx.examples import launch_of
from wmma_emu.testing import generators

NAMES = [
    ("gemm", "Bound", "AnyBoundInstruction"),
    ("gemm", "Difference", "ElementDifference"),
    ("gemm", "Statistics", "DistanceStatistics"),
    ("gemm", "taken_apart", "unpack_quantised"),
    ("kernels", "Kernel", "PythonKernel"),
    ("gpu", "Report", "CampaignReport"),
    ("gpu.campaign", "Report", "CampaignReport"),
    ("applications.campaign", "Report", "CampaignReport"),
    ("applications.probing", "Report", "ProbeReport"),
    ("testing.probing", "Report", "ProbeReport"),
    ("ptx", "Explanation", "ModuleExplanation"),
    ("ptx.findings", "Location", "MemoryLocation"),
    ("ptx.findings", "Said", "Diagnosis"),
    ("ptx.history", "Subject", "HistorySubject"),
    ("ptx.history", "WatchedLaunch", "RecordingLaunch"),
    ("testing.strategies", "instruction_rows", "instruction_entries"),
]


@pytest.mark.parametrize(("module", "old", "new"), NAMES)
def test_an_old_name_gives_the_new_object_and_warns(module, old, new):
    found = import_module(f"wmma_emu.{module}")
    with pytest.warns(DeprecationWarning, match=rf"{module}\.{old} is now wmma_emu\.{module}\.{new};") as warned:
        assert getattr(found, old) is getattr(found, new)
    assert [x.filename for x in warned] == [__file__]


@pytest.mark.parametrize(
    ("old", "new"),
    [("FAMILIES", "GENERATORS"), ("Family", "InputGenerator"), ("families_of", "generators_of"), ("draw", "draw")],
)
def test_the_old_module_of_input_generators_gives_their_names_and_warns(old, new):
    from wmma_emu.testing import families

    with pytest.warns(DeprecationWarning, match=rf"families\.{old} is now wmma_emu\.testing\.generators\.{new};"):
        assert getattr(families, old) is getattr(generators, new)


def test_a_name_that_was_never_there_is_an_attribute_error():
    for module in ("gemm", "kernels", "testing.families"):
        with pytest.raises(AttributeError, match=f"module 'wmma_emu.{module}' has no attribute 'Kernels'"):
            _ = import_module(f"wmma_emu.{module}").Kernels


def test_old_names_are_not_listed():
    assert [old for module, old, _ in NAMES if old in dir(import_module(f"wmma_emu.{module}"))] == []


def test_a_keyword_works_by_its_old_name_and_warns():
    ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
    with pytest.warns(DeprecationWarning, match=r"draw\(family=\.\.\.\) is now generator=;") as warned:
        old = generators.draw(ins, family="ties", seed=1, a_tiles=1, b_tiles=1, c_tiles=1)
    assert [x.filename for x in warned] == [__file__]
    new = generators.draw(ins, generator="ties", seed=1, a_tiles=1, b_tiles=1, c_tiles=1)
    assert all(np.array_equal(x, y) for x, y in zip(old[:3], new[:3], strict=True))
    with pytest.warns(DeprecationWarning, match=r"matrices\(families=\.\.\.\) is now generators=;"):
        [sample] = generators.matrices(ins, families=["normal"])
    assert sample.generator == "normal"


def test_a_keyword_by_both_names_is_refused():
    with pytest.raises(TypeError, match="'families', the old name of 'generators', and 'generators'"):
        generators.matrices("m16n8k16.f32.f16.f16.f32", families=["normal"], generators=["ties"])


def test_the_old_name_of_a_fix_gives_it_and_warns():
    report = launch_of("race")
    for found, name in ((we.ptx.KINDS["race"], "Kind"), (report.findings[0], "Finding")):
        with pytest.warns(DeprecationWarning, match=rf"{name}\.mend is now {name}\.fix;") as warned:
            assert found.mend == found.fix
        assert [x.filename for x in warned] == [__file__]

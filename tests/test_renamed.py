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
    ("schedule", "Held", "Ownership"),
    ("warp.schedule", "Part", "StepPart"),
    ("tcgen05", "MOVES", "DATA_MOVEMENTS"),
    ("layouts.banks", "Fact", "BankFact"),
    ("layouts.formulas", "Copy", "Replica"),
    ("chips", "Fact", "ChipFact"),
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


@pytest.mark.parametrize(("module", "name", "home"), [
    ("ptx.findings", "Finding", "ptx"), ("api", "explain", "gemm"), ("api", "compare_archs", "gemm"),
])  # fmt: skip
def test_a_name_that_has_moved_gives_the_object_and_warns(module, name, home):
    found, new = (import_module(f"wmma_emu.{x}") for x in (module, home))
    with pytest.warns(DeprecationWarning, match=rf"{module}\.{name} is now wmma_emu\.{home}\.{name};") as warned:
        assert getattr(found, name) is getattr(new, name)
    assert [x.filename for x in warned] == [__file__]


def test_the_functions_that_took_no_keywords_return_the_results_of_the_new_ones_and_warn():
    package, A = import_module("wmma_emu.gemm"), np.eye(16, dtype=np.float16)
    with pytest.warns(DeprecationWarning, match=r"gemm\.explain_element is now wmma_emu\.gemm\.explain,") as warned:
        old = package.explain_element(None, A, A, None, 1, 2, "a100", None, None, None)
    assert str(old) == str(we.explain(None, A, A, row=1, col=2, arch="a100"))
    with pytest.warns(DeprecationWarning, match=r"compare_chips is now wmma_emu\.gemm\.compare_archs,") as also:
        found = package.compare_chips(A, A, None, None, ["a100", "h100"], "h100", "auto", None, None, model=None)
    assert str(found) == str(we.compare_archs(A, A, archs=["a100", "h100"], reference="h100"))
    assert [x.filename for x in (*warned, *also)] == [__file__] * 2
    assert not {"compare_chips", "explain_element"} & set(dir(package))


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


def test_a_named_tuple_takes_its_fields_by_their_old_names_and_warns():
    kind, sample = we.ptx.KINDS["race"], next(generators.matrices("m16n8k16.f32.f16.f16.f32", ["ties"]))
    for made, old, value, new in ((kind, "mend", kind.fix, "fix"), (sample, "family", "ties", "generator")):
        cls, others = type(made), {x: y for x, y in made._asdict().items() if x != new}
        with pytest.warns(DeprecationWarning, match=rf"{cls.__name__}\({old}=\.\.\.\) is now {new}=;") as warned:
            assert cls(**{old: value}, **others)[:2] == made[:2]
        with pytest.warns(DeprecationWarning, match=rf"{cls.__name__}\._replace\({old}=\.\.\.\)") as also:
            assert getattr(made._replace(**{old: "another"}), new) == "another"
        with pytest.warns(DeprecationWarning, match=rf"{cls.__name__}\.{old} is now {cls.__name__}\.{new};") as read:
            assert getattr(made, old) == value
        assert [x.filename for x in (*warned, *also, *read)] == [__file__] * 3
        with pytest.raises(TypeError, match=f"{cls.__name__}.. got {old!r}, the old name of {new!r}, and {new!r}"):
            cls(**{old: value}, **made._asdict())


def test_a_schedule_takes_its_instruction_by_the_old_name_and_warns():
    ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
    with pytest.warns(DeprecationWarning, match=r"scheduled\(row=\.\.\.\) is now instruction=;"):
        assert we.warp.schedule.scheduled(row=ins.instruction, chip=ins.arch, product=ins.product) == ins.schedule
    with pytest.warns(DeprecationWarning, match=r"undivided\(row=\.\.\.\) is now instruction=;"):
        assert we.warp.schedule.undivided(row=ins.instruction, chip="sm_90") is None


PTX = ".version 8.0 .target sm_80 .address_size 64 .visible .entry f(.param .u64 p) { ret; }"


@pytest.mark.parametrize(("old", "new"), [("ptxas", "rules"), ("never", "never")])
def test_contract_is_the_old_keyword_of_contraction(old, new, tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(PTX)
    for make in (lambda: we.ptx.Module(PTX, contract=old), lambda: we.ptx.Module.from_file(path, contract=old)):
        with pytest.warns(DeprecationWarning, match=f"contract='{old}' is now contraction='{new}';") as warned:
            module = make()
        assert [x.filename for x in warned] == [__file__]
        today = we.ptx.Module(PTX, contraction=new)
        assert module["f"][1, 32](np.zeros(4)).contraction == today["f"][1, 32](np.zeros(4)).contraction
    with pytest.raises(we.CallError, match="contract= is the old name of contraction=; give only contraction="):
        we.ptx.Module(PTX, contract=old, contraction=new)
    with pytest.warns(DeprecationWarning), pytest.raises(we.OptionError, match="contraction='fast' is not one of"):
        we.ptx.Module(PTX, contract="fast")


def test_contract_is_the_old_option_of_contraction(tmp_path, capfd):
    from wmma_emu.cli.app import run

    path = tmp_path / "k.ptx"
    path.write_text(PTX)
    assert run(["ptx", "explain", str(path), "--contract", "ptxas"]) == 0
    out, err = capfd.readouterr()
    assert err == (
        "warning: --contract 'ptxas' is now --contraction rules; the old option will be removed in the next version\n"
    )
    assert run(["ptx", "explain", str(path), "--contraction", "rules"]) == 0
    assert capfd.readouterr() == (out, "")

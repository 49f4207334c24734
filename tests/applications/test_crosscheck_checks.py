# SPDX-License-Identifier: MIT
"""Faults of hardware, and of the emulator itself: each is counted once, and none hides another."""

import json
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import wmma_emu as we
from tests.applications.altered_backends import OneLaneFails
from wmma_emu.applications.campaign import checks, mismatches, worker
from wmma_emu.gpu.campaign import EmulatedBackend, crosscheck
from wmma_emu.warp import BoundInstruction

F16 = "m16n8k16.f32.f16.f16.f32"
GENERATORS = ["normal", "single_bits"]

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


def test_a_fault_in_one_lane_is_found_with_every_generator_even_where_all_operands_are_zero():
    report = crosscheck(F16, count=20_000, workers=0, backend=OneLaneFails(), generators=["normal", "c_alone"])
    assert all(x["mismatches"] for x in report.counts)
    assert report.mismatches == report.dot_products // 128
    # Lane 5 holds row 1, column 2 in its first register.
    assert {(x["test_row"]["row"], x["test_row"]["column"]) for x in report.findings} == {(1, 2)}
    for row in (x["test_row"] for x in report.findings):
        assert {int(x, 16) for x in (*row["a"], *row["b"], row["c"])} == {0}
    assert len(report.findings) == 6, "three of each input generator are kept"
    assert report.self_mismatches == 0


def campaign(backend=None, what=F16):
    return crosscheck(what, count=40_000, workers=0, generators=GENERATORS, backend=backend or EmulatedBackend())


@pytest.fixture
def register_fault(monkeypatch):
    """The emulator's ``execute`` has the lowest bit of all registers wrong."""
    execute = BoundInstruction.execute
    monkeypatch.setattr(BoundInstruction, "execute", lambda self, *a, **k: execute(self, *a, **k) ^ np.uint32(1))


@pytest.fixture
def reference_fault(monkeypatch):
    """The reference engine has the lowest bit wrong."""
    for module in (checks, mismatches):
        monkeypatch.setattr(module, "dot", lambda *a, true=module.dot: true(*a) ^ 1)


@pytest.mark.parametrize("alter", [{}, {"fraction_bits": 24}], ids=["alone", "with other bits"])
def test_a_fault_of_execute_is_counted_and_kept_whether_or_not_the_backend_differs_too(request, alter):
    expected = campaign(EmulatedBackend(alter=alter))
    request.getfixturevalue("register_fault")
    found = campaign(EmulatedBackend(alter=alter))
    assert found.mismatches == expected.mismatches
    assert found.mismatches <= found.dot_products
    executed = sum(x["executed"] for x in found.counts)
    assert sum(x["executed_wrong"] for x in found.counts) == found.self_mismatches == executed > 0
    kinds = Counter(x["kind"] for x in found.findings)
    assert kinds == Counter({"registers": 6, **({"bits": 6} if alter else {})})
    assert not found.ok


def test_a_fault_of_the_reference_engine_is_counted_and_kept(reference_fault):
    found = campaign(EmulatedBackend(alter={"fraction_bits": 24}))
    assert sum(x["referenced_wrong"] for x in found.counts) == 8 == found.self_mismatches
    assert Counter(x["kind"] for x in found.findings) == {"bits": 6, "reference": 6}


def test_every_form_of_the_report_names_inconsistencies_of_the_emulator(register_fault):
    found = campaign()
    number = found.self_mismatches
    assert f"; the emulator is inconsistent in {number}" in " ".join(str(found).splitlines()[:2])
    assert f"{number} on registers by ins.execute ({number} differ)" in str(found)
    data = json.loads(found.to_json())
    assert (data["ok"], data["mismatches"], data["self_mismatches"]) == (False, 0, number)
    page = found.to_html()
    assert f'<td class="bad">{number}</td>' in page
    assert "  the emulator is inconsistent: ins.execute on registers differs from the product of matrices\n" in page
    assert [x["kind"] for x in found.findings] == ["registers"] * 6


def test_registers_that_differ_though_no_element_does_count_one_a_tile():
    """No layout of D has bits that hold no element; here the reader of registers overlooks the lowest bits."""
    ins = we.instruction(F16)
    tiles = np.zeros((2, 3, 16, 8), np.uint32)
    ours = ins.d.pack_bits(tiles)
    blind = SimpleNamespace(unpack_bits=lambda registers: ins.d.unpack_bits(registers & ~np.uint32(1)))
    reader = SimpleNamespace(instruction=ins.instruction, d=blind)
    theirs = ours.copy()
    assert list(checks.differing(reader, theirs, ours, tiles)) == []
    theirs[:, 1, 2] ^= np.uint32(1)
    unread = ("bits", (1, 2, 0, 0, 0), True)
    assert list(checks.differing(reader, theirs, ours, tiles)) == [unread]
    theirs[0, 0, 1, 5] ^= np.uint32(2)
    assert list(checks.differing(reader, theirs, ours, tiles)) == [("bits", (0, 1, 0, 1, 2), False), unread]


def test_the_report_says_that_registers_differ_though_no_element_does(monkeypatch):
    monkeypatch.setattr(worker, "differing", lambda *_: [checks.DifferingElement("bits", (1, 0, 0, 0, 0), True)])
    found = campaign()
    assert found.mismatches == 2
    assert not found.ok
    assert "2 of the mismatches are tiles in which registers differ, but no element of D does" in " ".join(
        str(found).split()
    )
    assert "only in bits without an element of D" in found.findings[0]["text"]
    assert [x["unread"] for x in found.findings] == [True, True]
    assert json.loads(found.to_json())["counts"][0]["unread"] == 1


def test_a_difference_that_is_in_no_element_is_not_saved_as_a_test_row(monkeypatch, tmp_path):
    monkeypatch.setattr(worker, "differing", lambda *_: [checks.DifferingElement("bits", (1, 0, 0, 0, 0), True)])
    assert campaign().save_rows(tmp_path / "rows.json") == 0

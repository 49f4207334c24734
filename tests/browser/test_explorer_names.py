# SPDX-License-Identifier: MIT
"""The names of instructions in the explorer: what a wrong name, a part of one and another chip lead to."""

import re

import pytest

from tests.browser.explorer_page import A16, S8, answer_of, found, state
from wmma_emu.instructions import lookup
from wmma_emu.instructions.table import INSTRUCTIONS

pytestmark = pytest.mark.slow

SPARSE = "mma.sp.m16n8k16.f32.f16.f16.f32"


# --- what comes nearest --------------------------------------------------------------------------


def likeness(row, other):
    """Family before type of A before shape before all types."""
    return (row.family == other.family, row.a == other.a, row.shape == other.shape, row.types == other.types)


@pytest.mark.parametrize(
    "name, chip",
    [
        (A16, "sm_75"), ("wmma.mma.m16n16k8.f32.tf32.tf32.f32", "sm_75"),
        (S8, "sm_70"), (SPARSE, "sm_75"),
    ],
)  # fmt: skip
def test_a_chip_without_an_instruction_shows_the_nearest_and_names_it(turned, name, chip):
    page = turned(chip="sm_90", i=name)
    row = lookup(name)
    assert chip not in row.archs
    page.select_option("#chip", chip)
    now = state(page)
    shown = lookup(now["entry"])
    assert now["chip"] == chip and chip in shown.archs
    assert likeness(row, shown) == max(likeness(row, x) for x in INSTRUCTIONS.values() if chip in x.archs)
    said = f"{chip} does not support {row.short_mnemonic}; {shown.short_mnemonic} is shown."
    assert page.text_content("#said") == said
    assert page.input_value("#instruction") == shown.short_mnemonic


def test_a_wrong_name_is_said_to_match_nothing_and_each_word_offered_instead_matches(turned):
    page = turned(chip="sm_90", i=A16)
    for wrong in ("m16n8k17", "wmma.mma.m16n16k16.f99", "sonata"):
        options, said = found(page, wrong)
        assert said.startswith("Nothing matches") and options == []
        words = re.findall(r"[\w.]+", said.split("Try ")[1].rstrip("."))
        assert len(words) > 2
        for word in words:
            assert found(page, word)[0], word
        page.keyboard.press("Escape")
        answer = answer_of(page, f"A[0][0] of {wrong}")
        assert page.locator("#answer.wrong").count() == 1 and wrong in answer
        assert state(page)["entry"] == lookup(A16).mnemonic


def test_a_part_of_a_name_finds_those_of_the_chip_before_others(turned):
    page = turned(chip="sm_80", i=A16)
    first = found(page, "e4m3")[0][0]
    assert (
        "e4m3" in first and "sm_89" in first and "sm_80" not in first
    )  # sm_80 supports none: the page names the chips that do
    there = ["on sm_" not in x for x in found(page, "m16n8k16")[0]]
    assert there == sorted(there, reverse=True) and there[0]
    page.keyboard.press("Escape")

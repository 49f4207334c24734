# SPDX-License-Identifier: MIT
"""The rules of evidence, one fact per test: what a status needs, what evidence covers, and what was run."""

import pytest

from wmma_emu.evidence import Evidence, Run, Sourced

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


@pytest.mark.parametrize("status", ["measured", "recorded"])
def test_nothing_is_measured_or_recorded_without_naming_what_was_run(status):
    with pytest.raises(ValueError, match=f"what is {status} says what was run"):
        Evidence(status, "an NVIDIA H200")


@pytest.mark.parametrize("status", ["documented", "literature", "inferred", "not modelled"])
def test_a_status_that_needs_no_run_needs_only_a_source(status):
    assert Evidence(status, "PTX ISA 9.1").covers is None


def test_evidence_that_names_nothing_covers_every_instruction():
    written = Evidence("documented", "the manual")
    assert written.of("any instruction") is written


def test_evidence_for_an_instruction_that_it_does_not_cover_is_inferred_or_the_alternative():
    written = Evidence("documented", "the manual", frozenset({"a", "b"}))
    seen = Evidence("measured", "a GPU", frozenset({"a"}), written)
    assert [seen.of(x).status for x in "abc"] == ["measured", "documented", "inferred"]


def test_an_inference_names_neither_the_run_nor_the_document_that_lacks_the_instruction():
    seen = Evidence("measured", "a GPU", frozenset({"a"}), Evidence("documented", "the manual", frozenset({"b"})))
    assert seen.of("c").source == (
        "concluded from others that are like it: nothing that was run or read has this one on this chip"
    )


def test_a_run_contains_the_instructions_that_ran_on_its_chip_and_no_others():
    assert F16 in Run("campaign", "sm_90")
    assert F16 not in Run("campaign", "sm_80")
    assert "m16n8k16" not in Run("campaign", "sm_90")
    assert F16 not in Run("another campaign", "sm_90")


@pytest.mark.parametrize(("n", "ran"), [(8, True), (136, True), (256, True), (12, False), (264, False), (0, False)])
def test_a_wgmma_that_ran_with_every_n_ran_with_each_multiple_of_8_up_to_256(n, ran):
    assert (f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16" in Run("campaign", "sm_90")) == ran


def test_no_run_contains_anything_but_names():
    assert None not in Run("campaign", "sm_90")
    assert 16 not in Run("campaign", "sm_90")


def test_runs_of_one_name_and_chip_are_equal():
    assert Run("campaign", "sm_90") == Run("campaign", "sm_90") != Run("campaign", "sm_80")
    assert len({Run("campaign", "sm_90"), Run("campaign", "sm_90")}) == 1


def test_a_table_entry_has_the_status_and_the_source_of_its_evidence():
    class Entry(Sourced):
        evidence = Evidence("literature", "a paper of 2023")

    assert (Entry().status, Entry().source) == ("literature", "a paper of 2023")

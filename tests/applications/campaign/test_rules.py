# SPDX-License-Identifier: MIT
"""The rules of campaigns, one fact each: counts, mismatches, seeds, states, and what no campaign can do."""

import json

import pytest

import wmma_emu as we
from tests.applications.altered_backends import OneLaneFails, Refuses
from wmma_emu.applications.campaign import EmulatedBackend
from wmma_emu.applications.campaign.files import replace_text
from wmma_emu.applications.campaign.groups import group_of
from wmma_emu.applications.campaign.tasks import plan_tasks
from wmma_emu.errors import BackendUnavailableError, FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.gpu.campaign import crosscheck

F16 = "m16n8k16.f32.f16.f16.f32"
SMALL = "m16n8k8.f32.f16.f16.f32"


def campaign(what=F16, backend=None, **options):
    own = {"count": 3000, "workers": 0, "generators": ["normal"], **options}
    return crosscheck(what, backend=backend or EmulatedBackend(), **own)


class Interrupt:
    """Ctrl-C after the first task."""

    def __call__(self, progress):
        raise KeyboardInterrupt


def test_a_campaign_of_the_emulator_against_itself_finds_nothing():
    report = campaign()
    assert report.ok and report.mismatches == 0 and report.dot_products >= 3000


def test_the_count_applies_to_each_instruction():
    counts = {x["mnemonic"]: x["dot_products"] for x in campaign([F16, SMALL]).summed("mnemonic")}
    assert {x.split(".")[3] for x in counts} == {"m16n8k16", "m16n8k8"}
    assert all(3000 <= x < 6000 for x in counts.values())


def test_one_wrong_bit_in_one_lane_is_a_mismatch():
    report = campaign(backend=OneLaneFails())
    assert not report.ok and report.mismatches > 0


def test_a_mismatch_of_another_model_is_named_by_its_parameter():
    report = campaign(backend=EmulatedBackend(alter={"fraction_bits": 24}), generators=["single_bits"])
    assert report.mismatches > 0 and "fraction_bits 24 instead of 25" in str(report)


def test_each_generator_is_counted_and_only_those_that_are_named_are_used():
    assert {x["family"] for x in campaign(generators=["normal", "ties"]).counts} == {"normal", "ties"}


@pytest.mark.parametrize(("name", "group"), [(F16, "f16"), ("m16n8k32.s32.s8.s8.s32", "8-bit")])
def test_an_instruction_belongs_to_the_group_of_its_formats(name, group):
    assert group_of(we.instruction(name).instruction) == group


def test_a_seed_determines_the_inputs_and_no_two_tasks_share_one():
    ins = [we.instruction(F16)]
    first, again, other = (plan_tasks(ins, [10**7], ["normal"], seed) for seed in (0, 0, 1))
    assert first == again
    assert len({x.seed for x in first}) == len(first)
    assert {x.seed for x in first}.isdisjoint(x.seed for x in other)


def test_an_interrupted_campaign_continues_from_its_state_to_the_same_counts(tmp_path):
    state = tmp_path / "state.json"
    with pytest.raises(KeyboardInterrupt):
        campaign([F16, SMALL], state=state, progress=Interrupt())
    assert len(json.loads(state.read_text())["totals"]["counts"]) == 1
    continued, whole = campaign([F16, SMALL], state=state), campaign([F16, SMALL])
    assert sorted(map(str, continued.counts)) == sorted(map(str, whole.counts))


def test_a_state_of_another_campaign_is_refused(tmp_path):
    state = tmp_path / "state.json"
    campaign(state=state)
    with pytest.raises(UnsupportedInstructionError, match="seed: 0 in the file, 1 in this call"):
        campaign(state=state, seed=1)


def test_a_damaged_state_is_refused(tmp_path):
    state = tmp_path / "state.json"
    state.write_text("[" * 1000)
    with pytest.raises(FragmentMismatchError, match="is damaged"):
        campaign(state=state)


def test_a_file_is_replaced_as_a_whole_and_no_other_file_is_left(tmp_path):
    for text in ("one", "two"):
        replace_text(tmp_path / "report.txt", text)
        assert (tmp_path / "report.txt").read_text() == text
    assert [x.name for x in tmp_path.iterdir()] == ["report.txt"]


def test_a_backend_that_refuses_ends_the_campaign_with_its_reason():
    with pytest.raises(BackendUnavailableError, match="the GPU has gone"):
        campaign(backend=Refuses())


@pytest.mark.parametrize(("options", "words"), [
    ({"generators": ["normall"]}, "there is no input generator 'normall'; did you mean 'normal'"),
    ({"count": 10**30}, "exceed the limit of a campaign"),
])  # fmt: skip
def test_what_no_campaign_can_do_is_refused_at_once(options, words):
    with pytest.raises(UnsupportedInstructionError, match=words):
        campaign(**options)

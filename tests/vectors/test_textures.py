# SPDX-License-Identifier: MIT
"""Fetches, and accesses to surfaces, of a Hopper GPU: results equal the recording, by digest."""

from pathlib import Path

import pytest

from tools.record_textures import emulated
from tools.recordings import digest, load_arrays
from tools.texture_cases import KERNELS, cases
from wmma_emu import ptx
from wmma_emu.evidence import Run
from wmma_emu.ptx.textures.facts import FACTS

RECORDED, _ = load_arrays(Path(__file__).parents[1] / "data" / "sm90_textures.npz")

DIFFERENT = {
    "ties of 3 axes, wrap", "ties of 3 axes, mirror", "wide sums of float32, 3 axes", "wide sums of float16, 3 axes",
}  # fmt: skip
"""The cases in which some results differ, as the caveat of the fact "products" says."""

CASES = [x for x in cases() if x.name in RECORDED]

pytestmark = pytest.mark.vectors


@pytest.fixture(scope="module")
def module():
    return ptx.Module(KERNELS.read_text(), "sm_90", findings="raise")


def _recorded(case):
    return RECORDED[f"{case.name}|digest"][0]


def _is_modelled(case):
    return case.fact != "formatted" or case.array.dtype != "float16"


@pytest.mark.parametrize("fact", dict.fromkeys(x.fact for x in CASES))
def test_results_equal_the_results_of_the_gpu(module, fact):
    chosen = [x for x in CASES if x.fact == fact and _is_modelled(x) and x.name not in DIFFERENT]
    different = [x.name for x in chosen if digest(emulated(module, x)) != _recorded(x)]
    assert chosen and different == []


@pytest.mark.thorough
def test_results_differ_in_the_cases_of_the_caveat_alone(module):
    different = {x.name for x in CASES if _is_modelled(x) and digest(emulated(module, x)) != _recorded(x)}
    assert different == DIFFERENT


def test_the_recording_has_results_for_every_measured_fact():
    assert {name for name, x in FACTS.items() if x.status == "measured"} == {x.fact for x in CASES}
    assert all(name in Run("textures", "sm_90") for name in FACTS)

# SPDX-License-Identifier: MIT
"""Wavefronts, sectors and conflicts of single accesses equal those that Nsight Compute counted on an H200."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tools.profile_kernels.patterns import INACTIVE, forms, patterns
from tools.recordings import load_arrays
from wmma_emu.ptx.profile.bypassing_copies import bypassing_copy
from wmma_emu.ptx.profile.counting import ACCESS_RULES
from wmma_emu.ptx.profile.wavefronts import copy_wavefronts, global_sectors

RECORDED, METADATA = load_arrays(Path(__file__).parents[3] / "tests/data/sm90_access_counters.npz")
FORMS = {x.name: x for x in forms()}
SHORT_BY = {"copy_from_cg_16": {"drawn few 2": 2, "drawn few 3": 1}}
"""The patterns for which the rule counts too few wavefronts, and how many."""


def rule_of(form):
    space, op, *_ = form.split("_")
    if space in ("ldmatrix", "stmatrix"):
        return "shared store"
    if op in ("atom", "red"):
        return f"{space} atomic"
    return space if space != "shared" else f"shared {'load' if op == 'ld' else 'store'}"


@cache
def counted(name):
    """Return the counters of a form by the rules: name -> one number for each pattern."""
    form = FORMS[name]
    offsets = np.array([x for _, x in patterns(form)])
    active = offsets != INACTIVE
    if "matrix" in name:
        active = active & (np.arange(32) < 8 * int(name.split("_x")[1][0]))
    rows = np.where(active, offsets, 0).astype(np.int64)
    if not name.startswith("copy"):
        rule = ACCESS_RULES[rule_of(name)]
        costs = rule.costs(rows, form.size, active)
        return dict(zip(("wavefronts", "conflicts") if rule.space == "shared" else ("sectors",), costs, strict=True))
    own = np.broadcast_to(np.arange(32) * form.size, rows.shape)
    source, target = (own, rows) if "_to_" in name else (rows, own)
    if "_cg_" in name:
        sectors, wavefronts = np.array(bypassing_copy(source, target, active)).T
        return {"sectors": sectors, "wavefronts": wavefronts, "conflicts": np.zeros_like(sectors)}
    needed, without = copy_wavefronts(source, target, form.size, active, active)
    return {"sectors": global_sectors(source, form.size, active), "wavefronts": needed, "conflicts": needed - without}


@pytest.mark.parametrize("key", sorted(RECORDED))
def test_the_rules_count_as_nsight_compute(key):
    name, counter = key.split("|")
    found, expected = counted(name)[counter], RECORDED[key].astype(np.int64)
    labels = [label for label, _ in patterns(FORMS[name])]
    differs = {x: int(b - a) for x, a, b in zip(labels, found, expected, strict=True) if a != b}
    assert differs == (SHORT_BY.get(name, {}) if counter == "wavefronts" else {})


def test_all_widths_of_all_accesses_are_recorded():
    names = {x.split("|")[0] for x in RECORDED}
    assert {"shared_ld_b8", "shared_st_v4_b32", "ldmatrix_x4_trans", "copy_to_ca_4", "global_red_add_f32"} <= names
    assert sum(len(x) for x in RECORDED.values()) > 3000

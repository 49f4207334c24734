# SPDX-License-Identifier: MIT
"""Wavefronts, sectors and conflicts of single accesses equal those that Nsight Compute counted on an H200."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tools.profile_kernels.patterns import INACTIVE, forms, patterns
from tools.recordings import load_arrays
from wmma_emu.ptx.profile.counting import ACCESS_RULES, Counting
from wmma_emu.ptx.profile.patterns import CopyPatterns
from wmma_emu.ptx.profile.wavefronts import local_requests
from wmma_emu.ptx.program.program import PtxInstruction

RECORDED, METADATA = load_arrays(Path(__file__).parents[3] / "tests/data/sm90_access_counters.npz")
FORMS = {x.name: x for x in forms()}
COPY = PtxInstruction("cp.async.ca", "cp", ("async", "ca"), (), None, 1, 1)
SHORT_BY = {"copy_from_cg_16": {"drawn few 2": 2, "drawn few 3": 1}}
"""The patterns for which the rule counts too few wavefronts, and how many."""


def rule_of(form):
    space, op, *_ = form.split("_")
    if space in ("ldmatrix", "stmatrix"):
        return "shared store"
    if form == "shared_red_inc":
        return "shared increment"
    if op in ("atom", "red"):
        return "shared loop" if space == "shared" and form.endswith(("f32", "f16x2")) else f"{space} atomic"
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
    if name.startswith("copy"):
        return counted_copies(name, form.size, rows, active)
    if name.startswith("local"):
        rows = np.where(active, offsets & 1008, 0).astype(np.int64)
    rule = ACCESS_RULES[rule_of(name)]
    names = [x.removeprefix("shared_").removeprefix("bank_").removeprefix(f"{rule.space}_") for x in rule.counters]
    found = dict(zip(names, rule.costs(rows, form.size, active), strict=True))
    requests = active.any(axis=1) * (local_requests(form.size) if rule.space == "local" else 1)
    return {"requests": requests, **found}


def counted_copies(name, size, rows, active):
    own = np.broadcast_to(np.arange(32) * size, rows.shape)
    source, target = (own, rows) if "_to_" in name else (rows, own)
    is_read = {"none": 0, "never": 0, "half": np.arange(32) % 2}.get(name.split("_")[1], 1)
    given = CopyPatterns(source, target, active, active & (is_read != 0), np.ones(len(rows), np.int64))
    counter, index, may_fill = Counting((COPY,)), "cg" in name, name.split("_")[1] not in ("to", "from")
    found = []
    for i in range(len(rows)):
        counter.begin()
        counter.copied(COPY, size, CopyPatterns(*(x[i : i + 1] for x in given)), bypasses=index, may_fill=may_fill)
        found.append(counter.counters()[0])
    names = {"sectors": "global_sectors", "wavefronts": "shared_wavefronts", "conflicts": "bank_conflicts"}
    return {name: np.array([x.get(counter, 0) for x in found]) for name, counter in names.items()}


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
    assert {"copy_half_to_ca_4", "copy_never_from_cg_16", "local_ld_v4_b32", "shared_atom_add_f32"} <= names
    assert sum(len(x) for x in RECORDED.values()) > 3000

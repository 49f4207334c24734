# SPDX-License-Identifier: MIT
"""Scales and elements of torchao, recorded by tools/record_torchao.py, are reproduced bit for bit."""

from pathlib import Path

import numpy as np
import pytest

from tools.record_torchao import FORMATS, RULES
from wmma_emu.quantise import BLOCK_FORMATS, from_blocked, quantise, to_blocked

pytestmark = pytest.mark.vectors

with np.load(Path(__file__).with_name("torchao.npz")) as _file:
    RECORDED = dict(_file)
NVFP4_KINDS = ("edges", "normal", "integers")


def recorded(key, where):
    """Return the result of the processor or the GPU; the GPU's is recorded only if it differs."""
    return RECORDED[key if where == "cpu" or f"cuda {key}" not in RECORDED else f"cuda {key}"]


def elements_of(key, row, where):
    stored = recorded(key, where)
    if row.element.bits != 4:
        return stored
    return np.stack([stored & 15, stored >> 4], axis=-1).reshape(len(stored), -1)


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", ["wide", "edges"])
def test_mx_formats_match_torchao(kind, name, rule, where):
    row, x = BLOCK_FORMATS[name], RECORDED[f"x {kind}"]
    ours = quantise(x, name, rule=rule)
    scales = recorded(f"scales {kind} {name} {rule}", where).reshape(ours.scale_bits.shape)
    other = ours.scale_bits != scales
    if other.any():
        # This version takes the logarithm in float32, which rounds numbers just above a power of two down to it.
        assert rule == "rceil"
        amax = np.abs(x).reshape(*scales.shape, 32).max(axis=-1)[other].astype(np.float64)
        above = amax / row.max_element / 2.0 ** (scales[other].astype(int) - 127)
        assert (ours.scale_bits[other] == scales[other] + 1).all()
        assert ((above > 1) & (above < 1 + 2.0**-20)).all()
    same = ~np.repeat(other, 32, axis=1)
    elements = elements_of(f"elements {kind} {name} {rule}", row, where)
    assert (ours.element_bits[same] == elements[same]).all()
    assert other.mean() < 0.2


@pytest.mark.parametrize(("where", "rule"), [("cpu", "torchao"), ("cuda", "torchao_cuda")])
@pytest.mark.parametrize("kind", NVFP4_KINDS)
def test_nvfp4_matches_torchao(kind, where, rule):
    ours = quantise(RECORDED[f"x {kind}"], "nvfp4", rule=rule)
    assert ours.tensor_scale.view(np.uint32) == recorded(f"tensor {kind}", where)
    assert (ours.scale_bits == recorded(f"scales {kind} nvfp4", where)).all()
    assert (ours.element_bits == elements_of(f"elements {kind} nvfp4", BLOCK_FORMATS["nvfp4"], where)).all()


def test_the_gpu_and_the_processor_differ():
    assert (recorded("scales integers nvfp4", "cuda") != recorded("scales integers nvfp4", "cpu")).any()


def test_the_blocked_order_matches_torchao():
    assert (to_blocked(RECORDED["grid"]) == RECORDED["blocked"].ravel()).all()
    assert (from_blocked(RECORDED["blocked"].ravel(), 300, 9) == RECORDED["grid"]).all()


def test_the_recording_names_the_versions_that_made_it():
    assert str(RECORDED["versions"]).startswith("torchao 0.18.0, PyTorch 2.11.0")

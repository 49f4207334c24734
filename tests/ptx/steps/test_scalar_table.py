# SPDX-License-Identifier: MIT
"""Every lane instruction on some ten thousand inputs against what a GPU gave."""

import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tools.ptx_scalar_cases import emulated, scalar_cases
from tools.ptx_scalar_inputs import COUNT, VERSION
from tools.record_ptx_scalars import SAMPLES
from tools.recordings import digest, load_arrays

RECORDING = Path(__file__).parents[2] / "data" / "sm90_ptx_scalars.npz"
GROUPS = 16


@cache
def recording():
    arrays, metadata = load_arrays(RECORDING)
    assert (metadata["version"], metadata["count"]) == (VERSION, COUNT)
    rows = zip(arrays["names"].tolist(), arrays["digests"], arrays["unequal"].tolist(), strict=True)
    return {name: (number, unequal) for name, number, unequal in rows}


@cache
def samples():
    arrays, _ = load_arrays(RECORDING)
    data, found, start = arrays["samples"].tobytes(), {}, 0
    for name, size, count in zip(
        arrays["names"].tolist(), arrays["sample_bytes"].tolist(), arrays["sample_rows"].tolist(), strict=True
    ):
        end = start + size * count * len(SAMPLES)
        found[name] = np.frombuffer(data[start:end], f"<u{size}").reshape(count, -1)
        start = end
    assert start == len(data)
    return found


@cache
def cases():
    return list(scalar_cases())


def test_the_recording_has_every_case_and_no_other():
    assert sorted(case.name for case in cases()) == sorted(recording())


@pytest.mark.vectors
@pytest.mark.parametrize("group", range(GROUPS))
def test_instructions_give_what_the_gpu_gave(group):
    known, stored = recording(), samples()
    for case in cases()[group::GROUPS]:
        results = emulated(case)
        wrong = np.flatnonzero((results[:, SAMPLES] != stored[case.name]).any(axis=0))
        assert not wrong.size, (case.name, wrong[:4].tolist())
        assert digest(results) == known[case.name][0], case.name


def test_common_instructions_take_microseconds():
    """A bound of ten times what they take, so that a detour of the common ones is noticed and a slow machine is not."""
    shape = (64, 4, 32)
    word = np.arange(8192, dtype=np.uint32).reshape(shape) | np.uint32(0x3F80_0000)
    for case in cases():
        if case.name in ("add.s32", "and.b32", "add.f32", "mov.b32", "setp.lt.s32", "mul.lo.s32"):
            start = time.perf_counter()
            for _ in range(20):
                case.form.compute(*[word] * len(case.form.sources))
            assert (time.perf_counter() - start) / 20 < 2e-3, case.name

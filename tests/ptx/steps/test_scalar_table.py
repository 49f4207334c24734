# SPDX-License-Identifier: MIT
"""Every lane instruction on about ten thousand inputs, compared with the results of a GPU."""

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
def test_instructions_match_the_gpu(group):
    known, stored = recording(), samples()
    for case in cases()[group::GROUPS]:
        results = emulated(case)
        wrong = np.flatnonzero((results[:, SAMPLES] != stored[case.name]).any(axis=0))
        assert not wrong.size, (case.name, wrong[:4].tolist())
        assert digest(results) == known[case.name][0], case.name

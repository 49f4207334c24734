# SPDX-License-Identifier: MIT
"""Dot products that other people recorded on eight GPUs, a part of them: equal, bit for bit."""

from pathlib import Path

import numpy as np
import pytest

from tools.check_dot_products import check
from tools.recordings import load_arrays

FILE = Path(__file__).parents[1] / "data" / "recorded_dot_products.npz"
ARRAYS = load_arrays(FILE)[0]
GROUPS = sorted({tuple(key.split("|")[:2]) for key in ARRAYS})

pytestmark = [
    pytest.mark.vectors,
    pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning"),
]


def test_all_eight_gpus_are_there_with_their_licence():
    assert {gpu for gpu, _ in GROUPS} == {"V100", "A100", "A2", "Ada", "L40S", "H100", "H200", "B200"}
    assert "BSD 2-Clause" in FILE.with_suffix(".LICENCE").read_text(encoding="utf-8")


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("engine", ["numpy", "reference"])
@pytest.mark.parametrize(("gpu", "fmt"), GROUPS)
def test_dot_products_equal_the_recorded_ones(gpu, fmt, engine):
    rows = 200 if engine == "numpy" else 24
    group = {key: array[:rows] for key, array in ARRAYS.items() if key.startswith(f"{gpu}|{fmt}|")}
    results = list(check(group, engine))
    assert results
    for result in results:
        assert result.outputs == min(rows, len(np.asarray(group[f"{gpu}|{fmt}|A"])))
        assert result.mismatches == 0, result

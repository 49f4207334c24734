# SPDX-License-Identifier: MIT
"""Every conversion, permutation and matrix movement of a Hopper GPU: results equal the recording, by digest."""

from pathlib import Path

import pytest

from tools.record_conversions import cases, recorded
from tools.recordings import digest

FILE = Path(__file__).parents[1] / "data" / "sm90_conversions.npz"
PARTS = 20

pytestmark = pytest.mark.vectors


def test_the_recording_holds_every_case():
    assert list(recorded(FILE)) == [name for name, *_ in cases("sm_90")]


@pytest.mark.parametrize("part", range(PARTS))
def test_results_equal_the_results_of_the_gpu(part):
    digests = recorded(FILE)
    different = [name for name, emulate, *_ in list(cases("sm_90"))[part::PARTS] if digest(emulate()) != digests[name]]
    assert different == []

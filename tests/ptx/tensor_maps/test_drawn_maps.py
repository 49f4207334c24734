# SPDX-License-Identifier: MIT
"""Random tensor maps against the driver's encoder.

``data/drawn_maps.txt`` has a hash for each 1,000 of the 200,000 maps that `tools.record_tensor_maps` drew: of the 128
bytes, and of which maps were refused (NVIDIA H200, driver 580.159.04, 2026-11-28).
"""

from pathlib import Path

import pytest

from tools.drawn_tensor_maps import drawn_map
from tools.record_tensor_maps import BLOCK, digest_of, emulated
from wmma_emu.ptx.tensor_maps.encoding import TensorMapFields

DIGESTS = (Path(__file__).parent / "data" / "drawn_maps.txt").read_text().split()


@pytest.mark.vectors
@pytest.mark.sweep(keep=1 / 40)
@pytest.mark.parametrize("block", range(len(DIGESTS)))
def test_random_maps_have_the_bytes_of_the_driver_or_are_refused_as_there(block):
    found = [emulated(drawn_map(seed))[0] for seed in range(block * BLOCK, (block + 1) * BLOCK)]
    assert digest_of(found) == DIGESTS[block]


def test_decoding_returns_the_encoded_map():
    legal = [x for x in map(drawn_map, range(400)) if emulated(x)[0]]
    assert len(legal) > 100
    assert all(TensorMapFields.decode(x.encode()) == x for x in legal)

# SPDX-License-Identifier: MIT
"""The bytes of maps that kernels make with ``tensormap.replace``, against a GPU.

``data/replaced_maps.txt`` has a hash of the 64 maps of each of the 300 kernels that `tools.record_replaced_maps` drew
(NVIDIA H200, driver 580.159.04, 2026-11-28).
"""

from pathlib import Path

import pytest

from tools.record_replaced_maps import digest_of, emulated

DIGESTS = (Path(__file__).parent / "data" / "replaced_maps.txt").read_text().split()


@pytest.mark.vectors
@pytest.mark.sweep(keep=1 / 20)
@pytest.mark.parametrize("seed", range(len(DIGESTS)))
def test_replaced_fields_have_the_bits_of_the_gpu(seed):
    assert digest_of(emulated(seed)) == DIGESTS[seed]

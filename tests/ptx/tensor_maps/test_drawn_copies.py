# SPDX-License-Identifier: MIT
"""Random loads and stores by tensor maps against a GPU.

``data/drawn_copies.txt`` has a hash for each of the 2,400 copies that `tools.record_tensor_copies` drew: of all the
shared memory, and of whether the phase ended that expects as many bytes as the package counts; or "fault" where the
chip stopped the kernel (NVIDIA H200, driver 580.159.04, 2026-11-28).
"""

from pathlib import Path

import pytest

from tools.drawn_tensor_maps import drawn_copy
from tools.record_tensor_copies import digest_of, emulated

DIGESTS = (Path(__file__).parent / "data" / "drawn_copies.txt").read_text().split()


@pytest.mark.vectors
@pytest.mark.sweep(keep=1 / 80)
@pytest.mark.parametrize("seed", range(len(DIGESTS)))
def test_a_random_load_leaves_the_shared_memory_of_the_gpu(seed):
    found, stopped = emulated("loads", seed)
    assert digest_of(stopped, found) == DIGESTS[seed]


@pytest.mark.vectors
@pytest.mark.parametrize("seed", [x for x, digest in enumerate(DIGESTS) if digest == "fault"])
def test_a_window_that_begins_outside_is_an_error_as_on_the_gpu(seed):
    assert drawn_copy(seed).map.window is not None
    assert "the first pixel is outside of the window" in emulated("loads", seed)[1]

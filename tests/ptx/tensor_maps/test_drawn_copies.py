# SPDX-License-Identifier: MIT
"""Random loads and stores by tensor maps against a GPU.

``data/drawn_copies.txt`` has a hash for each of the 2,400 copies that `tools.record_tensor_copies` drew: of all the
shared memory, and of whether the phase ended that expects as many bytes as the package counts; or "fault" where the
chip stopped the kernel (NVIDIA H200, driver 580.159.04, 2026-11-28). ``data/drawn_stores.txt`` has a hash of the bits
of the tensor that each of 2,000 stores and reductions changed.
"""

from pathlib import Path

import pytest

from tools.drawn_tensor_maps import drawn_copy, drawn_store
from tools.record_tensor_copies import digest_of, emulated, is_determined

DATA = Path(__file__).parent / "data"
DIGESTS = (DATA / "drawn_copies.txt").read_text().split()
STORES = (DATA / "drawn_stores.txt").read_text().split()


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


@pytest.mark.vectors
@pytest.mark.sweep(keep=1 / 80)
@pytest.mark.parametrize("seed", range(len(STORES)))
def test_a_random_store_or_reduction_leaves_the_tensor_of_the_gpu(seed):
    if is_determined(drawn_store(seed)):
        found, stopped = emulated("stores", seed)
        assert digest_of(stopped, found) == STORES[seed]


@pytest.mark.vectors
@pytest.mark.parametrize("seed", [33, 106, 174])
def test_a_reduction_of_bits_of_s64_is_an_error_as_on_the_gpu(seed):
    drawn = drawn_store(seed)
    assert (STORES[seed], drawn.map.element.name) == ("fault", "s64") and drawn.reduction in ("and", "or", "xor")
    assert f"elements of s64, which .{drawn.reduction} does not reduce" in emulated("stores", seed)[1]

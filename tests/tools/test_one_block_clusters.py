# SPDX-License-Identifier: MIT
"""The kernels that a GPU runs to confirm clusters of one block, on the emulator, compared with integers."""

import pytest

from tools.one_block_clusters import KERNELS, emulated

WRITTEN = [(x * 0x01234567 + 0x89ABCDEF) % 2**32 for x in range(32)]
BEFORE = [(x * 0x10305071 + 0x7FFFFFF0) % 2**32 for x in range(32)]


@pytest.mark.parametrize("name", KERNELS)
def test_the_emulator_runs_every_kernel_without_an_error(name):
    assert isinstance(emulated(KERNELS[name]), list)


@pytest.mark.parametrize("way", ["bulk", "red.async"])
@pytest.mark.parametrize(
    ("operation", "combine"),
    [
        ("add.u32", lambda old, new: (old + new) % 2**32),
        ("max.u32", max),
        ("min.u32", min),
        ("inc.u32", lambda old, new: 0 if old >= new else old + 1),
        ("xor.b32", lambda old, new: old ^ new),
    ],
)
def test_reductions_combine_each_word(way, operation, combine):
    assert emulated(KERNELS[f"{way} {operation}"]) == [combine(*x) for x in zip(BEFORE, WRITTEN, strict=True)]

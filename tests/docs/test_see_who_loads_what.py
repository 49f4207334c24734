# SPDX-License-Identifier: MIT
"""The pictures of docs/how-to/see-who-loads-what.md are what its code draws; its CUDA C++ loads A."""

import re
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we

HOW_TO = Path(__file__).parents[2] / "docs/how-to"
PAGE = (HOW_TO / "see-who-loads-what.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"<!-- example: picture -->\n```python\n(.*?)```", PAGE, re.DOTALL)
PICTURES = re.findall(r"\]\((see-who-loads-what-\w+\.svg)\)", PAGE)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """What the code blocks of the page write, one after another."""
    folder = tmp_path_factory.mktemp("drawn")
    names: dict[str, object] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in BLOCKS:
            exec(block, names)
    return folder


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_the_page_is_what_its_code_draws(drawn, name):
    assert (drawn / name).read_bytes() == (HOW_TO / name).read_bytes()


def test_every_picture_that_is_drawn_is_shown(drawn):
    assert sorted(x.name for x in drawn.iterdir()) == sorted(PICTURES)
    assert sorted(x.name for x in HOW_TO.glob("see-who-loads-what-*.svg")) == sorted(PICTURES)


KERNEL = """
#include <cuda_fp16.h>

{load_a}
extern "C" __global__ void load(const half* elements, unsigned* registers)
{{
    __shared__ __align__(16) half tile[16][64];
    for (int i = threadIdx.x; i < 16 * 64; i += 32)
        tile[i / 64][i % 64] = elements[i];
    __syncwarp();
    unsigned a[4];
    load_a(a, tile);
    for (int i = 0; i < 4; i++)
        registers[i * 32 + threadIdx.x] = a[i];
}}
"""


@pytest.mark.thorough
def test_the_cuda_code_of_the_page_loads_a_of_mma_m16n8k16():
    pytest.importorskip("nvidia", reason="NVRTC is not installed")
    (load_a,) = re.findall(r"<!-- example: load_a.cuh -->\n```cpp\n(.*?)```", PAGE, re.DOTALL)
    module = we.ptx.Module.from_cuda(KERNEL.format(load_a=load_a), arch="h100")
    tile = np.arange(16 * 64, dtype=np.uint16).reshape(16, 64)
    registers = np.zeros((4, 32), np.uint32)
    assert module["load"][1, 32](tile.view(np.float16), registers).findings == ()
    ins = we.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", arch="h100")
    assert np.array_equal(registers, ins.a.pack(tile[:, :16]))

# SPDX-License-Identifier: MIT
"""The function that tinygrad's mock GPU calls, with the memory of a driver that is not tinygrad's."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np

from wmma_emu.languages.tinygrad import ptx_run

ADD = b""".version 8.0 .target sm_80 .address_size 64
.visible .entry add(.param .u64 p, .param .s32 n) {
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [p]; ld.param.s32 %r1, [n]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2;
ld.global.s32 %r3, [%rd3]; add.s32 %r3, %r3, %r1; st.global.s32 [%rd3], %r3; ret; }
\0"""


def test_a_launch_finds_its_memory_by_the_address_and_its_values_by_their_bits(monkeypatch):
    cells = bytearray(np.arange(6, dtype=np.int32).tobytes())
    driver = ModuleType("test.mockgpu.cuda.cuda")
    driver.cuda_state = SimpleNamespace(memory={1000: cells})
    monkeypatch.setitem(sys.modules, driver.__name__, driver)
    ptx_run(ADD, 2, [1008, 0xFFFFFFFF], 3, 1, 1, 1, 1, 1, 0)
    assert np.frombuffer(cells, np.int32).tolist() == [0, 1, 1, 2, 3, 5]

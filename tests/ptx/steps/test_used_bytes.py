# SPDX-License-Identifier: MIT
"""A load whose last bytes the kernel does not use, as ``.pragma "used_bytes_mask"`` before it states."""

import numpy as np
import pytest

from wmma_emu.ptx import Module

KERNEL = """.version 9.0 .target sm_90 .address_size 64
.visible .entry k(.param .u64 x, .param .u64 y) {{
.reg .b32 %r<5>; .reg .b64 %rd<3>;
ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
{pragma}
ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%rd1];
st.global.b32 [%rd2], %r1; st.global.b32 [%rd2+4], %r2; st.global.b32 [%rd2+8], {third};
ret; }}
"""


def launched(pragma, elements, third="%r3"):
    text = KERNEL.format(pragma=pragma, third=third)
    x, y = np.arange(1, elements + 1, dtype=np.uint32), np.zeros(3, np.uint32)
    report = Module(text)["k"][1, 1](x, y, findings="report")
    return y.tolist(), [z.kind for z in report.findings]


@pytest.mark.parametrize("mask", ["4095", "0x0FFF", "0xf0f"])
def test_bytes_that_are_not_used_may_be_outside_of_the_array(mask):
    assert launched(f'.pragma "used_bytes_mask {mask}";', 3) == ([1, 2, 3], [])


def test_bytes_that_are_used_must_be_inside():
    assert launched('.pragma "used_bytes_mask 65535";', 3)[1] == ["out of bounds"]
    assert launched("", 3)[1] == ["out of bounds"]
    assert launched('.pragma "used_bytes_mask 4095";', 2)[1] == ["out of bounds"]


def test_the_pragma_is_about_the_next_instruction_alone():
    assert launched('.pragma "used_bytes_mask 4095"; mov.b32 %r1, 0;', 3)[1] == ["out of bounds"]


def test_a_register_without_used_bytes_is_not_written():
    y, kinds = launched('.pragma "used_bytes_mask 255";', 4, third="%r3")
    assert (y[:2], kinds) == ([1, 2], ["uninitialised"])


def test_the_address_is_aligned_to_the_whole_load():
    text = KERNEL.format(pragma='.pragma "used_bytes_mask 4095";', third="%r3").replace("[%rd1];\nst", "[%rd1+4];\nst")
    report = Module(text)["k"][1, 1](np.zeros(8, np.uint32), np.zeros(3, np.uint32), findings="report")
    assert [z.kind for z in report.findings] == ["misaligned"]


def test_other_pragmas_do_not_count():
    assert launched('.pragma "nounroll";', 4) == ([1, 2, 3], [])

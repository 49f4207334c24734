# SPDX-License-Identifier: MIT
"""Registers of 128 bits: loaded, moved and stored."""

import numpy as np
import pytest

from tests.ptx.texts_of_kernels import launch
from wmma_emu.errors import UnsupportedInstructionError

REGISTERS = ".reg .b128 q, t;\n"
STORE = "st.global.b128 [%rd1], q;\nret;"


def stored(body, **options):
    """Return the first four words of 0x00010000, 0x00020001, ... after a body and a store of `q` to them."""
    words = np.arange(1, 17, dtype=np.uint32) << np.uint32(16) | np.arange(16, dtype=np.uint32)
    launch(REGISTERS + body + STORE, words, block=1, **options)
    return [hex(x) for x in words[:4].tolist()]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ld.global.b128 q, [%rd1+16];\n", "0x50004 0x60005 0x70006 0x80007"),
        ("ld.global.b128 t, [%rd1+16];\nmov.b128 q, t;\n", "0x50004 0x60005 0x70006 0x80007"),
        ("ld.global.b128 t, [%rd1+16];\nmov.b128 {%rd2, %rd3}, t;\nmov.b128 q, {%rd3, %rd2};\n",
         "0x70006 0x80007 0x50004 0x60005"),
        ("ld.global.b128 t, [%rd1+16];\nmov.b128 {%r2, _, %r3, %r4}, t;\nmov.b128 q, {%r4, %r3, %r2, %r2};\n",
         "0x80007 0x70006 0x50004 0x50004"),
        ("mov.b128 q, {-1, 7};\n", "0xffffffff 0xffffffff 0x7 0x0"),
        ("mov.b128 q, 41;\n", "0x29 0x0 0x0 0x0"),
        ("mov.b128 q, -1;\n", "0xffffffff 0xffffffff 0x0 0x0"),
        ("mov.b128 q, 0x8000000000000001;\n", "0x1 0x80000000 0x0 0x0"),
    ],
)  # fmt: skip
def test_a_register_of_128_bits_keeps_all_of_them(body, expected):
    assert stored(body) == expected.split()


def test_an_address_is_moved_to_the_lower_half():
    same = "mov.b64 %rd2, v;\nmov.b128 t, v;\nmov.b128 {%rd3, %rd4}, t;\nsub.s64 %rd3, %rd3, %rd2;\n"
    body = same + "mov.b128 q, {%rd3, %rd4};\n"
    assert stored(body, before=".global .b64 v;") == ["0x0"] * 4


@pytest.mark.parametrize("operands", ["q, 0d3FF8000000000000", "q, %rd1", "{%rd2, %rd3}, 41", "{%rd2, %rd3}, {1, 2}"])
def test_other_operands_are_refused_as_by_ptxas(operands):
    with pytest.raises(UnsupportedInstructionError, match="an integer or address of 64 bits to a register"):
        stored(f"mov.b128 {operands};\n")

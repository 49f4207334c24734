# SPDX-License-Identifier: MIT
"""Bits of an x86-64 thread's floating-point control word, and a way to set them for a while."""

import contextlib
import ctypes

FLUSH_TO_ZERO, DENORMALS_ARE_ZERO = 0x8000, 0x0040
ROUND_DOWN, ROUND_UP, ROUND_TO_ZERO = 0x2000, 0x4000, 0x6000
LOAD, STORE = b"\x0f\xae\x17\xc3", b"\x0f\xae\x1f\xc3"  # ldmxcsr [rdi]; ret and stmxcsr [rdi]; ret


@contextlib.contextmanager
def flags(control, bits):
    _, load, store = control
    before = ctypes.c_uint32()
    store(ctypes.byref(before))
    load(ctypes.byref(ctypes.c_uint32(before.value | bits)))
    try:
        yield
    finally:
        load(ctypes.byref(before))


def word_of(control):
    """The control word of this thread."""
    word = ctypes.c_uint32()
    control[2](ctypes.byref(word))
    return word.value

# SPDX-License-Identifier: MIT
"""PTX with source lines: kernels of hand-written instructions."""

import numpy as np

import wmma_emu as we
from tests.ptx.texts_of_kernels import text_of

FILE = "k.cu"

BEFORE = f'.file 1 "{FILE}"\n.shared .align 16 .b8 s[256];\n.shared .align 16 .b8 u[256];\n'

ADDRESSES = """mov.u32 %r10, s;
mov.u32 %r11, u;
shl.b32 %r12, %r0, 2;
xor.b32 %r13, %r12, 252;
add.u32 %r20, %r10, %r12;
add.u32 %r21, %r10, %r13;
add.u32 %r22, %r11, %r12;
add.u32 %r23, %r11, %r13;
add.s64 %rd10, %rd1, %rd0;
mov.u32 %r2, 0;
mov.u32 %r3, 0;
"""
"""%r20 and %r22 address a thread's element of s and u, %r21 and %r23 the element of a thread in another warp."""

DO = {
    "s[t] = x": "st.shared.u32 [%r20], %r0;",
    "u[t] = x": "st.shared.u32 [%r22], %r0;",
    "x += s[63 - t]": "ld.shared.u32 %r4, [%r21];\nadd.u32 %r2, %r2, %r4;",
    "x += u[63 - t]": "ld.shared.u32 %r4, [%r23];\nadd.u32 %r2, %r2, %r4;",
    "barrier": "bar.sync 0;",
    "out[t] = x": "st.global.u32 [%rd10], %r2;",
    "for": "LOOP:",
    "end": "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 3;\n@%p1 bra LOOP;",
}
"""Source lines, and the instructions that a compiler generates for them."""


def source_of(lines, first: int = 1) -> str:
    """Return the source file: lines of `DO`, after empty lines."""
    return "\n" * (first - 1) + "\n".join(f"\t{x};" for x in lines) + "\n"


def body_of(lines, first: int = 1, located: bool = True) -> str:
    parts = [ADDRESSES]
    for i, line in enumerate(lines):
        parts += [f".loc 1 {first + i} 2"] * located + [DO[line]]
    return "\n".join(parts)


def launched(lines, first: int = 1, located: bool = True, head: str = "", **options):
    """Return the report of a kernel of two warps that executes these lines."""
    text = head + text_of(body_of(lines, first, located), 1, BEFORE)
    module = we.ptx.Module(text, findings="report")
    return module["k"][1, 64](np.zeros(64, np.uint32), checks=["races"], **options)

# SPDX-License-Identifier: MIT
"""Kernels that use much time or memory, for `tools.measure_launch_limits`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import wmma_emu as we

_HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n"
_FIRST = """
ld.param.u64 %rd1, [p];
cvta.to.global.u64 %rd1, %rd1;
mov.u32 %r0, %tid.x;
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %ntid.x;
mad.lo.u32 %r3, %r1, %r2, %r0;
mul.wide.u32 %rd2, %r3, 4;
add.u64 %rd2, %rd1, %rd2;
"""


def _launch(body: str, grid: int, block: int, words: int, shared: int = 0, before: str = "") -> tuple[Any, list[Any]]:
    """Make a kernel of a body, with one array, and its launch."""
    text = (
        f"{_HEADER}{before}\n.visible .entry k(.param .u64 p)\n{{\n.reg .pred %p<8>;\n.reg .b32 %r<64>;\n"
        f".reg .f32 %f<256>;\n.reg .b64 %rd<16>;\n{_FIRST}{body}\nret;\n}}\n"
    )
    return we.ptx.Module(text, arch="sm_90")["k"][grid, block, shared], [np.zeros(words, np.uint32)]


def _loop(body: str) -> str:
    return f"L:\n{body}\nadd.u32 %r10, %r10, 1;\nbra L;"


class Hostile(NamedTuple):
    """A launch that takes long, or much memory: what it does, and a function that prepares it."""

    title: str
    prepare: Callable[[], tuple[Any, list[Any]]]


_MMA = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r0,%r1}, "
    "{%f0,%f1,%f2,%f3};\n"
)
_WGMMA = (
    "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
    + ", ".join(f"%f{i}" for i in range(128))
    + "}, %rd9, %rd9, 1, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
)
_PRINT = """.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 1 .b8 fmt[4] = {120, 121, 10, 0};"""
_PRINTS = """{ .param .b64 a; .param .b64 b; .param .b32 r;
mov.u64 %rd3, fmt; cvta.global.u64 %rd3, %rd3; mov.u64 %rd4, 0;
st.param.b64 [a], %rd3; st.param.b64 [b], %rd4; call.uni (r), vprintf, (a, b); }"""
_LARGE_LOCAL = ".local .align 16 .b8 large[524288];\n"
_FILL_LOCAL = """
mov.u64 %rd3, large;
mov.u32 %r11, 0;
M: st.local.v4.u32 [%rd3], {%r0, %r0, %r0, %r0};
add.u64 %rd3, %rd3, 16;
add.u32 %r11, %r11, 16;
setp.lt.u32 %p1, %r11, 524288;
@%p1 bra M;
"""
_SHARED = ".extern .shared .align 16 .b8 d[];\n"
_STRIDE = """
mul.lo.u32 %r11, %r3, 1664525;
add.u32 %r11, %r11, %r10;
and.b32 %r11, %r11, 16777215;
mul.wide.u32 %rd3, %r11, 4;
add.u64 %rd3, %rd1, %rd3;
"""
_PATHS = "".join(f"P{i}: add.u32 %r11, %r11, {i};\nbra END;\n" for i in range(64))
_LABELS = "T: .branchtargets " + ", ".join(f"P{i}" for i in range(64)) + ";\n"

KERNELS = {
    "arithmetic": Hostile("an endless loop of additions, 64 x 1024 threads", lambda: _launch(
        "mov.u32 %r10, 0;\n" + _loop("add.u32 %r11, %r10, %r0;"), 64, 1024, 1)),
    "straight": Hostile("4,000 divisions in a row, 512 x 1024 threads", lambda: _launch(
        "cvt.rn.f32.u32 %f0, %r0;\n" + "div.rn.f32 %f0, %f0, 0f3F800001;\n" * 4000
        + "st.global.f32 [%rd2], %f0;", 512, 1024, 512 * 1024)),
    "mma": Hostile("an endless loop of mma.sync, 64 x 1024 threads", lambda: _launch(
        "mov.u32 %r10, 0;\n" + "".join(f"mov.f32 %f{i}, 0f00000000;\n" for i in range(4)) + _loop(_MMA), 64, 1024, 1)),
    "wgmma": Hostile("an endless loop of wgmma of m64n256k16, 64 x 512 threads", lambda: _launch(
        "mov.u32 %r10, 0;\n" + _SHARED + "mov.u64 %rd9, 0;\n"
        + "".join(f"mov.f32 %f{i}, 0f00000000;\n" for i in range(128)) + _loop(_WGMMA), 64, 512, 1, 65536)),
    "one_local_word": Hostile("a store to one word of 512 KiB of local memory, 8 x 1024 threads", lambda: _launch(
        _LARGE_LOCAL + "st.local.u32 [large+131072], %r0;\nld.local.u32 %r9, [large+131072];\n"
        "st.global.u32 [%rd2], %r9;", 8, 1024, 8192)),
    "local": Hostile("stores to all of 512 KiB of local memory, 8 x 1024 threads", lambda: _launch(
        _LARGE_LOCAL + _FILL_LOCAL, 8, 1024, 1)),
    "grid": Hostile("a grid of 2**31 - 1 blocks with one store each", lambda: _launch(
        "st.global.u32 [%rd1], %r9;\n".replace("%r9", "1"), 2**31 - 1, 32, 1)),
    "copy": Hostile("a copy of 64 MiB by 16,384 x 1024 threads", lambda: _launch(
        "ld.global.u32 %r9, [%rd2];\nadd.u32 %r9, %r9, 1;\nst.global.u32 [%rd2], %r9;", 16384, 1024, 1 << 24)),
    "scattered": Hostile("endless scattered stores to 64 MiB, 64 x 1024 threads", lambda: _launch(
        "mov.u32 %r10, 0;\n" + _loop(_STRIDE + "st.global.u32 [%rd3], %r0;"), 64, 1024, 1 << 24)),
    "atomics": Hostile("endless atomic additions to one word, 64 x 1024 threads", lambda: _launch(
        "mov.u32 %r10, 0;\n" + _loop("atom.global.add.u32 %r9, [%rd1], 1;"), 64, 1024, 1)),
    "floats": Hostile("endless atomic additions of f32 to one word, 64 x 1024 threads", lambda: _launch(
        "mov.u32 %r10, 0;\nmov.f32 %f1, 0f3F800000;\n" + _loop("atom.global.add.f32 %f0, [%rd1], %f1;"), 64, 1024, 1)),
    "printf": Hostile("an endless loop of printf, 64 x 1024 threads", lambda: _launch(
        "mov.u32 %r10, 0;\n" + _loop(_PRINTS), 64, 1024, 1, before=_PRINT)),
    "shared": Hostile("endless stores to 224 KiB of shared memory, 128 x 1024 threads", lambda: _launch(
        _SHARED + "mov.u32 %r10, 0;\n" + _loop(
            "shl.b32 %r11, %r10, 12;\nshl.b32 %r12, %r0, 2;\nadd.u32 %r11, %r11, %r12;\nrem.u32 %r11, %r11, 229376;\n"
            "mov.u32 %r13, d;\nadd.u32 %r11, %r11, %r13;\nst.shared.u32 [%r11], %r0;\nbar.sync 0;\n"
            "ld.shared.u32 %r14, [%r11];"), 128, 1024, 1, 229376)),
    "diverged": Hostile("an endless loop with 64 paths, 64 x 1024 threads", lambda: _launch(
        "mov.u32 %r10, 0;\nmov.u32 %r11, 0;\n" + _LABELS + "L: add.u32 %r10, %r10, 1;\nadd.u32 %r12, %r10, %r0;\n"
        "and.b32 %r12, %r12, 63;\nbrx.idx %r12, T;\n" + _PATHS + "END: bra L;", 64, 1024, 1)),
}  # fmt: skip
"""The launches by name."""

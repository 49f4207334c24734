# SPDX-License-Identifier: MIT
"""Kernels that do little but access memory: what checks cost where there is nothing else to do."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

_FRAME = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{{
    .reg .pred %p; .reg .b16 %h; .reg .b32 %r<20>; .reg .b64 %a<9>;
    ld.param.u64 %a1, [x]; cvta.to.global.u64 %a1, %a1; ld.param.u64 %a2, [y]; cvta.to.global.u64 %a2, %a2;
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.s32 %r4, %r2, %r3, %r1;
    mul.wide.u32 %a3, %r4, 4; add.u64 %a4, %a1, %a3; add.u64 %a5, %a2, %a3;
{}
    ret;
}}
"""

_WORDS = """    ld.global.u32 %r5, [%a4]; add.u32 %r5, %r5, 1; st.global.u32 [%a5], %r5;"""

_BYTES = """    mul.wide.u32 %a3, %r4, 1; add.u64 %a4, %a1, %a3; add.u64 %a5, %a2, %a3;
    ld.global.u8 %h, [%a4]; add.u16 %h, %h, 1; st.global.u8 [%a5], %h;"""

_ATOMICS = """    ld.global.u32 %r5, [%a4]; and.b32 %r5, %r5, 1048575; mul.wide.u32 %a3, %r5, 4; add.u64 %a5, %a2, %a3;
    red.global.add.u32 [%a5], 1;"""


_COMMON = """    mov.u32 %r5, %r4; mov.u32 %r9, 0; mov.u64 %a6, %a2;
read:
    ld.global.u32 %r12, [%a6]; add.u32 %r5, %r5, %r12;
    add.u64 %a6, %a6, 4; add.u32 %r9, %r9, 1; setp.lt.u32 %p, %r9, 16; @%p bra read;
    st.global.u32 [%a5+4096], %r5;"""

_HISTOGRAM = """    .shared .align 4 .b8 bins[1024];
    mov.u32 %r6, bins; shl.b32 %r7, %r1, 2; add.u32 %r8, %r6, %r7; st.shared.u32 [%r8], 0;
    bar.sync 0;
    ld.global.u32 %r5, [%a4]; mov.u32 %r9, 0;
count:
    and.b32 %r10, %r5, 255; shl.b32 %r10, %r10, 2; add.u32 %r10, %r6, %r10; red.shared.add.u32 [%r10], 1;
    shr.u32 %r5, %r5, 3; add.u32 %r9, %r9, 1; setp.lt.u32 %p, %r9, 8; @%p bra count;
    bar.sync 0;
    ld.shared.u32 %r12, [%r8]; mul.wide.u32 %a3, %r7, 1; add.u64 %a5, %a2, %a3;
    red.global.add.u32 [%a5], %r12;"""


def _shared(store: str, load: str) -> str:
    """Fill 48 KiB a block, 16 bytes a thread and turn, and read another warp's after the barrier."""
    return f"""    .shared .align 16 .b8 tile[49152];
    mov.u32 %r6, tile; shl.b32 %r7, %r1, 4; add.u32 %r8, %r6, %r7; mov.u32 %r9, 0; xor.b32 %r10, %r7, 512;
    add.u32 %r10, %r6, %r10;
fill:
    {store}
    add.u32 %r8, %r8, 8192; add.u32 %r9, %r9, 1; setp.lt.u32 %p, %r9, 6; @%p bra fill;
    bar.sync 0;
    mov.u32 %r9, 0;
read:
    {load}
    add.u32 %r10, %r10, 8192; add.u32 %r9, %r9, 1; setp.lt.u32 %p, %r9, 6; @%p bra read;
    st.global.u32 [%a5], %r12;"""


_SHARED_WORDS = _shared(
    "st.shared.v4.u32 [%r8], {%r1, %r2, %r3, %r4};", "ld.shared.v4.u32 {%r12, %r13, %r14, %r15}, [%r10];"
)
_SHARED_BYTES = _shared(
    "\n    ".join(f"st.shared.u8 [%r8+{i}], %r1;" for i in range(16)),
    "\n    ".join(f"ld.shared.u8 %r12, [%r10+{i}];" for i in range(16)),
)

_TABLE = """    .shared .align 16 .b8 tile[49152];
    mov.u32 %r6, tile; shl.b32 %r7, %r1, 4; add.u32 %r8, %r6, %r7; mov.u32 %r9, 0;
fill:
    st.shared.v4.u32 [%r8], {%r1, %r2, %r3, %r4};
    add.u32 %r8, %r8, 8192; add.u32 %r9, %r9, 1; setp.lt.u32 %p, %r9, 6; @%p bra fill;
    bar.sync 0;
    and.b32 %r10, %r1, 31; shl.b32 %r10, %r10, 4; add.u32 %r10, %r6, %r10; mov.u32 %r9, 0;
read:
    ld.shared.v4.u32 {%r12, %r13, %r14, %r15}, [%r10];
    add.u32 %r10, %r10, 512; add.u32 %r9, %r9, 1; setp.lt.u32 %p, %r9, 96; @%p bra read;
    st.global.u32 [%a5], %r12;"""

_LOCAL = """    .local .align 16 .b8 own[512];
    mov.u64 %a6, own; mov.u64 %a7, %a6; mov.u32 %r9, 0;
fill:
    st.local.v4.u32 [%a6], {%r1, %r2, %r3, %r4};
    add.u64 %a6, %a6, 16; add.u32 %r9, %r9, 1; setp.lt.u32 %p, %r9, 32; @%p bra fill;
    mov.u32 %r9, 0;
read:
    ld.local.v4.u32 {%r12, %r13, %r14, %r15}, [%a7];
    add.u64 %a7, %a7, 16; add.u32 %r9, %r9, 1; setp.lt.u32 %p, %r9, 32; @%p bra read;
    st.global.u32 [%a5], %r12;"""


class MemoryKernel(NamedTuple):
    """A launch that touches ``touched(blocks)`` bytes of global, shared or local memory at a time."""

    text: str
    threads: int
    blocks: int
    touched: Callable[[int], int]

    def arguments(self, blocks: int) -> tuple[np.ndarray, np.ndarray]:
        count = self.threads * blocks
        x = np.random.default_rng(1).integers(0, 2**31, count, np.uint32)
        return x, np.zeros(max(count, 1 << 20), np.uint32)


def _kernel(body: str, threads: int, blocks: int, of_a_thread: int = 0, of_a_block: int = 0) -> MemoryKernel:
    return MemoryKernel(_FRAME.format(body), threads, blocks, lambda n: n * (threads * of_a_thread + of_a_block))


MEMORY_KERNELS = {
    "global memory, words": _kernel(_WORDS, 512, 1 << 13, 8),
    "global memory, bytes": _kernel(_BYTES, 512, 1 << 13, 2),
    "global memory, atomics": _kernel(_ATOMICS, 512, 1 << 13, 5),
    "shared memory, words": _kernel(_SHARED_WORDS, 512, 128, 4, 3 << 14),
    "shared memory, bytes": _kernel(_SHARED_BYTES, 512, 128, 4, 3 << 14),
    "shared memory, read by all warps": _kernel(_TABLE, 512, 128, 4, 3 << 14),
    "global memory, a table that all blocks read": _kernel(_COMMON, 256, 1 << 11, 4),
    "a histogram of many blocks": _kernel(_HISTOGRAM, 256, 1 << 11, 4, 1 << 10),
    "local memory": _kernel(_LOCAL, 512, 128, 516),
}
"""By name. Atomics meet in 4 MiB, a byte for each of the four million threads; the table is the head of
the output."""

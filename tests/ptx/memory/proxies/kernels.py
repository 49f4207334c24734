# SPDX-License-Identifier: MIT
"""Kernels with a mistake about proxies, buffers or tensor maps, and the same kernels repaired: PTX written by hand.

A line of a body that begins with ``BUG`` is only in the kernel with the mistake, one that begins with ``FIX`` only in
the repaired one. The finding is expected at the line that ends in ``// HERE``.
"""

import itertools
import re
from typing import NamedTuple

import numpy as np

from wmma_emu.ptx import Module, tensor_map

HERE = "// HERE"

_HEAD = """.version 8.6
.target sm_90a
.address_size 64
.shared .align 1024 .b8 a[4096];
.shared .align 1024 .b8 b[4096];
.shared .align 128 .b8 edited[128];
.shared .align 8 .b64 full[4];
.shared .align 8 .b64 empty[4];
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 in, .param .u64 out, .param .u64 maps) {
.reg .pred %one, %p, %q, %w; .reg .b32 %t, %lane, %warp, %r<16>; .reg .b64 %in, %out, %maps, %map, %da, %db, %rd<8>;
.reg .f32 %f<4>;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u64 %maps, [maps]; mov.b64 %map, map;
cvta.param.u64 %map, %map; mov.u32 %t, %tid.x; and.b32 %lane, %t, 31; shr.u32 %warp, %t, 5;
setp.eq.u32 %one, %t, 0; shl.b32 %r15, %t, 2; mov.u32 %r14, a; add.u32 %r13, %r14, %r15;
mov.u32 %r12, b; add.u32 %r11, %r12, %r15; cvt.u64.u32 %rd7, %r15; add.u64 %rd6, %in, %rd7; add.u64 %rd5, %out, %rd7;
mov.b32 %f0, 0; mov.b32 %f1, 0; mov.b32 %f2, 0; mov.b32 %f3, 0;
shr.u32 %r10, %r14, 4; cvt.u64.u32 %da, %r10; or.b64 %da, %da, 0x1000080000;
shr.u32 %r10, %r12, 4; cvt.u64.u32 %db, %r10; or.b64 %db, %db, 0x1000080000;
"""

SET_UP = """@%one mbarrier.init.shared::cta.b64 [full], 1;
@%one mbarrier.init.shared::cta.b64 [full+8], 1;
@%one mbarrier.init.shared::cta.b64 [empty], 1;
@%one mbarrier.init.shared::cta.b64 [empty+8], 1;
@%one fence.mbarrier_init.release.cluster;
bar.sync 0;
"""
MMA = (
    "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
    "{%f0, %f1, %f2, %f3}, %da, %db, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned;"
)
"""A product of the 2048 bytes of ``a`` and the first 256 of ``b``."""

RESULT = "st.global.f32 [%rd5], %f0;\n"
COMMIT = "cp.async.bulk.commit_group;"
WAIT_READ, WAIT_SENT = "cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group 0;"
FENCE = "fence.proxy.async.shared::cta;"
FILL_A = """shl.b32 %r1, %t, 4; add.u32 %r1, %r1, %r14; setp.lt.u32 %p, %t, 128;
@%p st.shared.v4.u32 [%r1], {%t, %t, %lane, %lane};
"""
FILL_B = "setp.lt.u32 %p, %t, 64;\n@%p st.shared.u32 [%r11], %t;\n"


def load(target: str, source: str, size: int, barrier: str) -> str:
    """Return a bulk copy to shared memory."""
    kind = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    return f"@%one {kind} [{target}], [{source}], {size}, [{barrier}];"


def expect(barrier: str, size: int) -> str:
    return f"@%one mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [{barrier}], {size};\n"


def store(target: str, source: str, size: int) -> str:
    """Return a bulk copy to global memory."""
    return f"@%one cp.async.bulk.global.shared::cta.bulk_group [{target}], [{source}], {size};"


def box_load(target: str, address: str = "%map", row: int = 0) -> str:
    kind = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    return f"mov.u32 %r8, 0; mov.u32 %r9, {row}; @%one {kind} [{target}], [{address}, {{%r8, %r9}}], [full];"


def box_store(source: str, address: str = "%map", what: str = "") -> str:
    kind = f"cp.{'reduce.' if what else ''}async.bulk.tensor.2d.global.shared::cta{what and f'.{what}'}.tile.bulk_group"
    return f"mov.u32 %r8, 0; mov.u32 %r9, 0; @%one {kind} [{address}, {{%r8, %r9}}], [{source}];"


_NUMBERS = itertools.count()


def wait(barrier: str, parity: int = 0, who: str = "") -> str:
    """Return a loop that waits for the phase of a barrier; ``who`` is a guard without which a thread does not wait."""
    name = f"W{next(_NUMBERS)}"
    skip = f"@!{who} bra {name}_END; " if who else ""
    return (
        f"{skip}{name}: mbarrier.try_wait.parity.shared::cta.b64 %w, [{barrier}], {parity}; @!%w bra {name}; "
        f"{name}_END:\n"
    )


WAIT_MMA = "wgmma.wait_group.sync.aligned 0;"
LOADED = f"{SET_UP}{expect('full', 2048)}{load('a', '%in', 2048, 'full')}\n"
READ = "ld.shared.u32 %r1, [%r13]; st.global.u32 [%rd5], %r1;"


class Misuse(NamedTuple):
    """A kernel: its body, the kind of its finding, the numbers of threads and blocks, words of its message."""

    kind: str
    body: str
    words: str = ""
    block: int = 128
    severity: str = ""
    grid: int = 1

    def text(self, *, fixed: bool) -> str:
        """Return the PTX."""
        own, other = ("FIX ", "BUG ") if fixed else ("BUG ", "FIX ")
        lines = [x for x in self.body.splitlines() if not x.startswith(other)]
        return _HEAD + "\n".join(x.removeprefix(own) for x in lines) + "\nret;\n}\n"

    def line(self) -> int:
        """Return the line at which the finding is expected."""
        (line,) = [i for i, x in enumerate(self.text(fixed=False).splitlines(), 1) if x.endswith(HERE)]
        return line

    def launch(self, *, fixed: bool, **options):
        """Launch the kernel; return the report."""
        array, maps = np.arange(64 * 32, dtype=np.uint32).reshape(64, 32), np.zeros(512, np.uint8)
        given = tensor_map(array, (8, 32))
        module = Module(self.text(fixed=fixed), arch="sm_90a", findings="report")
        inputs, out = np.arange(4096, dtype=np.uint32), np.zeros(4096, np.uint32)
        return module["k"][self.grid, self.block](given, inputs, out, maps, **options)


def elsewhere(text: str) -> str:
    """Return a body without the marks of its line."""
    return re.sub(f" {HERE}$", "", text, flags=re.MULTILINE)

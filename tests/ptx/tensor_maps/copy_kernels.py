# SPDX-License-Identifier: MIT
"""Kernels that copy one box or window, or reduce into one, and dump shared memory: their PTX, and the experiments.

Each experiment was run on an NVIDIA H200 (driver 580.159.04, CUDA 13.0, 2026-11-23), in a separate process, with maps
that the driver had made. ``data/copies.npz`` has the results.
"""

from dataclasses import dataclass

import numpy as np

from wmma_emu.ptx.tensor_maps.element_types import ELEMENT_TYPES

DUMPED = 32768
"""The bytes of shared memory that are dumped."""

FIRST = 1024
"""The offset of the first of them: an mbarrier is before them."""

UNCHANGED = 0xAB

_HEAD = ".version 8.3\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 sm[];\n"

_PARAMETERS = ", ".join(
    [".param .align 64 .b8 map[128]", ".param .u64 out", ".param .u32 bytes", ".param .u32 off"]
    + [f".param .s32 c{i}" for i in range(5)] + [f".param .u16 o{i}" for i in range(3)]
)  # fmt: skip

_BEGIN = "\n".join([
    "{", ".reg .u64 %o, %m, %s, %v; .reg .u32 %t, %i, %a, %b, %n, %d; .reg .s32 %c<5>; .reg .u16 %h<3>;",
    ".reg .pred %p, %q, %w;",
    "ld.param.u64 %o, [out]; ld.param.u32 %b, [bytes]; ld.param.u32 %d, [off]; cvta.to.global.u64 %o, %o;",
    "mov.b64 %m, map; cvta.param.u64 %m, %m;",
    *(f"ld.param.s32 %c{i}, [c{i}];" for i in range(5)), *(f"ld.param.u16 %h{i}, [o{i}];" for i in range(3)),
    f"mov.u32 %t, %tid.x; mov.u32 %a, sm; setp.eq.u32 %p, %t, 0; add.u32 %d, %d, %a; add.u32 %d, %d, {FIRST};",
    "shl.b32 %i, %t, 2;\n",
])  # fmt: skip

_FILL = f"""F: add.u32 %n, %a, %i; st.shared.u32 [%n+{FIRST}], 0xABABABAB; add.u32 %i, %i, 128;
setp.lt.u32 %q, %i, {DUMPED}; @%q bra F;
"""

_READ = f"""F: add.u32 %n, %a, %i; cvt.u64.u32 %v, %i; add.u64 %v, %v, %o; ld.global.u32 %b, [%v+64];
st.shared.u32 [%n+{FIRST}], %b; add.u32 %i, %i, 128; setp.lt.u32 %q, %i, {DUMPED}; @%q bra F;
"""

_END = f"""
bar.warp.sync 0xffffffff; shl.b32 %i, %t, 2;
G: add.u32 %n, %a, %i; ld.shared.u32 %b, [%n+{FIRST}]; cvt.u64.u32 %v, %i; add.u64 %v, %v, %o;
st.global.u32 [%v+64], %b; add.u32 %i, %i, 128; setp.lt.u32 %q, %i, {DUMPED}; @%q bra G;
ret;
}}
"""


def _list(prefix: str, count: int) -> str:
    return "{" + ", ".join(f"%{prefix}{i}" for i in range(count)) + "}"


def load_kernel(rank: int, mode: str = "tile", waits: int = 3000) -> str:
    """Return the kernel that copies a box to shared memory, waits for it at most so often, and dumps the memory."""
    offsets = f", {_list('h', rank - 2)}" if mode == "im2col" else ""
    return f"""{_HEAD}.visible .entry k({_PARAMETERS})
{_BEGIN}{_FILL}
@%p mbarrier.init.shared::cta.b64 [sm], 1; fence.proxy.async; bar.warp.sync 0xffffffff; @!%p bra E;
mbarrier.arrive.expect_tx.shared::cta.b64 %s, [sm], %b;
cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes
[%d], [%m, {_list("c", rank)}], [sm]{offsets};
mov.u32 %n, 0;
L: mbarrier.try_wait.parity.shared::cta.b64 %w, [sm], 0; @%w bra X; nanosleep.u32 1000; add.u32 %n, %n, 1;
setp.lt.u32 %q, %n, {waits}; @%q bra L;
X: selp.u32 %i, 1, 0, %w; st.global.u32 [%o+24], %i;
E:{_END}"""


def store_kernel(rank: int, reduction: str = "", mode: str = "tile") -> str:
    """Return the kernel that copies a box from shared memory, or reduces it into global memory."""
    begin = "cp.reduce.async" if reduction else "cp.async"
    middle = f".{reduction}" if reduction else ""
    return f"""{_HEAD}.visible .entry k({_PARAMETERS})
{_BEGIN}{_READ}
fence.proxy.async; bar.warp.sync 0xffffffff; @!%p bra E;
{begin}.bulk.tensor.{rank}d.global.shared::cta{middle}.{mode}.bulk_group [%m, {_list("c", rank)}], [%d];
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
E:{_END}"""


@dataclass(frozen=True)
class Load:
    """A load of one box or window: ``sent`` are the bytes that the barrier expects, ``off`` the box's offset."""

    kernel: str
    element: str
    dims: tuple[int, ...]
    coordinates: tuple[int, ...]
    sent: int
    off: int = 0
    offsets: tuple[int, ...] = (0, 0, 0)
    shift: int = 0
    has_patterns: bool = False

    def source(self) -> np.ndarray:
        """Return the bytes of the tensor, and some more, which start ``shift`` bytes after an aligned address."""
        size = next(x.bytes for x in ELEMENT_TYPES if x.name == self.element)
        count = int(np.prod(self.dims)) * size // 2
        words = patterns().view(np.uint16) if self.has_patterns else np.arange(count, dtype=np.uint32).astype(np.uint16)
        return np.concatenate([words.view(np.uint8), np.zeros(256, np.uint8)])


def patterns() -> np.ndarray:
    """Return 4,096 patterns of float32, with each single bit and with NaNs of each payload bit."""
    found = np.random.default_rng(1).integers(0, 2**32, 4096, dtype=np.uint32)
    found[:64] = [1 << i % 32 for i in range(64)]
    found[64:96] = [0x7F800000 | 1 << i % 23 for i in range(32)]
    return found


KERNELS = {
    **{f"load{r}": load_kernel(r) for r in range(1, 6)},
    **{f"im2col{r}": load_kernel(r, "im2col") for r in (3, 4, 5)},
    "store2": store_kernel(2),
    **{f"red_{x}": store_kernel(1, x) for x in ("add", "min", "max", "inc", "dec")},
}

# SPDX-License-Identifier: MIT
"""Kernels with one bulk copy or reduction without a tensor map, on patterns at the edges of each type.

``python -m tools.bulk_bundles FOLDER`` writes them as bundles, which `tools.bundle_launcher` records on a GPU.
"""

from dataclasses import dataclass, replace

import numpy as np

from wmma_emu.ptx.steps.bulk_reductions import REDUCTIONS, needs_noftz

COUNT = 2048
"""The elements of each array."""

_HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 sm[32896];\n"

_BEGIN = """{
.reg .u64 %a, %b, %o, %v, %s; .reg .u32 %t, %i, %n, %m, %d, %z, %k; .reg .pred %p, %q, %w;
ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u32 %z, [bytes]; ld.param.u32 %k, [count];
cvta.to.global.u64 %a, %a; cvta.to.global.u64 %b, %b;
mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 0; mov.u32 %m, sm; add.u32 %m, %m, 128; shl.b32 %i, %t, 2;
@%p mbarrier.init.shared::cta.b64 [sm], 1;
F: cvt.u64.u32 %v, %i; add.u64 %v, %v, %b; ld.global.u32 %n, [%v]; add.u32 %d, %m, %i; st.shared.u32 [%d], %n;
add.u32 %i, %i, 128; setp.lt.u32 %q, %i, %k; @%q bra F;
fence.proxy.async; bar.warp.sync 0xffffffff;
"""

_PARAMETERS = ".param .u64 a, .param .u64 b, .param .u32 bytes, .param .u32 count"

_TO_GLOBAL = """@!%p bra E;
{statement}
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
E: ret;
}}
"""

_TO_SHARED = """@!%p bra E;
and.b32 %n, %z, 0xFFFF0; mbarrier.arrive.expect_tx.shared::cta.b64 %s, [sm], %n;
{statement}
mov.u32 %n, 0;
L: mbarrier.try_wait.parity.shared::cta.b64 %w, [sm], 0; @%w bra X; nanosleep.u32 1000; add.u32 %n, %n, 1;
setp.lt.u32 %q, %n, 40; @%q bra L;
X: selp.u32 %n, 1, 0, %w; st.global.u32 [%a], %n;
E: bar.warp.sync 0xffffffff; shl.b32 %i, %t, 2;
G: add.u32 %d, %m, %i; ld.shared.u32 %n, [%d]; cvt.u64.u32 %v, %i; add.u64 %v, %v, %a; st.global.u32 [%v+16], %n;
add.u32 %i, %i, 128; setp.lt.u32 %q, %i, 32768; @%q bra G;
ret;
}}
"""


@dataclass(frozen=True)
class BulkCase:
    """A kernel ``k`` of 32 threads: its text, arrays ``a`` and ``b``, and the bytes of the copy and of ``b``."""

    name: str
    text: str
    a: np.ndarray
    b: np.ndarray
    sent: int


def edges_of(kind: str) -> list[int]:
    """Return patterns at the edges of a type: zeros, ones, the limits, subnormals, infinities and NaNs."""
    bits = int(kind.lstrip("busf"))
    top, ones = 1 << bits - 1, (1 << bits) - 1
    if "f" not in kind:
        return [0, 1, 2, top - 1, top, top + 1, ones - 1, ones]
    digits = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[kind]
    infinity = (1 << bits - 1 - digits) - 1 << digits
    one = ((1 << bits - 2 - digits) - 1) << digits
    positive = [
        0,
        1,
        (1 << digits) - 1,
        1 << digits,
        one,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity | 1 << digits - 1,
    ]
    return [*positive, *(top | x for x in positive)]


def operands(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays of a type: all pairs of its edges, then patterns of all kinds."""
    size = int(kind.lstrip("busf")) // 8
    word = np.dtype(f"u{size}").type
    edges = np.array(edges_of(kind), word)
    words = np.arange(4 * COUNT, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    drawn = (words ^ words >> np.uint64(29)) >> np.uint64(64 - 8 * size)
    a, b = drawn[:COUNT].astype(word), drawn[-COUNT:].astype(word)
    pairs = len(edges) ** 2
    a[:pairs], b[:pairs] = np.repeat(edges, len(edges)), np.tile(edges, len(edges))
    near = slice(COUNT // 2, COUNT)
    b[near] = a[near] ^ word(1 << 8 * size - 1) ^ (b[near] & word(0xFF))
    return a, b


def reductions_to_global() -> list[BulkCase]:
    """Return a case for each operation and type of ``cp.reduce.async.bulk`` from shared to global memory."""
    found = []
    for name, kinds in REDUCTIONS.items():
        for kind in kinds:
            middle = f"{name}.noftz" if needs_noftz(name, kind) else name
            statement = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{middle}.{kind} [%a], [%m], %z;"
            text = f"{_HEAD}.visible .entry k({_PARAMETERS})\n{_BEGIN}{_TO_GLOBAL.format(statement=statement)}"
            a, b = operands(kind)
            found.append(BulkCase(f"reduce_{name}_{kind}", text, a, b, b.nbytes))
    return found


_OF_SHARED = {
    "add": ("u32", "s32", "u64"), "min": ("u32", "s32"), "max": ("u32", "s32"), "inc": ("u32",), "dec": ("u32",),
    "and": ("b32",), "or": ("b32",), "xor": ("b32",),
}  # fmt: skip


def reductions_to_shared() -> list[BulkCase]:
    """Return a case for each reduction from shared memory to that of the own block."""
    found = []
    for name, kinds in _OF_SHARED.items():
        for kind in kinds:
            statement = (
                "add.u32 %d, %m, 16384; cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
                f".{name}.{kind} [%d], [%m], %z, [sm];"
            )
            text = f"{_HEAD}.visible .entry k({_PARAMETERS})\n{_BEGIN}{_TO_SHARED.format(statement=statement)}"
            a, b = operands(kind)
            both = np.zeros(32768, np.uint8)
            both[: b.nbytes] = b.view(np.uint8)
            both[16384 : 16384 + min(a.nbytes, 16384)] = a.view(np.uint8)[:16384]
            found.append(
                BulkCase(f"reduce_shared_{name}_{kind}", text, np.zeros(32784, np.uint8), both, min(b.nbytes, 16384))
            )
    return found


def copies() -> list[BulkCase]:
    """Return copies of unusual sizes and alignments, to shared memory and from it."""
    words = (np.arange(8192, dtype=np.uint32) * np.uint32(2654435761)).view(np.uint8)
    load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{d}], [{s}], %z, [sm];"
    to_cta = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [{d}], [{s}], %z, [sm];"
    store = "cp.async.bulk.global.shared::cta.bulk_group [{d}], [{s}], %z;"
    found = []
    for size in (0, 8, 16, 24, 4096, 1 << 20, (1 << 20) + 32, (1 << 20) + (1 << 19) + 48):
        found.append((f"load_{size}", load.format(d="%m", s="%b"), _TO_SHARED, size))
        found.append((f"store_{size}", store.format(d="%a", s="%m"), _TO_GLOBAL, size))
    for shift in (4, 8, 16, 48):
        found.append((f"load_to_{shift}", load.format(d=f"%m+{shift}", s="%b"), _TO_SHARED, 64))
        found.append((f"load_from_{shift}", load.format(d="%m", s=f"%b+{shift}"), _TO_SHARED, 64))
        found.append((f"store_to_{shift}", store.format(d=f"%a+{shift}", s="%m"), _TO_GLOBAL, 64))
        found.append((f"store_from_{shift}", store.format(d="%a", s=f"%m+{shift}"), _TO_GLOBAL, 64))
    found.append(("copy_in_block", "add.u32 %d, %m, 16384; " + to_cta.format(d="%d", s="%m"), _TO_SHARED, 4096))
    return [
        BulkCase(
            name, f"{_HEAD}.visible .entry k({_PARAMETERS})\n{_BEGIN}{end.format(statement=statement)}",
            np.full(32784, 0xEE, np.uint8), words, size,
        )
        for name, statement, end, size in found
    ]  # fmt: skip


def in_clusters() -> list[BulkCase]:
    """Return the cases within shared memory again, launched as a cluster of one block."""
    within = [*reductions_to_shared(), *(x for x in copies() if x.name == "copy_in_block")]
    start = f".visible .entry k({_PARAMETERS})"
    return [
        replace(x, name=f"{x.name}_cluster", text=x.text.replace(start, f"{start} .reqnctapercluster 1, 1, 1"))
        for x in within
    ]


def all_cases() -> list[BulkCase]:
    """Return all cases."""
    return [*reductions_to_global(), *reductions_to_shared(), *copies(), *in_clusters()]

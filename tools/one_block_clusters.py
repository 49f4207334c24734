# SPDX-License-Identifier: MIT
"""Run small kernels of one-block clusters on a GPU, and compare each result with the emulator's.

``python -m tools.one_block_clusters --out FILE`` needs only NumPy and the driver, and a Hopper GPU. It writes JSON: the
words that each kernel stored, or the driver's error, and whether the emulator stores the same. Each kernel runs in a
separate process, because an error ends the context. The kernels read ``%is_explicit_cluster``, ranks and elected lanes,
and write the block's own shared memory with ``st.async``, ``red.async``, bulk copies and bulk reductions.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tools.cuda_driver import CudaError, Device
from wmma_emu.errors import WmmaEmuError
from wmma_emu.ptx import Module

_HEAD = """.version 8.6
.target sm_90a
.address_size 64
.shared .align 128 .b8 box[256];
.shared .align 8 .b64 bar;
.visible .entry k(.param .u64 out) {directives} {{
.reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<12>;
ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, %tid.x; mov.u32 %r2, box; mov.u32 %r3, bar;
setp.eq.u32 %p1, %r1, 0; shl.b32 %r4, %r1, 2; add.u32 %r4, %r2, %r4; mad.wide.u32 %rd4, %r1, 4, %rd1;
mov.u32 %r10, 0; mov.u32 %r5, 0; add.u32 %r7, %r2, 128; add.u32 %r8, %r4, 128;
"""
_END = "\nst.global.u32 [%rd4], %r5;\nret; }\n"

_BEGIN = """@%p1 mbarrier.init.shared::cta.b64 [%r3], {count};
mad.lo.u32 %r6, %r1, 0x01234567, 0x89abcdef; st.shared.u32 [%r4], %r6;
mad.lo.u32 %r9, %r1, 0x10305071, 0x7ffffff0; st.shared.u32 [%r4+128], %r9;
fence.mbarrier_init.release.cluster; fence.proxy.async; bar.sync 0;
"""
_WAIT = """
W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r3], 0; add.u32 %r10, %r10, 1;
setp.gt.u32 %p3, %r10, 100000; @%p3 bra O; @!%p2 bra W;
O: ld.shared.u32 %r5, [%r4+128];"""
_BYTES = "mbarrier::complete_tx::bytes"


class ClusterKernel(NamedTuple):
    """The statements of a kernel that stores ``%r5``, its directives, and the number of its threads."""

    body: str
    directives: str = ""
    threads: int = 32


def _by_one(copy: str) -> ClusterKernel:
    expect = "@!%p1 bra W; mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd5, [%r3], 128; "
    return ClusterKernel(_BEGIN.format(count=1) + expect + copy + _WAIT, ".reqnctapercluster 1")


def _by_each(write: str, size: int = 4) -> ClusterKernel:
    expect = f"mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd5, [%r3], {size}; "
    return ClusterKernel(_BEGIN.format(count=32) + expect + write + _WAIT)


_REDUCTIONS = (
    "add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "inc.u32", "dec.u32", "and.b32", "or.b32",
    "xor.b32",
)  # fmt: skip
_EXPLICIT = "mov.pred %p2, %is_explicit_cluster; selp.u32 %r5, 1, 0, %p2;"
_DIRECTIVES = (
    "", ".reqnctapercluster 1", ".explicitcluster", ".explicitcluster .reqnctapercluster 1", ".maxclusterrank 1",
)  # fmt: skip
_MASKS = ("0xffffffff", "0x80000000", "0x0000ff00", "0xaaaaaaaa", "0x00010010")

KERNELS = {
    **{
        f"explicit {x or 'without a directive'}": ClusterKernel(_EXPLICIT, x)
        for x in _DIRECTIVES
    },
    **{
        f"elect {mask}": ClusterKernel(
            f"mov.u32 %r6, 1; shl.b32 %r6, %r6, %r1; and.b32 %r6, %r6, {mask}; setp.eq.u32 %p2, %r6, 0; @%p2 bra O;\n"
            f"elect.sync %r5|%p3, {mask}; @%p3 add.u32 %r5, %r5, 256;\nO:"
        )
        for mask in _MASKS
    },
    "rank": ClusterKernel("getctarank.shared::cluster.u32 %r5, %r4;"),
    "size": ClusterKernel("mov.u32 %r5, %cluster_nctarank;"),
    "mapa": ClusterKernel("mapa.shared::cluster.u32 %r5, %r4, 0; sub.u32 %r5, %r5, %r2;"),
    "copy": _by_one(f"cp.async.bulk.shared::cluster.shared::cta.{_BYTES} [%r7], [%r2], 128, [%r3];"),
    **{
        f"bulk {x}": _by_one(f"cp.reduce.async.bulk.shared::cluster.shared::cta.{_BYTES}.{x} [%r7], [%r2], 128, [%r3];")
        for x in (*_REDUCTIONS, "add.u64")
    },
    "st.async": _by_each(f"st.async.shared::cluster.{_BYTES}.u32 [%r8], %r6, [%r3];"),
    **{
        f"red.async {x}": _by_each(f"red.async.relaxed.cluster.shared::cluster.{_BYTES}.{x} [%r8], %r6, [%r3];")
        for x in _REDUCTIONS
    },
    "setmaxnreg": ClusterKernel("setmaxnreg.dec.sync.aligned.u32 40; mov.u32 %r5, 7;", ".maxntid 128", 128),
}  # fmt: skip


def text_of(kernel: ClusterKernel) -> str:
    """Return the PTX of a kernel."""
    return _HEAD.format(directives=kernel.directives) + kernel.body + _END


def emulated(kernel: ClusterKernel) -> Any:
    """Return the words that a kernel stores on the emulator, or its error."""
    out = np.zeros(kernel.threads, np.uint32)
    try:
        Module(text_of(kernel), arch="sm_90a")["k"][1, kernel.threads](out, findings="raise", asynchrony="both")
    except WmmaEmuError as error:
        return str(error)
    return out.tolist()


def on_gpu(kernel: ClusterKernel) -> Any:
    """Return the words that a kernel stores on the first GPU, or the error of the driver."""
    try:
        device = Device()
        device.load(text_of(kernel).encode() + b"\0")
        return device.run("k", [], (kernel.threads,), np.uint32, threads=kernel.threads).tolist()
    except CudaError as error:
        return str(error)


def main() -> None:
    """Run all kernels, each in a process, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, help="the file to write")
    parser.add_argument("--only", choices=KERNELS, help="run one kernel here, and print its words")
    given = parser.parse_args()
    if given.only:
        print(json.dumps(on_gpu(KERNELS[given.only])))
        return
    results = {}
    for name, kernel in KERNELS.items():
        command = [sys.executable, "-m", "tools.one_block_clusters", "--only", name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        found = json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()[-200:]
        expected = emulated(kernel)
        results[name] = {"gpu": found, "emulator": expected, "equal": found == expected}
        print(f"{name}: {'equal' if found == expected else f'{found} on the GPU, {expected} on the emulator'}")
    if given.out:
        given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

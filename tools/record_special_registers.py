# SPDX-License-Identifier: MIT
"""Record PTX's special registers on a GPU, in ordinary and in cooperative launches, and the number of resident blocks.

``python -m tools.record_special_registers --out FILE`` needs only the driver, and writes JSON: the values of each
register in the first and the last thread of a grid, in several launches of each kind; how far clocks advance during
``nanosleep``; and the residency of blocks, with the largest cooperative grid that the driver accepts.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from tools.cuda_driver import CudaError, Device
from wmma_emu.chip_sets import chips_since
from wmma_emu.ptx.program.special import SPECIAL

_BLOCKS, _THREADS = 8, 96
_SLEEPS = (0, 100, 1000, 100_000, 1_000_000, 10_000_000)
_HEADER = ".version 8.1\n.target sm_{}\n.address_size 64\n"
_KERNEL = """.visible .entry {name}(.param .u64 out) {{
.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .shared .align 4 .b8 s[100];
ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1;
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
mul.wide.u32 %rd2, %r4, 8; add.u64 %rd1, %rd1, %rd2;
st.shared.u32 [s], %r1;
{body}
st.global.u64 [%rd1], %rd3;
ret; }}
"""


def _read(name: str) -> str:
    kind = SPECIAL[name].type
    if kind == "u64":
        return f"mov.u64 %rd3, %{name};"
    if kind == "pred":
        return f"mov.pred %p1, %{name}; selp.u64 %rd3, 1, 0, %p1;"
    return f"mov.u32 %r5, %{name}; cvt.u64.u32 %rd3, %r5;"


def text_for(chip: str) -> tuple[str, list[str]]:
    """Return PTX with a kernel for each special register that a chip has, and their names."""
    names = [x for x in SPECIAL if chip in chips_since(SPECIAL[x].first) and not x.endswith(".w")]
    kernels = [_KERNEL.format(name=f"k_{x.replace('.', '_')}", body=_read(x)) for x in names]
    sleep = "mov.u64 %rd4, %{0}; nanosleep.u32 {1}; mov.u64 %rd3, %{0}; sub.u64 %rd3, %rd3, %rd4;"
    kernels += [
        _KERNEL.format(name=f"sleep_{clock}_{x}", body=sleep.format(clock, x))
        for clock in ("clock64", "globaltimer") for x in _SLEEPS
    ]  # fmt: skip
    return _HEADER.format(chip.removeprefix("sm_")) + "".join(kernels), names


def record(device: Device) -> dict[str, Any]:
    """Launch every kernel, and return what was found."""
    chip = f"sm_{device.capability}"
    text, names = text_for(chip)
    device.load(text.encode() + b"\0")
    found: dict[str, Any] = {"device": device.name, "chip": chip, "registers": {}, "sleeps": {}, "blocks": {}}
    count = _BLOCKS * _THREADS
    for name in names:
        kernel = f"k_{name.replace('.', '_')}"
        plain = device.run_twice(kernel, [], (count,), np.uint64, blocks=_BLOCKS, threads=_THREADS)
        cooperative = [
            device.run_cooperatively(kernel, (count,), np.uint64, blocks=_BLOCKS, threads=_THREADS) for _ in range(3)
        ]
        found["registers"][name] = {
            "plain": [[int(x[0]), int(x[-1])] for x in plain],
            "cooperative": [[int(x[0]), int(x[-1])] for x in cooperative],
        }
    for clock in ("clock64", "globaltimer"):
        for x in _SLEEPS:
            values = device.run_twice(f"sleep_{clock}_{x}", [], (32,), np.uint64)[0]
            found["sleeps"][f"{clock} {x}"] = [int(values.min()), int(values.max())]
    for threads in (32, 64, 96, 256, 1024):
        each = device.blocks_per_multiprocessor("k_nsmid", threads)
        found["blocks"][threads] = {"each": each, "cooperative": _largest_grid(device, each, threads)}
    return found


def _largest_grid(device: Device, each: int, threads: int) -> int:
    """Return the largest cooperative grid that the driver accepts, near a multiple of a multiprocessor's blocks."""
    low, high = 1, 256 * max(each, 1)
    while low < high:
        middle = (low + high + 1) // 2
        try:
            device.run_cooperatively("k_nsmid", (middle * threads,), np.uint64, blocks=middle, threads=threads)
            low = middle
        except CudaError:
            high = middle - 1
    return low


def main() -> None:
    """Record, and write the file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.write_text(json.dumps(record(Device()), indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""Test WMMA loads from addresses that are aligned to fewer than the required 32 bytes.

A load that the chip refuses ends the process's use of the GPU, so the loads run in separate processes:
`record` starts as many as it takes.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.cuda_driver import CudaError, Device
from tools.record_wmma_layouts import INCLUDES, Fragment, fragments
from tools.recording_inputs import random_words

OFFSETS = (16, 8, 4, 2, 1)
"""Byte offsets from an address aligned to 256, tried in this order, until one is rejected."""

EQUAL, DIFFERENT, REFUSED, UNTRIED = 1, 0, -1, -2

Run = Callable[..., NDArray[Any]]


def kernel(fragment: Fragment) -> str:
    """Load at an aligned address and at an offset, and compare the lanes' elements."""
    given = f", wmma::{fragment.memory_layout}" if fragment.use == "accumulator" else ""
    cast = f"reinterpret_cast<const {fragment.memory_type}*>"
    return f"""
extern "C" __global__ void {fragment.kernel}(const char* one, const char* other, unsigned* same, unsigned offset)
{{
    {fragment.declared} aligned, shifted;
    wmma::load_matrix_sync(aligned, {cast}(one), {fragment.ldm}{given});
    wmma::load_matrix_sync(shifted, {cast}(other + offset), {fragment.ldm}{given});
    const char* p = reinterpret_cast<const char*>(aligned.x);
    const char* q = reinterpret_cast<const char*>(shifted.x);
    bool equal = true;
    for (unsigned i = 0; i < sizeof(aligned.x); ++i)
        equal = equal && p[i] == q[i];
    same[threadIdx.x] = equal;
}}
"""


def source(capability: int) -> str:
    """Return the kernels of all fragments of a chip."""
    return INCLUDES + "".join(map(kernel, fragments(capability)))


def load(fragment: Fragment, offset: int, run: Run) -> int:
    """Return `EQUAL` or `DIFFERENT`; what the chip refuses raises `CudaError`."""
    image = random_words("wmma_emu alignment 1", 1024).view(np.uint8)
    shifted = np.concatenate([np.zeros(offset, np.uint8), image])
    same = run(fragment.kernel, (image, shifted), (32,), "u4", offset)
    return EQUAL if same.all() else DIFFERENT


def record(
    capability: int, start: Callable[[Sequence[str]], Iterable[str]], seconds: float = 150
) -> dict[str, NDArray[np.int8]]:
    """Return, for each fragment, what happened at each of `OFFSETS`; what the time did not suffice for is `UNTRIED`.

    ``start`` runs a process with ``KEY@OFFSET`` as its arguments, and gives the lines that it printed.
    """
    deadline = time.monotonic() + seconds
    results = {x.key: np.full(len(OFFSETS), UNTRIED, np.int8) for x in fragments(capability)}
    waiting = [(key, i) for i in range(len(OFFSETS)) for key in results]
    while waiting and time.monotonic() < deadline:
        printed = dict(line.split() for line in start([f"{key}@{OFFSETS[i]}" for key, i in waiting]))
        done = 0
        for key, i in waiting:
            answer = printed.get(f"{key}@{OFFSETS[i]}")
            if answer is None:
                break
            results[key][i] = int(answer)
            done += 1
        waiting = waiting[done:]
        if waiting:
            refused, i = waiting[0]
            results[refused][i] = REFUSED
            waiting = [(key, j) for key, j in waiting if key != refused]
    return results


def summary(answers: dict[str, NDArray[np.int8]]) -> str:
    """Return a sentence on the number of fragments for which each offset worked."""
    counts = [sum(int(x[i] == EQUAL) for x in answers.values()) for i in range(len(OFFSETS))]
    different = sum(int((x == DIFFERENT).sum()) for x in answers.values())
    worked = ", ".join(f"{n} at {offset}" for n, offset in zip(counts, OFFSETS, strict=True))
    return f"loads of {len(answers)} fragments, by misalignment: {worked} gave the same, {different} something else"


def start_process(cubin: Path) -> Callable[[Sequence[str]], Iterator[str]]:
    """Return a function that runs this file on the loads that it is given."""

    def start(loads: Sequence[str]) -> Iterator[str]:
        command = [sys.executable, "-m", "tools.wmma_alignment", str(cubin), *loads]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        ready, *lines = done.stdout.splitlines() or [""]
        if ready != "ready":
            raise CudaError(f"{' '.join(command[:4])} did not begin:\n{done.stderr}")
        yield from lines

    return start


def main(arguments: Sequence[str]) -> None:
    device = Device()
    device.load(Path(arguments[0]).read_bytes())
    by_key = {x.key: x for x in fragments(device.capability)}
    print("ready", flush=True)
    for asked in arguments[1:]:
        key, _, offset = asked.partition("@")
        print(asked, load(by_key[key], int(offset), device.run), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

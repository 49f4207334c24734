# SPDX-License-Identifier: MIT
"""Record what a GPU fetches from small textures, and reads and writes of small surfaces; compare it with the emulator.

    python -m tools.record_textures sm90_textures.npz            # on a GPU: record, then compare
    python -m tools.record_textures sm90_textures.npz --check    # anywhere: compare the recording

The driver compiles the kernels, the PTX of `tools.texture_cases.KERNELS`; textures and coordinates are drawn by
`tools.texture_cases`. Every case names the fact of `wmma_emu.ptx.textures.facts` that it settles; the table at the end
says for each fact how many results differ. The exit status is 1 if any does. A case that the emulator refuses, such as
a formatted store to bytes, is recorded and counted apart.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.recordings import add_source, digest, load_arrays, save_arrays
from tools.texture_cases import KERNELS, TextureCase, cases
from wmma_emu import ptx
from wmma_emu.errors import WmmaEmuError

Array = NDArray[Any]

_SHOWN = 3


def emulated(module: ptx.Module, case: TextureCase) -> Array:
    """Return the results of a case on the emulator: words of registers, or the array that was written."""
    value, out = case.object(), np.zeros((case.count, 4), np.uint32)
    blocks = 1 if case.kind == "written" else -(-case.count // 128)
    threads = 1 if case.kind == "written" else 128
    inputs = [ptx.raw(x) for x in case.inputs]
    module[case.kernel][blocks, threads](value, *inputs, ptx.raw(out), case.count)
    return value.array if case.kind == "written" else out


def measured() -> tuple[dict[str, str], dict[str, Array]]:
    """Return the GPU's description, and the results of every case on it."""
    from tools.cuda_driver import CudaError, driver_version
    from tools.cuda_textures import TextureDevice

    device = TextureDevice()
    about = {"gpu": device.name, "driver": driver_version()}
    device.load(KERNELS.read_bytes() + b"\0")
    found = {}
    for case in cases():
        out = np.zeros((case.count, 4), np.uint32)
        try:
            words, array = device.launch(case.kernel, case.object(), case.inputs, out, case.count)
        except CudaError as error:
            print(f"{case.name}: not recorded: {error}", flush=True)
            continue
        found[case.name] = array if case.kind == "written" else words
    device.close()
    return about, found


def stored(results: dict[str, Array]) -> dict[str, Array]:
    """Return the arrays of a recording: for each case some of its results, and a digest of all."""
    every = {x.name: x.every for x in cases()}
    arrays = {name: np.ascontiguousarray(found[:: every[name]]) for name, found in results.items()}
    return arrays | {f"{name}|digest": np.array([digest(found)]) for name, found in results.items()}


def compared(recorded: dict[str, Array]) -> int:
    """Print the cases that differ from the emulator, and a line for each fact; return the number of differing cases."""
    module = ptx.Module(KERNELS.read_text(), "sm_90", findings="raise")
    table: dict[str, list[int]] = {}
    for case in cases():
        counts = table.setdefault(case.fact, [0, 0, 0])
        if case.name not in recorded:
            counts[2] += 1
            continue
        try:
            ours = emulated(module, case)
        except WmmaEmuError as error:
            counts[2] += 1
            print(f"{case.name}: not modelled: {str(error).splitlines()[0]}")
            continue
        theirs, ours_stored = recorded[case.name], ours[:: case.every]
        same = bool(digest(ours) == recorded[f"{case.name}|digest"][0])
        counts[0 if same else 1] += 1
        if not same:
            print(f"{case.name}: {_differences(case, theirs, ours_stored)}", flush=True)
    print(f"{'fact':18} {'equal':>6} {'differ':>6} {'without a comparison':>20}")
    for fact, (equal, differ, neither) in table.items():
        print(f"{fact:18} {equal:6} {differ:6} {neither:20}")
    return sum(x[1] for x in table.values())


def _differences(case: TextureCase, theirs: Array, ours: Array) -> str:
    """Describe the results that differ, the first of them with their coordinates."""
    one, other = (x.reshape(len(x), -1).view(f"u{x.dtype.itemsize}") for x in (theirs, ours))
    rows = np.flatnonzero((one != other).any(axis=1))
    shown = []
    for i in rows[:: max(1, len(rows) // _SHOWN)][:_SHOWN]:
        here = [_coordinate(x[i * case.every]) for x in case.inputs[:3]] if case.kind != "written" else ()
        at = f" at {', '.join(here)}" if here else ""
        k = np.flatnonzero(one[i] != other[i])[0]
        shown.append(f"[{i}, {k}]{at}: GPU {one[i, k]:#x}, emulator {other[i, k]:#x}")
    return f"{len(rows)} of {len(one)} stored results differ: {'; '.join(shown)}"


def _coordinate(word: np.uint32) -> str:
    number = float(np.array(word).view(np.float32))
    return f"{number!r}" if word == 0 or 1e-30 < abs(number) < 1e30 else str(int(np.array(word).view(np.int32)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="npz file to write, or to compare; sources.json in its folder changes")
    parser.add_argument("--check", action="store_true", help="compare the recording with the emulator, without a GPU")
    given = parser.parse_args(arguments)
    if not given.check:
        about, results = measured()
        given.file.parent.mkdir(parents=True, exist_ok=True)
        save_arrays(given.file, stored(results), **about)
        contents = "words that tex, tld4 and suld return, and arrays after sust and sured, by case"
        add_source(given.file, **about, contents=contents, generator="tools/record_textures.py")
    return int(compared(load_arrays(given.file)[0]) > 0)


if __name__ == "__main__":
    raise SystemExit(main())

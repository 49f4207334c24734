# SPDX-License-Identifier: MIT
"""Compare random copies by tensor maps with a GPU.

    python -m tools.record_tensor_copies record loads 1500 OUT.npz    # on a machine with a GPU and the package
    python -m tools.record_tensor_copies compare loads OUT.npz        # anywhere
    python -m tools.record_tensor_copies digest OUT.npz ROWS.txt

For ``loads``, all of shared memory is compared, and whether the phase ends: the barrier expects the bytes that the
package counts, so that the phase ends only if the GPU moves as many. For ``stores``, which are reductions too, all
bits of the tensor that change are compared; if two rows of a box are at one address, the last one to be written is not
determined, and the store is left out. A copy that stops the kernel ends its process; the next process continues
after it.
"""

import ctypes
import hashlib
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_int32, c_uint16, c_uint32, c_uint64, c_void_p
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.ptx.tensor_maps.copy_kernels import DUMPED, FIRST, load_kernel, store_kernel
from tools.cuda_driver import CudaError, Device, driver_version
from tools.drawn_tensor_maps import TENSOR_BYTES, DrawnCopy, drawn_copy, drawn_store
from tools.record_tensor_maps import Encoder
from wmma_emu.errors import WmmaEmuError
from wmma_emu.ptx import Module, Struct
from wmma_emu.ptx.tensor_maps.boxes import box_bytes, chunks_of
from wmma_emu.ptx.tensor_maps.encoding import MAP_BYTES

WAITS = 40
_HEAD = 64
_DONE = slice(24, 28)
_WORKERS = 16
_EACH = 25
_SHOWN = 25


def source() -> NDArray[np.uint8]:
    """Return the tensor's bytes."""
    words = np.arange(TENSOR_BYTES // 4, dtype=np.uint32) * np.uint32(2654435761)
    return (words ^ words >> np.uint32(15)).view(np.uint8)


def _load(drawn: DrawnCopy) -> str:
    return load_kernel(drawn.map.rank, "tile" if drawn.map.window is None else "im2col", WAITS)


def _store(drawn: DrawnCopy) -> str:
    return store_kernel(drawn.map.rank, drawn.reduction, "tile" if drawn.map.window is None else "im2col_no_offs")


class Kind(NamedTuple):
    """A kind of copy: the random copies, their kernels, and the bytes that are compared.

    ``compared`` takes what the kernel writes, and the tensor after it.
    """

    drawn: Callable[[int], DrawnCopy]
    kernel: Callable[[DrawnCopy], str]
    compared: Callable[[NDArray[np.uint8], NDArray[np.uint8]], NDArray[np.uint8]]


KINDS = {
    "loads": Kind(drawn_copy, _load, lambda out, tensor: np.concatenate([out[_DONE], out[_HEAD:]])),
    "stores": Kind(drawn_store, _store, lambda out, tensor: tensor ^ source()),
}


def initial() -> NDArray[np.uint8]:
    """Return what the kernel writes to, before it does: a store reads the contents of shared memory there."""
    words = np.arange((_HEAD + DUMPED) // 4, dtype=np.uint32) * np.uint32(2246822519)
    found = (words ^ words >> np.uint32(13)).view(np.uint8).copy()
    found[:_HEAD] = 0
    return found


def integers_of(drawn: DrawnCopy) -> tuple[int, ...]:
    """Return the integers that the kernel takes: the bytes, the offset, five coordinates and three offsets."""
    return (
        box_bytes(drawn.map), drawn.destination, *(*drawn.coordinates, 0, 0, 0, 0)[:5], *(*drawn.offsets, 0, 0, 0)[:3],
    )  # fmt: skip


def launched(device: Device, encoder: Encoder, kind: Kind, seed: int) -> NDArray[np.uint8]:
    """Launch a copy on the GPU: the bytes that are compared."""
    drawn = kind.drawn(seed)
    tensor, out = device._upload(source()), device._upload(initial())
    status, given = encoder.encode(drawn.map.at(tensor))
    if status:
        raise CudaError(f"the encoder returned {status}")
    memory = ctypes.create_string_buffer(MAP_BYTES + 64)
    start = -ctypes.addressof(memory) % 64
    memory[start : start + MAP_BYTES] = given  # type: ignore[call-overload]
    kinds = (c_uint32, c_uint32, *(c_int32,) * 5, *(c_uint16,) * 3)
    values: list[Any] = [c_uint64(out), *(k(x) for k, x in zip(kinds, integers_of(drawn), strict=True))]
    places = [ctypes.addressof(memory) + start, *(ctypes.addressof(x) for x in values)]
    function = _function(device, kind.kernel(drawn))
    pointers = (c_void_p * len(places))(*places)
    device._call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, FIRST + DUMPED, None, pointers, None)
    device._call("cuCtxSynchronize")
    found = np.empty(_HEAD + DUMPED, np.uint8), np.empty(TENSOR_BYTES, np.uint8)
    for place, array in zip((out, tensor), found, strict=True):
        device._call("cuMemcpyDtoH_v2", array.ctypes.data, place, array.nbytes)
        device._call("cuMemFree_v2", place)
    return kind.compared(*found)


@cache
def _function(device: Device, text: str) -> Any:
    module, function = c_void_p(), c_void_p()
    device._call("cuModuleLoadData", byref(module), text.encode())
    device._call("cuModuleGetFunction", byref(function), module, b"k")
    return function


def is_determined(drawn: DrawnCopy) -> bool:
    """Return whether a copy writes no byte twice."""
    offsets = None if drawn.map.window is None else np.zeros((drawn.map.rank - 2, 1), np.int64)
    chunks = chunks_of(drawn.map, np.array(drawn.coordinates, np.int64)[:, None], offsets)
    written = chunks.offsets[chunks.inside > 0]
    return len(np.unique(written)) == len(written)


FAULTS = ("illegal operand", "misaligned")
"""The kinds of findings that stop a kernel on the chip."""


def emulated(kind: str, seed: int) -> tuple[NDArray[np.uint8], str]:
    """Launch a copy here: the bytes that are compared, and what would stop it on the chip."""
    chosen = KINDS[kind]
    drawn, out, tensor = chosen.drawn(seed), initial(), source()
    given = Struct(drawn.map.encode(), pointers={0: tensor})
    kernel = _module(chosen.kernel(drawn))["k"]
    report = kernel[1, 32, FIRST + DUMPED](given, out, *integers_of(drawn), findings="report")
    stopped = next((str(x) for x in report.findings if x.kind in FAULTS), "")
    return chosen.compared(out, tensor), stopped


@cache
def _module(text: str) -> Module:
    return Module(text, "sm_90a")


def record_range(kind: str, first: int, last: int) -> None:
    """Record the copies of some seeds in this process, and print a line for each."""
    device, encoder = Device(), Encoder()
    for seed in range(first, last):
        try:
            found = launched(device, encoder, KINDS[kind], seed)
        except CudaError as error:
            print(f"{seed} ! {error}", flush=True)
            return
        print(f"{seed} = {found.tobytes().hex()}", flush=True)


def record(kind: str, count: int, out: Path) -> None:
    """Record copies in many processes, and compare them at once."""

    def task(first: int) -> list[str]:
        lines: list[str] = []
        last = min(first + _EACH, count)
        while first < last:
            command = [sys.executable, "-m", "tools.record_tensor_copies", "range", kind, str(first), str(last)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
            found = done.stdout.splitlines()
            lines += found or [f"{first} ! {done.stderr.strip().splitlines()[-1]}"]
            first = int(lines[-1].split()[0]) + 1
        return lines

    with ThreadPoolExecutor(_WORKERS) as pool:
        lines = [x for found in pool.map(task, range(0, count, _EACH)) for x in found]
    faults = [x.split(" ! ", 1)[1] if " ! " in x else "" for x in lines]
    data = [np.frombuffer(bytes.fromhex("" if " ! " in x else x.split(" = ")[1]), np.uint8) for x in lines]
    size = max(x.size for x in data)
    full = np.stack([x if x.size else np.zeros(size, np.uint8) for x in data])
    np.savez_compressed(out, faults=np.array(faults), data=full, driver=driver_version())


def compare(kind: str, recorded: Path) -> int:
    """Print each copy that differs, and return how many do."""
    with np.load(recorded) as file:
        faults, data, driver = file["faults"], file["data"], str(file["driver"])
    wrong = 0
    for seed, (fault, theirs) in enumerate(zip(faults, data, strict=True)):
        difference = _difference(kind, seed, str(fault), theirs)
        if difference:
            wrong += 1
            if wrong <= _SHOWN:
                print(f"{seed}: {KINDS[kind].drawn(seed)}\n  {difference}", flush=True)
    left_out = sum(kind == "stores" and not is_determined(KINDS[kind].drawn(x)) for x in range(len(data)))
    print(
        f"{len(data):,} {kind}, {int((faults != '').sum())} of them faults, {left_out} left out; {wrong} differ; "
        f"driver {driver}"
    )
    return wrong


def _difference(kind: str, seed: int, fault: str, theirs: NDArray[np.uint8]) -> str:
    if kind == "stores" and not is_determined(KINDS[kind].drawn(seed)):
        return ""
    try:
        ours, stopped = emulated(kind, seed)
    except WmmaEmuError as error:
        return f"refused: {str(error).splitlines()[0]}"
    if fault or stopped:
        return "" if fault and stopped else f"here: {stopped or 'no fault'}; the GPU: {fault or 'no fault'}"
    places = np.flatnonzero(ours != theirs)
    return f"{len(places)} bytes differ, from {places[:1]} to {places[-1:]}" if len(places) else ""


def digest_of(fault: str, found: NDArray[np.uint8]) -> str:
    """Return the hash of a copy, or "fault"."""
    return "fault" if fault else hashlib.sha256(found.tobytes()).hexdigest()[:16]


def main() -> int:
    match sys.argv[1:]:
        case ["record", kind, count, out] if kind in KINDS:
            record(kind, int(count), Path(out))
        case ["range", kind, first, last]:
            record_range(kind, int(first), int(last))
        case ["compare", kind, recorded] if kind in KINDS:
            return min(compare(kind, Path(recorded)), 1)
        case ["digest", recorded, rows]:
            with np.load(recorded) as file:
                pairs = zip(file["faults"], file["data"], strict=True)
                Path(rows).write_text("\n".join(digest_of(str(f), x) for f, x in pairs) + "\n")
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

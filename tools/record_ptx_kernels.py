# SPDX-License-Identifier: MIT
"""Record what the kernels of examples/ptx/ compute on this GPU, from their committed PTX.

    python -m tools.record_ptx_kernels --out tests/data/sm90_ptx_kernels.npz [--compare OTHER.npz] [--only NAME ...]

The driver compiles the sources, every case is launched twice, and both launches must agree. Inputs are drawn again from
the seed; only outputs are stored, of large ones a hash and some rows. Each source's SHA-256 is stored with them, so
that a changed source is recorded again. Run it under compute-sanitizer to see that the kernels have no bugs.
"""

import ctypes
import hashlib
import math
import re
import sys
import zlib
from collections.abc import Sequence
from ctypes import byref, c_int, c_uint, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.ptx.cases import CASES, Case
from examples.ptx.texts import compiled
from tools.cuda_driver import CudaError, Device, driver_version, three
from tools.recordings import add_source, compare, digest, load_arrays, recording_parser, save_arrays

VERSION = 1

Array = NDArray[Any]

_WHOLE = 1 << 16
_ROWS = 8

_TYPES = {"f32": ctypes.c_float, "f64": ctypes.c_double, "u64": ctypes.c_uint64, "b64": ctypes.c_uint64}


def bits(array: Array) -> Array:
    """Return bits of an array as unsigned integers."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def kept(output: Array) -> dict[str, Array]:
    """Return the stored parts of an output, by the ending of their keys."""
    plain = bits(output)
    if plain.nbytes <= _WHOLE:
        return {"whole": plain}
    flat = plain.reshape(-1, plain.shape[-1])
    return {"hash": np.array(digest(plain)), "rows": flat[:: len(flat) // _ROWS]}


def parameter_types(ptx: str, kernel: str) -> list[str]:
    """Return PTX types of a kernel's parameters, ``b8`` for a structure."""
    head = re.search(rf"\.entry\s+{kernel}\s*\((.*?)\)", ptx, re.DOTALL)
    if head is None:
        raise ValueError(f"no kernel {kernel}")
    return re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)", head[1])


def checksum(case: Case, seed: int) -> int:
    """Return a checksum of a case's arguments, so that a changed generator is detected."""
    parts = [bits(x).tobytes() if isinstance(x, np.ndarray) else repr(x).encode() for x in case.draw(seed)]
    return zlib.crc32(b"|".join(parts))


def text_digest(case: Case) -> str:
    return hashlib.sha256(compiled(case.text).encode()).hexdigest()


class DriverLauncher:
    """PTX kernels on a GPU, run by the driver alone."""

    def __init__(self) -> None:
        self.device = Device()
        self._modules: dict[str, c_void_p] = {}

    def launch(
        self, ptx: str, kernel: str, grid: int | tuple[int, ...], block: int | tuple[int, ...], shared: int,
        arguments: Sequence[Any],
    ) -> list[Any]:  # fmt: skip
        """Launch with copies of the arguments; returns them as the kernel left them."""
        call = self.device._call
        function = self._function(ptx, kernel, shared)
        buffers: dict[int, int] = {}
        values: list[Any] = []
        for i, (x, kind) in enumerate(zip(arguments, parameter_types(ptx, kernel), strict=True)):
            if isinstance(x, np.ndarray):
                buffers[i] = self.device._upload(bits(x))
                values.append(ctypes.c_uint64(buffers[i]))
            elif isinstance(x, bytes):
                values.append(ctypes.create_string_buffer(x, len(x)))
            else:
                values.append(_TYPES.get(kind, c_int if isinstance(x, int) and x < 0 else c_uint)(x))
        pointers = (c_void_p * len(values))(*(ctypes.addressof(x) for x in values))
        after = list(arguments)
        try:
            call("cuLaunchKernel", function, *three(grid), *three(block), shared, None, pointers, None)
            call("cuCtxSynchronize")
            for i, buffer in buffers.items():
                after[i] = np.empty_like(arguments[i])
                call("cuMemcpyDtoH_v2", after[i].ctypes.data, buffer, after[i].nbytes)
        finally:
            for buffer in buffers.values():
                call("cuMemFree_v2", buffer)
        return after

    def _function(self, ptx: str, kernel: str, shared: int) -> c_void_p:
        call = self.device._call
        if ptx not in self._modules:
            module = c_void_p()
            call("cuModuleLoadData", byref(module), ptx.encode())
            self._modules[ptx] = module
        function = c_void_p()
        call("cuModuleGetFunction", byref(function), self._modules[ptx], kernel.encode())
        self.device.allow_shared_memory(function, shared)
        return function


def largest_error(case: Case, arguments: Sequence[Any], outputs: Sequence[Array]) -> float:
    """Return the distance of the outputs from plain NumPy's, relative to the largest number of each."""
    errors = [0.0]
    expected = case.expected(*(x.copy() if isinstance(x, np.ndarray) else x for x in arguments))
    for found, wanted in zip(outputs, expected, strict=False):
        part = found.reshape(-1)[: wanted.size].astype(np.float64)
        far = np.abs(part - wanted.reshape(-1).astype(np.float64)).max()
        errors.append(float(far / max(np.abs(wanted.astype(np.float64)).max(), 1)))
    return math.inf if any(math.isnan(x) for x in errors) else max(errors)


def record(launcher: DriverLauncher, case: Case, seed: int) -> dict[str, Array]:
    """Launch a case twice; returns what is stored."""
    arguments = case.draw(seed)
    size = (case.grid, case.block, case.shared)
    launches = [launcher.launch(compiled(case.text), case.kernel, *size, arguments) for _ in range(2)]
    one, other = ([x[i] for i in case.outputs] for x in launches)
    if any(bits(x).tobytes() != bits(y).tobytes() for x, y in zip(one, other, strict=True)):
        raise CudaError("two launches differ")
    error = largest_error(case, arguments, one)
    print(f"{case.name}: error {error:.2e}, bound {case.bound:.0e}", flush=True)
    if error > case.bound:
        raise CudaError(f"{error:.2e} off what is expected")
    pairs = zip(case.outputs, one, strict=True)
    return {f"{case.name}|{i}|{end}": x for i, output in pairs for end, x in kept(output).items()}


def load(path: Path) -> tuple[dict[str, dict[int, dict[str, Array]]], int]:
    """Read the stored parts of every output, by case and argument, and the seed.

    Raises
    ------
    ValueError
        If the inputs, or a PTX text, are no longer those of the recording.
    """
    arrays, metadata = load_arrays(path)
    found: dict[str, dict[int, dict[str, Array]]] = {}
    for key, array in arrays.items():
        name, i, end = key.split("|")
        found.setdefault(name, {}).setdefault(int(i), {})[end] = array
    for name in found:
        case = CASES[name]
        if metadata["texts"][case.text] != text_digest(case):
            raise ValueError(f"{path}: {case.text}.ptx is no longer the text that was recorded; record again")
        if metadata["inputs"][name] != checksum(case, metadata["seed"]):
            raise ValueError(f"{path}: the inputs of {name} are no longer those of the recording")
    return found, metadata["seed"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = recording_parser(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="NAME")
    given = parser.parse_args(arguments)
    cases = [CASES[x] for x in given.only or CASES]
    launcher = DriverLauncher()
    results: dict[str, Array] = {}
    failed = []
    for case in cases:
        try:
            results |= record(launcher, case, given.seed)
        except CudaError as error:
            failed.append(case.name)
            print(f"{case.name}: {error}")
    cases = [x for x in cases if x.name not in failed]
    gpu = {"gpu": launcher.device.name, "driver": driver_version()}
    launcher.device.close()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    save_arrays(
        given.out, results, version=VERSION, seed=given.seed, inputs={x.name: checksum(x, given.seed) for x in cases},
        texts={x.text: text_digest(x) for x in cases}, **gpu,
    )  # fmt: skip
    add_source(
        given.out, **gpu, contents="outputs of the kernels of examples/ptx/: case|argument|whole, or hash and rows",
        generator=f"tools/record_ptx_kernels.py, version {VERSION}; PTX compiled by the driver", seed=given.seed,
    )  # fmt: skip
    print(f"{given.out}: {len(cases)} cases, {given.out.stat().st_size} bytes")
    return 1 if failed else compare(results, given.compare)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""Record what `torch.matmul` returns for f16 and bf16: a checksum of every row, and a corner of the bits.

    python -m tools.record_cublas --out tests/data/sm90_cublas.npz

Needs PyTorch with CUDA. `tools.check_cublas` compares the file with `wmma_emu.gemm`.
"""

import argparse
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.cublas_cases import CASES, CORNER, VERSION, Case, inputs
from tools.cuda_driver import versions
from tools.recordings import add_source, save_arrays

PROFILER_SECONDS = 45

Matmul = Callable[[Case, NDArray[Any], NDArray[Any]], NDArray[Any]]


def row_checksums(bits: NDArray[Any]) -> NDArray[np.uint32]:
    """CRC-32 of the little-endian bytes of each row."""
    little = np.ascontiguousarray(bits.astype(bits.dtype.newbyteorder("<")))
    return np.array([zlib.crc32(row.tobytes()) for row in little], np.uint32)


def record(cases: Sequence[Case], seed: int, matmul: Matmul) -> dict[str, NDArray[Any]]:
    """Compute every case; returns ``key|rows`` and ``key|corner``."""
    arrays: dict[str, NDArray[Any]] = {}
    for case in cases:
        bits = matmul(case, *inputs(case, seed))
        arrays[f"{case.key}|rows"] = row_checksums(bits)
        arrays[f"{case.key}|corner"] = bits[:CORNER, :CORNER].copy()
        print(f"{case.key}: {bits.shape[0]} rows", flush=True)
    return arrays


def torch_matmul(case: Case, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Multiply on the GPU; patterns in, patterns out."""
    d = _launch(case, *_operands(case, a, b))
    import torch

    return d.view(torch.int16).cpu().numpy().view(np.uint16)


def _operands(case: Case, a: NDArray[Any], b: NDArray[Any]) -> tuple[Any, Any]:
    import torch

    dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[case.fmt]
    tensors = []
    for bits, letter in zip((a, b), case.transposed, strict=True):
        tensor = torch.from_numpy(bits.view(np.int16)).view(dtype).cuda()
        tensors.append(tensor.t().contiguous().t() if letter == "T" else tensor)
    return tensors[0], tensors[1]


def _launch(case: Case, a: Any, b: Any) -> Any:
    import torch

    setting = torch.backends.cuda.matmul
    setting.allow_fp16_reduced_precision_reduction = not case.strict
    setting.allow_bf16_reduced_precision_reduction = not case.strict
    d = torch.matmul(a, b)
    torch.cuda.synchronize()
    return d


def kernel_names(cases: Sequence[Case], seed: int) -> dict[str, list[str]]:
    """Names of the kernels that the library ran, as the profiler sees them."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    names: dict[str, list[str]] = {}
    deadline = time.monotonic() + PROFILER_SECONDS
    for case in cases:
        if time.monotonic() > deadline:
            break
        a, b = _operands(case, *inputs(case, seed))
        with profile(activities=[ProfilerActivity.CUDA]) as profiled:
            _launch(case, a, b)
        kernels = [x.name for x in profiled.events() if x.device_type == torch.autograd.DeviceType.CUDA]
        names[case.key] = sorted({x for x in kernels if not x.lower().startswith(("mem", "cuda", "activity"))})
    return names


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="npz file to write; sources.json beside it is updated")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    import torch

    started = time.monotonic()
    gpu = {
        "gpu": torch.cuda.get_device_name(), **versions(), "torch": torch.__version__,
        "cublas": _cublas_version(), "blas": str(torch.backends.cuda.preferred_blas_library()),
    }  # fmt: skip
    print(gpu, flush=True)
    arrays = record(CASES, given.seed, torch_matmul)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    _save(given.out, arrays, given.seed, gpu, {})
    print(f"{given.out}: {given.out.stat().st_size} bytes, {time.monotonic() - started:.1f} s", flush=True)
    try:  # the profiler may be missing or refused; the recording is already safe
        names = kernel_names(CASES, given.seed)
    except Exception as error:
        print(f"no kernel names: {type(error).__name__}: {error}")
        return
    _save(given.out, arrays, given.seed, gpu, names)
    for key, kernels in names.items():
        print(f"{key}: {', '.join(kernels)}")
    print(f"with kernel names after {time.monotonic() - started:.1f} s")


def _save(
    path: Path, arrays: dict[str, NDArray[Any]], seed: int, gpu: dict[str, str], kernels: dict[str, list[str]]
) -> None:
    save_arrays(path, arrays, version=VERSION, seed=seed, kernels=kernels, **gpu)
    add_source(
        path, **gpu, contents="format|MxNxK|layouts|mode|rows: CRC-32 of each row of torch.matmul; ...|corner: bits",
        generator=f"tools/record_cublas.py, inputs version {VERSION}", seed=seed,
    )  # fmt: skip


def _cublas_version() -> str:
    """The version that the loaded library reports, or ``unknown``."""
    import ctypes
    from importlib import metadata

    for package in ("nvidia-cublas", "nvidia-cublas-cu13", "nvidia-cublas-cu12"):
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    for name in ("libcublas.so.13", "libcublas.so.12", "libcublas.so"):
        try:
            library, parts = ctypes.CDLL(name), []
            for part in range(3):
                value = ctypes.c_int()
                library.cublasGetProperty(part, ctypes.byref(value))
                parts.append(str(value.value))
            return ".".join(parts)
        except (OSError, AttributeError):
            continue
    return "unknown"


if __name__ == "__main__":
    main()

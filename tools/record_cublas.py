# SPDX-License-Identifier: MIT
"""Record what cuBLAS returns through PyTorch: a checksum of every row, and a corner of the bits.

    python -m tools.record_cublas --out tests/data/sm90_cublas.npz
    python -m tools.record_cublas --models --out tests/data/sm90_cublas_models.npz

Needs PyTorch with CUDA. `tools.check_cublas` compares the file with `wmma_emu.gemm`; `tools.fit_k_order` looks for the
order of accumulation that explains a product.
"""

import argparse
import json
import re
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.cublas_cases import CASES, CORNER, MODEL_CASES, VERSION, CublasProduct, addend, inputs
from tools.cuda_driver import versions
from tools.recordings import add_source, save_arrays

Matmul = Callable[[CublasProduct, int], NDArray[Any]]

_TORCH = {
    "f16": "float16",
    "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn",
    "s8": "int8",
    "tf32": "float32",
    "f32": "float32",
}
_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32}


def row_checksums(bits: NDArray[Any]) -> NDArray[np.uint32]:
    """Return CRC-32 of the little-endian bytes of each row."""
    little = np.ascontiguousarray(bits.astype(bits.dtype.newbyteorder("<")))
    return np.array([zlib.crc32(entry.tobytes()) for entry in little], np.uint32)


def record(cases: Sequence[CublasProduct], seed: int, matmul: Matmul) -> dict[str, NDArray[Any]]:
    """Compute every case; returns ``key|rows`` and ``key|corner``. What the library refuses is left out."""
    arrays: dict[str, NDArray[Any]] = {}
    for case in cases:
        try:
            bits = matmul(case, seed)
        except RuntimeError as error:
            print(f"{case.key}: refused: {str(error).splitlines()[0]}", flush=True)
            continue
        bits = bits.reshape(-1, bits.shape[-1])
        arrays[f"{case.key}|rows"] = row_checksums(bits)
        arrays[f"{case.key}|corner"] = bits[:CORNER, :CORNER].copy()
    return arrays


def torch_product(case: CublasProduct, seed: int) -> NDArray[Any]:
    """Multiply on the GPU; patterns out."""
    import torch

    d = launch(case, *operands(case, seed))
    width = d.element_size()
    bits: NDArray[Any] = d.view({1: torch.int8, 2: torch.int16, 4: torch.int32}[width]).cpu().numpy()
    return bits.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[width])


def to_device(bits: NDArray[Any], fmt: str) -> Any:
    """Return patterns as a tensor on the GPU."""
    import torch

    return torch.from_numpy(bits.view(_SIGNED[bits.itemsize]).copy()).cuda().view(getattr(torch, _TORCH[fmt]))


def operands(case: CublasProduct, seed: int) -> tuple[Any, Any, Any]:
    """Return A, B, and what is added, as tensors on the GPU in the layouts of the case."""
    a, b = (
        to_device(x, case.fmt) if letter == "N" else to_device(np.ascontiguousarray(x.swapaxes(-1, -2)), case.fmt).mT
        for x, letter in zip(inputs(case, seed), case.transposed, strict=True)
    )
    return a, b, to_device(addend(case, seed), case.out_format) if case.adds_c or case.call == "linear" else None


def launch(case: CublasProduct, a: Any, b: Any, c: Any = None) -> Any:
    """Call PyTorch as the case says."""
    import torch

    setting = torch.backends.cuda.matmul
    setting.allow_fp16_reduced_precision_reduction = not case.strict
    setting.allow_bf16_reduced_precision_reduction = not case.strict
    setting.allow_tf32 = case.fmt == "tf32"
    if case.adds_c:
        d = torch.addmm(c, a, b, alpha=case.alpha, beta=case.beta)
    elif case.call == "linear":
        d = torch.nn.functional.linear(a, b.t(), c.reshape(-1))
    elif case.call == "int_mm":
        d = torch._int_mm(a, b)
    elif case.call.startswith("scaled_mm"):
        scales = [torch.full((), x, device="cuda") for x in (case.alpha * 4, 0.25)]
        out, fast = getattr(torch, _TORCH[case.out]), "fast" in case.call
        d = torch._scaled_mm(a, b, *scales, out_dtype=out, use_fast_accum=fast)
    else:
        d = torch.matmul(a, b)
    torch.cuda.synchronize()
    return d


def kernels_of(cases: Sequence[CublasProduct], seed: int) -> dict[str, list[str]]:
    """Return the names and grids of the library's kernels, from the profiler."""
    from torch.profiler import ProfilerActivity, profile, record_function

    tensors = [operands(case, seed) for case in cases]
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        for case, (a, b, c) in zip(cases, tensors, strict=True):
            with record_function(case.key):
                launch(case, a, b, c)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiled.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    ranges = {x["name"]: (x["ts"], x["ts"] + x["dur"]) for x in events if x.get("cat") == "user_annotation"}
    kernels = [x for x in events if x.get("cat") == "kernel"]
    return {
        key: [
            f"{x['name'][:160]} grid {'x'.join(map(str, x['args']['grid']))}"
            for x in kernels
            if start <= x["ts"] <= end
        ]
        for key, (start, end) in ranges.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out", type=Path, required=True, help="npz file to write; sources.json in its folder is updated"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", action="store_true", help="record the products of whole models instead")
    parser.add_argument("--only", default="", help="regular expression that keys must contain")
    given = parser.parse_args(arguments)
    import torch

    cases = [case for case in (MODEL_CASES if given.models else CASES) if re.search(given.only, case.key)]
    started = time.monotonic()
    gpu = {
        "gpu": torch.cuda.get_device_name(), **versions(), "torch": torch.__version__,
        "cublas": _cublas_version(), "blas": str(torch.backends.cuda.preferred_blas_library()),
    }  # fmt: skip
    print(gpu, flush=True)
    arrays = record(cases, given.seed, torch_product)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    _save(given.out, arrays, given.seed, gpu, {})
    print(f"{given.out}: {given.out.stat().st_size} bytes, {time.monotonic() - started:.1f} s", flush=True)
    try:  # the profiler may be missing or refused; the recording is already safe
        names = kernels_of([x for x in cases if f"{x.key}|rows" in arrays], given.seed)
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
        path, **gpu, contents="format|MxNxK|layouts|mode|rows: CRC-32 of each row of torch's product; ...|corner: bits",
        generator=f"tools/record_cublas.py, inputs version {VERSION}", seed=seed,
    )  # fmt: skip


def _cublas_version() -> str:
    """Return the version that the loaded library reports, or ``unknown``."""
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

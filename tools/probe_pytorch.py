# SPDX-License-Identifier: MIT
"""Probe PyTorch's products on this machine's GPU.

python -m tools.probe_pytorch > docs/evidence/h200-2026-11-21-probe-pytorch.txt
"""

import sys
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np

import wmma_emu as we
from wmma_emu.testing import examine

Array = np.ndarray


def products() -> dict[str, tuple[str, Callable[[Array, Array, Array], Array]]]:
    """Return PyTorch's products by name: an instruction with their shape and formats, and the function."""
    import torch

    def on_gpu(x: Array) -> torch.Tensor:
        if x.dtype.name == "bfloat16":
            return torch.from_numpy(x.view(np.int16).copy()).view(torch.bfloat16).cuda()
        return torch.from_numpy(np.ascontiguousarray(x)).cuda()

    def addmm(allow_tf32: bool) -> Callable[[Array, Array, Array], Array]:
        def product(a: Array, b: Array, c: Array) -> Array:
            torch.backends.cuda.matmul.allow_tf32 = allow_tf32
            return torch.addmm(on_gpu(c), on_gpu(a), on_gpu(b)).cpu().numpy()

        return product

    def mm_plus_c(a: Array, b: Array, c: Array) -> Array:
        return (torch.mm(on_gpu(a), on_gpu(b), out_dtype=torch.float32) + on_gpu(c)).cpu().numpy()

    return {
        "addmm of float16": ("m16n8k16.f16.f16.f16.f16", addmm(False)),
        "mm of float16 to float32, plus c": ("m16n8k16.f32.f16.f16.f32", mm_plus_c),
        "mm of bfloat16 to float32, plus c": ("m16n8k16.f32.bf16.bf16.f32", mm_plus_c),
        "addmm of float32, tf32 allowed": ("m16n8k8.f32.tf32.tf32.f32", addmm(True)),
        "addmm of float32": ("m16n8k8.f32.tf32.tf32.f32", addmm(False)),
        "addmm of float64": ("m16n8k16.f64.f64.f64.f64", addmm(False)),
    }


def main() -> int:
    """Print a report for each."""
    import torch

    device = we.gpu.device()
    print(f"PyTorch {torch.__version__} on {device.name}, driver {device.driver}; {datetime.now(UTC).date()}")
    for name, (like, product) in products().items():
        print(f"\n== torch: {name}\n\n{examine(product, like=like)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

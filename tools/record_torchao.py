# SPDX-License-Identifier: MIT
"""Record torchao's quantisation of some arrays: scales and elements of MX formats and of NVFP4, in one file.

    python -m tools.record_torchao --out tests/quantise/torchao.npz

Needs PyTorch and torchao. Where there is a GPU, what differs on it is recorded too: PyTorch divides by a Python number
there by multiplying with its reciprocal.
"""

import argparse
from pathlib import Path

import numpy as np

FORMATS = {
    "mxfp8_e4m3": "float8_e4m3fn",
    "mxfp8_e5m2": "float8_e5m2",
    "mxfp6_e3m2": "fp6_e3m2",
    "mxfp6_e2m3": "fp6_e2m3",
    "mxfp4_e2m1": "float4_e2m1fn_x2",
}
RULES = ("floor", "ceil", "rceil", "even")


def inputs():
    """Return float32 blocks by name: of all exponents, next to the boundaries of rules, and of ordinary numbers."""
    random = np.random.RandomState(20)
    exponent = random.randint(-110, 110, (96, 1)) + random.randint(-12, 1, (96, 64))
    wide = np.ldexp(random.uniform(-2, 2, (96, 64)), exponent).astype(np.float32)
    ends = np.array([448, 57344, 28, 7.5, 6, 1.9375, 1.875, 1.75, 1.5, 1, 336, 352], np.float32)
    near = (ends.view(np.uint32)[:, None] + np.arange(-2, 3).astype(np.uint32)).view(np.float32)
    edges = random.uniform(-0.9, 0.9, (near.size, 32)).astype(np.float32)
    edges[:, 5] = near.ravel()
    return {
        "wide": wide,
        "edges": edges,
        "normal": random.standard_normal((64, 128)).astype(np.float32),
        "integers": random.randint(-896, 897, (64, 128)).astype(np.float32),
    }


def mx(x, name, rule, device):
    """Scale and element patterns of torchao's to_mx; two elements of four bits share a byte."""
    import torch
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_tensor import to_mx

    element = getattr(torch, FORMATS[name], FORMATS[name])
    scales, elements = to_mx(torch.from_numpy(x).to(device), element, 32, ScaleCalculationMode(rule))
    return patterns(scales), patterns(elements)


def nvfp4(x, device):
    """Return tensor scale, block scales, packed elements of torchao's nvfp4_quantize."""
    import torch
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale

    given = torch.from_numpy(x).to(device)
    tensor = per_tensor_amax_to_scale(given.abs().max())
    scales, elements = nvfp4_quantize(given, 16, tensor)
    return tensor.cpu().numpy().view(np.uint32), patterns(scales), patterns(elements)


def patterns(tensor):
    """Return bytes of a tensor of narrow elements."""
    import torch

    return tensor.contiguous().view(torch.uint8).cpu().numpy()


def record(device):
    """Return all arrays by name."""
    import torch
    from torchao.prototype.mx_formats.utils import from_blocked, to_blocked

    found = {}
    for kind, x in inputs().items():
        found[f"x {kind}"] = x
        for name in FORMATS if kind in ("wide", "edges") else ():
            for rule in RULES:
                scales, elements = mx(x, name, rule, device)
                found |= {f"scales {kind} {name} {rule}": scales, f"elements {kind} {name} {rule}": elements}
        if kind != "wide":
            tensor, scales, elements = nvfp4(x, device)
            found |= {f"tensor {kind}": tensor, f"scales {kind} nvfp4": scales, f"elements {kind} nvfp4": elements}
    grid = torch.from_numpy(np.random.RandomState(21).randint(0, 256, (300, 9)).astype(np.uint8)).to(device)
    blocked = to_blocked(grid)
    found |= {"grid": patterns(grid), "blocked": patterns(blocked), "back": patterns(from_blocked(blocked, 300, 9))}
    return found


def main():
    """Record on the processor, and what differs on the GPU if there is one."""
    import torch
    import torchao

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    found = record("cpu")
    versions = f"torchao {torchao.__version__}, PyTorch {torch.__version__}"
    if torch.cuda.is_available():
        other = record("cuda")
        found |= {f"cuda {key}": other[key] for key in other if (found[key] != other[key]).any()}
        versions += f", on the processor; cuda: what {torch.cuda.get_device_name()} has otherwise"
    out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out, versions=np.array(versions), **found)
    print(versions, out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""Record the outputs and gradients of torchao's FP8 layers on a GPU: a checksum of every row.

    python -m tools.record_torchao_linear --out tests/torch/torchao_linear.npz

Needs PyTorch and torchao (BSD 3-Clause) on a machine with an NVIDIA GPU of compute capability 9.0.
"""

import argparse
import zlib
from pathlib import Path

import numpy as np

RECIPES = ("tensorwise", "rowwise", "rowwise_with_gw_hp")
DTYPES = ("bfloat16", "float32")
SHAPES = ((64, 96, 512), (256, 512, 1024), (128, 2048, 256))
"""(rows, outputs, inputs) of the layers."""


def inputs(shape):
    """Return x, the weight, the bias and the gradient of the output in float32; columns of x have different sizes."""
    rows, outputs, columns = shape
    random = np.random.RandomState(7)
    x = random.standard_normal((rows, columns)) * np.exp2(random.randint(-6, 4, columns))
    weight, bias = random.standard_normal((outputs, columns)) / 16, random.standard_normal(outputs)
    return [z.astype(np.float32) for z in (x, weight, bias, random.standard_normal((rows, outputs)) * 1e-3)]


def checksums(tensor):
    """Return a checksum of each row of a tensor: of its numbers in float32, which has all of bfloat16's."""
    rows = tensor.detach().float().cpu().numpy()
    return np.array([zlib.crc32(np.ascontiguousarray(row).tobytes()) for row in rows], np.uint32)


def layer_of(shape, dtype, device="cpu"):
    """Return a linear layer with the weight and the bias, x, and the gradient of the output."""
    import torch

    x, weight, bias, gradient = (torch.from_numpy(z).to(device, getattr(torch, dtype)) for z in inputs(shape))
    layer = torch.nn.Linear(shape[2], shape[1], device=device, dtype=x.dtype)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    return layer, x.requires_grad_(), gradient


def results(module, x, gradient):
    """Run a step and return the checksums of the output and of the gradients, by name."""
    y = module(x)
    y.backward(gradient)
    return {"output": checksums(y), "input": checksums(x.grad), "weight": checksums(module.weight.grad)}


def main():
    """Record all layers."""
    import torch
    import torchao
    from torchao.float8.config import Float8LinearConfig
    from torchao.float8.float8_linear import Float8Linear

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out, found = parser.parse_args().out, {}
    for recipe in RECIPES:
        for dtype in DTYPES:
            for shape in SHAPES:
                layer, x, gradient = layer_of(shape, dtype, "cuda")
                module = Float8Linear.from_float(layer, Float8LinearConfig.from_recipe_name(recipe))
                for name, sums in results(module, x, gradient).items():
                    found[f"{recipe} {dtype} {'x'.join(map(str, shape))} {name}"] = sums
    versions = f"torchao {torchao.__version__}, PyTorch {torch.__version__}, {torch.cuda.get_device_name()}"
    np.savez_compressed(out, versions=np.array(versions), **found)
    print(versions, out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()

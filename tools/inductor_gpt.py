# SPDX-License-Identifier: MIT
"""A small GPT through torch.compile on an emulated chip, forward and backward, with every launch as a bundle.

    python -m tools.inductor_gpt emulate BUNDLES [--arch h100]   # anywhere; needs PyTorch for CPUs and Triton
    python -m tools.inductor_gpt record BUNDLES OUT              # on a GPU: launch the same PTX on the same memory

Inductor generates Triton kernels for CUDA, matrix products included. ``emulate`` runs them, and writes the PTX of each
launch, its grid, its arguments, the memory before it and the hashes of the memory after it. ``record`` launches all of
that on the first GPU, without PyTorch, and compares every array bit for bit with the emulator.

The model has random weights. No token occurs twice, because additions of gradients to one row of the embedding have no
order. Attention consists of products and a softmax.
"""

import argparse
import math
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import wmma_emu as we
from tools import launch_bundles
from tools.language_programs.bundles import BundleWriter

TEMPLATES = {"max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON"}
"""Options of Inductor with which matrix products are Triton kernels."""

LAYERS, WIDTH, HEADS, TOKENS, LENGTH, BATCH = 4, 64, 4, 64, 16, 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["emulate", "record"])
    parser.add_argument("bundles", type=Path)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--arch", default="h100")
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16", "float32"])
    parser.add_argument("--layers", type=int, default=LAYERS)
    given = parser.parse_args()
    if given.action == "emulate":
        return emulate(given.bundles, given.arch, given.dtype, given.layers)
    if given.out is None:
        parser.error("record needs OUT, the folder of recordings")
    status = launch_bundles.main(["record", str(given.bundles), str(given.out)])
    return status or launch_bundles.main(["compare", str(given.bundles), str(given.out)])


def emulate(folder: Path, arch: str, dtype: str, layers: int) -> int:
    """Run the model, write the bundles, and print the report and the distances from PyTorch without compilation."""
    begin = time.perf_counter()
    writer = BundleWriter(folder, f"gpt-{dtype}", "sm_90", {"file": "tools/inductor_gpt.py"}, every=True)
    with warnings.catch_warnings(), we.emulate(arch, findings="report", observe=writer.observe) as session:
        warnings.simplefilter("ignore")
        import torch

        torch.manual_seed(0)
        model = gpt(layers).to(getattr(torch, dtype)).cuda()
        tokens = torch.randperm(TOKENS)[: BATCH * LENGTH].reshape(BATCH, LENGTH).cuda()
        ours = _step(torch.compile(model, options=TEMPLATES), model, tokens)
        print(session.report)
    theirs = _step(model.double(), model, tokens)
    worst = max(_relative(a, b) for a, b in zip(ours[1], theirs[1], strict=True))
    size = sum(x.stat().st_size for x in folder.rglob("*") if x.is_file())
    print(f"loss {ours[0]:.6f}, in double precision {theirs[0]:.6f}; gradients: at most {worst:.1e} of the largest")
    print(f"{len(writer.written)} bundles, {size / 2**20:.1f} MiB, {time.perf_counter() - begin:.0f} s")
    return 0


def _step(call: Any, model: Any, tokens: Any) -> tuple[float, list[Any]]:
    model.zero_grad()
    loss = call(tokens)
    loss.backward()
    return float(loss), [x.grad.clone() for x in model.parameters()]


def _relative(ours: Any, theirs: Any) -> float:
    a, b = ours.double(), theirs.double()
    return float((a - b).abs().max() / b.abs().max())


def gpt(layers: int) -> Any:
    """Return the model, whose result is the loss of predicting each next token."""
    import torch
    from torch.nn import functional

    class GptBlock(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
            self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
            self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            batch, length, width = x.shape
            parts = self.qkv(self.before(x)).split(width, -1)
            q, k, v = (y.view(batch, length, HEADS, width // HEADS).transpose(1, 2) for y in parts)
            future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
            scores = (q @ k.transpose(2, 3) / math.sqrt(width // HEADS)).masked_fill(future, float("-inf"))
            x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
            return x + self.down(functional.gelu(self.up(self.between(x))))

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = torch.nn.Embedding(TOKENS, WIDTH), torch.nn.Embedding(LENGTH, WIDTH)
            self.blocks = torch.nn.ModuleList(GptBlock() for _ in range(layers))
            self.norm, self.head = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, TOKENS, bias=False)

        def forward(self, tokens: Any) -> Any:
            x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
            for block in self.blocks:
                x = block(x)
            logits = self.head(self.norm(x))[:, :-1]
            return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    return Model()


if __name__ == "__main__":
    sys.exit(main())

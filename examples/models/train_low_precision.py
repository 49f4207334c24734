# SPDX-License-Identifier: MIT
"""Train a small decoder with each recipe for low precision, and print the losses next to bfloat16's.

python examples/models/train_low_precision.py                        all recipes, 30 steps
python examples/models/train_low_precision.py te_delayed te_nvfp4 --steps 100
python examples/models/train_low_precision.py te_current --errors    and the errors of the last step
"""

import argparse
import time
import warnings

import torch
from torch import nn
from torch.nn import functional as F

import wmma_emu as we

TOKENS, WIDTH, HEADS, LENGTH = 32, 64, 4, 32


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        heads = self.qkv(self.norm_1(x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).reshape(batch, length, WIDTH)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class Decoder(nn.Module):
    """A decoder of two layers; its embeddings and its head stay in high precision."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(TOKENS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, TOKENS, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def sequences(generator: torch.Generator, count: int = 8) -> torch.Tensor:
    """Sequences in which every token is five times the one before, plus seven."""
    ids = torch.randint(TOKENS, (count, 1), generator=generator)
    for _ in range(LENGTH):
        ids = torch.cat([ids, (5 * ids[:, -1:] + 7) % TOKENS], 1)
    return ids


def chip_of(recipe: str | None) -> str:
    """Return a chip with the instructions of a recipe: MXFP8 and NVFP4 need a B200."""
    return "b200" if recipe is not None and ("mxfp8" in recipe or "nvfp4" in recipe) else "h100"


def train(recipe: str | None, steps: int, errors: bool = False) -> tuple[list[float], we.torch.Emulation]:
    """Train with autocast to bfloat16, on an emulated chip; return the losses, and the emulation of the last step."""
    torch.manual_seed(0)
    model, generator = Decoder(), torch.Generator().manual_seed(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    options = {"recipe": recipe, "high_precision": "*.head", "errors": errors} if recipe else {}
    emulation, losses = we.torch.emulate(chip_of(recipe), **options), []
    for _ in range(steps):
        emulation.log.clear()
        emulation.errors.clear()
        ids = sequences(generator)
        with emulation:
            with torch.autocast("cpu", torch.bfloat16):
                logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, emulation


def main(arguments: list[str] | None = None) -> dict[str, list[float]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", help=f"of {', '.join(we.torch.RECIPES)}; all by default")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--errors", action="store_true", help="print the errors of the last step")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", we.UnverifiedModelWarning)  # the arithmetic of a B200 is from the literature
    found = {}
    for recipe in [None, *(given.recipes or we.torch.RECIPES)]:
        begin = time.perf_counter()
        losses, emulation = train(recipe, given.steps, given.errors)
        found[recipe or "bf16"] = losses
        shown = " ".join(f"{losses[i]:.3f}" for i in range(0, given.steps, max(given.steps // 6, 1)))
        seconds = (time.perf_counter() - begin) / given.steps
        print(f"{recipe or 'bf16':27} {shown} last {losses[-1]:.3f}  {seconds:.2f} s a step", flush=True)
        if given.errors and recipe:
            print(emulation.errors)
    return found


if __name__ == "__main__":
    main()

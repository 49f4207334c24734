# SPDX-License-Identifier: MIT
"""Run a network with random weights on several chips, and print and draw where their results part.

python examples/models/compare_chips.py gpt2
python examples/models/compare_chips.py vit --size full --dtype float16 --chips a100,h100,v100 --html vit.html
python examples/models/compare_chips.py gpt2 --train             gradients of a training step, too
"""

import argparse
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional as F

import wmma_emu as we

sys.path.insert(0, str(Path(__file__).parent))
from networks import NETWORKS, made


def next_token_loss(logits: torch.Tensor) -> torch.Tensor:
    """The loss of predicting class 1 everywhere, which needs no data."""
    flat = logits.float().reshape(-1, logits.shape[-1])
    return F.cross_entropy(flat, torch.ones(len(flat), dtype=torch.long))


def main(arguments: list[str] | None = None) -> we.torch.comparing.ModelComparison:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=list(NETWORKS))
    parser.add_argument("--size", choices=["small", "full"], default="small", help="full has the published sizes")
    parser.add_argument("--dtype", choices=["bfloat16", "float16", "float32"], default="bfloat16")
    parser.add_argument("--chips", default="a100,h100,v100", help="names of chips, the reference first")
    parser.add_argument("--like", help="a library whose recorded kernels are used: torch")
    parser.add_argument("--train", action="store_true", help="compare the gradients of a step, too")
    parser.add_argument("--html", help="a file for the page with pictures")
    given = parser.parse_args(arguments)
    model, inputs = made(given.network, given.size, given.dtype)
    if given.train:
        model.train()
    begin = time.perf_counter()
    found = we.torch.compare(
        model, inputs, given.chips.split(","), loss=next_token_loss if given.train else None, like=given.like
    )
    print(found)
    print(f"\n{given.network}, {given.size}, {given.dtype}: {time.perf_counter() - begin:.0f} s")
    for name, summary in found.summaries.items():
        print(f"{name}: {summary}")
    if given.html:
        found.save_html(given.html)
    return found


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""The runs whose products are recorded: the networks of the examples, forward, and a training step of each."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from tools.model_products.capture import CaptureMode

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "models"))
from networks import NETWORKS, made


class ModelRun(NamedTuple):
    """One pass of a network; in an unfused one, attention consists of products of matrices."""

    network: str
    dtype: str
    trains: bool = False
    unfused: bool = False

    @property
    def name(self) -> str:
        """The name in the tables."""
        kind = "training step" if self.trains else "forward, attention unfused" if self.unfused else "forward"
        return f"{self.network}, {self.dtype}, {kind}"


def runs() -> Iterator[ModelRun]:
    """List the runs, those that matter most first."""
    for dtype in ("bfloat16", "float16"):
        yield from (ModelRun(network, dtype) for network in NETWORKS)
    for dtype in ("bfloat16", "float16"):
        yield from (ModelRun(network, dtype, trains=True) for network in NETWORKS)
        yield from (ModelRun(network, dtype, unfused=True) for network in ("gpt2", "llama"))


def execute(run: ModelRun, size: str, device: str, mode: CaptureMode) -> None:
    """Run a network with random weights; its products are captured."""
    mode.run = run.name
    with ExitStack() as stack:
        stack.enter_context(torch.device(device))
        model, inputs = made(run.network, size, run.dtype)
        if run.unfused:
            stack.enter_context(sdpa_kernel(SDPBackend.MATH))
            torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
        stack.enter_context(torch.set_grad_enabled(run.trains))
        stack.enter_context(torch.autograd.set_multithreading_enabled(False))
        stack.enter_context(mode)
        outputs = model.train(run.trains)(inputs)
        if run.trains:
            _loss(outputs).backward()


def _loss(outputs: torch.Tensor) -> Any:
    """Return the loss of predicting class 1 everywhere, which needs no data."""
    flat = outputs.float().reshape(-1, outputs.shape[-1])
    return F.cross_entropy(flat, torch.ones(len(flat), dtype=torch.long))

# SPDX-License-Identifier: MIT
"""The outputs of all modules of a model in one run, and its gradients, with the state of the model restored."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_iter, tree_map_only

from wmma_emu.errors import ArgumentError, shorten
from wmma_emu.models import EmulationLog, EmulationOptions
from wmma_emu.torch.emulation import Emulation
from wmma_emu.torch.products import Multiplier

Loss = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class ModelRun:
    """One run: the tensors by name, in the order in which they were complete, and the products."""

    tensors: dict[str, Any]
    output: Any
    log: EmulationLog
    multiplier: Multiplier = field(repr=False)


def run(model: Any, inputs: Any, options: EmulationOptions, loss: Loss | None = None) -> ModelRun:
    """Run a model in an emulation; with a loss, its gradients, too, as ``"gradient of NAME"``."""
    emulation, tensors = Emulation(options), dict[str, Any]()
    with restored(model), _recorded(model, tensors), emulation:
        if loss is None:
            with torch.no_grad():
                result = call(model, inputs)
        else:
            result = call(model, inputs)
            _number(loss(result)).backward()
            tensors |= {
                f"gradient of {name}": x.grad.detach().clone()
                for name, x in model.named_parameters() if x.grad is not None
            }  # fmt: skip
    output = first_tensor(result)
    tensors.setdefault("output", output)
    return ModelRun(tensors, output, emulation.log, emulation.multiplier)


def _number(value: Any) -> Any:
    """Return a loss, which must be one number with a gradient."""
    if not isinstance(value, torch.Tensor) or value.numel() != 1 or not value.requires_grad:
        raise ArgumentError(
            f"loss returned {shorten(value)}; it must return a tensor of one number that has a gradient, such as "
            "output.float().square().mean()"
        )
    return value


def call(model: Any, inputs: Any) -> Any:
    """Call a model with copies of its inputs: a tensor, a tuple of arguments, or a dictionary of keywords."""
    inputs = tree_map_only(torch.Tensor, lambda x: x.detach().clone().requires_grad_(x.requires_grad), inputs)
    if isinstance(inputs, dict):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, tuple | list) else model(inputs)


def first_tensor(result: Any) -> Any:
    """Return the first floating-point tensor of a result, without its gradient."""
    for x in tree_iter(result):
        if isinstance(x, torch.Tensor) and x.is_floating_point():
            return x.detach().clone()
    return None


@contextmanager
def _recorded(model: Any, tensors: dict[str, Any]) -> Iterator[None]:
    """Keep the output of every module; a module that runs again has a number."""
    if not isinstance(model, torch.nn.Module):
        yield
        return

    def keep(name: str) -> Callable[..., None]:
        def hook(module: Any, arguments: Any, result: Any) -> None:
            tensor, count, key = first_tensor(result), 1, name
            while key in tensors:
                count += 1
                key = f"{name} ({count})"
            if tensor is not None:
                tensors[key] = tensor

        return hook

    handles = [
        module.register_forward_hook(keep(name or "output"))
        for name, module in model.named_modules() if not isinstance(module, torch.jit.ScriptModule)
    ]  # fmt: skip
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def restored(model: Any) -> Iterator[None]:
    """Run with the same random numbers each time, and give buffers and gradients their values back."""
    is_module = isinstance(model, torch.nn.Module)
    buffers = [(x, x.clone()) for x in model.buffers()] if is_module else []
    grads = [(x, x.grad) for x in model.parameters()] if is_module else []
    for x, _ in grads:
        x.grad = None
    with torch.random.fork_rng(devices=[]):
        try:
            yield
        finally:
            with torch.no_grad():
                for x, before in buffers:
                    x.copy_(before)
            for x, grad in grads:
                x.grad = grad

# SPDX-License-Identifier: MIT
"""A module that always runs in an emulation, and whose gradient does, too, wherever it is computed."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.utils._pytree import tree_iter

Modes = Callable[[], AbstractContextManager[Any]]


def emulated_module(module: Any, emulation: AbstractContextManager[Any], mode: Modes) -> Any:
    """Return a module that calls another module in an emulation.

    Autograd runs the nodes that the forward pass made. Each of them gets two hooks: one enters the mode, the other
    leaves it, and gives the hooks to the nodes that were made meanwhile, for gradients of gradients.
    """

    class EmulatedModule(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *arguments: Any, **named: Any) -> Any:
            given = _nodes((arguments, named))
            with emulation:
                result = self.module(*arguments, **named)
            _follow(_nodes(result), given, mode)
            return result

    return EmulatedModule()


def _nodes(tensors: Any) -> list[Any]:
    """Return the nodes of autograd that made tensors."""
    found = (x.grad_fn for x in tree_iter(tensors) if isinstance(x, torch.Tensor))
    return [x for x in found if x is not None]


def _follow(made: list[Any], before: list[Any], mode: Modes) -> None:
    """Add hooks to all nodes from those that made the results back to those before the module."""
    seen, waiting = set(before), list(made)
    while waiting:
        node = waiting.pop()
        if node in seen or node is None:
            continue
        seen.add(node)
        waiting += [x for x, _ in node.next_functions]
        if "wmma_emu" not in node.metadata:
            node.metadata["wmma_emu"] = True
            _hook(node, mode)


def _hook(node: Any, mode: Modes) -> None:
    entered: list[tuple[Any, list[Any]]] = []

    def enter(grads: Any) -> None:
        one = mode()
        one.__enter__()
        entered.append((one, _nodes(grads)))

    def leave(results: Any, grads: Any) -> None:
        one, before = entered.pop()
        one.__exit__(None, None, None)
        _follow(_nodes(results), [*before, node], mode)

    node.register_prehook(enter)
    node.register_hook(leave)

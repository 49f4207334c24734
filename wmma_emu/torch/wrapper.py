# SPDX-License-Identifier: MIT
"""A module that always runs in an emulation, and whose gradient does, too, wherever it is computed."""

import dataclasses
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_iter


class EmulatedModule(torch.nn.Module):  # type: ignore[misc]
    """A module that calls another module in an emulation.

    Autograd runs the nodes that the forward pass made. Each of them gets two hooks: one enters the mode, the other
    leaves it, and gives the hooks to the nodes that were made meanwhile, for gradients of gradients.
    """

    def __init__(self, module: Any, emulation: Any) -> None:
        super().__init__()
        self.module = module
        self.emulation = emulation
        self.training = module.training

    def forward(self, *arguments: Any, **named: Any) -> Any:
        """Call the module."""
        given = _nodes((arguments, named))
        with self.emulation:
            result = self.module(*arguments, **named)
        _follow(_nodes(result), given, self.emulation)
        return result


def _nodes(tensors: Any) -> list[Any]:
    """Return the nodes of autograd that made tensors."""
    found = (x.grad_fn for x in _tensors(tensors))
    return [x for x in found if x is not None]


def _tensors(values: Any) -> Iterator[Any]:
    """Yield the tensors in containers and in data classes."""
    for x in tree_iter(values):
        if isinstance(x, torch.Tensor):
            yield x
        elif dataclasses.is_dataclass(x) and not isinstance(x, type):
            yield from _tensors([getattr(x, field.name) for field in dataclasses.fields(x)])


def _follow(made: list[Any], before: list[Any], emulation: Any) -> None:
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
            _hook(node, emulation)


def _hook(node: Any, emulation: Any) -> None:
    entered: dict[int, list[tuple[Any, Any, list[Any]]]] = {}  # by thread: a parameter has one node for all threads

    def enter(grads: Any) -> None:
        one, switches = emulation.mode(), emulation.switches()
        one.__enter__()
        # After an error autograd drops the mode without a call of `leave`; its end restores the switches.
        state = weakref.ref(one), weakref.finalize(one, switches.close), _nodes(grads)
        entered.setdefault(threading.get_ident(), []).append(state)

    def leave(results: Any, grads: Any) -> None:
        one, restore, before = entered[threading.get_ident()].pop()
        one().__exit__(None, None, None)
        restore()
        _follow(_nodes(results), [*before, node], emulation)

    node.register_prehook(enter)
    node.register_hook(leave)

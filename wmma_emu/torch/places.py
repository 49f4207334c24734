# SPDX-License-Identifier: MIT
"""Where in a model a product is: the module whose forward runs, or whose gradient is computed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.nn.modules import module as hooks


class Places:
    """The stack of modules in this thread.

    A gradient is attributed by the number that autograd gives to each of its nodes: the node that runs was made by a
    product of the forward pass, whose module is remembered.
    """

    def __init__(self) -> None:
        self._stack: list[str] = []
        self._names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._of_node: dict[int, str] = {}
        self._handles: list[Any] = []

    def begin(self) -> None:
        """Follow the calls of modules."""
        self._handles = [
            hooks.register_module_forward_pre_hook(self._enter),
            hooks.register_module_forward_hook(self._leave, always_call=True),
        ]

    def end(self) -> None:
        """Stop following."""
        for handle in self._handles:
            handle.remove()
        self._handles, self._stack = [], []

    def __call__(self) -> tuple[str, bool]:
        """Return the module of the operation that runs, and whether it computes a gradient."""
        node = torch._C._current_autograd_node()
        place = self._stack[-1] if self._stack else ""
        if node is not None and not self._stack:
            place = self._of_node.get(node._sequence_nr(), "")
        return place, node is not None

    @contextmanager
    def at(self, module: str) -> Iterator[None]:
        """Set the module of the operations in a block of code."""
        self._stack.append(module)
        try:
            yield
        finally:
            self._stack.pop()

    def remember(self) -> None:
        """Remember the module of the node that autograd has made for the operation that runs, if gradients are on."""
        if torch.is_grad_enabled():
            self._of_node.setdefault(torch.autograd._get_sequence_nr() - 1, self()[0])

    def _enter(self, module: Any, arguments: Any) -> None:
        if module not in self._names:
            self._name(module)
        self._stack.append(self._names[module])

    def _leave(self, module: Any, arguments: Any, result: Any) -> None:
        if self._stack:
            self._stack.pop()

    def _name(self, root: Any) -> None:
        """Name a module that was called on its own, and all modules in it."""
        prefix = type(root).__name__
        for name, module in root.named_modules():
            self._names.setdefault(module, f"{prefix}.{name}" if name else prefix)

# SPDX-License-Identifier: MIT
"""Where in a model a product is: the module whose forward runs, or whose gradient is computed."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.nn.modules import module as hooks


class Places:
    """The stack of modules in each thread.

    A gradient is attributed by the number that autograd gives to each of its nodes: the node that runs was made by a
    product of the forward pass, whose module is remembered. Threads have separate numbers; a thread of autograd finds
    those of the thread that last made a node of this number.
    """

    def __init__(self) -> None:
        self._of_thread = threading.local()
        self._names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._of_node: dict[tuple[int | None, int], str] = {}

    @property
    def _stack(self) -> list[str]:
        found: list[str] = self._of_thread.__dict__.setdefault("stack", [])
        return found

    def begin(self) -> None:
        """Follow the calls of modules in this thread."""
        thread = threading.get_ident()

        def enter(module: Any, arguments: Any) -> None:
            if threading.get_ident() == thread:
                self._enter(module)

        def leave(module: Any, arguments: Any, result: Any) -> None:
            if threading.get_ident() == thread and self._stack:
                self._stack.pop()

        self._of_thread.handles = [
            hooks.register_module_forward_pre_hook(enter),
            hooks.register_module_forward_hook(leave, always_call=True),
        ]

    def end(self) -> None:
        """Stop following."""
        for handle in self._of_thread.handles:
            handle.remove()
        self._stack.clear()

    def __call__(self) -> tuple[str, bool]:
        """Return the module of the operation that runs, and whether it computes a gradient."""
        node = torch._C._current_autograd_node()
        place = self._stack[-1] if self._stack else ""
        if node is not None and not self._stack:
            number = node._sequence_nr()
            here, anywhere = (self._of_node.get((x, number), "") for x in (threading.get_ident(), None))
            place = here or anywhere
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
            number, place = torch.autograd._get_sequence_nr() - 1, self()[0]
            self._of_node.setdefault((threading.get_ident(), number), place)
            self._of_node[None, number] = self._of_node[threading.get_ident(), number]

    def _enter(self, module: Any) -> None:
        if module not in self._names:
            self._name(module)
        self._stack.append(self._names[module])

    def _name(self, root: Any) -> None:
        """Name a module that was called on its own, and all modules in it."""
        prefix = type(root).__name__
        for name, module in root.named_modules():
            self._names.setdefault(module, f"{prefix}.{name}" if name else prefix)

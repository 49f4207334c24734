# SPDX-License-Identifier: MIT
"""Operators that a program registers with ``torch.library`` for CUDA, called with tensors on the host."""

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any

_RUN_CODE = frozenset({"CUDA", "CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd"})
"""The keys of functions that compute; those of other keys trace, or call another function."""

_MODES: list[Any] = []
"""The mode of the emulation that is on."""


class HostOperators:
    """Replaces ``Library.impl``: an operator that has a function for CUDA calls it for the CPU, too.

    The functions run in the mode that takes the device "cuda" for the host, because PyTorch leaves it when it calls an
    operator. Operators that were registered before the emulation began are found, too.
    """

    def __init__(self, mode: Any) -> None:
        import torch

        self._class, self._mode = torch.library.Library, mode
        self._original = self._class.impl
        self._libraries: dict[str, Any] = {}
        self._taken: set[tuple[str, str]] = set()

    def install(self) -> None:
        """Replace the method."""
        import torch

        @wraps(self._original)
        def impl(library: Any, name: Any, function: Any, dispatch_key: str = "", **named: Any) -> None:
            key = dispatch_key or library.dispatch_key or "CompositeImplicitAutograd"
            operator = library._resolve_op_name(name, "impl").split("::")[-1]
            if key in _RUN_CODE and not hasattr(function, "_schema"):
                function = _in_mode(function)
            if key == "CPU" and (library.ns, operator) in self._taken:
                return  # the function for CUDA is the one that a GPU runs
            self._original(library, name, function, dispatch_key, **named)
            if key == "CUDA":
                self._take(library.ns, operator)

        for name in list(torch.library._impls):
            namespace, operator, key = name.split("/")
            if key == "CUDA":
                self._take(namespace, operator)
        self._class.impl = impl
        _MODES.append(self._mode)

    def uninstall(self) -> None:
        """Restore the method, and remove the functions for the CPU."""
        _MODES.remove(self._mode)
        self._class.impl = self._original
        for library in self._libraries.values():
            library._destroy()

    def _take(self, namespace: str, operator: str) -> None:
        """Let an operator call its function for CUDA with tensors on the CPU."""
        import torch

        packet, _, overload = operator.partition(".")
        found = getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)

        def run(*arguments: Any, **named: Any) -> Any:
            return found.redispatch(keys, *arguments, **named)

        if namespace not in self._libraries:
            self._libraries[namespace] = self._class(namespace, "IMPL", "CPU")
        self._taken.add((namespace, operator))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where the program has a function for the CPU, too
            self._original(self._libraries[namespace], operator, run, "CPU")


def _in_mode(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        with _MODES[-1] if _MODES else nullcontext():
            return function(*arguments, **named)

    return run

# SPDX-License-Identifier: MIT
"""Operators that a program registers with ``torch.library`` for CUDA, called with tensors on the host."""

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any
from weakref import WeakSet

_RUN_CODE = frozenset({"CUDA", "CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd"})
"""The keys of functions that compute; those of other keys trace, or call another function."""

_TWIN = "_wmma_emu_twin"

_MODES: list[Any] = []
"""The mode of the emulation that is on."""


class HostOperators:
    """Replaces methods of ``Library``, so that an operator with a function for CUDA calls it for the CPU, too.

    The functions run in the mode that takes the device "cuda" for the host, because PyTorch leaves it when it calls an
    operator. Operators that were registered before the emulation began are found, too. The functions for the CPU are in
    a separate library, a twin, which is destroyed with the library for CUDA.
    """

    def __init__(self, mode: Any) -> None:
        import torch

        self._class, self._mode = torch.library.Library, mode
        self._impl, self._destroy = self._class.impl, self._class._destroy
        self._twins: WeakSet[Any] = WeakSet()
        self._earlier: dict[str, Any] = {}

    def install(self) -> None:
        """Replace the methods."""
        import torch

        @wraps(self._impl)
        def impl(library: Any, name: Any, function: Any, dispatch_key: str = "", **named: Any) -> None:
            key = dispatch_key or library.dispatch_key or "CompositeImplicitAutograd"
            operator = library._resolve_op_name(name, "impl").split("::")[-1]
            if key in _RUN_CODE and not hasattr(function, "_schema"):
                function = _in_mode(function)
            if key == "CPU" and self._is_taken(library.ns, operator):
                return  # the function for CUDA is the one that a GPU runs
            self._impl(library, name, function, dispatch_key, **named)
            if key == "CUDA":
                self._take(self._twin_of(library), operator)

        def destroy(library: Any) -> None:
            if _TWIN in vars(library):
                self._destroy(vars(library).pop(_TWIN))
            self._destroy(library)

        for name in list(torch.library._impls):
            namespace, operator, key = name.split("/")
            if key == "CUDA":
                self._take(self._twin_of(namespace), operator)
        self._class.impl, self._class._destroy = impl, destroy
        _MODES.append(self._mode)

    def uninstall(self) -> None:
        """Restore the methods, and remove the functions for the CPU."""
        _MODES.remove(self._mode)
        self._class.impl, self._class._destroy = self._impl, self._destroy
        for twin in list(self._twins):
            twin._destroy()

    def _is_taken(self, namespace: str, operator: str) -> bool:
        return any(f"{namespace}/{operator}/CPU" in x._op_impls for x in self._twins if x.m is not None)

    def _twin_of(self, library: Any) -> Any:
        """Return the library for the CPU of a library, or of a namespace with operators that are registered already."""
        twins, key = (self._earlier, library) if isinstance(library, str) else (vars(library), _TWIN)
        if key not in twins or twins[key].m is None:  # that of an earlier emulation
            twins[key] = self._class(getattr(library, "ns", library), "IMPL", "CPU")
            self._twins.add(twins[key])
        return twins[key]

    def _take(self, twin: Any, operator: str) -> None:
        """Let an operator call its function for CUDA with tensors on the CPU."""
        import torch

        packet, _, overload = operator.partition(".")
        found = getattr(getattr(getattr(torch.ops, twin.ns), packet), overload or "default")
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)

        def run(*arguments: Any, **named: Any) -> Any:
            return found.redispatch(keys, *arguments, **named)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where the program has a function for the CPU, too
            self._impl(twin, operator, run, "CPU")


def _in_mode(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        with _MODES[-1] if _MODES else nullcontext():
            return function(*arguments, **named)

    return run

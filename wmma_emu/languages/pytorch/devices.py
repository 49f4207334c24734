# SPDX-License-Identifier: MIT
"""The device "cuda" as the memory of the host, in calls of PyTorch's functions."""

from collections.abc import Callable
from typing import Any


def on_the_host(device: Any) -> Any:
    """Return the CPU for a CUDA device, in any of PyTorch's spellings; other values are returned as they are.

    Raises
    ------
    RuntimeError
        If the device is another than the first one, as on a machine with one GPU.

    Examples
    --------
    >>> on_the_host("cuda:0"), on_the_host("meta"), on_the_host(None)
    ('cpu', 'meta', None)
    """
    if isinstance(device, str):
        kind, _, index = device.partition(":")
        if kind != "cuda":
            return device
        require_first(int(index) if index.isdecimal() else 0)
        return "cpu"
    if getattr(device, "type", None) != "cuda" or not hasattr(device, "index"):
        return device
    require_first(device.index or 0)
    return "cpu"


def require_first(index: int) -> None:
    """Raise an error for another device than "cuda:0"."""
    if index != 0:
        raise RuntimeError(f"invalid device ordinal {index}: the emulated machine has one device, cuda:0")


_UNCHANGED = frozenset({"cuda", "pin_memory"})
"""Methods of tensors that return the tensor: its memory is the memory that an emulated launch uses."""

_ANSWERS: dict[str, Callable[..., Any]] = {"get_device": lambda tensor: 0, "record_stream": lambda tensor, stream: None}
"""Methods of tensors that ask for the device or its streams."""

CALLED_BY = "wmma_emu_called_by"
"""An attribute of a mode of fake tensors, which have no memory: the function that calls PyTorch's functions in it, with
the devices that they are given."""


def host_mode() -> Any:
    """Return a mode of PyTorch in which ``device="cuda"``, ``x.cuda()`` and ``x.to("cuda")`` mean the host's memory."""
    import torch
    from torch.compiler import is_dynamo_compiling as is_tracing
    from torch.overrides import TorchFunctionMode

    fake = torch._C._TorchDispatchModeKey.FAKE

    def is_fake() -> bool:
        """Return whether tensors are made without memory, by PyTorch's own mode for that."""
        if torch._C._get_dispatch_mode(fake) is None:
            return False
        return not torch._C._dispatch_tls_is_dispatch_key_excluded(torch._C.DispatchKey.Python)

    class HostMode(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if is_tracing():  # first, because TorchDynamo traces this function
                return function(*args, **(kwargs or {}))
            if is_fake():
                call = getattr(torch._C._get_dispatch_mode(fake), CALLED_BY, _call)
                return call(function, *args, **(kwargs or {}))
            name, named = getattr(function, "__name__", ""), dict(kwargs or {})
            if name in _UNCHANGED and args:
                on_the_host(f"cuda:{args[1]}" if len(args) > 1 and type(args[1]) is int else [*args, None][1])
                return args[0]
            if name in _ANSWERS and args:
                return _ANSWERS[name](*args, **named)
            if "device" in named:
                device = named["device"]
                is_number = isinstance(device, int) and not isinstance(device, bool)
                named["device"] = on_the_host(f"cuda:{device}" if is_number else device)
            named.pop("pin_memory", None)
            first = 1 if name == "to" else 0
            return function(*args[:first], *(_moved(x, name) for x in args[first:]), **named)

    return HostMode()


def _call(function: Any, *arguments: Any, **named: Any) -> Any:
    return function(*arguments, **named)


def _moved(value: Any, function: str) -> Any:
    """Replace a device among positional arguments; a string is one only where a device may be."""
    return value if isinstance(value, str) and function != "to" else on_the_host(value)


def host_generator() -> Any:
    """Return a class that replaces ``torch.Generator``: a generator of the device "cuda" is one of the CPU."""
    import torch

    generator = torch.Generator

    class HostGenerator(generator):  # type: ignore[misc, valid-type]
        def __new__(cls, device: Any = "cpu") -> Any:
            return generator.__new__(cls, on_the_host(device))

    return HostGenerator

# SPDX-License-Identifier: MIT
"""The device of Helion's kernels: the emulated chip, although the tensors are in the memory of the host.

Helion chooses configurations and code by the device of the arguments. It traces a kernel with fake tensors, which have
a device but no memory: here, they are on the emulated chip.
"""

import functools
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from types import ModuleType
from typing import Any

from wmma_emu.languages.pytorch.devices import CALLED_BY
from wmma_emu.languages.replacing import replaced


def install_device() -> Callable[[], None]:
    """Replace what Helion asks for the device of tensors, and return the function that undoes it."""
    import helion
    import torch
    from helion import _compat, _hardware
    from helion._compiler.backend import Backend
    from helion._compiler.compile_environment import CompileEnvironment

    kernel = import_module("helion.runtime.kernel")  # helion.runtime has a function of this name

    def chip(device: Any) -> Any:
        return torch.device("cuda", 0) if device is not None and device.type == "cpu" else device

    def of_arguments(values: Any) -> Any:
        return chip(find(values))

    def multiprocessors(device: Any, **named: Any) -> int:
        return int(count(chip(device), **named))

    def on_the_chip(backend: Any, tensor: Any) -> Any:
        made = normalised(backend, tensor)
        made.fake_device = chip(made.fake_device)
        return made

    def enter(environment: Any) -> Any:
        setattr(environment.fake_mode, CALLED_BY, _call)
        return begin(environment)

    find, count = kernel._find_device, helion.runtime.get_num_sm
    normalised, begin = Backend.normalize_input_fake_tensor, CompileEnvironment.__enter__
    stack = ExitStack()
    for module in (_compat, _hardware):
        forget(module)
        stack.callback(forget, module)
    stack.enter_context(replaced(kernel, {"_find_device": of_arguments}))
    stack.enter_context(replaced(helion.runtime, {"get_num_sm": multiprocessors}))
    stack.enter_context(replaced(Backend, {"normalize_input_fake_tensor": on_the_chip}))
    stack.enter_context(replaced(CompileEnvironment, {"__enter__": enter}))
    return stack.close


def _call(function: Any, *arguments: Any, **named: Any) -> Any:
    """Call a function of PyTorch; one that was built for the CPU cannot index a fake tensor of another device."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    tensor = arguments[0] if function in (torch.Tensor.__getitem__, torch.Tensor.__setitem__) else None
    if not isinstance(tensor, FakeTensor):
        return function(*arguments, **named)
    device, tensor.fake_device = tensor.fake_device, torch.device("cpu")
    try:
        made = function(*arguments, **named)
    finally:
        tensor.fake_device = device
    if isinstance(made, FakeTensor):
        made.fake_device = device
    return made


def forget(module: ModuleType) -> None:
    """Clear the caches of a module's functions, which hold facts about a device."""
    for function in vars(module).values():
        if isinstance(function, functools._lru_cache_wrapper):
            function.cache_clear()

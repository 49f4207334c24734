# SPDX-License-Identifier: MIT
"""Install the answers about CUDA in PyTorch, and remove them."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from wmma_emu.languages.pytorch.answers import CUDA_VERSION, answers, ranges
from wmma_emu.languages.pytorch.devices import host_generator, host_mode, on_the_host
from wmma_emu.languages.pytorch.operators import HostOperators
from wmma_emu.languages.replacing import replaced
from wmma_emu.languages.session import Session

_ENGINE = "_engine_run_backward"
"""The function of ``torch.autograd`` that runs a backward pass."""

_RAW_STREAM = "_cuda_getCurrentRawStream"
"""The function of ``torch._C`` by which compiled host code gets the number of the current stream."""


def install(session: Session) -> Callable[[], None]:
    """Make PyTorch answer for the emulated chip, with tensors on the CPU; return the function that undoes it.

    ``torch.cuda`` answers for the chip, the device "cuda" is the memory of the host, and ``is_cuda`` of every tensor on
    the CPU is True. ``x.device`` stays the CPU. The device is replaced in the thread that begins the emulation only,
    because PyTorch's modes belong to threads.
    """
    import torch

    def default_device(device: Any) -> None:
        set_default(on_the_host(device))

    def load(*arguments: Any, map_location: Any = None, **named: Any) -> Any:
        return load_file(*arguments, map_location=on_the_host(map_location), **named)

    set_default, load_file = torch.set_default_device, torch.load
    is_cuda = property(lambda tensor: tensor.device.type in ("cpu", "cuda"))
    stack = ExitStack()
    stack.enter_context(replaced(torch.cuda, answers(session.arch)))
    stack.enter_context(replaced(torch.cuda.nvtx, ranges()))
    stack.enter_context(replaced(torch._C, {_RAW_STREAM: lambda device: 0}))
    stack.enter_context(replaced(torch.Tensor, {"is_cuda": is_cuda, "record_stream": lambda tensor, stream: None}))
    functions = {"set_default_device": default_device, "load": load, "Generator": host_generator()}
    stack.enter_context(replaced(torch, functions))
    if torch.version.cuda is None:
        stack.enter_context(replaced(torch.version, {"cuda": CUDA_VERSION}))
    mode = host_mode()
    # A function that a mode intercepts runs without it, and ``x.backward()`` is one: the engine runs with the mode.
    stack.enter_context(replaced(torch.autograd, {_ENGINE: _within(mode, getattr(torch.autograd, _ENGINE))}))
    operators = HostOperators(mode)
    operators.install()
    stack.callback(operators.uninstall)
    stack.enter_context(mode)
    return stack.close


def _within(mode: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*arguments: Any, **named: Any) -> Any:
        with mode:
            return function(*arguments, **named)

    return run

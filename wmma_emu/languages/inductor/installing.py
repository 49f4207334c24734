# SPDX-License-Identifier: MIT
"""Install the emulated chip in TorchDynamo and Inductor, and remove it."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from wmma_emu.languages.importing import after_import
from wmma_emu.languages.inductor.chip import chip_for_dynamo, forget_chip
from wmma_emu.languages.inductor.choices import first_choices
from wmma_emu.languages.inductor.remarks import noting_aten, noting_breaks
from wmma_emu.languages.inductor.tracing import tensors_on_cuda
from wmma_emu.languages.pytorch.devices import host_mode
from wmma_emu.languages.replacing import replaced
from wmma_emu.languages.session import Session

_CONFIGURATION, _COMPILER = "torch._inductor.config", "torch._inductor.compile_fx"


def install(session: Session) -> Callable[[], None]:
    """Make TorchDynamo trace for the emulated chip, and Inductor generate for it; return the function that undoes it.

    What was compiled before does not run on the emulator, and what is compiled now cannot run without it: both are
    forgotten.
    """
    import torch

    stack = ExitStack()
    torch._dynamo.reset_code_caches()
    stack.callback(torch._dynamo.reset_code_caches)
    stack.enter_context(chip_for_dynamo())
    stack.enter_context(tensors_on_cuda())
    stack.enter_context(noting_breaks(session))
    stack.enter_context(after_import({
        _CONFIGURATION: lambda: _configure(stack), _COMPILER: lambda: _replace_compiler(session, stack),
    }))  # fmt: skip
    return stack.close


def _configure(stack: ExitStack) -> None:
    from torch._inductor import config

    stack.enter_context(config.patch({
        "compile_threads": 1,  # a worker process would not have the emulated chip
        "use_static_triton_launcher": False,  # it calls NVIDIA's driver
        "benchmark_epilogue_fusion": False,  # fusion as without times
    }))  # fmt: skip


def _replace_compiler(session: Session, stack: ExitStack) -> None:
    """Replace the compiler by one that first, when nothing of Inductor is half imported, installs the chip in it."""
    from torch._inductor import compile_fx

    compiler, installed = compile_fx.compile_fx, False

    def compile_for_chip(*arguments: Any, **named: Any) -> Any:
        nonlocal installed
        if not installed:
            installed = True
            _install_compiler(session, stack)
        with host_mode():  # tensors with elements that it makes on "cuda" are in the memory of the host
            return compiler(*arguments, **named)

    stack.enter_context(replaced(compile_fx, {"compile_fx": compile_for_chip}))


def _install_compiler(session: Session, stack: ExitStack) -> None:
    from torch._inductor import output_code
    from torch._inductor.runtime import triton_helpers

    graph = output_code.CompiledFxGraph
    stack.enter_context(first_choices(session))
    stack.enter_context(replaced(triton_helpers, {"set_driver_to_gpu": lambda: None}))
    stack.enter_context(replaced(graph, {"__call__": noting_aten(graph.__call__, session)}))
    forget_chip()
    stack.callback(forget_chip)

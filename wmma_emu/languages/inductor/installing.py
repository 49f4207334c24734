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

_COMPILER = "torch._inductor.compile_fx"
"""The module of Inductor whose import shows that something will be compiled."""


def install(session: Session) -> Callable[[], None]:
    """Make TorchDynamo trace for the emulated chip, and Inductor as soon as it is imported; return what undoes it.

    What was compiled before does not run on the emulator, and what is compiled now cannot run without it: both are
    forgotten.
    """
    import torch

    stack = ExitStack()
    torch._dynamo.reset()
    stack.callback(torch._dynamo.reset)
    stack.enter_context(chip_for_dynamo())
    stack.enter_context(tensors_on_cuda())
    stack.enter_context(noting_breaks(session))
    stack.enter_context(after_import({_COMPILER: lambda: _install_compiler(session, stack)}))
    return stack.close


def _install_compiler(session: Session, stack: ExitStack) -> None:
    from torch._inductor import compile_fx, config, output_code
    from torch._inductor.runtime import triton_helpers

    graph = output_code.CompiledFxGraph
    stack.enter_context(config.patch({
        "compile_threads": 1,  # a worker process would not have the emulated chip
        "use_static_triton_launcher": False,  # it calls NVIDIA's driver
        "benchmark_epilogue_fusion": False,  # fusion as without times
    }))  # fmt: skip
    stack.enter_context(first_choices(session))
    stack.enter_context(replaced(triton_helpers, {"set_driver_to_gpu": lambda: None}))
    stack.enter_context(replaced(graph, {"__call__": noting_aten(graph.__call__, session)}))
    stack.enter_context(replaced(compile_fx, {"compile_fx": _with_host(compile_fx.compile_fx)}))
    forget_chip()
    stack.callback(forget_chip)


def _with_host(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the compiler, so that tensors with elements that it makes on "cuda" are in the memory of the host."""

    def run(*arguments: Any, **named: Any) -> Any:
        with host_mode():
            return compiler(*arguments, **named)

    return run

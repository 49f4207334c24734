# SPDX-License-Identifier: MIT
"""Install the driver of the emulated chip in Triton, and remove it."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from wmma_emu.languages.session import Session
from wmma_emu.languages.triton.autotuning import FirstConfiguration
from wmma_emu.languages.triton.driver import emulated_driver
from wmma_emu.languages.triton.stages import stop_at_ptx
from wmma_emu.ptx.launch.triton_arguments import tensors


def install(session: Session) -> Callable[[], None]:
    """Make the emulated chip Triton's active device, and return the function that undoes it.

    The driver and the hook for the compiler's stages are parts of Triton's interface. Three methods are replaced:
    ``Autotuner.prune_configs``, because nothing can be timed, ``JITFunction.run``, which wraps NumPy arrays, and
    ``CompiledKernel._init_handles``, because nothing is unloaded.
    """
    from triton import knobs
    from triton.compiler import CompiledKernel
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.driver import driver
    from triton.runtime.jit import JITFunction

    runtime = knobs.runtime
    driver_before, hook_before, run_before = driver._active, runtime.add_stages_inspection_hook, JITFunction.run
    tuning = FirstConfiguration(session, Autotuner)
    if runtime.interpret:
        session.note("TRITON_INTERPRET is set: Triton's interpreter runs the kernels, not the emulator")

    driver.set_active(emulated_driver(session))
    runtime.add_stages_inspection_hook = stop_at_ptx(hook_before)
    JITFunction.run = _takes_arrays(run_before, session.options.get("addresses", "emulator"))
    tuning.install()
    load_before = CompiledKernel._init_handles
    CompiledKernel._init_handles = _never_unloaded(load_before)

    def uninstall() -> None:
        tuning.uninstall()
        JITFunction.run, CompiledKernel._init_handles = run_before, load_before
        runtime.add_stages_inspection_hook = hook_before
        driver.set_active(driver_before)  # reset_active() would look for a GPU

    return uninstall


def _takes_arrays(run: Any, addresses: str) -> Any:
    """Wrap the NumPy arrays among the arguments, which Triton refuses, as tensors."""

    @wraps(run)
    def run_with_tensors(self: Any, *arguments: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        given = [tensors(x, addresses) for x in arguments]
        return run(self, *given, **{name: tensors(x, addresses) for name, x in named.items()})

    return run_with_tensors


def _never_unloaded(load: Any) -> Any:
    """Wrap the loading of a kernel, which may live longer than the driver that would unload it."""

    def loaded(self: Any) -> None:
        load(self)
        self._module_pid = None  # as in a process that did not load it

    return loaded

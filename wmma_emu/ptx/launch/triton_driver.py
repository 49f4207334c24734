# SPDX-License-Identifier: MIT
"""What Triton takes for the driver of the chip that runs a kernel while it compiles for it: there is no GPU."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wmma_emu.instructions import Arch

_LOCK = threading.RLock()
"""Triton has one active driver in a process."""


@contextmanager
def emulated_target(arch: Arch) -> Iterator[Any]:
    """Let a chip be the one that Triton's code asks for; give the target for its compiler.

    Functions of ``triton.language.target_info`` ask the active driver while a kernel compiles, so that a kernel may
    have other code without one.
    """
    from triton.backends.compiler import GPUTarget
    from triton.runtime.driver import driver

    target = GPUTarget("cuda", arch.number, 32)
    with _LOCK:
        before = driver._active
        driver.set_active(_driver(target, device_of(arch)))
        try:
            yield target
        finally:
            driver.set_active(before)  # reset_active() would look for a GPU


def device_of(arch: Arch) -> str:
    """Name of the device whose compiled kernels Triton keeps for a chip: none of a GPU that is there."""
    return f"wmma_emu sm_{arch.number}"


def _driver(target: Any, device: str) -> Any:
    from triton.backends.driver import DriverBase

    class EmulatedDriver(DriverBase):  # type: ignore[misc]
        def get_current_target(self) -> Any:
            return target

        def get_current_device(self) -> str:
            return device

        def get_current_stream(self, device: Any = None) -> int:
            return 0

        @classmethod
        def is_active(cls) -> bool:
            return True

        def map_python_to_cpp_type(self, ty: str) -> str:
            raise NotImplementedError("an emulated chip has no launcher in C++")

        def get_active_torch_device(self) -> Any:
            raise NotImplementedError("an emulated chip is no device of torch")

        def get_benchmarker(self) -> Any:
            raise NotImplementedError("an emulated chip has no times")

    return EmulatedDriver()

# SPDX-License-Identifier: MIT
"""A driver that represents the emulated chip while Triton compiles, instead of a GPU's driver."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wmma_emu.instructions import Arch

_LOCK = threading.RLock()
"""Serialises access to Triton's active driver, of which a process has one."""


@contextmanager
def emulated_target(arch: Arch) -> Iterator[Any]:
    """Make a chip Triton's active target, and yield the target for its compiler.

    Functions of ``triton.language.target_info`` query the active driver during compilation, so that the code of a
    kernel can depend on it.
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
    """Return the device name under which Triton caches kernels for a chip; no real GPU has this name."""
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
            raise NotImplementedError("an emulated chip is not a torch device")

        def get_benchmarker(self) -> Any:
            raise NotImplementedError("an emulated chip cannot be timed")

    return EmulatedDriver()

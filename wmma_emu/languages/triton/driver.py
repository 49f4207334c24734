# SPDX-License-Identifier: MIT
"""The driver of the emulated chip, which ``triton.runtime.driver.set_active`` takes instead of that of a GPU."""

from collections.abc import Callable
from functools import partial
from typing import Any

from wmma_emu.languages.session import Session
from wmma_emu.languages.triton.device import Device, Utils
from wmma_emu.languages.triton.launcher import Launcher


def emulated_driver(session: Session) -> Any:
    """Return a driver of Triton whose launches run on the emulated chip.

    Tensors stay in the memory of the host: ``get_active_torch_device`` is the CPU.
    """
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import GPUDriver

    arch = session.arch

    class EmulatedDriver(GPUDriver):  # type: ignore[misc]
        # GPUDriver.__init__ takes functions of torch.cuda, and torch need not be installed.
        def __init__(self) -> None:
            self.utils, self.launcher_cls = Utils(arch), partial(Launcher, session)
            device = Device()
            self.get_current_device = lambda: device
            self.set_current_device = lambda device: None
            self.get_current_stream = lambda device=0: 0
            self.get_device_capability = self.utils.get_device_capability

        def get_current_target(self) -> Any:
            return GPUTarget("cuda", arch.number, 32)

        @classmethod
        def is_active(cls) -> bool:
            return True

        def map_python_to_cpp_type(self, ty: str) -> str:
            from triton.backends.nvidia.driver import ty_to_cpp

            return str(ty_to_cpp(ty))

        def get_active_torch_device(self) -> Any:
            import torch

            return torch.device("cpu")

        def get_device_interface(self) -> Any:
            import torch

            return torch.cuda

        def get_benchmarker(self) -> Callable[..., Any]:
            return _untimed

        def get_empty_cache_for_benchmark(self) -> None:
            return None

        def clear_cache(self, cache: object) -> None:
            pass

    return EmulatedDriver()


def _untimed(function: Callable[[], object], quantiles: Any = None, **_: Any) -> Any:
    """Call a function once; all functions take the same time, 1 ms, because an emulator cannot time a chip."""
    function()
    return 1.0 if quantiles is None else [1.0 for _ in quantiles]

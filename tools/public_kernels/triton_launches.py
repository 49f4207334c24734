# SPDX-License-Identifier: MIT
"""Launches of public Triton kernels as their own host code makes them: the PTX that Triton specialises, and arguments.

Host code is called with tensors of PyTorch for CPU, while the emulation of a GPU is on. Its launches before the
requested launch run on the emulator, so that a kernel can read the results of earlier kernels.
"""

import os
from collections.abc import Callable
from unittest import mock

import wmma_emu as we
from tools.language_programs.bundles import memory_of_launch
from tools.public_kernels.case import DrawnLaunch
from wmma_emu.ptx.launch.options import Launching

__all__ = ["Captured", "captured"]


class Captured(BaseException):
    """The requested launch; it ends the host code, even if the host code catches exceptions."""

    def __init__(self, text: str, launch: DrawnLaunch) -> None:
        super().__init__()
        self.text, self.launch = text, launch


def captured(host: Callable[[], object], kernel: str) -> Captured:
    """Call host code until it launches ``kernel``.

    Raises
    ------
    RuntimeError
        If it never does.
    """
    import torch

    seen: list[str] = []

    def observe(launching: Launching) -> None:
        launch = launching.launch
        seen.append(launch.kernel.name)
        if launch.kernel.name == kernel:
            memory = memory_of_launch(launching.arguments)
            size = (*launch.grid,), (launch.block.x,)
            raise Captured(
                launch.kernel.module.text, DrawnLaunch(*size, memory.arguments, {**memory.arrays}, launch.shared_bytes)
            )

    fusion = os.environ.get("TRITON_DEFAULT_FP_FUSION", "1")  # today's default, said aloud
    settings = mock.patch.dict(os.environ, TRITON_DEFAULT_FP_FUSION=fusion, TRITON_DISABLE_LINE_INFO="1")
    with settings, we.emulate("h100", findings="report", max_seconds=None, observe=observe):
        torch.use_deterministic_algorithms(True, warn_only=True)  # otherwise uninitialised memory has arbitrary bits
        try:
            host()
        except Captured as found:
            return found
        finally:
            torch.use_deterministic_algorithms(False)
    raise RuntimeError(f"the host code launches {', '.join(seen) or 'nothing'}, and never {kernel}")

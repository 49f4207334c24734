# SPDX-License-Identifier: MIT
"""Warp-level kernels written in Python and launched over a grid."""

from wmma_emu.instructions.launches import Dim3
from wmma_emu.kernels.lanes import Lanes
from wmma_emu.kernels.launch import PythonKernel, kernel
from wmma_emu.kernels.mbarriers import Mbarrier, Mbarriers
from wmma_emu.kernels.memory_of_kernels import Memory
from wmma_emu.kernels.warp_context import WarpContext
from wmma_emu.renamed import renamed_names

__all__ = ["Dim3", "Lanes", "Mbarrier", "Mbarriers", "Memory", "PythonKernel", "WarpContext", "kernel"]


def __dir__() -> list[str]:
    return sorted(__all__)


__getattr__ = renamed_names(__name__, {"Kernel": "PythonKernel"})

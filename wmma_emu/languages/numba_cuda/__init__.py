# SPDX-License-Identifier: MIT
"""The plug-in for numba-cuda: its kernels on the emulator, its device API answered for the emulated chip."""

from wmma_emu.languages.numba_cuda.plugin import install

__all__ = ["install"]

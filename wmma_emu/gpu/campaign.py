# SPDX-License-Identifier: MIT
"""Campaigns on the GPU at hand: see `wmma_emu.applications.campaign`."""

from wmma_emu.applications.campaign import Backend, EmulatedBackend, Report
from wmma_emu.gpu.crosscheck import GpuBackend, crosscheck

__all__ = ["Backend", "EmulatedBackend", "GpuBackend", "Report", "crosscheck"]

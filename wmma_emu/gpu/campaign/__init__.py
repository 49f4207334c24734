# SPDX-License-Identifier: MIT
"""Campaigns: the same inputs through a GPU and through the emulator, billions of times, and what came of it."""

from wmma_emu.gpu.campaign.backends import Backend, EmulatedBackend, GpuBackend
from wmma_emu.gpu.campaign.crosscheck import crosscheck
from wmma_emu.gpu.campaign.report import Report

__all__ = ["Backend", "EmulatedBackend", "GpuBackend", "Report", "crosscheck"]

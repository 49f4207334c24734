# SPDX-License-Identifier: MIT
"""Campaigns on the GPU at hand: see `wmma_emu.applications.campaign`."""

from wmma_emu.applications.campaign import Backend, CampaignReport, EmulatedBackend
from wmma_emu.gpu.crosscheck import GpuBackend, crosscheck
from wmma_emu.renamed import renamed_names

__all__ = ["Backend", "CampaignReport", "EmulatedBackend", "GpuBackend", "crosscheck"]

__getattr__ = renamed_names(__name__, {"Report": "CampaignReport"})

# SPDX-License-Identifier: MIT
"""Campaigns: the same inputs through a GPU and through the emulator, billions of times, and what came of it."""

from wmma_emu.applications.campaign.backends import Backend, EmulatedBackend
from wmma_emu.applications.campaign.report import CampaignReport
from wmma_emu.renamed import renamed_names

__all__ = ["Backend", "CampaignReport", "EmulatedBackend"]

__getattr__ = renamed_names(__name__, {"Report": "CampaignReport"})

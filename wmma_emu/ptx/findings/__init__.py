# SPDX-License-Identifier: MIT
"""What is wrong with a kernel: the kinds of findings, and what a launch notes of them."""

from wmma_emu.ptx.findings.kinds import CHECKS, KINDS, SEVERITIES, Kind
from wmma_emu.ptx.findings.sightings import UNKNOWN, Place, Sighting, Sightings, merged, place_of

__all__ = [
    "CHECKS", "KINDS", "SEVERITIES", "UNKNOWN", "Kind", "Place", "Sighting", "Sightings", "merged", "place_of",
]

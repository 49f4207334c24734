# SPDX-License-Identifier: MIT
"""What is wrong with a kernel: the kinds of findings, and what a launch notes of them."""

from wmma_emu.ptx.findings.kinds import CHECKS, KINDS, SEVERITIES, Kind
from wmma_emu.ptx.findings.messages import (
    UNKNOWN,
    Detail,
    InRegister,
    Location,
    Message,
    Name,
    Place,
    Value,
    place_of,
    plain_text,
)
from wmma_emu.ptx.findings.sightings import Said, Sighting, Sightings, merged

__all__ = [
    "CHECKS", "KINDS", "SEVERITIES", "UNKNOWN", "Detail", "InRegister", "Kind", "Location", "Message", "Name", "Place",
    "Said",
    "Sighting", "Sightings", "Value", "merged", "place_of", "plain_text",
]  # fmt: skip

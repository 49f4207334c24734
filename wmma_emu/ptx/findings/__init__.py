# SPDX-License-Identifier: MIT
"""What is wrong with a kernel: the kinds of findings, and what a launch notes of them."""

from wmma_emu.ptx.findings.kinds import CHECKS, KINDS, SANITIZER, SEVERITIES, TITLES, WORSE, Kind
from wmma_emu.ptx.findings.messages import (
    UNKNOWN,
    Detail,
    Extent,
    InRegister,
    Location,
    Message,
    Name,
    Place,
    Value,
    Word,
    place_of,
    plain_text,
)
from wmma_emu.ptx.findings.pages import address_of, kind_of_slug, page_of, path_of, slug_of
from wmma_emu.ptx.findings.sightings import Said, Sighting, Sightings, merged

__all__ = [
    "CHECKS",
    "KINDS",
    "SANITIZER",
    "SEVERITIES",
    "TITLES",
    "UNKNOWN",
    "WORSE",
    "Detail",
    "Extent",
    "InRegister",
    "Kind",
    "Location",
    "Message",
    "Name",
    "Place",
    "Said",
    "Sighting",
    "Sightings",
    "Value",
    "Word",
    "address_of",
    "kind_of_slug",
    "merged",
    "page_of",
    "path_of",
    "place_of",
    "plain_text",
    "slug_of",
]  # fmt: skip

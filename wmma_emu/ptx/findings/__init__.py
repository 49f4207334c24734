# SPDX-License-Identifier: MIT
"""The kinds of findings, and the sightings that a launch records."""

from wmma_emu.ptx.findings.kinds import CHECKS, KINDS, SANITIZER, SEVERITIES, TITLES, WORSE, Kind
from wmma_emu.ptx.findings.messages import (
    UNKNOWN,
    Detail,
    Extent,
    InRegister,
    InSource,
    MemoryLocation,
    Message,
    Name,
    Place,
    Table,
    Value,
    Word,
    place_of,
    plain_text,
)
from wmma_emu.ptx.findings.pages import address_of, kind_of_slug, page_of, path_of, slug_of
from wmma_emu.ptx.findings.sightings import Diagnosis, Sighting, Sightings, merged
from wmma_emu.renamed import renamed_names

__all__ = [
    "CHECKS",
    "KINDS",
    "SANITIZER",
    "SEVERITIES",
    "TITLES",
    "UNKNOWN",
    "WORSE",
    "Detail",
    "Diagnosis",
    "Extent",
    "InRegister",
    "InSource",
    "Kind",
    "MemoryLocation",
    "Message",
    "Name",
    "Place",
    "Sighting",
    "Sightings",
    "Table",
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

__getattr__ = renamed_names(__name__, {
    "Finding": "wmma_emu.ptx.Finding", "Location": "MemoryLocation", "Said": "Diagnosis",
})  # fmt: skip

# SPDX-License-Identifier: MIT
"""The groups of instructions that share a page of the reference: names of pages, and the anchor of each instruction."""

from dataclasses import dataclass
from functools import cache

from wmma_emu.instructions import INSTRUCTIONS, Instruction
from wmma_emu.instructions.reference_pages import FOLDER, anchor_of, document_of, page_key, slug

__all__ = ["FOLDER", "SCOPE", "Group", "anchor_of", "family_document", "group_of", "groups", "known_families"]

SCOPE = (
    "These are the instructions of `wmma.mma`, `mma.sync`, `mma.sp` and `wgmma`. The instructions of `tcgen05.mma`, "
    "whose shape "
    "and types are in a descriptor, have no page: `wmma_emu.tcgen05` makes and executes them "
    "([limits](#limits-of-this-library))."
)
"""A note in Markdown on the instructions that are not in the tables, for every page about all instructions."""


@dataclass(frozen=True)
class Group:
    """A page of the reference.

    Parameters
    ----------
    family : str
        The PTX family of all its instructions.
    shape : str
        Their shape, ``"m16n8k16"``; for `wgmma` ``"m64nNk16"``, which covers every n.
    types : str
        The format of A, the kind of formats, or the named ``.kind``; for `wgmma` the formats of D, A and B.
    entries : tuple of Instruction
        In the order of the table.
    """

    family: str
    shape: str
    types: str
    entries: tuple[Instruction, ...]

    @property
    def document(self) -> str:
        """The name of the page within the site, without an ending."""
        return document_of(self.entries[0])

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"{self.family} {self.shape}, {self.types}"


def family_document(family: str) -> str:
    """Return the name of the page that lists the groups of a family.

    Examples
    --------
    >>> family_document("mma.sp::ordered_metadata")
    'reference/instructions/mma-sp-ordered-metadata'
    """
    return f"{FOLDER}/{slug(family)}"


@cache
def groups() -> tuple[Group, ...]:
    """Return every page, in the order of the table."""
    found: dict[tuple[str, str, str], list[Instruction]] = {}
    for row in INSTRUCTIONS.values():
        found.setdefault(page_key(row), []).append(row)
    return tuple(Group(*key, tuple(entries)) for key, entries in found.items())


def group_of(entry: Instruction) -> Group:
    """Return the page of an instruction.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> group_of(lookup("m16n8k32.f32.e4m3.e4m3.f32")).document
    'reference/instructions/mma-sync-m16n8k32-fp8'
    """
    key = page_key(entry)
    return next(x for x in groups() if (x.family, x.shape, x.types) == key)


def known_families() -> tuple[str, ...]:
    """Return the families, in the order of the table."""
    return tuple(dict.fromkeys(x.family for x in groups()))

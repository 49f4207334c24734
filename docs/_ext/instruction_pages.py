# SPDX-License-Identifier: MIT
"""The reference of the instructions: an index of all of them, a page for each family, a page for each group."""

from docs._ext.instruction_groups import FOLDER, SCOPE, Group, anchor_of, family_document, groups, known_families
from docs._ext.instruction_sections import explorer_link, section
from docs._ext.layout_gallery import chips_in_words, gallery, heading, shown_html
from docs._ext.markup import code, link, table
from wmma_emu.instructions import INSTRUCTIONS, Instruction

__all__ = ["instruction_pages"]

_FAMILIES = {
    "mma.sync": "A warp multiplies; every lane holds its elements in registers, in a layout that the manual documents.",
    "wmma.mma": "The fragments of `mma.h`. NVIDIA does not document their layouts; these pages do, for each chip.",
    "mma.sp": "`mma.sync` with a sparse A: half of its elements, and metadata with their positions.",
    "mma.sp::ordered_metadata": "`mma.sp` with metadata in ascending order.",
    "wgmma": "Four warps of Hopper together; B, and optionally A, are read from shared memory through a descriptor.",
    "wgmma.sp": "`wgmma` with a sparse A.",
}

_FOLDED = 16
"""The most instructions of a list that is shown unfolded."""


def instruction_pages() -> dict[str, str]:
    """Return every page as Markdown, by its name within the site."""
    pages = {f"{FOLDER}/index": _index()}
    pages |= {family_document(family): _family(family) for family in known_families()}
    return pages | {group.document: _page(group) for group in groups()}


def _toctree(titles: dict[str, str]) -> str:
    """Return a tree of pages in the same folder, by their names within the site, with their titles in it."""
    lines = [f"{title} <{name.rpartition('/')[2]}>" for name, title in titles.items()]
    return "\n".join(["```{toctree}", ":hidden:", "", *lines, "```"])


def _of(family: str) -> list[Group]:
    return [x for x in groups() if x.family == family]


def _index() -> str:
    rows = [
        [
            link(code(family), f"{family_document(family).rpartition('/')[2]}.html"),
            str(sum(len(x.entries) for x in _of(family))),
            chips_in_words({chip for x in _of(family) for entry in x.entries for chip in entry.archs}),
            ", ".join(dict.fromkeys(y for x in _of(family) for y in _kinds(x))),
        ]
        for family in known_families()
    ]
    parts = [
        "(table-of-instructions)=\n# Instructions",
        f"All {len(INSTRUCTIONS):,} matrix instructions that the library has, each with its operands, where their "
        "elements are, what each chip computes, and the sources. To find one by chip, type and "
        'shape, <a href="../../explorer.html">the explorer</a> is the quickest; `wmma-emu list` and `wmma-emu show` '
        "print the same facts.",
        SCOPE,
        table(["family", "instructions", "chips", "formats of A"], rows),
        _toctree({family_document(x): x for x in known_families()}),
    ]
    for family in known_families():
        parts += [f"## {family}", _every(family, f"{FOLDER}/index")]
    return "\n\n".join(parts) + "\n"


def _kinds(group: Group) -> list[str]:
    return list(dict.fromkeys(entry.a for entry in group.entries))


def _family(family: str) -> str:
    parts = [f"# {family}", _FAMILIES[family], _every(family, family_document(family))]
    return "\n\n".join([*parts, _toctree({x.document: f"{x.shape}, {x.types}" for x in _of(family)})]) + "\n"


def _every(family: str, document: str) -> str:
    """Return a line for each page, with a link to each of its instructions."""
    rows = []
    for group in _of(family):
        page = f"{group.document.rpartition('/')[2]}.html"
        links = " ".join(link(_within(entry, group), f"{page}#{anchor_of(entry)}") for entry in group.entries)
        chips = chips_in_words({chip for entry in group.entries for chip in entry.archs})
        shown = f'<span class="every">{links}</span>'
        if len(group.entries) > _FOLDED:
            shown = f"<details><summary>{len(group.entries)} instructions</summary>{shown}</details>"
        rows.append([link(f"{group.shape}, {group.types}", page), chips, shown])
    return table(["page", "chips", "instructions"], rows, "pages")


def _within(entry: Instruction, group: Group) -> str:
    """Return the part of a mnemonic that distinguishes an instruction from the others on its page."""
    if entry.is_warpgroup:
        return f"n{entry.n}" + "".join(f".{x}" for x in entry.modifiers)
    layouts = {(x.a_layout, x.b_layout) for x in group.entries}
    return ".".join([*entry.types, *entry.modifiers, *((entry.a_layout, entry.b_layout) if len(layouts) > 1 else ())])


def _page(group: Group) -> str:
    shown = gallery(group)
    chips = chips_in_words({chip for entry in group.entries for chip in entry.archs})
    count = "1 instruction" if len(group.entries) == 1 else f"{len(group.entries)} instructions"
    first = group.entries[0]
    chip = "sm_90" if "sm_90" in first.archs else first.archs[0]
    links = " ".join(link(_within(entry, group), f"#{anchor_of(entry)}") for entry in group.entries)
    layouts = " ".join(link(heading(x, group), f"#{x.anchor}") for x in shown)
    intro = (
        f"<p>{count} on {chips}. {link('Open the first in the explorer', explorer_link(group.document, first, chip))}, "
        f'to see where each element lives on all operands at once.</p>\n<p class="every jump">Layouts: {layouts}</p>\n'
        f'<p class="every jump">Instructions: {links}</p>'
    )
    parts = [
        f"# {group.title}",
        intro,
        "## Layouts",
        *(shown_html(x, group) for x in shown),
        *(section(entry, group, shown) for entry in group.entries),
    ]
    return "\n\n".join(parts) + "\n"

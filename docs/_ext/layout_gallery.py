# SPDX-License-Identifier: MIT
"""The layouts of a page's instructions: each is shown once, with its formulas, for all operands and chips that use it.

Layouts of different widths with the same formulas, such as the accumulators of `wgmma` for every n, are one:
the picture shows the narrowest, and the others continue it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html import escape

from docs._ext.instruction_groups import Group
from docs._ext.layout_pictures import image
from wmma_emu.instructions import ARCHS, OPERANDS, Instruction
from wmma_emu.instructions.spec import Operand
from wmma_emu.layouts import LaneMap, layout_for

__all__ = ["Shown", "chips_in_words", "gallery", "heading", "in_registers", "pictured_layouts", "shown_html"]

_COPIES = {1: "", 4: "four matrices of "}


@dataclass
class Shown:
    """A layout on a page, or several layouts that continue one another.

    Parameters
    ----------
    number : int
        Its number on the page, from 1.
    uses : list of (Instruction, operand, chip, LaneMap)
        All operands on the page that use it.
    """

    number: int
    uses: list[tuple[Instruction, Operand, str, LaneMap]] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """The anchor on its page."""
        return f"layout-{self.number}"

    @property
    def layouts(self) -> tuple[LaneMap, ...]:
        """The layouts, from narrow to wide."""
        return tuple(sorted({x[-1] for x in self.uses}, key=lambda layout: layout.cols))

    @property
    def pictured(self) -> LaneMap:
        """The layout that the picture shows."""
        return self.layouts[0]

    def names(self, operands: dict[Operand, set[str]]) -> str:
        """Name the operands that use it; ``operands`` are all operands of the page, with their orders in memory."""
        letters = " and ".join(sorted({x.upper() for _, x, _, _ in self.uses}))
        formats = sorted({row.format(x).name for row, x, _, _ in self.uses})
        stored = {_stored(row, x) for row, x, _, _ in self.uses} - {""}
        several = {y for _, x, _, _ in self.uses for y in operands[x]} - {""}
        storage = f", {stored.pop()}" if len(stored) == 1 and len(several) > 1 else ""
        return f"{letters}{storage}: {self.shape} of {' or '.join(formats)}"

    @property
    def shape(self) -> str:
        """Return rows and columns, and the number of matrices."""
        layout = self.pictured
        cols = str(layout.cols) if len(self.layouts) == 1 else "n"
        return f"{_COPIES[layout.num_matrices]}{layout.rows} × {cols}"


def _stored(entry: Instruction, operand: Operand) -> str:
    return "" if entry.is_warpgroup else {"a": entry.a_layout, "b": entry.b_layout}.get(operand, "")


def in_registers(entry: Instruction) -> tuple[Operand, ...]:
    """Return the operands that lanes hold: all except the B of `wgmma`, which is in shared memory."""
    return tuple(x for x in OPERANDS if not (entry.is_warpgroup and x == "b"))


def _uses(group: Group) -> Iterator[tuple[Instruction, Operand, str, LaneMap]]:
    for entry in group.entries:
        for operand in in_registers(entry):
            for chip in entry.archs:
                yield entry, operand, chip, layout_for(entry, operand, chip)


@cache
def gallery(group: Group) -> tuple[Shown, ...]:
    """Return the layouts of a page, in the order in which its instructions name them."""
    found: dict[object, Shown] = {}
    for entry, operand, chip, layout in _uses(group):
        kind = "cd" if operand in "cd" else operand
        goes_on = entry.is_warpgroup and kind == "cd"
        same = (tuple(layout.formulas.one_line().items()), layout.element_bits) if goes_on else layout
        shown = found.setdefault((kind, same), Shown(len(found) + 1))
        shown.uses.append((entry, operand, chip, layout))
    return tuple(found.values())


def chips_in_words(chips: set[str]) -> str:
    """Name chips in the order of the table.

    Examples
    --------
    >>> chips_in_words({"sm_75", "sm_70", "sm_72", "sm_100"}), chips_in_words({"sm_70", "sm_72"})
    ('sm_70 to sm_75, sm_100', 'sm_70, sm_72')
    """
    names = list(ARCHS)
    runs: list[list[str]] = []
    for i, name in enumerate(names):
        if name in chips:
            if runs and i and runs[-1][-1] == names[i - 1]:
                runs[-1].append(name)
            else:
                runs.append([name])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def pictured_layouts(all_groups: tuple[Group, ...]) -> set[LaneMap]:
    """Return every layout that has a picture."""
    return {shown.pictured for group in all_groups for shown in gallery(group)}


def _name(shown: Shown, group: Group) -> str:
    operands: dict[Operand, set[str]] = {}
    for row, operand, _, _ in _uses(group):
        operands.setdefault(operand, set()).add(_stored(row, operand))
    return shown.names(operands)


def heading(shown: Shown, group: Group) -> str:
    """Return the heading of a layout as HTML: its operands, and its chips if not all of the page's."""
    chips = {chip for _, _, chip, _ in shown.uses}
    everywhere = chips == {chip for entry in group.entries for chip in entry.archs}
    return escape(_name(shown, group) + ("" if everywhere else f", on {chips_in_words(chips)}"))


def shown_html(shown: Shown, group: Group) -> str:
    """Return the HTML of a layout: its operands, the picture, the formulas, the sources.

        If the layouts of an operand differ between chips or orders in memory, only the picture of the most common one
        is
    open, to limit the length of pages.
    """
    name = _name(shown, group)
    layout = shown.pictured
    further = ""
    if len(shown.layouts) > 1:
        widths = [x.cols for x in shown.layouts]
        further = (
            f"\n<p>The picture shows n = {widths[0]}. Up to n = {widths[-1]} the columns to the right continue in the "
            "same way, by the same formulas.</p>"
        )
    formulas = "\n".join(f"{key} = {text}" for key, text in layout.formulas.one_line().items())
    lane = "thread of the warpgroup, 0 to 127" if layout.num_lanes > 32 else "lane, 0 to 31"
    first = " or ".join(f"{x}0" for x in sorted({operand for _, operand, _, _ in shown.uses}))
    matrix = image(layout, "matrix", f"The lane and index of each element of {name}", group.document)
    registers = image(layout, "registers", f"The elements of {name} in each register of each lane", group.document)
    if not _is_open(shown, group):
        matrix = f"<details><summary>The picture</summary>{matrix}</details>"
    return (
        f'<figure class="layout" id="{shown.anchor}">\n<figcaption>{heading(shown, group)}</figcaption>\n'
        f"{matrix}{further}\n"
        f"<details><summary>The same by lane and register</summary>{registers}</details>\n"
        f'<pre class="formulas">{escape(formulas)}</pre>\n'
        f"<p>In C; <i>lane</i> is the {lane}; <i>index</i> counts the elements of a lane; r0 is register {first}."
        f"{_copies(layout)} "
        f"Known from: {escape(_known_from(shown))}.</p>\n</figure>"
    )


def _is_open(shown: Shown, group: Group) -> bool:
    """Return whether most chips use this layout of its operands; of several, the first."""
    operands = {operand for _, operand, _, _ in shown.uses}
    same = [x for x in gallery(group) if operands & {operand for _, operand, _, _ in x.uses}]
    return shown == max(same, key=lambda x: len({chip for _, _, chip, _ in x.uses}))


def _copies(layout: LaneMap) -> str:
    copies = layout.formulas.copies
    if not copies:
        return ""
    places = "; ".join(f"{x}{'' if x.is_read else ' (not read)'}" for x in copies)
    return f" The same element is held again at: {places}."


def _known_from(shown: Shown) -> str:
    """Return the sources, without repetition."""
    said: dict[str, set[str]] = {}
    for _, _, chip, layout in shown.uses:
        said.setdefault(f"{layout.source} ({layout.status})", set()).add(chip)
    if len(said) == 1:
        return next(iter(said))
    return "; ".join(f"{chips_in_words(chips)}: {text}" for text, chips in said.items())

# SPDX-License-Identifier: MIT
"""Reading pictures of operands: what their cells say, as numbers, and all layouts to draw."""

from typing import NamedTuple
from xml.etree import ElementTree

from wmma_emu.instructions import ARCHS, INSTRUCTIONS, OPERANDS
from wmma_emu.layouts import LaneMap, layout_for
from wmma_emu.warp.registers import BoundOperand

SVG = "{http://www.w3.org/2000/svg}"


class Held(NamedTuple):
    """An element of the matrix in a lane."""

    matrix: int
    row: int
    col: int
    lane: int
    index: int
    register: int
    bit: int


class DrawnCell(NamedTuple):
    """A cell: its attributes as numbers, its classes, its shapes and its labels from left to right."""

    group: ElementTree.Element
    data: dict
    classes: list[str]
    texts: list[str]

    @property
    def lanes(self):
        return self.data["lane"]

    def rects(self, class_=None):
        return [x for x in self.group.findall(f"{SVG}rect") if x.get("class") == class_]

    @property
    def box(self):
        """x, y, width, height of the cell."""
        return box_of(self.rects()[0])

    @property
    def tip(self):
        return self.group.find(f"{SVG}title").text

    def elements(self, bits):
        """Every element of the cell in every lane, by what the attributes say."""
        data = self.data
        for i in range(data.get("rows", 1) * data.get("cols", 1)):
            down, right = (i, 0) if data.get("rows", 1) > 1 else (0, i)
            for lane in self.lanes:
                yield Held(
                    data.get("matrix", 0), data["row"] + down, data["col"] + right, lane,
                    data["index"] + i, data["register"], data["bit"] + i * bits,
                )  # fmt: skip


def box_of(rect):
    return tuple(float(rect.get(x)) for x in ("x", "y", "width", "height"))


def root_of(picture):
    return ElementTree.fromstring(str(picture))


def cells_of(picture):
    cells = []
    for group in root_of(picture).iter(f"{SVG}g"):
        classes = group.get("class").split()
        if "cell" not in classes:
            continue
        data = {name.removeprefix("data-"): x for name, x in group.attrib.items() if name.startswith("data-")}
        numbers = {name: int(x) for name, x in data.items() if name != "lane"}
        numbers["lane"] = [int(x) for x in data["lane"].split()]
        texts = [x.text for x in group.findall(f"{SVG}text")]
        cells.append(DrawnCell(group, numbers, classes, texts))
    return cells


def held_by(layout: LaneMap, elements=None, lanes=None):
    """Return every element of every lane of the table."""
    coords = layout.coords_of_lanes.tolist()
    matrices = layout.matrix_of_lane.reshape(-1).tolist()
    for i in range(layout.num_elements) if elements is None else elements:
        register, bit = layout.register_of(i), layout.bit_of(i)
        for lane in range(layout.num_lanes) if lanes is None else lanes:
            yield Held(matrices[lane], *coords[i][lane], lane, i, register, bit)


def texts_of(picture):
    return [x.text for x in root_of(picture).iter(f"{SVG}text")]


def _distinct():
    found = {}
    for row in INSTRUCTIONS.values():
        for chip in row.archs:
            for operand in (x for x in OPERANDS if row.registers(x)):
                layout = layout_for(row, operand, chip)
                found.setdefault(layout, BoundOperand(row, operand, ARCHS[chip].name))
    return list(found.values())


ALL = _distinct()
"""An operand for every distinct layout of all tables."""

# SPDX-License-Identifier: MIT
"""The subject of an operand's picture: its layout, its name, the chip, and the source of the layout."""

from typing import NamedTuple

from wmma_emu.errors import ArgumentError, FragmentMismatchError, UnsupportedInstructionError, shorten
from wmma_emu.instructions import ARCHS, Instruction
from wmma_emu.instructions.spec import Operand
from wmma_emu.layouts import LaneMap
from wmma_emu.layouts.spec import LANES
from wmma_emu.viz.operands.held_cells import cell_size, cells_per_register, span
from wmma_emu.warp import BoundMatrixInstruction
from wmma_emu.warp.registers import BoundOperand
from wmma_emu.wmma.fragments import Fragment

Drawable = BoundOperand | LaneMap | Fragment
"""The objects that can be drawn as an operand in registers."""

_AXES = {"a": ("m", "k"), "b": ("k", "n"), "c": ("m", "n"), "d": ("m", "n")}
_LETTERS = {"matrix_a": "a", "matrix_b": "b", "accumulator": "c"}


class Subject(NamedTuple):
    """A drawn operand.

    ``letter`` is ``"a"`` to ``"d"``, and empty for a layout without an instruction; ``of`` names the instruction or the
    fragment; ``value`` names the bits that a value has, if it does not fill its bits.
    """

    layout: LaneMap
    letter: str = ""
    of: str = ""
    where: str = ""
    axes: tuple[str, str] = ("row", "column")
    value: str = ""

    @property
    def name(self) -> str:
        """The name of the matrix in sentences."""
        return self.letter.upper() if self.letter else "the matrix"

    @property
    def title(self) -> str:
        """The title of the picture."""
        layout = self.layout
        if not self.letter:
            return f"Layout of {layout.rows} × {layout.cols} elements of {_count(layout.element_bits, 'bit')}"
        return f"{self.name} of {self.of}"

    @property
    def lane(self) -> str:
        """The word for a lane; a thread if four warps together hold a matrix."""
        return "lane" if self.layout.num_lanes == LANES else "thread"

    def element(self, row: int | str, col: int | str) -> str:
        """Name an element: ``A[9, 17]``."""
        return f"{self.letter.upper()}[{row}, {col}]"

    def register(self, number: int | str) -> str:
        """Name a register: ``a1``; without a letter ``r1``."""
        return f"{self.letter or 'r'}{number}"

    def notes(self) -> list[str]:
        """Return the sentences on the matrix and the chip, the lanes, copies, and the source."""
        layout = self.layout
        lanes = "a lane" if layout.num_lanes == LANES else f"each of {layout.num_lanes} threads"
        held = f"{lanes} holds {_count(layout.num_elements, 'element')} in {_count(layout.num_registers, 'register')}"
        where = self.where or " × ".join(map(str, layout.matrix_shape))
        lines = [f"{where}; {held} of {layout.register_bits} bits"]
        copies = layout.copies()
        least, most = int(copies.min()), int(copies.max())
        if least < most:  # a user's layout
            lines.append(f"Its elements are held from {least} to {most} times, as its copies() counts")
        elif most > 1:
            lines.append(self._copies())
        return lines

    def foot(self) -> list[str]:
        """Return the formulas of the layout and its inverse, and the source."""
        layout = self.layout
        known = f"Known from: {layout.source} ({layout.status})"
        try:
            found = dict(layout.formulas.one_line())
        except FragmentMismatchError:  # a user's layout that follows no such rule
            return [known]
        if layout.reads_copies:
            found["lane"] += f" is the first of {layout.multiplicity}"
        names = ("lane", "index", "matrix", "row", "col")
        return [*(f"{name} = {found[name]}" for name in names if name in found), known]

    def _copies(self) -> str:
        layout = self.layout
        if layout.reads_copies:
            return (
                f"{layout.multiplicity} lanes hold each element, as {self.element(0, 0)} "
                f"{' '.join(f'T{x.lane}' for x in layout.locate(0, 0))}; all are read, each for another part of the "
                "product"
            )
        read, count = layout.read_elements, layout.num_elements
        return f"x{span(read, count - read)} repeat x{span(0, read)}; the instruction reads x{span(0, read)} alone"

    def head(self, heading: str, sentence: str) -> list[str]:
        """Return the sentences below a heading: the highlighted elements, the drawn part, and `notes`."""
        return [*(x for x in (sentence, self.title) if x and x != heading), *self.notes()]

    def order(self) -> str:
        """Describe the order of a register's elements; empty if it holds only one."""
        layout = self.layout
        packed, bits = layout.elements_per_register, layout.element_bits
        if packed == 1:
            return ""
        size = f"{bits} bit{'s' * (bits > 1)}{self.value}"
        if cells_per_register(layout) > 1:
            return f"{packed} elements share a register, {size} each, the first in the lowest bits"
        down = cell_size(layout)[0] > 1
        line = f"along {self.axes[0 if down else 1]}" if self.letter else f"in a {'column' if down else 'row'}"
        return f"{packed} neighbours {line} share a register, {size} each, the first in the lowest bits"


def subject_of(operand: object) -> Subject:
    """Return the subject of an operand of an instruction, of a fragment or of a layout.

    Examples
    --------
    >>> import wmma_emu as we
    >>> subject_of(we.instruction("m16n8k8.f32.tf32.tf32.f32").a).title
    'A of m16n8k8.f32.tf32.tf32.f32'
    """
    if isinstance(operand, LaneMap):
        return Subject(operand)
    if isinstance(operand, Fragment):
        letter = _LETTERS[operand.use.value]
        where = _where(operand.lane_map, str(operand.format), _AXES[letter], "", operand.arch.name)
        return Subject(operand.lane_map, letter, operand.cpp_type, where, _AXES[letter])
    if isinstance(operand, BoundOperand) and not operand.in_registers:
        fix = "; wmma_emu.viz.draw_shared_operand draws it" * operand.instruction.is_warpgroup
        raise UnsupportedInstructionError(
            f"{operand.name} of {operand.instruction.mnemonic} is in {operand.place}, not in registers: no lane holds "
            f"an element of it{fix}"
        )
    if isinstance(operand, BoundOperand):
        entry, letter = operand.instruction, operand.operand
        rows, cols = _AXES[letter]
        axes = (rows, "k/2") if entry.is_sparse and letter == "a" else (rows, cols)
        stored = {"a": entry.a_layout, "b": entry.b_layout}.get(letter, "")
        stored = "" if entry.is_warpgroup else stored
        where = _where(operand.layout, str(operand.format), axes, stored, operand.arch)
        return Subject(operand.layout, letter, entry.short_mnemonic, where, axes, _value(entry, letter))
    hint = "; choose an operand of it, such as ins.a" if isinstance(operand, BoundMatrixInstruction) else ""
    raise ArgumentError(
        f"expected an operand of an instruction (ins.a), a wmma.fragment or a LaneMap, not "
        f"{shorten(type(operand).__name__, str)}{hint}"
    )


def _value(entry: Instruction, letter: Operand) -> str:
    """Name the bits of its byte that an FP6 or FP4 value has; empty for values that fill their bits."""
    bits, (held, shift) = entry.format(letter).bits, entry.container(letter)
    return f" (the value in bits {shift} to {shift + bits - 1} of them)" if bits < held else ""


def _where(layout: LaneMap, fmt: str, axes: tuple[str, str], stored: str, chip: str) -> str:
    shape = f"{layout.rows} × {layout.cols}"
    several = f"{layout.num_matrices} matrices of " if layout.num_matrices > 1 else ""
    order = f", {stored}" if stored else ""
    return f"{several}{shape} ({' × '.join(axes)}) {fmt}{order}; {chip} ({ARCHS[chip].generation})"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"

# SPDX-License-Identifier: MIT
"""The operand, instruction and chip that a command line names, and the heading of the answer."""

import textwrap
from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from wmma_emu.cli.names import OneInstruction, chip_for, one_instruction
from wmma_emu.cli.spelling import ELEMENT
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.cli.usage import UsageError, check_choice, from_words, quoted
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import OPERANDS, Arch, Instruction
from wmma_emu.instructions.spec import Container, Operand
from wmma_emu.layouts import LaneMap, layout_for
from wmma_emu.layouts.block_scales import SCALED

if TYPE_CHECKING:
    from wmma_emu.warp.registers import BoundOperand

_OPERAND_WORDS = (*OPERANDS, *(f"scale_{x}" for x in SCALED))

_POSITION_OPTIONS = ("lane", "register", "row", "col")
"""Options that may be written as words: ``lane 5``."""

_AXES = {"a": "m x k", "b": "k x n", "c": "m x n", "d": "m x n"}


class Selection(NamedTuple):
    """OneInstruction operand of an instruction on a chip."""

    instruction: Instruction
    operand: Operand
    chip: Arch
    layout: LaneMap

    @property
    def name(self) -> str:
        """The operand's letter, as in ``A``."""
        return self.operand.upper()

    def repeats(self, other: "Selection") -> bool:
        """Return whether another operand has the same layout and format."""
        return self.layout == other.layout and self.instruction.format(self.operand) == other.instruction.format(
            other.operand
        )

    @property
    def value(self) -> Container:
        """The bits of an element's value, and their offset from the element's lowest bit in a register."""
        return Container(self.instruction.format(self.operand).bits, self.instruction.container(self.operand).shift)

    @property
    def bound(self) -> "BoundOperand":
        """The operand in the form that pictures take."""
        from wmma_emu.warp.registers import BoundOperand

        return BoundOperand(self.instruction, self.operand, self.chip.name)

    def lane_of(self, arguments: Namespace) -> int:
        """Read --lane."""
        count = self.layout.num_lanes
        has = "a warp has 32 lanes" if count == 32 else "a warpgroup has 128 lanes, 32 in each warp"
        return check_index("--lane", arguments.lane, count, has)

    def register_of(self, arguments: Namespace) -> int:
        """Read --register."""
        count = self.layout.num_registers
        has = f"a lane holds {self.name} in {count} register{'s' * (count > 1)}"
        return check_index("--register", arguments.register, count, has)

    def element_of(self, arguments: Namespace) -> tuple[int, int]:
        """Read --row and --col."""
        rows, cols = self.layout.rows, self.layout.cols
        row = check_index("--row", arguments.row, rows, f"{self.name} has {rows} rows")
        return row, check_index("--col", arguments.col, cols, f"{self.name} has {cols} columns")

    def write_head(self, subject: str, terminal: Terminal, more: Iterable[tuple[str, str]] = ()) -> None:
        """Write the heading: the subject, the matrix, the chip, the registers, and the source of the layout."""
        text = f"{subject} of {self.instruction}"
        width = terminal.width or len(text)
        if len(text) > width:
            text = f"{subject} of {self.instruction.short_mnemonic}"
        for line in textwrap.wrap(text, width, break_on_hyphens=False):
            terminal.line(Styled(line, "title"))
        layout = self.layout
        copies = self.copies()
        terminal.fields([
            ("matrix", self._matrix()),
            ("chip", f"{self.chip} ({self.chip.generation}){self._elsewhere()}"),
            ("a lane", self._a_lane()),
            ("known from", Styled(f"{layout.source} ({layout.status})", layout.status)),
            *([("copies", copies)] if copies else []),
            *self._scales(),
            *more,
        ])  # fmt: skip
        terminal.line()

    def _scales(self) -> list[tuple[str, str]]:
        entry = self.instruction
        if not entry.is_block_scaled or self.operand not in SCALED:
            return []
        along = "columns in each row" if self.operand == "a" else "rows in each column"
        return [("scales", f"{entry.scale}, one for {entry.scale_block} {along}: --operand scale_{self.operand}")]

    def _matrix(self) -> str:
        entry = self.instruction
        stored = {"a": f", {entry.a_layout}", "b": f", {entry.b_layout}"}.get(self.operand, "")
        if entry.is_warpgroup:
            stored = ", read from registers" if self.operand == "a" else ""
        shape = " x ".join(str(x) for x in self.layout.matrix_shape)
        several = "independent products x " if self.layout.num_matrices > 1 else ""
        axes = "m x k/2, packed" if entry.is_sparse and self.operand == "a" else _AXES[self.operand]
        return f"{shape} ({several}{axes}) {entry.format(self.operand)}{stored}"

    def _a_lane(self) -> str:
        layout = self.layout
        elements, registers, packed = layout.num_elements, layout.num_registers, layout.elements_per_register
        order = f", {packed} a register, lowest bits first" if packed > 1 else ""
        bits, low = self.value
        if bits < layout.element_bits:
            order += f"; a value is in bits {low + bits - 1}:{low} of its byte, the other bits are ignored"
        return (
            f"{elements} element{'s' * (elements > 1)}, x{span(0, elements)}, "
            f"in {registers} register{'s' * (registers > 1)} of {layout.register_bits} bits{order}"
        )

    def copies(self) -> str:
        """Return a note on elements held more than once, and the ones that are read; empty without repetitions."""
        layout = self.layout
        if layout.reads_copies:
            holders = layout.locate(0, 0)
            return (
                f"each element is held by {len(holders)} lanes, as {self.name}[0, 0] by "
                f"{' '.join(f'T{x.lane}' for x in holders)}; all copies are read, each for another block of the product"
            )
        read = layout.read_elements
        if read == layout.num_elements:
            return ""
        return (
            f"each element is held {layout.multiplicity} times: x{span(read, layout.num_elements - read)} repeat "
            f"x{span(0, read)}; the instruction reads only x{span(0, read)}"
        )

    def _elsewhere(self) -> str:
        """Return a note that names the chips with the same layout, and the chips with other layouts."""
        others = [x for x in self.instruction.archs if x != self.chip.name]
        same = [x for x in others if layout_for(self.instruction, self.operand, x) == self.layout]
        differing = [x for x in others if x not in same]
        parts = [f"; the same on {' '.join(same)}"] if same else []
        parts += [f"; other layouts on {' '.join(differing)}"] if differing else []
        return "".join(parts)


class OperandRequest(NamedTuple):
    """The instruction, operands, chip and trailing numbers that words and options name."""

    instruction: Instruction
    operands: tuple[str, ...]
    chip: Arch
    numbers: tuple[str, ...]


def asked_for(arguments: Namespace, numbers: int = 0) -> OperandRequest:
    """Parse INSTR, OPERAND, --operand and --arch, and at most ``numbers`` numbers that follow.

    Without an operand, every operand is meant; without a chip, the default, or the first that supports the instruction.
    """
    words = _words(arguments)
    given: list[str] = []
    while len(words) > 2 and words[-2].casefold() in _POSITION_OPTIONS and words[-1].isdecimal():
        from_words(arguments, [words[-2].casefold()], [words.pop()])
        words.pop()
    while len(words) > 1 and len(given) < numbers and words[-1].removeprefix("-").isdecimal():
        given.insert(0, words.pop())
    named: list[str] = [] if arguments.operand is None else _operands(arguments.operand)
    if len(words) > 1 and words[-1].casefold() == "all":
        words.pop()
    while len(words) > 1 and words[-1].casefold() in _OPERAND_WORDS:
        word = words.pop().casefold()
        if arguments.operand is None:
            named.insert(0, word)
        elif [word] != named:
            raise UsageError(f"{word.upper()} and --operand {arguments.operand[:80]} name two operands; name only one")
    found = _instruction(words, arguments.arch)
    if found.instruction.is_tensor:
        raise UnsupportedInstructionError(
            f"{found.instruction.mnemonic} has its operands in tensor memory and in shared memory, not in registers "
            "of lanes; wmma_emu.tcgen05 documents where"
        )
    if not named:
        own: list[str] = [x for x in OPERANDS if not (found.instruction.is_warpgroup and x == "b")]
        named = [found.operand] if found.operand else own
    return OperandRequest(found.instruction, tuple(named), chip_for(found.instruction, found.chip), tuple(given))


def _words(arguments: Namespace) -> list[str]:
    """Split the words: ``A[3, 5]`` is an operand and two numbers. A number is not an instruction."""
    text = ELEMENT.sub(r" \1 \2\4 \3\5 ", " ".join([arguments.instruction, *arguments.words]))
    words = [arguments.instruction, *arguments.words] if "fragment" in text else text.split()
    if words and words[0].isdecimal():
        command = f"wmma-emu {arguments.command} m16n8k16.f32.f16.f16.f32 A {' '.join(words)}"
        raise UsageError(f"the instruction is missing; it comes first, as in {command[:160]}")
    return words or [""]


def _instruction(words: list[str], arch: str | None) -> OneInstruction:
    """Find the instruction; if only the last word is wrong, raise an error that lists the operands."""
    try:
        return one_instruction(words, arch)
    except UnsupportedInstructionError:
        if len(words) > 1 and _is_one(words[:-1], arch):
            names = ", ".join(x.upper() for x in OPERANDS)
            raise UsageError(f"{words[-1][:80]!r} is not an operand; the operands are {names}, and with block scales "
                             f"scale_a and "
                             "scale_b") from None  # fmt: skip
        raise


def _is_one(words: list[str], arch: str | None) -> bool:
    try:
        return one_instruction(words, arch) is not None
    except (UnsupportedInstructionError, UsageError):
        return False


def _operands(given: str) -> list[str]:
    out = []
    for word in given.split(","):
        plain = word.strip().casefold()
        if plain not in _OPERAND_WORDS:
            check_choice("--operand", word, (x.upper() for x in OPERANDS))
        out.append(plain)
    return out


def selections_of(asked: OperandRequest) -> list[Selection]:
    """Return the requested operands, each with its layout."""
    row, chip = asked.instruction, asked.chip
    return [Selection(row, x, chip, layout_for(row, x, chip)) for x in OPERANDS if x in asked.operands]


def check_index(option: str, given: str, count: int, of: str) -> int:
    """Return the number that an option gives, from 0 to ``count - 1``.

    Examples
    --------
    >>> check_index("--row", "3", 16, "A has 16 rows")
    3
    >>> check_index("--row", "16", 16, "A has 16 rows")
    Traceback (most recent call last):
        ...
    wmma_emu.cli.usage.UsageError: --row 16: A has 16 rows; legal values are 0 to 15
    """
    text = given.strip()
    if text.isascii() and text.isdecimal() and len(text) < 10 and int(text) < count:
        return int(text)
    legal = f"legal values are 0 to {count - 1}" if count > 1 else "the only legal value is 0"
    raise UsageError(f"{option} {quoted(given)}: {of}; {legal}")


def span(first: int, count: int) -> str:
    """Write consecutive numbers as a range.

    Examples
    --------
    >>> span(4, 2), span(4, 1)
    ('4-5', '4')
    """
    return str(first) if count == 1 else f"{first}-{first + count - 1}"

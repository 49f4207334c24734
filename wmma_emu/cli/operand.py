# SPDX-License-Identifier: MIT
"""Which operand of which instruction on which chip a command line asks about, and what heads the answer."""

import textwrap
from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from wmma_emu.cli.names import One, chip_for, one_instruction
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

_PLACES = ("lane", "register", "row", "col")
"""Options that are written as words too: ``lane 5``."""

_AXES = {"a": "m x k", "b": "k x n", "c": "m x n", "d": "m x n"}


class Selection(NamedTuple):
    """One operand of an instruction on a chip."""

    instruction: Instruction
    operand: Operand
    chip: Arch
    layout: LaneMap

    @property
    def name(self) -> str:
        """The operand's letter, as in ``A``."""
        return self.operand.upper()

    def repeats(self, other: "Selection") -> bool:
        """Whether another operand has all its elements in the same places."""
        return self.layout == other.layout and self.instruction.format(self.operand) == other.instruction.format(
            other.operand
        )

    @property
    def value(self) -> Container:
        """How many bits of a register an element's value has, and how far they stand from those of its layout."""
        return Container(self.instruction.format(self.operand).bits, self.instruction.container(self.operand).shift)

    @property
    def bound(self) -> "BoundOperand":
        """The same for a picture."""
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
        """Write what is shown, of which matrix, on which chip, in which registers, and who says so."""
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
        row = self.instruction
        if not row.is_block_scaled or self.operand not in SCALED:
            return []
        along = "columns in each row" if self.operand == "a" else "rows in each column"
        return [("scales", f"{row.scale}, one for {row.scale_block} {along}: --operand scale_{self.operand}")]

    def _matrix(self) -> str:
        row = self.instruction
        stored = {"a": f", {row.a_layout}", "b": f", {row.b_layout}"}.get(self.operand, "")
        if row.is_warpgroup:
            stored = ", read from registers" if self.operand == "a" else ""
        shape = " x ".join(str(x) for x in self.layout.matrix_shape)
        several = "independent products x " if self.layout.num_matrices > 1 else ""
        axes = "m x k/2, packed" if row.is_sparse and self.operand == "a" else _AXES[self.operand]
        return f"{shape} ({several}{axes}) {row.format(self.operand)}{stored}"

    def _a_lane(self) -> str:
        layout = self.layout
        elements, registers, packed = layout.num_elements, layout.num_registers, layout.elements_per_register
        order = f", {packed} a register, lowest bits first" if packed > 1 else ""
        bits, low = self.value
        if bits < layout.element_bits:
            order += f"; a value is bits {low + bits - 1}:{low} of its byte, the other bits do not count"
        return (
            f"{elements} element{'s' * (elements > 1)}, x{span(0, elements)}, "
            f"in {registers} register{'s' * (registers > 1)} of {layout.register_bits} bits{order}"
        )

    def copies(self) -> str:
        """Say which elements are held more than once, and which of them count; nothing if none is."""
        layout = self.layout
        if layout.reads_copies:
            holders = layout.locate(0, 0)
            return (
                f"each element is held by {len(holders)} lanes, as {self.name}[0, 0] by "
                f"{' '.join(f'T{x.lane}' for x in holders)}; all are read, each for another block of the product"
            )
        read = layout.read_elements
        if read == layout.num_elements:
            return ""
        return (
            f"each element is held {layout.multiplicity} times: x{span(read, layout.num_elements - read)} repeat "
            f"x{span(0, read)}; the instruction reads x{span(0, read)} alone"
        )

    def _elsewhere(self) -> str:
        """Name the chips where the elements live in the same places, and those where they do not."""
        others = [x for x in self.instruction.archs if x != self.chip.name]
        same = [x for x in others if layout_for(self.instruction, self.operand, x) == self.layout]
        differing = [x for x in others if x not in same]
        parts = [f"; the same on {' '.join(same)}"] if same else []
        parts += [f"; other places on {' '.join(differing)}"] if differing else []
        return "".join(parts)


class Asked(NamedTuple):
    """What words and options name: an instruction, the operands, a chip, and numbers behind them."""

    instruction: Instruction
    operands: tuple[str, ...]
    chip: Arch
    numbers: tuple[str, ...]


def asked_for(arguments: Namespace, numbers: int = 0) -> Asked:
    """Read INSTR, OPERAND, --operand and --arch, and as many numbers behind them as may be.

    Without an operand it is every one; without a chip the default one, or the first that has the instruction.
    """
    words = _words(arguments)
    given: list[str] = []
    while len(words) > 2 and words[-2].casefold() in _PLACES and words[-1].isdecimal():
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
            raise UsageError(f"{word.upper()} and --operand {arguments.operand[:80]} name two operands; name one")
    found = _instruction(words, arguments.arch)
    if found.instruction.is_tensor:
        raise UnsupportedInstructionError(
            f"{found.instruction.mnemonic} has its operands in tensor memory and in shared memory, not in registers "
            "of lanes; wmma_emu.tcgen05 says where"
        )
    if not named:
        own: list[str] = [x for x in OPERANDS if not (found.instruction.is_warpgroup and x == "b")]
        named = [found.operand] if found.operand else own
    return Asked(found.instruction, tuple(named), chip_for(found.instruction, found.chip), tuple(given))


def _words(arguments: Namespace) -> list[str]:
    """Take the words apart: ``A[3, 5]`` is an operand and two numbers. A number names no instruction."""
    text = ELEMENT.sub(r" \1 \2\4 \3\5 ", " ".join([arguments.instruction, *arguments.words]))
    words = [arguments.instruction, *arguments.words] if "fragment" in text else text.split()
    if words and words[0].isdecimal():
        command = f"wmma-emu {arguments.command} m16n8k16.f32.f16.f16.f32 A {' '.join(words)}"
        raise UsageError(f"of which instruction? It comes first, as in {command[:160]}")
    return words or [""]


def _instruction(words: list[str], arch: str | None) -> One:
    """Find the instruction; if only the last word is odd, say what an operand is."""
    try:
        return one_instruction(words, arch)
    except UnsupportedInstructionError:
        if len(words) > 1 and _is_one(words[:-1], arch):
            names = ", ".join(x.upper() for x in OPERANDS)
            raise UsageError(f"{words[-1][:80]!r} is no operand; they are {names}, and with block scales scale_a and "
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


def selections_of(asked: Asked) -> list[Selection]:
    """Find the layouts of what is asked for."""
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
    wmma_emu.cli.usage.UsageError: --row 16: A has 16 rows; legal are 0 to 15
    """
    text = given.strip()
    if text.isascii() and text.isdecimal() and len(text) < 10 and int(text) < count:
        return int(text)
    legal = f"legal are 0 to {count - 1}" if count > 1 else "legal is 0"
    raise UsageError(f"{option} {quoted(given)}: {of}; {legal}")


def span(first: int, count: int) -> str:
    """Write neighbouring numbers in short.

    Examples
    --------
    >>> span(4, 2), span(4, 1)
    ('4-5', '4')
    """
    return str(first) if count == 1 else f"{first}-{first + count - 1}"

# SPDX-License-Identifier: MIT
"""The tables of lane operations: the legal spellings, each with the builder of its operation."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

from wmma_emu.errors import UnsupportedInstructionError, shorten
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.ptx.program.program import Operand, PairOperand, PtxInstruction, VectorOperand
from wmma_emu.ptx.steps.lane_operations import LaneOperation, ValueStep
from wmma_emu.suggestions import nearest, nearest_are

CARRY = "cc"
"""The type of the carry flag in a lane operation: a bool source or destination without an operand."""


@dataclass(frozen=True, slots=True)
class OperationEntry(Sourced):
    """One legal spelling of an instruction.

    ``words`` are the modifiers in the slots of its syntax, "" for an empty slot; ``make`` returns the `LaneOperation`
    for an instruction and these words. ``evidence`` is the section of the manual; ``first`` is the first chip that
    supports the spelling. ``pair`` is "may" or "must" if the destination may or must be a pair, ``p|q``.
    """

    opcode: str
    words: tuple[str, ...]
    make: Callable[..., LaneOperation]
    evidence: Evidence
    first: str = "sm_70"
    pair: str = ""


Entries = dict[str, OperationEntry]
"""Entries by opcode."""


def operation_entries(
    mnemonics: str,
    slots: str,
    make: Callable[..., LaneOperation],
    source: str,
    *,
    first: str = "sm_70",
    later: Mapping[str, str] = MappingProxyType({}),
    pair: str = "",
) -> Entries:
    """Return an entry for each mnemonic and each combination of words in the slots.

    Mnemonics, and the alternatives of a slot, are separated by ``|``, slots by spaces; ``-`` is an empty slot, and a
    word may contain points. ``source`` is the section of the manual; ``later`` maps words to the first chip of
    spellings that contain them, if it is later than ``first``.

    Examples
    --------
    >>> list(operation_entries("add", "-|sat s32|u32", LaneOperation, "9.7.1.1"))
    ['add.s32', 'add.u32', 'add.sat.s32', 'add.sat.u32']
    """
    choices = [slot.split("|") for slot in slots.split()]
    evidence = Evidence("documented", f"PTX ISA 9.1, {source}")
    entries: Entries = {}
    for mnemonic, *picked in product(mnemonics.split("|"), *choices):
        words = tuple("" if word == "-" else word for word in picked)
        opcode = ".".join((mnemonic, *(word for word in words if word)))
        since = next((chip for word, chip in later.items() if word in words), first)
        entries[opcode] = OperationEntry(opcode, words, make, evidence, since, pair)
    return entries


def builders(entries: Entries, refused: dict[str, str] | None = None) -> dict[str, ValueStep]:
    """Return a builder for each mnemonic of the entries, which looks up an instruction and checks its operands.

    ``refused`` maps unsupported modifiers to the reason, which is given for instructions without an entry.
    """
    by_mnemonic: dict[str, list[str]] = {}
    for opcode in entries:
        by_mnemonic.setdefault(opcode.split(".")[0], []).append(opcode)

    def build(instruction: PtxInstruction) -> LaneOperation:
        opcode = ".".join((instruction.mnemonic, *instruction.modifiers))
        entry = entries.get(opcode)
        if entry is None:
            raise UnsupportedInstructionError(
                _unknown(opcode, instruction, by_mnemonic[instruction.mnemonic], refused or {})
            )
        is_pair = bool(instruction.operands) and isinstance(instruction.operands[0], PairOperand)
        if is_pair and not entry.pair:
            raise UnsupportedInstructionError(f"{opcode} has one result; write a register instead of a pair p|q")
        if entry.pair == "must" and not is_pair:
            raise UnsupportedInstructionError(f"{opcode} has two results; write its destination as a pair p|q")
        operation = entry.make(instruction, *entry.words)
        if entry.pair == "may" and not is_pair and len(operation.destinations) > 1:
            operation = first_only(operation)
        wanted = sum(x != CARRY for x in (*operation.destinations, *operation.sources))
        given = len(flat_operands(instruction))
        if given != wanted:
            raise UnsupportedInstructionError(f"{opcode} expects {wanted} operands including results, not {given}")
        # An operation may be newer than its spelling: min.f32 of three numbers.
        return operation if operation.first != "sm_70" else operation._replace(first=entry.first)

    return dict.fromkeys(by_mnemonic, build)


def first_only(operation: LaneOperation) -> LaneOperation:
    """Return a lane operation without its second result."""
    compute = operation.compute
    return operation._replace(destinations=operation.destinations[:1], compute=lambda *sources: compute(*sources)[0])


def flat_operands(instruction: PtxInstruction) -> list[Operand | None]:
    """Return the operands of an instruction, with vectors and pairs expanded to their elements."""
    found: list[Operand | None] = []
    for x in instruction.operands:
        if isinstance(x, VectorOperand):
            found += x.elements
        elif isinstance(x, PairOperand):
            found += (x.first, x.second)
        else:
            found.append(x)
    return found


def _unknown(opcode: str, instruction: PtxInstruction, known: Iterable[str], refused: dict[str, str]) -> str:
    """Return a message with the legal spelling: the same words in another order, or the nearest spellings."""
    for word in instruction.modifiers:
        if word in refused:
            return f"{opcode} is not modelled: {refused[word]}"
    known = list(known)
    asked = sorted(instruction.modifiers)
    same = [x for x in known if sorted(x.split(".")[1:]) == asked]
    near = same or nearest(opcode, known, 3, 0.0)
    types = sorted({x.rsplit(".", 1)[-1] for x in known})
    return (
        f"{shorten(opcode, str)} does not exist or is not modelled; the types of {instruction.mnemonic} are "
        f"{', '.join(types)}. {nearest_are(near)}"
    )

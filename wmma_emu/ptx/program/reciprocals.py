# SPDX-License-Identifier: MIT
"""Reciprocals of functions that ptxas removes, where the bits differ from those of the instructions.

* ``rcp(ex2(x))``, if nothing else reads the exponential, becomes one instruction, ``MUFU.EX2 d, -x``.
* ``rcp(rsqrt(rcp(x)))`` becomes ``rsqrt(x)``.

Every instruction is ``.approx.ftz.f32``, and the last reciprocal may be part of ``div.approx.ftz.f32``:
``docs/decisions/0024-constants-that-ptxas-knows.md``.
"""

from collections.abc import Mapping
from typing import NamedTuple

from wmma_emu.ptx.program.flow import needed, readers_of
from wmma_emu.ptx.program.producers import FLUSHED_RECIPROCAL, Producers
from wmma_emu.ptx.program.program import PtxInstruction, Register

_EXPONENTIAL, _ROOT = "ex2.approx.ftz.f32", "rsqrt.approx.ftz.f32"
_QUOTIENT = "div.approx.ftz.f32"

_Code = tuple[PtxInstruction, ...]


class RemovedReciprocals(NamedTuple):
    """The instructions that ptxas replaces, by index.

    Attributes
    ----------
    negative : frozenset of int
        Exponentials of the negative of their operand.
    passed : frozenset of int
        Reciprocals and quotients that read such a value instead of its reciprocal. The reciprocal of a reciprocal of an
        exponential is the exponential itself, so that not every exponential is negative.
    roots : mapping of int to Register
        Reciprocals and quotients whose reciprocal is the ``rsqrt`` of a register.
    identities : frozenset of int
        The ``id`` of each instruction of ``passed`` and ``roots``: none contains the reciprocal of its operand.
    """

    negative: frozenset[int]
    passed: frozenset[int]
    roots: Mapping[int, Register]
    identities: frozenset[int]


def removed_reciprocals(code: _Code, makers: Producers) -> RemovedReciprocals:
    """Return the reciprocals of functions that ptxas removes."""
    opcodes = {x.opcode for x in code}
    if opcodes.isdisjoint((_EXPONENTIAL, _ROOT)) or opcodes.isdisjoint((FLUSHED_RECIPROCAL, _QUOTIENT)):
        return RemovedReciprocals(frozenset(), frozenset(), {}, frozenset())
    negative, passed = _exponentials(code, makers) if _EXPONENTIAL in opcodes else (set(), set())
    replaced = {id(code[x]) for x in passed}
    roots: dict[int, Register] = {}
    for pc, instruction in enumerate(code):
        if instruction.opcode not in (FLUSHED_RECIPROCAL, _QUOTIENT) or pc in passed:
            continue
        root = makers.origin(instruction.operands[-1])
        if root is None or root.opcode != _ROOT or id(makers.origin(root.operands[1])) in replaced:
            continue
        source = makers.reciprocated(root.operands[1])
        if source is not None:
            roots[pc] = source
            replaced.add(id(instruction))
    return RemovedReciprocals(frozenset(negative), frozenset(passed), roots, frozenset(replaced))


def _exponentials(code: _Code, makers: Producers) -> tuple[set[int], set[int]]:
    """Return the exponentials of negative operands, and the reciprocals that read the results unchanged."""
    readers = readers_of(code, needed(code))
    negative: set[int] = set()
    passed: set[int] = set()
    for pc, instruction in enumerate(code):
        if instruction.opcode == _EXPONENTIAL and instruction.guard is None:
            chain = _only_readers(pc, code, readers, makers)
            passed.update(chain)
            if len(chain) % 2:
                negative.add(pc)
    return negative, passed


def _only_readers(pc: int, code: _Code, readers: Mapping[int, set[int]], makers: Producers) -> list[int]:
    """Return the reciprocals that read the result of an exponential, each the only reader of the one before."""
    found: list[int] = []
    while True:
        value = code[pc].operands[0]
        if not isinstance(value, Register) or makers.producer(value) is not code[pc]:
            return found
        following = readers.get(value.index, set())
        if len(following) != 1:
            return found
        (pc,) = following
        reader = code[pc]
        if reader.opcode == _QUOTIENT and reader.operands[2] == value != reader.operands[1]:
            return [*found, pc]
        if reader.opcode == FLUSHED_RECIPROCAL:
            found.append(pc)
        elif not _keeps_exponentials(reader):
            return found


def _keeps_exponentials(instruction: PtxInstruction) -> bool:
    """Return whether an instruction copies a number that is not negative."""
    is_copy = instruction.mnemonic == "mov" or instruction.opcode == "abs.f32"
    return is_copy and instruction.guard is None and len(instruction.operands) == 2

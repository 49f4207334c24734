# SPDX-License-Identifier: MIT
"""Rows that follow the lanes in which registers are defined, for the registers of which no analysis proves it."""

from collections.abc import Sequence

from llvmlite import ir

from wmma_emu.llvm.code import LONG, POINTER, WORD, Code, Value
from wmma_emu.ptx.native.context import Flag
from wmma_emu.ptx.native.context_code import raise_flag, without
from wmma_emu.ptx.native.rows import Row


def require_defined(masks: Sequence[int]) -> Row:
    """Return a row that raises a flag if a register is undefined in a lane; ``masks`` are the offsets of the masks."""
    return Row("require defined", _define_require, (len(masks), *masks))


def propagate(sources: Sequence[int], targets: Sequence[int]) -> Row:
    """Return a row after which registers are defined in the lanes in which all of the sources are, if there are any."""
    return Row("propagate definedness", _define_propagate, (len(sources), len(targets), *sources, *targets))


def _code(module: ir.Module, name: str) -> Code:
    return Code(module, name, ir.VoidType(), [POINTER, POINTER, POINTER, WORD])


def _mask(code: Code, warp: Value, record: Value, number: Value) -> Value:
    """Return a pointer to the mask whose offset is a word of the record."""
    offset = code.load(record, code.build.shl(number, code.value(2, LONG)), WORD)
    return code.at(warp, code.long(offset))


def _joint(code: Code, warp: Value, record: Value, first: int, count: Value) -> Value:
    """Return the lanes that are in all masks of a part of the record."""
    both = code.variable(WORD, -1)
    with code.repeat(count) as i:
        at = _mask(code, warp, record, code.build.add(i, code.value(first, LONG)))
        both.set(code.build.and_(both.value, code.load(at, 0, WORD)))
    return both.value


def _define_require(module: ir.Module) -> ir.Function:
    code = _code(module, "require defined")
    context, warp, record, mask = code.arguments
    defined = _joint(code, warp, record, 1, code.long(code.load(record, 0, WORD)))
    with code.when(code.is_nonzero(without(code, mask, defined)), likely=False):
        raise_flag(code, context, Flag.UNDEFINED)
    code.give()
    return code.function


def _define_propagate(module: ir.Module) -> ir.Function:
    code = _code(module, "propagate definedness")
    _, warp, record, mask = code.arguments
    sources, targets = (code.long(code.load(record, offset, WORD)) for offset in (0, 4))
    defined = code.build.and_(mask, _joint(code, warp, record, 2, sources))
    first = code.build.add(sources, code.value(2, LONG))
    with code.repeat(targets) as i:
        at = _mask(code, warp, record, code.build.add(i, first))
        kept = without(code, code.load(at, 0, WORD), mask)
        code.store(at, 0, code.build.or_(kept, defined), WORD)
    code.give()
    return code.function

# SPDX-License-Identifier: MIT
"""What threads receive when they continue: the results of calls, and those of barriers with a reduction."""

from collections.abc import Iterator, Sequence
from functools import partial

from llvmlite import ir

from wmma_emu.llvm.code import LONG, POINTER, WORD, Code
from wmma_emu.ptx.machine.barriers import decode_barrier
from wmma_emu.ptx.native.context_code import LANES_OF_WORDS, bits_of, first_value, without
from wmma_emu.ptx.native.control_words import BarrierField
from wmma_emu.ptx.native.leave_code import barrier_state
from wmma_emu.ptx.native.rows import NotNativeError, Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import AddressOperand, ParameterCopy, PtxInstruction, Symbol


def move_instructions(copies: Sequence[ParameterCopy], layout: WarpLayout) -> Iterator[PtxInstruction]:
    """Yield loads and stores of local memory that copy arguments or results.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import KernelProgram
    >>> layout = WarpLayout(KernelProgram("k", (), 0, (), (), (), 0, None, 32, None, None, ()))
    >>> [x.opcode for x in move_instructions([ParameterCopy(0, 16, 12)], layout)]
    ['ld.param.b32', 'st.param.b32', 'ld.param.b32', 'st.param.b32', 'ld.param.b32', 'st.param.b32']
    """
    for copy in copies:
        together = copy.source | copy.target | copy.bytes | 8
        size = together & -together
        for offset in range(0, copy.bytes, size):
            register = layout.temporary(8 * size)
            for mnemonic, first in (("ld", copy.source), ("st", copy.target)):
                address = AddressOperand(Symbol("local", first + offset, "", size, is_parameter=True))
                operands = (register, address) if mnemonic == "ld" else (address, register)
                words = "param", f"b{8 * size}"
                yield PtxInstruction(".".join((mnemonic, *words)), mnemonic, words, operands, None, 0, 0)


def votes_row(instruction: PtxInstruction, layout: WarpLayout) -> Row:
    """Return the row that writes the result of ``bar.red`` to the threads that have waited."""
    barrier = decode_barrier(instruction)
    if barrier.result is None:
        raise NotNativeError(instruction.opcode)
    record = layout.source(barrier.number, "u32"), layout.offset_of(barrier.result)
    name = f"result of bar.red.{barrier.reduction}"
    return Row(name, partial(_define_votes, name=name, reduction=barrier.reduction), record)


def _define_votes(module: ir.Module, name: str, reduction: str) -> ir.Function:
    code = Code(module, name, ir.VoidType(), [POINTER, POINTER, POINTER, WORD])
    context, warp, record, mask = code.arguments
    number, target = (code.long(code.load(record, 4 * i, WORD)) for i in range(2))
    state = barrier_state(code, context, code.long(first_value(code, warp, number, mask)))
    votes, arrived = (code.load(state, 8 * x, LONG) for x in (BarrierField.RESULT_VOTES, BarrierField.RESULT_ARRIVED))
    if reduction == "popc":
        words = code.splat(code.build.trunc(votes, WORD), 32)
        old = code.load(warp, target, LANES_OF_WORDS, align=64)
        code.store(warp, target, code.build.select(bits_of(code, mask), words, old), LANES_OF_WORDS, align=64)
    else:
        holds = code.is_equal(votes, arrived) if reduction == "and" else code.is_nonzero(votes)
        others = without(code, code.load(warp, target, WORD), mask)
        code.store(warp, target, code.build.select(holds, code.build.or_(others, mask), others), WORD)
    code.give()
    return code.function

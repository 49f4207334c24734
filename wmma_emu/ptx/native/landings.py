# SPDX-License-Identifier: MIT
"""The values that threads receive when they continue: the results of calls, and those of barriers with a reduction."""

from collections.abc import Iterator, Sequence
from functools import partial

from wmma_emu.ptx.machine.barriers import decode_barrier
from wmma_emu.ptx.native.body import Bits, Body, native
from wmma_emu.ptx.native.control_words import BarrierField
from wmma_emu.ptx.native.leave import state_of_barrier
from wmma_emu.ptx.native.rows import WORD, NotNativeError, Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.native.words import first_value, replace, word
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
    write = partial(_write_votes, reduction=barrier.reduction)
    return Row(name, partial(native, name, write=write), record)


def _write_votes(
    body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, *, reduction: str
) -> None:  # fmt: skip
    number, target = (record.at(4 * i).load(WORD, 4).cast(64) for i in range(2))
    state = state_of_barrier(context, first_value(warp, number, mask).cast(64))
    votes, arrived = (word(state, x) for x in (BarrierField.RESULT_VOTES, BarrierField.RESULT_ARRIVED))
    if reduction == "popc":
        return replace(warp, target, mask, votes.cast(32).repeated(32))
    holds = votes.equals(arrived) if reduction == "and" else votes.differs(0)
    others = warp.at(target).load(WORD, 4) & ~mask
    return warp.at(target).store(holds.chosen(others | mask, others), 4)

# SPDX-License-Identifier: MIT
"""The driver of the native machine: it runs the basic blocks of a warp, as native code.

As on the NumPy machine, the lanes at the lowest basic block run next, all together (`wmma_emu.ptx.machine.scheduler`).
While their next basic block is still the lowest, they run on, and nothing is searched.
"""

from typing import NamedTuple

from wmma_emu.ptx.native.body import Bits, Body, Loop, internal
from wmma_emu.ptx.native.context import Word
from wmma_emu.ptx.native.control_words import BlockField, EntryField, Kind, MachineWord
from wmma_emu.ptx.native.leave import leave
from wmma_emu.ptx.native.rows import FUNCTION, LONG, POINTER, WORD
from wmma_emu.ptx.native.warp_layout import AT_WARP, EXITED, LIVE, NEXT_BLOCKS
from wmma_emu.ptx.native.warps import synchronise
from wmma_emu.ptx.native.words import (
    LANES_OF_BITS,
    add,
    add_steps,
    block_at,
    count_of,
    field,
    held,
    host,
    send,
    word,
    words_at,
)

BLOCKED, STOPPED = 0, 1
"""The reasons why a warp stopped: no lane may run; or there is a flag, a yield, or no fuel."""


class _Turn(NamedTuple):
    """The lanes that run, in variables: their basic block, their mask, and the lowest basic block of all other lanes.

    The memory of the warp has the basic blocks of the other lanes.
    """

    number: Bits
    active: Bits
    others: Bits

    def choose(self, warp: Bits, number: Bits) -> None:
        """Let the lanes at a basic block run, with those that wait there for lanes of their warp."""
        self.number.store(number, 4)
        together = words_at(warp, NEXT_BLOCKS) & ~AT_WARP % (1 << 32)
        self.run(warp, together.equals(number.repeated(32)).as_type(WORD))

    def run(self, warp: Bits, lanes: Bits) -> None:
        """Let lanes run."""
        self.active.store(lanes, 4)
        others = (~lanes).as_type(LANES_OF_BITS).chosen(words_at(warp, NEXT_BLOCKS), EXITED)
        self.others.store(_lowest(others), 4)


def _lowest(numbers: Bits) -> Bits:
    return numbers.body.intrinsic("llvm.vector.reduce.umin", numbers, returns=WORD)


@internal(WORD, POINTER, POINTER)
def run_warp(body: Body, context: Bits, warp: Bits) -> None:
    """Run a warp until it stops, and return why."""
    blocks = host(context, MachineWord.BLOCKS)
    turn = _Turn(*(body.variable(WORD) for _ in range(3)))
    with body.loop() as pick:
        lowest = _lowest(words_at(warp, NEXT_BLOCKS))
        with body.when(lowest >= AT_WARP, likely=False):
            body.give(body.constant(WORD, BLOCKED))
        turn.choose(warp, lowest)
        with body.loop():
            block = block_at(blocks, turn.number.load(WORD, 4))
            with body.when(field(block, BlockField.SYNC).differs(0), likely=False):
                _meet(body, context, warp, block, turn, pick)
            lanes = turn.active.load(WORD, 4)
            _run_entries(body, context, warp, block, lanes)
            _count(context, warp, block, lanes)
            _end(body, context, warp, block, turn, pick)


def _meet(body: Body, context: Bits, warp: Bits, block: Bits, turn: _Turn, pick: Loop) -> None:
    """Let the lanes run that execute an instruction of their warp together; pick others if there are none now."""
    number, are_all = turn.number.load(WORD, 4), turn.active.load(WORD, 4).equals(warp.at(LIVE).load(WORD, 4))
    with body.when(~are_all):  # others may wait here
        send(warp, turn.active.load(WORD, 4), number)
        turn.choose(warp, number)
    lanes = synchronise(body, context, warp, block, number, turn.active.load(WORD, 4))
    with body.when(lanes.equals(0)):
        pick.restart()
    with body.when(lanes.differs(turn.active.load(WORD, 4)), likely=False):
        turn.run(warp, lanes)


def _run_entries(body: Body, context: Bits, warp: Bits, block: Bits, active: Bits) -> None:
    """Call the function of each entry for the active lanes whose guard holds, if there are any."""
    entries = field(block, BlockField.CODE, POINTER)
    with body.repeat(field(block, BlockField.COUNT)) as i:
        entry = entries.at(i * (8 * EntryField.COUNT_OF_WORDS))
        guard, complement = (entry.at(8 * x).load(LONG, 8) for x in (EntryField.GUARD, EntryField.COMPLEMENT))
        lanes = active & held(warp, guard, complement)
        with body.when(lanes.differs(0), likely=True):
            function = entry.at(8 * EntryField.FUNCTION).load(FUNCTION.as_pointer(), 8)
            record = entry.at(8 * EntryField.RECORD).load(POINTER, 8)
            body.builder.call(function.value, [x.value for x in (context, warp, record, lanes)])


def _count(context: Bits, warp: Bits, block: Bits, active: Bits) -> None:
    """Count the instructions of a basic block."""
    length = field(block, BlockField.LENGTH)
    add(context, Word.EXECUTED, length * count_of(active))
    add(context, Word.FUEL, -length)
    add_steps(warp, length)


def _end(body: Body, context: Bits, warp: Bits, block: Bits, turn: _Turn, pick: Loop) -> None:
    """Send the lanes on from the end of a basic block, and let those at the lowest one run."""
    lanes, others = turn.active.load(WORD, 4), turn.others.load(WORD, 4)
    taken = lanes & held(warp, field(block, BlockField.GUARD), field(block, BlockField.COMPLEMENT))
    target, following = field(block, BlockField.TARGET, WORD), field(block, BlockField.NEXT, WORD)
    with body.when(field(block, BlockField.KIND) > Kind.BRANCH, likely=False):
        send(warp, lanes, following)
        with body.when(taken.differs(0)):
            leave(body, context, warp, block, taken)
        with body.when(_must_stop(context, block)):
            body.give(body.constant(WORD, STOPPED))
        pick.restart()
    all_taken, none_taken = taken.equals(lanes), taken.equals(0)
    stops = _must_stop(context, block)
    lower = none_taken.chosen(following, all_taken.chosen(target, _lower(target, following)))
    together = (all_taken | none_taken) & (lower < others) & ~stops
    turn.number.store(lower, 4)
    with body.when(~together):
        send(warp, lanes, following)
        send(warp, taken, target)
        with body.when(stops, likely=False):
            body.give(body.constant(WORD, STOPPED))
        lowest = _lower(lower, others)
        with body.when(lowest >= AT_WARP, likely=False):
            pick.restart()
        turn.choose(warp, lowest)


def _lower(one: Bits, other: Bits) -> Bits:
    return (one < other).chosen(one, other)


def _must_stop(context: Bits, block: Bits) -> Bits:
    """Return whether there is a flag, a yield, or no fuel; a loop that waits for others yields each time."""
    reasons = word(context, Word.FLAGS) | word(context, Word.YIELD) | field(block, BlockField.IS_SPINNING)
    return reasons.differs(0) | word(context, Word.FUEL).less_signed(0)

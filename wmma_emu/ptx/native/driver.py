# SPDX-License-Identifier: MIT
"""The driver of the native machine: it runs the basic blocks of a warp, as native code.

As on the NumPy machine, the lanes at the lowest basic block run next, all together (`wmma_emu.ptx.machine.scheduler`).
"""

from wmma_emu.ptx.native.body import Bits, Body, Loop, internal
from wmma_emu.ptx.native.context import Word
from wmma_emu.ptx.native.control_words import BlockField, EntryField, Kind, MachineWord
from wmma_emu.ptx.native.leave import leave
from wmma_emu.ptx.native.rows import FUNCTION, LONG, POINTER, WORD
from wmma_emu.ptx.native.warp_layout import AT_WARP, LIVE, NEXT_BLOCKS
from wmma_emu.ptx.native.warps import synchronise
from wmma_emu.ptx.native.words import add, add_steps, block_at, count_of, field, held, host, send, word, words_at

BLOCKED, STOPPED = 0, 1
"""The reasons why a warp stopped: no lane may run; or there is a flag, a yield, or no fuel."""


@internal(WORD, POINTER, POINTER)
def run_warp(body: Body, context: Bits, warp: Bits) -> None:
    """Run a warp until it stops, and return why."""
    blocks, live = host(context, MachineWord.BLOCKS), warp.at(LIVE)
    number, active = body.variable(WORD), body.variable(WORD)
    with body.loop() as pick:
        lowest = body.intrinsic("llvm.vector.reduce.umin", words_at(warp, NEXT_BLOCKS), returns=WORD)
        with body.when(lowest >= AT_WARP, likely=False):
            body.give(body.constant(WORD, BLOCKED))
        number.store(lowest, 4)
        active.store(_lanes_at(warp, lowest), 4)
        with body.loop():
            block = block_at(blocks, number.load(WORD, 4))
            with body.when(field(block, BlockField.SYNC).differs(0), likely=False):
                here = number.load(WORD, 4), active.load(WORD, 4)
                active.store(synchronise(body, context, warp, block, *here), 4)
                with body.when(active.load(WORD, 4).equals(0)):
                    pick.restart()
            lanes = active.load(WORD, 4)
            _run_entries(body, context, warp, block, lanes)
            _count(context, warp, block, lanes)
            number.store(_end(body, context, warp, block, lanes, live.load(WORD, 4), pick), 4)


def _lanes_at(warp: Bits, number: Bits) -> Bits:
    """Return the lanes at a basic block, with those that wait there for lanes of their warp."""
    together = words_at(warp, NEXT_BLOCKS) & ~AT_WARP % (1 << 32)
    return together.equals(number.repeated(32)).as_type(WORD)


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


def _end(body: Body, context: Bits, warp: Bits, block: Bits, lanes: Bits, live: Bits, pick: Loop) -> Bits:
    """Return the number of the basic block at which all lanes of the warp continue.

    If they do not continue together, send each on, and pick again.
    """
    taken = lanes & held(warp, field(block, BlockField.GUARD), field(block, BlockField.COMPLEMENT))
    target, following = field(block, BlockField.TARGET, WORD), field(block, BlockField.NEXT, WORD)
    with body.when(field(block, BlockField.KIND) > Kind.BRANCH, likely=False):
        send(warp, lanes, following)
        with body.when(taken.differs(0)):
            leave(body, context, warp, block, taken)
        with body.when(_must_stop(context, block)):
            body.give(body.constant(WORD, STOPPED))
        pick.restart()
    all_taken = taken.equals(lanes)
    stops = _must_stop(context, block)
    together = (all_taken | taken.equals(0)) & lanes.equals(live) & ~stops
    with body.when(~together):
        send(warp, lanes, following)
        send(warp, taken, target)
        with body.when(stops, likely=False):
            body.give(body.constant(WORD, STOPPED))
        pick.restart()
    return all_taken.chosen(target, following)


def _must_stop(context: Bits, block: Bits) -> Bits:
    """Return whether there is a flag, a yield, or no fuel; a loop that waits for others yields each time."""
    reasons = word(context, Word.FLAGS) | word(context, Word.YIELD) | field(block, BlockField.IS_SPINNING)
    return reasons.differs(0) | word(context, Word.FUEL).less_signed(0)

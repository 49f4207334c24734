# SPDX-License-Identifier: MIT
"""The blocks of a wave, all together, in the order of the NumPy machine, as native code.

Results that depend on the order of threads, such as sums of floats by atomic operations, then have the bits of the
NumPy machine (`wmma_emu.ptx.machine.scheduler`): the threads at the lowest basic block of all blocks run next, and each
instruction is executed by all of them, in the order of blocks, warps and lanes, before the next instruction.
"""

from llvmlite import ir

from wmma_emu.ptx.machine.scheduler import PATIENCE, PATIENCE_WITH_SPINNING, TURNS
from wmma_emu.ptx.native.blocks import DONE, UNFINISHED, begin
from wmma_emu.ptx.native.body import BIT, Bits, Body, internal
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.control_words import BlockField, EntryField, Kind, PickedWarp, WaveWord
from wmma_emu.ptx.native.leave import leave
from wmma_emu.ptx.native.memory.stamps import flag_if
from wmma_emu.ptx.native.rows import FUNCTION, LONG, POINTER, WORD
from wmma_emu.ptx.native.warp_layout import AT_WARP, LIVE, NEXT_BLOCKS
from wmma_emu.ptx.native.warps import synchronise
from wmma_emu.ptx.native.words import add, block_at, count_of, field, held, host, put, send, word, words_at

RUN_WAVE = "run wave"
"""The name of the driver: ``i32 (ptr wave)`` runs a wave until its end, or until a flag or no fuel stops it."""

BEGIN_WAVE = "begin wave"
"""The name of the function ``void (ptr wave)`` that prepares the blocks of a wave."""

_MOST_QUIET = 1 << 16
"""Basic blocks in succession that change only registers, in a loop that waits, after which a deadlock is assumed."""

_EVERYONE = 0xFFFF_FFFF


def define_begin_wave(module: ir.Module) -> ir.Function:
    """Add the function that prepares the blocks of a wave to a module."""
    body = Body(ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER]), BEGIN_WAVE))
    (wave,) = body.arguments
    with body.repeat(word(wave, WaveWord.COUNT)) as number:
        begin(body, _context(wave, number), word(wave, WaveWord.FIRST) + number)
    body.give()
    return body.function


def define_run_wave(module: ir.Module) -> ir.Function:
    """Add the driver of a wave to a module."""
    body = Body(ir.Function(module, ir.FunctionType(WORD, [POINTER]), RUN_WAVE))
    (wave,) = body.arguments
    unfinished = body.constant(WORD, UNFINISHED)
    with body.loop():
        with body.when(_flags(body, wave).differs(0) | word(wave, WaveWord.FUEL).less_signed(0), likely=False):
            body.give(unfinished)
        count = pick(body, wave)
        with body.when(count.equals(0)):
            body.give(_flags(body, wave).equals(0).chosen(body.constant(WORD, DONE), unfinished))
        block = block_at(host(wave, WaveWord.TABLE), word(wave, WaveWord.BLOCK))
        is_whole = meet(body, wave, block, count)
        _run_entries(body, wave, block, count)
        _count(body, wave, block, count)
        end(body, wave, block, count, is_whole)
    return body.function


def _context(wave: Bits, number: Bits) -> Bits:
    """Return the context of a block of the wave."""
    return host(wave, WaveWord.CONTEXTS).at(number << 3).load(POINTER, 8)


def _flags(body: Body, wave: Bits) -> Bits:
    """Return the flags of all blocks that count: the order of threads equals the NumPy machine's."""
    found = body.variable(LONG)
    found.store(body.constant(LONG, 0), 8)
    with body.repeat(word(wave, WaveWord.COUNT)) as number:
        found.store(found.load(LONG, 8) | word(_context(wave, number), Word.FLAGS), 8)
    return found.load(LONG, 8) & ~Flag.UNORDERED % (1 << 64)


def _picked(wave: Bits, number: Bits) -> Bits:
    """Return an entry of the warps that run now."""
    return host(wave, WaveWord.PICKED).at(number * (8 * PickedWarp.COUNT_OF_WORDS))


def _warp_of(context: Bits, number: Bits) -> Bits:
    return host(context, Word.WARP_MEMORY).at(number * word(context, Word.WARP_BYTES))


@internal(LONG, POINTER)
def pick(body: Body, wave: Bits) -> Bits:
    """Choose the basic block that runs next, and list its warps with their lanes; return their number."""
    is_counted = word(wave, WaveWord.IS_TOGETHER).equals(0)
    with body.when(is_counted):
        lowest = lowest_block(body, wave)
        with body.when(lowest >= AT_WARP, likely=False):  # no thread is left, or all threads wait
            body.give(body.constant(LONG, 0))
        put(wave, WaveWord.BLOCK, give_turn(body, wave, lowest))
    chosen = word(wave, WaveWord.BLOCK).cast(32)
    count, together = body.variable(LONG), body.variable(BIT)
    count.store(body.constant(LONG, 0), 8)
    together.store(body.constant(BIT, 1))
    with body.repeat(word(wave, WaveWord.COUNT)) as number:
        context = _context(wave, number)
        with body.repeat(word(context, Word.WARPS)) as i:
            warp = _warp_of(context, i)
            at = words_at(warp, NEXT_BLOCKS) & ~AT_WARP % (1 << 32)
            lanes, live = at.equals(chosen.repeated(32)).as_type(WORD), warp.at(LIVE).load(WORD, 4)
            together.store(together.load(BIT) & lanes.equals(live))
            with body.when(lanes.differs(0)):
                entry = _picked(wave, count.load(LONG, 8))
                for index, value in ((PickedWarp.CONTEXT, context), (PickedWarp.WARP, warp)):
                    entry.at(8 * index).store(value, 8)
                put(entry, PickedWarp.LANES, lanes.cast(64))
                count.store(count.load(LONG, 8) + 1, 8)
    with body.when(is_counted & together.load(BIT)):
        put(wave, WaveWord.IS_TOGETHER, 1)
        put(wave, WaveWord.PATIENCE, PATIENCE)
        put(wave, WaveWord.TURNS, 0)
    return count.load(LONG, 8)


@internal(WORD, POINTER)
def lowest_block(body: Body, wave: Bits) -> Bits:
    """Return the lowest basic block at which any thread may run; raise a flag if all that are left wait."""
    lowest, live = body.variable(WORD), body.variable(WORD)
    lowest.store(body.constant(WORD, _EVERYONE), 4)
    live.store(body.constant(WORD, 0), 4)
    with body.repeat(word(wave, WaveWord.COUNT)) as number:
        context = _context(wave, number)
        with body.repeat(word(context, Word.WARPS)) as i:
            warp = _warp_of(context, i)
            here = body.intrinsic("llvm.vector.reduce.umin", words_at(warp, NEXT_BLOCKS), returns=WORD)
            known = lowest.load(WORD, 4)
            lowest.store((here < known).chosen(here, known), 4)
            live.store(live.load(WORD, 4) | warp.at(LIVE).load(WORD, 4), 4)
    found = lowest.load(WORD, 4)
    waits = (found >= AT_WARP) & live.load(WORD, 4).differs(0)
    flag_if(body, waits, _context(wave, body.constant(LONG, 0)), Flag.DEADLOCK)
    return found


@internal(LONG, POINTER, WORD)
def give_turn(body: Body, wave: Bits, lowest: Bits) -> Bits:
    """Return the lowest basic block; after it was picked for long, that which has waited longest."""
    picks = word(wave, WaveWord.PICKS) + 1
    put(wave, WaveWord.PICKS, picks)
    chosen = body.variable(LONG)
    chosen.store(lowest.cast(64), 8)
    polls = field(block_at(host(wave, WaveWord.TABLE), lowest), BlockField.POLLS).differs(0)
    cost = polls.chosen(body.constant(LONG, PATIENCE // PATIENCE_WITH_SPINNING), 1)
    left = word(wave, WaveWord.PATIENCE) - cost
    is_over = left.less_signed(1)
    put(wave, WaveWord.PATIENCE, is_over.chosen(body.constant(LONG, PATIENCE), left))
    with body.when(is_over):
        put(wave, WaveWord.TURNS, TURNS)
    with body.when(word(wave, WaveWord.TURNS).differs(0)):
        put(wave, WaveWord.TURNS, word(wave, WaveWord.TURNS) - 1)
        put(wave, WaveWord.PATIENCE, PATIENCE)
        first = _context(wave, body.constant(LONG, 0))
        flag_if(body, word(wave, WaveWord.HAS_EXACT_TURNS).equals(0), first, Flag.UNSUPPORTED)
        chosen.store(longest_waiting(body, wave), 8)
    found = chosen.load(LONG, 8)
    host(wave, WaveWord.LAST).at(found << 3).store(picks, 8)
    return found


@internal(LONG, POINTER)
def longest_waiting(body: Body, wave: Bits) -> Bits:
    """Return the basic block at which threads may run that was picked least recently, the lowest of several."""
    best, since = body.variable(LONG), body.variable(LONG)
    for variable in (best, since):
        variable.store(body.constant(LONG, (1 << 63) - 1), 8)
    last = host(wave, WaveWord.LAST)
    with body.repeat(word(wave, WaveWord.COUNT)) as number:
        context = _context(wave, number)
        with body.repeat(word(context, Word.WARPS)) as i:
            next_blocks = _warp_of(context, i).at(NEXT_BLOCKS)
            with body.repeat(32) as lane:
                block = next_blocks.at(lane << 2).load(WORD, 4).cast(64)
                with body.when(block < AT_WARP):
                    time, known = last.at(block << 3).load(LONG, 8), since.load(LONG, 8)
                    is_better = (time < known) | (time.equals(known) & (block < best.load(LONG, 8)))
                    with body.when(is_better):
                        best.store(block, 8)
                        since.store(time, 8)
    return best.load(LONG, 8)


@internal(BIT, POINTER, POINTER, LONG)
def meet(body: Body, wave: Bits, block: Bits, count: Bits) -> Bits:
    """Let lanes of warps wait for each other at the beginning of a basic block; return whether all continue."""
    whole = body.variable(BIT)
    whole.store(body.constant(BIT, 1))
    with body.when(field(block, BlockField.SYNC).differs(0)):
        here = word(wave, WaveWord.BLOCK).cast(32)
        with body.repeat(count) as k:
            entry = _picked(wave, k)
            lanes = word(entry, PickedWarp.LANES).cast(32)
            context, warp = host(entry, PickedWarp.CONTEXT), host(entry, PickedWarp.WARP)
            left = synchronise(body, context, warp, block, here, lanes)
            put(entry, PickedWarp.LANES, left.cast(64))
            whole.store(whole.load(BIT) & left.equals(lanes))
    return whole.load(BIT)


def _run_entries(body: Body, wave: Bits, block: Bits, count: Bits) -> None:
    """Call the function of each entry for all warps, before that of the next entry."""
    entries = field(block, BlockField.CODE, POINTER)
    with body.repeat(field(block, BlockField.COUNT)) as number:
        entry = entries.at(number * (8 * EntryField.COUNT_OF_WORDS))
        guard, complement = (entry.at(8 * x).load(LONG, 8) for x in (EntryField.GUARD, EntryField.COMPLEMENT))
        function = entry.at(8 * EntryField.FUNCTION).load(FUNCTION.as_pointer(), 8)
        record = entry.at(8 * EntryField.RECORD).load(POINTER, 8)
        with body.repeat(count) as k:
            picked = _picked(wave, k)
            context, warp = host(picked, PickedWarp.CONTEXT), host(picked, PickedWarp.WARP)
            lanes = word(picked, PickedWarp.LANES).cast(32) & held(warp, guard, complement)
            with body.when(lanes.differs(0), likely=True):
                body.builder.call(function.value, [x.value for x in (context, warp, record, lanes)])


def _count(body: Body, wave: Bits, block: Bits, count: Bits) -> None:
    """Count the instructions of a basic block, and notice threads that wait without end."""
    length = field(block, BlockField.LENGTH)
    add(wave, WaveWord.STEPS, length)
    add(wave, WaveWord.FUEL, -length)
    with body.repeat(count) as k:
        entry = _picked(wave, k)
        lanes = count_of(word(entry, PickedWarp.LANES).cast(32))
        add(host(entry, PickedWarp.CONTEXT), Word.EXECUTED, length * lanes)
        add(wave, WaveWord.FUEL, -length)
    only_reads = field(block, BlockField.ONLY_READS).differs(0)
    quiet = only_reads.chosen(word(wave, WaveWord.QUIET) + 1, 0)
    put(wave, WaveWord.QUIET, quiet)
    is_endless = (quiet > _MOST_QUIET) & field(block, BlockField.POLLS).differs(0)
    flag_if(body, is_endless, _context(wave, body.constant(LONG, 0)), Flag.DEADLOCK)


@internal(ir.VoidType(), POINTER, POINTER, LONG, BIT)
def end(body: Body, wave: Bits, block: Bits, count: Bits, is_whole: Bits) -> None:
    """Send the threads on from the end of a basic block, and note whether they are still together."""
    kind = field(block, BlockField.KIND)
    target, following = field(block, BlockField.TARGET, WORD), field(block, BlockField.NEXT, WORD)
    all_taken, none_taken, everyone = (body.variable(BIT) for _ in range(3))
    for variable in (all_taken, none_taken, everyone):
        variable.store(body.constant(BIT, 1))
    with body.repeat(count) as k:
        entry = _picked(wave, k)
        context, warp = host(entry, PickedWarp.CONTEXT), host(entry, PickedWarp.WARP)
        lanes = word(entry, PickedWarp.LANES).cast(32)
        taken = lanes & held(warp, field(block, BlockField.GUARD), field(block, BlockField.COMPLEMENT))
        all_taken.store(all_taken.load(BIT) & taken.equals(lanes))
        none_taken.store(none_taken.load(BIT) & taken.equals(0))
        everyone.store(everyone.load(BIT) & lanes.equals(_EVERYONE))
        send(warp, lanes, following)
        with body.either(kind > Kind.BRANCH) as (other, jump):
            with other, body.when(taken.differs(0)):
                leave(body, context, warp, block, taken)
            with jump:
                send(warp, taken, target)
    # As in the NumPy machine, threads that wait at a barrier are apart, even if all of them continue at once.
    warps = word(wave, WaveWord.COUNT) * word(_context(wave, body.constant(LONG, 0)), Word.WARPS)
    is_everyone = everyone.load(BIT) & count.equals(warps)
    meets = kind.equals(Kind.BARRIER) & is_everyone & field(block, BlockField.MEETS_ALL).differs(0)
    jumps = (kind <= Kind.BRANCH) | kind.equals(Kind.CALL)
    stays = none_taken.load(BIT) | (all_taken.load(BIT) & (jumps | meets))
    together = word(wave, WaveWord.IS_TOGETHER).differs(0) & is_whole & stays
    put(wave, WaveWord.IS_TOGETHER, together.cast(64))
    goes_to_target = all_taken.load(BIT) & ~none_taken.load(BIT) & jumps
    put(wave, WaveWord.BLOCK, goes_to_target.chosen(target, following).cast(64))

# SPDX-License-Identifier: MIT
"""cvta, isspacep, mapa and getctarank; and instructions that change nothing here: fences and hints."""

from functools import partial

from llvmlite import ir

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality.ordering import fence_of
from wmma_emu.ptx.memory.address_map import BASES, WINDOW_BITS, WINDOWS
from wmma_emu.ptx.memory.proxies.asynchronous import UsedProxies
from wmma_emu.ptx.native.body import Bits, Body, native
from wmma_emu.ptx.native.context import Flag
from wmma_emu.ptx.native.memory.access import search_range
from wmma_emu.ptx.native.memory.log import EntryKind
from wmma_emu.ptx.native.memory.operands import read, source_of, target_of, word, write, write_predicate
from wmma_emu.ptx.native.memory.stamps import flag_if, state_of
from wmma_emu.ptx.native.memory.state import AtomicChecks, Range, RangeFlag, checks_of
from wmma_emu.ptx.native.memory.time import log_event
from wmma_emu.ptx.native.rows import LONG, WORD, NotNativeError, Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.addresses import space_of
from wmma_emu.ptx.steps.lane_operations import CompileContext


def convert_address(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``cvta``."""
    target, source = instruction.operands
    to, of = target_of(layout, target), source_of(layout, source, "u64")
    window = BASES.get(space_of(instruction).split("::")[0], 0)
    if "to" in instruction.modifiers:
        window = -window % (1 << 64)
    name = f"memory_cvta_{window:x}_{to.bits}_{of.bits}"

    def write_body(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
        if to.bits:
            found = read(body, warp, word(record, 1), of.bits).cast(64) + window
            write(body, warp, word(record, 0), found.cast(to.bits), mask)

    return Row(name, lambda module: native(name, module, write_body), (to.offset, of.offset))


def is_in_space(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``isspacep``."""
    target, source = instruction.operands
    to, of = target_of(layout, target), source_of(layout, source, "u64")
    space = space_of(instruction).split("::")[0]
    name = f"memory_isspacep_{space}_{of.bits}"

    def write_body(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
        addresses = read(body, warp, word(record, 1), of.bits).cast(64)
        windows = addresses >> WINDOW_BITS
        if space in WINDOWS:
            found = windows.equals(WINDOWS[space] >> WINDOW_BITS).as_type(WORD)
        else:
            found = _constants(body, context, addresses)
            if space == "global":
                for address in WINDOWS.values():
                    found = found | windows.equals(address >> WINDOW_BITS).as_type(WORD)
                found = ~found
        write_predicate(warp, word(record, 0), found, mask)

    return Row(name, lambda module: native(name, module, write_body), (to.offset, of.offset))


def _constants(body: Body, context: Bits, addresses: Bits) -> Bits:
    """Return the lanes whose address is in a variable of constant memory."""
    place, found = body.variable(LONG, LANES, alignment=64), body.variable(WORD, alignment=4)
    place.store(addresses, 64)
    found.store(body.constant(WORD, 0), 4)
    with body.repeat(LANES) as lane:
        address = place.at(lane << 3).load(LONG, 8)
        at = search_range(body, state_of(context), address)
        offset = address - at.at(8 * Range.FIRST).load(LONG, 8)
        inside = offset < at.at(8 * Range.SPAN).load(LONG, 8)
        constant = (at.at(8 * Range.FLAGS).load(LONG, 8) & RangeFlag.CONSTANT).differs(0)
        found.store(found.load(WORD, 4) | (inside & constant).cast(32) << lane.cast(32), 4)
    return found.load(WORD, 4)


def map_address(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``mapa``: without clusters, each block is a cluster of one block, whose rank is 0."""
    target, source, rank = instruction.operands
    to, of, place = target_of(layout, target), source_of(layout, source, "u64"), source_of(layout, rank, "u32")
    name = f"memory_mapa_{to.bits}_{of.bits}_{place.bits}"

    def write_body(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
        wrong = read(body, warp, word(record, 2), place.bits).differs(0).as_type(WORD) & mask
        flag_if(body, wrong.differs(0), context, Flag.COLLECTIVE)
        if to.bits:
            write(body, warp, word(record, 0), read(body, warp, word(record, 1), of.bits).cast(to.bits), mask)

    return Row(name, lambda module: native(name, module, write_body), (to.offset, of.offset, place.offset))


def zeros(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``getctarank`` or ``createpolicy``, whose result is 0 here."""
    to = target_of(layout, instruction.operands[0])
    name = f"memory_zeros_{to.bits}"

    def write_body(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
        if to.bits:
            write(body, warp, word(record, 0), body.constant(ir.VectorType(ir.IntType(to.bits), LANES), 0), mask)

    return Row(name, lambda module: native(name, module, write_body), (to.offset,))


def _nothing(body: Body, *arguments: Bits) -> None:
    """Write no instruction."""


def hint(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of an instruction that changes nothing."""
    return Row("memory_nothing", partial(native, "memory_nothing", write=_nothing), ())


def fence(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of a fence: accesses that it may order are flagged, or logged."""
    if "proxy" in instruction.modifiers and UsedProxies.of(layout.program.instructions) is not None:
        raise NotNativeError(f"{instruction.opcode} has no native code")
    if not checks_of(layout.program).atomics & AtomicChecks.LOGGED or fence_of(instruction) is None:
        return hint(instruction, layout, context)
    name = "memory_fence"

    def write_body(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
        log_event(body, context, warp, EntryKind.FENCE, mask, word(record, 0))

    return Row(name, partial(native, name, write=write_body), (layout.log_number(instruction),))

# SPDX-License-Identifier: MIT
"""``cp.async``: the bytes move at once; the copy stays in the queue of its warp until a lane waits for it."""

from functools import partial
from typing import NamedTuple

from llvmlite import ir

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.native.body import BIT, BYTE, Bits, Body, internal, native
from wmma_emu.ptx.native.context import Flag
from wmma_emu.ptx.native.memory.access import access, global_lane, range_of, record_lane, slot_of
from wmma_emu.ptx.native.memory.operands import NOWHERE, address_of, addresses, read, word
from wmma_emu.ptx.native.memory.products_in_flight import follow_arrival
from wmma_emu.ptx.native.memory.stamps import field, flag_if, own_stamp, pointer, raise_flag, state_of, warp_state
from wmma_emu.ptx.native.memory.state import (
    COPY_BYTES,
    MOST_COPIES,
    Checks,
    Copy,
    Range,
    Shadow,
    StateField,
    WarpField,
    checks_of,
)
from wmma_emu.ptx.native.refusals import reason_for
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD, NotNativeError, Row
from wmma_emu.ptx.native.warp_layout import WARP_NUMBER, WarpLayout
from wmma_emu.ptx.program.program import AddressOperand, Immediate, Operand, Predicate, PtxInstruction, Register
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.ptx.widths import bits_of_type

_MOST = (1 << 31) - 1
"""The largest number of groups that a lane may leave pending."""

_SLOT, _TARGET, _SOURCE, _LIMIT = 0, 1, 4, 7
"""The words of the record of a copy."""


class Form(NamedTuple):
    """A copy: its bytes, the bits of the registers of its addresses, and what limits the bytes that it reads.

    ``limit`` is "" if all are read, "bytes" for a number, "ignore" and "unless" for a predicate.
    """

    size: int
    target: int
    source: int
    limit: str

    def __str__(self) -> str:
        return f"{self.size}_{self.target}_{self.source}_{self.limit}"


def copy(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``cp``."""
    kind = instruction.modifiers
    for word_of_form, name in (("bulk", "cp.async.bulk"), ("mbarrier", "mbarrier")):
        if word_of_form in kind[:3]:
            raise NotNativeError(reason_for(name, instruction.opcode))
    checks = checks_of(layout.program)
    if kind[1:] == ("commit_group",):
        return Row("memory_cp_commit", lambda module: native("memory_cp_commit", module, _commit), ())
    if kind[1:] in (("wait_all",), ("wait_group",)):
        name = f"memory_cp_wait_{checks.granule}"
        left = _number(instruction.operands[0]) if kind[1:] == ("wait_group",) else NOWHERE
        wait = partial(_wait, granule=checks.granule)
        return Row(name, lambda module: native(name, module, wait), (min(left, _MOST) if left != NOWHERE else left,))
    return _issue(instruction, layout, checks)


def _number(operand: Operand | None) -> int:
    if not isinstance(operand, Immediate) or operand.value < 0:
        raise NotNativeError("cp.async with this operand has no native code")
    return operand.value


def _issue(instruction: PtxInstruction, layout: WarpLayout, checks: Checks) -> Row:
    operands = list(instruction.operands)
    if "L2::cache_hint" in instruction.modifiers:
        operands.pop()
    target, source, size, *rest = operands
    if not isinstance(target, AddressOperand) or not isinstance(source, AddressOperand):
        raise NotNativeError("cp.async with these addresses has no native code")
    limit, place = _limit(rest[0] if rest else None, layout)
    to, of = address_of(layout, target), address_of(layout, source)
    form = Form(_number(size), to.bits, of.bits, limit)
    name = f"memory_cp_async_{form}_{checks.granule}{checks.atomics:d}"
    write_body = partial(_copy, form=form, checks=checks)
    record = (slot_of(instruction.line), *to.words, *of.words, place)
    return Row(name, lambda module: native(name, module, write_body), record)


def _limit(operand: Operand | None, layout: WarpLayout) -> tuple[str, int]:
    if operand is None:
        return "", 0
    if isinstance(operand, Predicate):
        return ("unless" if operand.negated else "ignore"), layout.offset_of(operand.register)
    if isinstance(operand, Register) and operand.type == "pred":
        return "ignore", layout.offset_of(operand)
    if isinstance(operand, Register) and bits_of_type(operand.type) != 32:
        raise NotNativeError("cp.async with a number of bytes that has not 32 bits has no native code")
    return "bytes", layout.source(operand, "u32")


def _copy(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, *, form: Form, checks: Checks) -> None:
    """Copy bytes from global to shared memory, and put the copy into the queue."""
    state, size = state_of(context), form.size
    to, of = (body.variable(LONG, LANES, alignment=64) for _ in range(2))
    to.store(addresses(body, warp, record, _TARGET, form.target), 64)
    of.store(addresses(body, warp, record, _SOURCE, form.source), 64)
    amounts = body.variable(WORD, LANES, alignment=64)
    given = _amounts(body, context, warp, record, mask, form)
    amounts.store(given, 64)
    reads = given.equals(size).as_type(WORD) & mask
    hosts, targets = (body.variable(POINTER, LANES, alignment=64) for _ in range(2))
    slot = state.at(word(record, _SLOT))
    constants = {"size": size, "alignment": size, "granule": checks.granule, "atomics": checks.atomics}
    read = access(body, context, warp, of, hosts, slot, reads, space="global", kind="read", **constants)
    written = access(body, context, warp, to, targets, slot, mask, space="shared", kind="copy", **constants)
    kind = ir.IntType(8 * size)
    with body.lanes(written) as lane:
        target = targets.at(lane << 3).load(POINTER, 8)
        with body.either((read >> lane.cast(32) & 1).differs(0)) as (then, otherwise):
            with then:
                target.store(hosts.at(lane << 3).load(POINTER, 8).load(kind))
            with otherwise:
                target.store(body.constant(kind, 0))
    if form.limit == "bytes":
        part = given.differs(0).as_type(WORD) & written & ~reads
        with body.lanes(part) as lane:
            target, source = targets.at(lane << 3).load(POINTER, 8), of.at(lane << 3).load(LONG, 8)
            flag_if(body, (source & size - 1).differs(0), context, Flag.ALIGNMENT)
            with body.repeat(amounts.at(lane << 2).load(WORD, 4).cast(64)) as i:  # byte by byte: this is rare
                host = global_lane(
                    body, context, slot, source + i, own_stamp(body, state, warp) + lane,
                    size=1, kind="read", granule=checks.granule, atomics=checks.atomics,
                )  # fmt: skip
                with body.when(host.differs(body.null)):
                    target.at(i).store(host.load(BYTE))
    enqueue(body, context, warp, slot, to, of, written, amounts, body.constant(WORD, size))


def _amounts(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, form: Form) -> Bits:
    """Return the number of bytes that each lane reads."""
    every = body.constant(ir.VectorType(WORD, LANES), form.size)
    if not form.limit:
        return every
    if form.limit == "bytes":
        given = read(body, warp, word(record, _LIMIT), 32)
        more = (given > form.size).as_type(WORD) & mask
        flag_if(body, more.differs(0), context, Flag.COLLECTIVE)
        return (given > form.size).chosen(every, given)
    ignored = warp.at(word(record, _LIMIT)).load(WORD, 4)
    reads = ignored if form.limit == "unless" else ~ignored
    return reads.as_type(ir.VectorType(BIT, LANES)).chosen(every, 0)


@internal(ir.VoidType(), POINTER, POINTER, POINTER, POINTER, POINTER, WORD, POINTER, WORD)
def enqueue(
    body: Body, context: Bits, warp: Bits, slot: Bits, targets: Bits, sources: Bits, mask: Bits, amounts: Bits,
    size: Bits,
) -> None:  # fmt: skip
    """Put a copy of the lanes of a mask into the queue of the warp."""
    state = state_of(context)
    own = warp_state(state, warp.at(WARP_NUMBER).load(WORD, 4).cast(64))
    count = own.at(WarpField.COPIES).load(WORD, 4)
    with body.either((count < MOST_COPIES) & mask.differs(0)) as (then, otherwise):
        with then:
            entry = own.at(count.cast(64) * COPY_BYTES).at(WarpField.QUEUE)
            entry.at(Copy.MASK).store(mask, 4)
            entry.at(Copy.SIZE).store(size, 4)
            body.copy(entry.at(Copy.GROUPS), own.at(WarpField.GROUPS), 4 * LANES)
            addresses = targets.load(ir.VectorType(LONG, LANES), 64).cast(32)
            entry.at(Copy.TARGETS).store(addresses, 4)
            read = amounts.load(ir.VectorType(WORD, LANES), 64)
            entry.at(Copy.READ).store(read, 4)
            lowest, highest = entry.at(Copy.LOWEST), entry.at(Copy.HIGHEST)
            lowest.store(body.constant(LONG, (1 << 64) - 1), 8)
            highest.store(body.constant(LONG, 0), 8)
            with body.lanes(mask & read.differs(0).as_type(WORD)) as lane:
                address = sources.at(lane << 3).load(LONG, 8)
                amount = amounts.at(lane << 2).load(WORD, 4).cast(64)
                found = range_of(body, state, slot, address, amount)
                position = address + found.at(8 * Range.POSITION).load(LONG, 8)
                entry.at(Copy.SOURCES).at(lane << 3).store(position, 8)
                end, low, high = position + amount, lowest.load(LONG, 8), highest.load(LONG, 8)
                lowest.store((position < low).chosen(position, low), 8)
                highest.store((end > high).chosen(end, high), 8)
            own.at(WarpField.COPIES).store(count + 1, 4)
            place = state.at(8 * StateField.PENDING)
            place.store(place.load(LONG, 8) + 1, 8)
        with otherwise:
            flag_if(body, count.equals(MOST_COPIES), context, Flag.LIMIT)


def _commit(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
    """End the group of each lane."""
    own = warp_state(state_of(context), warp.at(WARP_NUMBER).load(WORD, 4).cast(64))
    groups = own.at(WarpField.GROUPS)
    kind = ir.VectorType(WORD, LANES)
    old = groups.load(kind, 4)
    groups.store(mask.as_type(ir.VectorType(BIT, LANES)).chosen(old + 1, old), 4)


def _wait(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, *, granule: int) -> None:
    """Complete the copies of the lanes: all, or those of all but the last groups."""
    state = state_of(context)
    own = warp_state(state, warp.at(WARP_NUMBER).load(WORD, 4).cast(64))
    kind = ir.VectorType(WORD, LANES)
    left = record.load(WORD, 4)
    is_all = left.equals(NOWHERE).cast(32)
    limits = own.at(WarpField.GROUPS).load(kind, 4) - is_all.equals(0).chosen(left, 0).repeated(LANES)
    place = own.at(WarpField.COPIES)
    before = place.load(WORD, 4).cast(64)
    with body.repeat(before) as i:
        at = before - 1 - i  # in reverse order: the last entry then replaces one that is done
        entry = own.at(at * COPY_BYTES).at(WarpField.QUEUE)
        groups = entry.at(Copy.GROUPS).load(kind, 4)
        over = groups.less_signed(limits).as_type(WORD) | (body.constant(WORD, 0) - is_all)
        lanes = entry.at(Copy.MASK).load(WORD, 4)
        ready = lanes & over & mask
        with body.when(ready.differs(0)):
            arrive(body, context, warp, entry, ready, granule=granule)
            entry.at(Copy.MASK).store(lanes & ~ready, 4)
            with body.when((lanes & ~ready).equals(0)):
                last = place.load(WORD, 4) - 1
                place.store(last, 4)
                with body.when(last.cast(64).differs(at)):
                    body.copy(entry, own.at(last.cast(64) * COPY_BYTES).at(WarpField.QUEUE), COPY_BYTES)
                pending = state.at(8 * StateField.PENDING)
                pending.store(field(state, StateField.PENDING) - 1, 8)


@internal(ir.VoidType(), POINTER, POINTER, POINTER, WORD)
def arrive(body: Body, context: Bits, warp: Bits, entry: Bits, mask: Bits, *, granule: int) -> None:
    """Let the copies of some lanes arrive: their bytes are initialised, and count as written now."""
    state = state_of(context)
    own = own_stamp(body, state, warp)
    size = entry.at(Copy.SIZE).load(WORD, 4)
    follow_arrival(body, context, warp)
    with body.lanes(mask) as lane:
        address = entry.at(Copy.TARGETS).at(lane << 2).load(WORD, 4).cast(64)
        body.fill(pointer(state, StateField.SHARED_SHADOW).at(address), Shadow.WRITTEN, size.cast(64))
        # A copy is recorded in pieces of four bytes, the smallest size.
        with body.repeat(size.cast(64) >> 2) as i:
            again = record_lane(
                body, context, state.at(8 * StateField.SLOTS), address + (i << 2), own + lane,
                space="shared", size=4, granule=granule,
            )  # fmt: skip
            with body.when(again, likely=False):
                raise_flag(body, context, body.constant(WORD, Flag.RACE))

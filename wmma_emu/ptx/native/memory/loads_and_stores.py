# SPDX-License-Identifier: MIT
"""``ld``, ``ldu`` and ``st``: the elements of one lane after another, or of all lanes if they are neighbours."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from llvmlite import ir

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality.ordering import ordering_of
from wmma_emu.ptx.memory.address_map import BASES, WINDOW_BITS, WINDOWS
from wmma_emu.ptx.native.body import Bits, Body, internal, native
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.memory.access import access, record_lane, slot_of
from wmma_emu.ptx.native.memory.log import SHARED, EntryKind, is_logging
from wmma_emu.ptx.native.memory.neighbours import move_neighbours
from wmma_emu.ptx.native.memory.operands import (
    FULL,
    address_of,
    addresses,
    read,
    source_of,
    target_of,
    word,
    write,
)
from wmma_emu.ptx.native.memory.stamps import flag_if, own_stamp, state_of
from wmma_emu.ptx.native.memory.state import AtomicChecks, Checks, checks_of
from wmma_emu.ptx.native.memory.time import log_event
from wmma_emu.ptx.native.refusals import reason_for
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD, NotNativeError, Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import AddressOperand, PtxInstruction, Symbol
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.ptx.steps.loads import parse_access
from wmma_emu.ptx.steps.memory_steps import used_length

SPACES = {
    "global": "global", "const": "global", "shared": "shared", "shared::cta": "shared", "shared::cluster": "shared",
    "local": "local", "param": "param", "param::entry": "param", "param::func": "param",
}  # fmt: skip
"""The memory of each state space."""

_KINDS = {"ld": "read", "st": "write"}

_SLOT, _ADDRESS, _DATA = 0, 1, 4
"""The words of a record: the slot of the last range, the address, the elements' registers, the number in logs."""


class Elements(NamedTuple):
    """The elements of an access: their bytes, the bits of their registers (0: none), and whether they have signs.

    ``logged`` is whether the access is strong, and logged; ``kind`` is as in `access`.
    """

    size: int
    registers: tuple[int, ...]
    signed: bool
    logged: bool = False
    kind: str = ""

    @property
    def total(self) -> int:
        """The bytes of all elements."""
        return self.size * len(self.registers)

    def __str__(self) -> str:
        kind = f"{self.kind if self.logged else ''}{'s' if self.signed else 'u'}"
        return f"{self.size}{kind}{'_'.join(map(str, self.registers))}"


def load(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``ld`` or ``ldu``."""
    found = parse_access(instruction, 1, 0)
    length = used_length(instruction.used_bytes, found)
    targets = [target_of(layout, x) for x in found.elements[:length]]
    elements = Elements(found.size, tuple(x.bits for x in targets), found.signed)
    words = [x.offset for x in targets]
    base = found.address.base
    if found.space.startswith("param") and isinstance(base, Symbol):
        return _load_parameter(layout, elements, base.offset + found.address.offset, words)
    alignment = found.size * found.length
    return _row("ld", instruction, layout, found.address, found.space, elements, alignment, words)


def store(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``st``."""
    if instruction.modifiers[:1] == ("async",):
        raise NotNativeError(reason_for("st.async"))
    found = parse_access(instruction, 0, 1)
    sources = [source_of(layout, x, found.type) for x in found.elements]
    elements = Elements(found.size, tuple(x.bits for x in sources), False)
    words = [x.offset for x in sources]
    return _row("st", instruction, layout, found.address, found.space, elements, elements.total, words)


def _row(
    name: str, instruction: PtxInstruction, layout: WarpLayout, operand: AddressOperand, space: str,
    elements: Elements, alignment: int, words: list[int],
) -> Row:  # fmt: skip
    address, checks = address_of(layout, operand), checks_of(layout.program)
    which = "const" if space == "const" else SPACES[space] if space else "generic"
    elements = elements._replace(kind=_KINDS[name])
    ordering = ordering_of(name, instruction.modifiers)
    if ordering.strong and checks.atomics & AtomicChecks.LOGGED and which in ("global", "shared", "generic"):
        conflicts = "volatile" in instruction.modifiers or not (ordering.wide or which == "shared")
        kind = elements.kind if conflicts else "atomic3"
        elements, words = elements._replace(logged=True, kind=kind), [*words, layout.log_number(instruction)]
    record = (slot_of(instruction.line), *address.words, *words)
    full = f"memory_{name}_{which}_{address.bits}_{elements}_{alignment}_{checks.granule}{checks.atomics:d}"
    write_body = partial(
        _write, space=which, bits=address.bits, move=f"{name}_in", elements=elements, alignment=alignment, checks=checks
    )
    return Row(full, lambda module: native(full, module, write_body), record)


def _load_parameter(layout: WarpLayout, elements: Elements, offset: int, words: list[int]) -> Row:
    """Return the row of a load of a kernel parameter, which has the same value for all lanes."""
    if offset < 0 or offset % elements.size or offset + elements.total > layout.program.parameter_bytes:
        raise NotNativeError("a load of a parameter that is out of bounds has no native code")
    name = f"memory_ld_parameter_{elements}"

    def write_body(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
        source = context.at(8 * Word.PARAMETERS).load(POINTER, 8).at(word(record, 0))
        for k, bits in enumerate(elements.registers):
            if bits:
                value = source.at(k * elements.size).load(ir.IntType(8 * elements.size))
                wide = value.cast(bits, signed=elements.signed).repeated(LANES)
                write(body, warp, word(record, 1 + k), wide, mask)

    return Row(name, lambda module: native(name, module, write_body), (offset, *words))


def _write(
    body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, *, space: str, bits: int, move: str,
    elements: Elements, alignment: int, checks: Checks,
) -> None:  # fmt: skip
    each = body.variable(LONG, LANES, alignment=64)
    found = addresses(body, warp, record, _ADDRESS, bits)
    if space == "const":
        high = found >> WINDOW_BITS
        found = high.differs(0).chosen(found, found + BASES["const"])
    each.store(found, 64)
    for name, lanes in in_spaces(body, each, mask, "global" if space == "const" else space):
        _MOVES[move](
            body, context, warp, record, each, lanes, space=name, elements=elements, alignment=alignment,
            granule=checks.granule, atomics=checks.atomics,
        )  # fmt: skip


def in_spaces(
    body: Body, addresses: Bits, mask: Bits, space: str, spaces: tuple[str, ...] = ("shared", "local", "param")
) -> Iterator[tuple[str, Bits]]:
    """Yield each space with the lanes of a mask whose generic addresses are in it, which become addresses in it.

    An access with a state space has one space. What is written for a space executes only if a lane is in it.
    """
    if space != "generic":
        yield space, mask
        return
    kind = ir.VectorType(LONG, LANES)
    windows = addresses.load(kind, 64) >> WINDOW_BITS
    left = mask
    for name in spaces:
        lanes = windows.equals(WINDOWS[name] >> WINDOW_BITS).as_type(WORD) & mask
        left = left & ~lanes
        with body.when(lanes.differs(0)):
            inside = windows.equals(WINDOWS[name] >> WINDOW_BITS)
            old = addresses.load(kind, 64)
            addresses.store(inside.chosen(old & (1 << WINDOW_BITS) - 1, old), 64)
            yield name, lanes
    with body.when(left.differs(0)):
        yield "global", left


@internal(ir.VoidType(), POINTER, POINTER, POINTER, POINTER, WORD)
def ld_in(
    body: Body, context: Bits, warp: Bits, record: Bits, addresses: Bits, mask: Bits, *, space: str,
    elements: Elements, alignment: int, granule: int, atomics: int,
) -> None:  # fmt: skip
    """Load elements from one space."""
    _move_together(body, context, warp, record, addresses, mask, "read", space, elements, alignment, granule, atomics)
    hosts = body.variable(POINTER, LANES, alignment=64)
    slot = state_of(context).at(word(record, _SLOT))
    first = addresses.load(LONG, 8)
    same = addresses.load(ir.VectorType(LONG, LANES), 64).equals(first.repeated(LANES)).as_type(WORD)
    is_one = (same & mask).equals(mask) & (mask & 1).differs(0)
    if space in ("local", "param"):
        is_one = is_one & 0
    constants = {
        "space": space, "size": elements.total, "alignment": alignment, "kind": elements.kind, "granule": granule,
        "atomics": atomics,
    }  # fmt: skip
    # Two lanes represent all lanes that load from one address.
    checked = is_one.chosen(two_lowest(mask), mask)
    good = access(body, context, warp, addresses, hosts, slot, checked, **constants)
    _log(body, context, warp, record, addresses, mask, EntryKind.LOAD, space, elements)
    with body.either(is_one & good.differs(0)) as (then, otherwise):
        with then:
            for k, bits in enumerate(elements.registers):
                if bits:
                    value = hosts.load(POINTER, 8).at(k * elements.size).load(ir.IntType(8 * elements.size))
                    wide = value.cast(bits, signed=elements.signed).repeated(LANES)
                    write(body, warp, word(record, _DATA + k), wide, mask)
        with otherwise:
            places = [warp.at(word(record, _DATA + k)) for k in range(len(elements.registers))]
            with body.lanes(good) as lane:
                host = hosts.at(lane << 3).load(POINTER, 8)
                for k, bits in enumerate(elements.registers):
                    if bits:
                        value = host.at(k * elements.size).load(ir.IntType(8 * elements.size))
                        places[k].at(lane * (bits // 8)).store(value.cast(bits, signed=elements.signed), bits // 8)


def two_lowest(mask: Bits) -> Bits:
    """Return the two lowest lanes of a mask, or the only one."""
    rest = mask & mask - 1
    return mask ^ rest & rest - 1


@internal(ir.VoidType(), POINTER, POINTER, POINTER, POINTER, WORD)
def st_in(
    body: Body, context: Bits, warp: Bits, record: Bits, addresses: Bits, mask: Bits, *, space: str,
    elements: Elements, alignment: int, granule: int, atomics: int,
) -> None:  # fmt: skip
    """Store elements to one space."""
    _move_together(body, context, warp, record, addresses, mask, "write", space, elements, alignment, granule, atomics)
    hosts = body.variable(POINTER, LANES, alignment=64)
    state = state_of(context)
    if elements.logged:
        log_event(body, context, warp, EntryKind.BEFORE_WRITE, mask)
    slot, own = state.at(word(record, _SLOT)), own_stamp(body, state, warp)
    total = elements.total
    constants = {
        "space": space, "size": total, "alignment": alignment, "kind": elements.kind, "granule": granule,
        "atomics": atomics,
    }  # fmt: skip
    good = access(body, context, warp, addresses, hosts, slot, mask, **constants)
    _log(body, context, warp, record, addresses, mask, EntryKind.STORE, space, elements)
    places = [warp.at(word(record, _DATA + k)) for k in range(len(elements.registers))]
    # Within a pass, the value of the lowest lane remains (`wmma_emu.ptx.memory.access.in_passes`).
    last = min(128 // total, LANES) - 1
    with body.repeat(LANES) as i:
        lane = i ^ last
        with body.when((good >> lane.cast(32) & 1).differs(0)):
            host = hosts.at(lane << 3).load(POINTER, 8)
            values = [
                place.at(lane * (bits // 8)).load(ir.IntType(bits), bits // 8).cast(8 * elements.size)
                for place, bits in zip(places, elements.registers, strict=True)
            ]
            if space in ("shared", "global") and elements.kind == "write":
                again = record_lane(
                    body, context, slot, addresses.at(lane << 3).load(LONG, 8), own + lane,
                    space=space, size=total, granule=granule,
                )  # fmt: skip
                with body.when(again, likely=False):  # lanes of one instruction may store equal values
                    for k, value in enumerate(values):
                        old = host.at(k * elements.size).load(value.type)
                        flag_if(body, old.differs(value), context, Flag.RACE)
            for k, value in enumerate(values):
                host.at(k * elements.size).store(value)


def _log(
    body: Body, context: Bits, warp: Bits, record: Bits, addresses: Bits, lanes: Bits, kind: EntryKind, space: str,
    elements: Elements,
) -> None:  # fmt: skip
    """Log an access that is strong."""
    if elements.logged and space in ("global", "shared"):
        number = word(record, _DATA + len(elements.registers)) | (SHARED if space == "shared" else 0)
        log_event(body, context, warp, kind, lanes, number, addresses, LANES)


_MOVES: dict[str, Callable[..., Bits]] = {"ld_in": ld_in, "st_in": st_in}


def _move_together(
    body: Body, context: Bits, warp: Bits, record: Bits, addresses: Bits, mask: Bits, kind: str, space: str,
    elements: Elements, alignment: int, granule: int, atomics: int,
) -> None:  # fmt: skip
    """Access the bytes of all lanes at once and return from the function, if they are neighbours."""
    if elements.logged or space not in ("shared", "global"):
        return
    if alignment != elements.total or elements.total < granule:
        return
    first = addresses.load(LONG, 8)
    steps = body.constant(ir.VectorType(LONG, LANES), [k * elements.total for k in range(LANES)])
    found = addresses.load(steps.type, 64) - steps
    are_neighbours = mask.equals(FULL) & found.equals(first.repeated(LANES)).as_type(WORD).equals(FULL)
    if atomics & AtomicChecks.LOGGED:
        are_neighbours = are_neighbours & ~is_logging(context)
    with body.when(are_neighbours):
        slot = state_of(context).at(word(record, _SLOT))
        host = move_neighbours(
            body, context, warp, slot, first, space=space, size=elements.total, kind=kind, granule=granule,
            atomics=atomics,
        )  # fmt: skip
        with body.when(host.differs(body.null)):
            _copy_all(body, warp, record, host, elements, kind)
            body.give()


def _copy_all(body: Body, warp: Bits, record: Bits, host: Bits, elements: Elements, kind: str) -> None:
    places = [warp.at(word(record, _DATA + k)) for k in range(len(elements.registers))]
    single = ir.IntType(8 * elements.size)
    if len(places) == 1:
        bits = elements.registers[0]
        vector = ir.VectorType(single, LANES)
        if kind == "write":
            host.store(read(body, warp, word(record, _DATA), bits).cast(8 * elements.size), elements.size)
        elif bits:
            places[0].store(host.load(vector, elements.size).cast(bits, signed=elements.signed), 64)
        return
    with body.repeat(LANES) as lane:
        mine = host.at(lane * elements.total)
        for k, (place, bits) in enumerate(zip(places, elements.registers, strict=True)):
            if kind == "write":
                value = place.at(lane * (bits // 8)).load(ir.IntType(bits), bits // 8)
                mine.at(k * elements.size).store(value.cast(8 * elements.size), elements.size)
            elif bits:
                value = mine.at(k * elements.size).load(single, elements.size).cast(bits, signed=elements.signed)
                place.at(lane * (bits // 8)).store(value, bits // 8)

# SPDX-License-Identifier: MIT
"""The sources of a value: the registers, or the bytes of memory, that an execution of an instruction read."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from wmma_emu.errors import WmmaEmuError
from wmma_emu.instructions import Arch, Instruction, lookup
from wmma_emu.layouts import LaneMap, layout_for
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.program.flow import registers_in
from wmma_emu.ptx.program.program import Operand, PairOperand, PtxInstruction, VectorOperand
from wmma_emu.ptx.variants.block_trace import BlockTrace, Node
from wmma_emu.ptx.variants.trace import TracedAccess
from wmma_emu.warp.shuffle import sources


class Loaded(NamedTuple):
    """Bytes that a thread loads, as the launch found them: no thread of its block wrote them."""

    node: Node
    space: str
    address: int
    size: int


class NotFollowed(NamedTuple):
    """A value whose sources are not followed, and why."""

    node: Node
    reason: str


Source = Node | Loaded | NotFollowed

_NOT_DATA = {"selp": 3, "slct": 3}
"""The instructions whose last operand chooses a value: how many operands there are without it."""

_LOADS = ("ld", "ldu")


def sources_of(trace: BlockTrace, node: Node, arch: Arch) -> Iterator[Source]:
    """Yield the sources of the value that a node writes; addresses, guards and choices are not among them."""
    instruction = trace.instruction(node.record)
    mnemonic = instruction.mnemonic
    if mnemonic in _LOADS:
        yield from _of_load(trace, node, instruction)
    elif mnemonic == "shfl":
        yield from _of_shuffle(trace, node, instruction)
    elif mnemonic in ("mma", "wmma") and "load" not in instruction.modifiers:
        yield from _of_product(trace, node, instruction, arch)
    elif mnemonic == "wgmma":
        place = trace.place_of_slot(node)
        yield from _registers(trace, _elements(instruction.operands[0])[place : place + 1], node, node.lane)
        yield NotFollowed(node, "A and B of wgmma are not followed")
    elif mnemonic == "ldmatrix":
        yield from _of_rows(trace, node)
    elif mnemonic in ("redux", "movmatrix"):
        lanes = np.flatnonzero(trace.records[node.record].mask[node.warp]).tolist()
        for lane in lanes:
            yield from _registers(trace, (instruction.operands[1],), node, lane)
    elif trace.records[node.record].accesses or mnemonic in ("tcgen05", "call", "vote", "match", "tex"):
        yield NotFollowed(node, f"the sources of {mnemonic} are not followed")
    else:
        yield from _registers(trace, instruction.operands[1 : _NOT_DATA.get(mnemonic)], node, node.lane)


def _registers(trace: BlockTrace, operands: tuple[object, ...], node: Node, lane: int) -> Iterator[Node]:
    for operand in operands:
        for register in registers_in(operand):
            found = trace.producer(register, node.record, node.warp, lane)
            if found is not None:
                yield found


def stored(trace: BlockTrace, record: int, warp: int, lane: int, offset: int) -> Iterator[Source]:
    """Yield the sources of the byte that a thread stores, ``offset`` bytes after the start of its access."""
    instruction = trace.instruction(record)
    here = Node(record, warp, lane, 0)
    operands, accesses = instruction.operands, trace.records[record].accesses
    if instruction.mnemonic == "cp" and instruction.modifiers[:1] == ("async",) and len(accesses) >= 2:
        read = next((x for x in accesses if not x.is_write), None)
        if read is not None:
            yield from _memory(trace, here, read, int(read.addresses[0, warp, lane]) + offset, 4)
            return
    if instruction.mnemonic not in ("st", "red", "atom"):
        yield NotFollowed(here, f"the bytes that {instruction.mnemonic} writes are not followed")
        return
    value = operands[1 + (instruction.mnemonic == "atom")]
    elements = value.elements if isinstance(value, VectorOperand) else (value,)
    each = next((x.each for x in accesses if x.is_write), 4)
    yield from _registers(trace, (elements[min(offset // each, len(elements) - 1)],), here, lane)


def _memory(trace: BlockTrace, node: Node, access: TracedAccess, address: int, size: int) -> Iterator[Source]:
    """Yield the sources of bytes that the block stored before, else the bytes as the launch found them."""
    known: set[tuple[int, int, int]] = set()
    for byte in range(address, address + size, min(size, 4)):
        found = trace.writer(access.space, byte, node.record, node.warp, node.lane)
        if found is None:
            yield Loaded(node, access.space, byte, min(size, 4))
        elif (found.record, found.warp, found.lane) not in known:
            known.add((found.record, found.warp, found.lane))
            yield from stored(trace, found.record, found.warp, found.lane, found.offset)


def _of_load(trace: BlockTrace, node: Node, instruction: PtxInstruction) -> Iterator[Source]:
    reads = [x for x in trace.records[node.record].accesses if x.mask[0, node.warp, node.lane]]
    if not reads:
        yield NotFollowed(node, "the bytes of this load are not known")
        return
    access = reads[0]
    address = int(access.addresses[0, node.warp, node.lane]) + trace.place_of_slot(node) * access.each
    yield from _memory(trace, node, access, address, access.each)


def _of_shuffle(trace: BlockTrace, node: Node, instruction: PtxInstruction) -> Iterator[Source]:
    if isinstance(instruction.operands[0], PairOperand) and node.slot:
        return
    mode = next(x for x in instruction.modifiers if x in ("up", "down", "bfly", "idx"))
    b, c = (trace.operand(x, node.record, node.warp, node.lane) for x in instruction.operands[2:4])
    if b is None or c is None:
        yield NotFollowed(node, "the lane that this shuffle reads is not known")
        return
    lanes, _ = sources(mode, np.full(LANES, b & 31, np.uint32), np.full(LANES, c & 0x1F1F, np.uint32))
    yield from _registers(trace, (instruction.operands[1],), node, int(np.reshape(lanes, -1)[node.lane]))


def _of_rows(trace: BlockTrace, node: Node) -> Iterator[Source]:
    """Yield the sources of a register of ``ldmatrix``: the rows of its 8 x 8 matrix whose elements it has."""
    instruction, record = trace.instruction(node.record), trace.records[node.record]
    if "m8n8" not in instruction.modifiers or not record.accesses:
        yield NotFollowed(node, f"the sources of {instruction.opcode} are not followed")
        return
    access, matrix = record.accesses[0], 8 * trace.place_of_slot(node)
    row, pair = divmod(node.lane, 4)
    if "trans" in instruction.modifiers:
        places = [(matrix + 2 * pair + i, 2 * row) for i in range(2)]
    else:
        places = [(matrix + row, 4 * pair)]
    for lane, offset in places:
        address = int(access.addresses[0, node.warp, lane]) + offset
        yield from _memory(trace, node, access, address, 4 // len(places))


def _of_product(trace: BlockTrace, node: Node, instruction: PtxInstruction, arch: Arch) -> Iterator[Source]:
    """Yield the sources of an element of D: its element of C, its row of A, its column of B."""
    a, b, c = (_elements(x) for x in instruction.operands[1:4])
    try:
        needed = _positions(lookup(instruction.opcode, arch), arch, node.lane, trace.place_of_slot(node))
    except WmmaEmuError:
        needed = None
    if needed is None:
        place = trace.place_of_slot(node)
        yield from _registers(trace, (c[place],) if place < len(c) else c, node, node.lane)
        yield NotFollowed(node, f"A and B of {instruction.opcode} are not followed")
        return
    for elements, positions in zip((c, a, b), needed, strict=True):
        for lane, register in positions:
            yield from _registers(trace, (elements[register],), node, lane)


def _elements(operand: Operand | None) -> tuple[object, ...]:
    return operand.elements if isinstance(operand, VectorOperand) else (operand,)


_Positions = tuple[tuple[int, int], ...]


@cache
def _positions(
    entry: Instruction, arch: Arch, lane: int, register: int
) -> tuple[_Positions, _Positions, _Positions] | None:
    """Return the lanes and registers of C, A and B from which a register of D is computed."""
    maps = {x: layout_for(entry, x, arch) for x in ("a", "b", "c", "d")}
    d = maps["d"]
    if any(x.coords.ndim != 3 or len(np.unique(x.matrix_of_lane)) > 1 for x in maps.values()):
        return None
    per = d.num_elements // entry.registers("d")
    cells = {(int(r), int(c)) for r, c in d.coords[register * per : (register + 1) * per, lane]}
    rows, columns = {r for r, _ in cells}, {c for _, c in cells}
    return (
        _held(maps["c"], entry.registers("c"), lambda r, c: (r, c) in cells),
        _held(maps["a"], entry.registers("a"), lambda r, c: r in rows),
        _held(maps["b"], entry.registers("b"), lambda r, c: c in columns),
    )


def _held(layout: LaneMap, registers: int, is_wanted: Callable[[int, int], bool]) -> _Positions:
    """Return the lanes and registers that hold the wanted elements, each element once."""
    per, seen, found = layout.num_elements // registers, set(), dict[tuple[int, int], None]()
    for i in range(layout.num_elements):
        for lane in range(LANES):
            cell = (int(layout.coords[i, lane, 0]), int(layout.coords[i, lane, 1]))
            if cell not in seen and is_wanted(*cell):
                seen.add(cell)
                found[lane, i // per] = None
    return tuple(found)

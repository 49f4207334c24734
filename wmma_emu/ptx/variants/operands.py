# SPDX-License-Identifier: MIT
"""The operands of an operation in a chain: their bits, and the bytes of memory that they were loaded from."""

from typing import NamedTuple

from numpy.lib.array_utils import byte_bounds

from wmma_emu.ptx.findings import MemoryLocation
from wmma_emu.ptx.program.program import Register
from wmma_emu.ptx.variants.block_trace import Node
from wmma_emu.ptx.variants.chains import MOVES, Chain, Operation
from wmma_emu.ptx.variants.elements import HostElement, Origin
from wmma_emu.ptx.variants.sources import Loaded, sources_of

_MOST_MOVES = 64


class OperandValue(NamedTuple):
    """An operand: its register, its bits (None if unknown), and the bytes that it was loaded from, if it was."""

    name: str
    bits: int | None
    loaded: Loaded | None = None


def operands_of(chain: Chain, operation: Operation) -> list[OperandValue]:
    """Return the registers that an operation of one thread reads, in the order of its operands."""
    trace, node, found = chain.trace_of(operation), operation.node, []
    for operand in operation.instruction.operands[operation.contribution is None :]:
        if isinstance(operand, Register) and operand.type != "pred":
            source = trace.producer(operand.index, node.record, node.warp, node.lane)
            if source is not None:
                found.append(OperandValue(operand.name, trace.bits(source), _loaded(chain, operation.block, source)))
    return found


def _loaded(chain: Chain, block: int, node: Node) -> Loaded | None:
    """Return the bytes from which a value was loaded, if instructions only moved it since."""
    trace, arch = chain.origin.traces[block], chain.origin.replay.launch.kernel.module.arch
    for _ in range(_MOST_MOVES):
        if trace.instruction(node.record).mnemonic not in MOVES:
            return None
        found = list(sources_of(trace, node, arch))
        if len(found) != 1:
            return None
        (source,) = found
        if isinstance(source, Loaded):
            return source
        if not isinstance(source, Node):
            return None
        node = source
    return None


def name_of_bytes(origin: Origin, loaded: Loaded) -> str:
    """Return the name of an array's element, or of other bytes of memory."""
    location = MemoryLocation(loaded.space, loaded.address, loaded.size)
    if loaded.space == "global":
        for x in origin.heap.mapped:
            if x.address <= loaded.address < x.address + x.hi - x.lo:
                location = location._replace(owner=x.name, offset=loaded.address - x.address)
    return origin.replay.names.element(location) or str(location)


def on_the_host(origin: Origin, loaded: Loaded) -> HostElement | None:
    """Return the bytes of the host's array that a launch loads."""
    if loaded.space != "global" or origin.replay.kept is None:
        return None
    for x in origin.heap.mapped:
        if x.address <= loaded.address < x.address + x.hi - x.lo:
            here = byte_bounds(x.array)[0] + loaded.address - x.address
            for piece in origin.replay.kept.moved:
                if piece.lo <= here < piece.hi:
                    return HostElement(here - piece.lo + piece.original, loaded.size)
    return None

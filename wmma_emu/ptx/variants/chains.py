# SPDX-License-Identifier: MIT
"""The chain of an element: the operations from which it was computed, in the order of their execution."""

from dataclasses import dataclass, field
from typing import NamedTuple

from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.variants.block_trace import BlockTrace, Node
from wmma_emu.ptx.variants.elements import Contribution, Origin
from wmma_emu.ptx.variants.sources import Loaded, NotFollowed, Source, sources_of, stored

MOST_NODES = 200_000
"""The number of values that are followed from one element."""

MOVES = frozenset("mov ld ldu ldmatrix movmatrix shfl cvta".split())
"""The instructions that move bits."""

_CHOICES = frozenset("selp slct prmt max min".split())
"""The instructions that choose between values: they round nothing, and the order of several maxima is free."""


class Operation(NamedTuple):
    """An operation of a chain: its instruction, the ``size`` bytes of its result, and its place in the block's trace.

    ``contribution`` is the store or the atomic operation at the element itself, else None.
    """

    block: int
    node: Node
    pc: int
    instruction: PtxInstruction
    bits: int | None
    size: int
    contribution: Contribution | None = None


@dataclass
class Chain:
    """The operations from which an element was computed, and the values that were not followed."""

    origin: Origin
    operations: list[Operation] = field(default_factory=list)
    not_followed: dict[str, Operation] = field(default_factory=dict)

    def trace_of(self, operation: Operation) -> BlockTrace:
        """Return the trace of an operation's block."""
        return self.origin.traces[operation.block]

    def terms(self) -> list[tuple[int, tuple[int, ...]]]:
        """Return for each contribution its instruction and the bits of the value that it stores or adds."""
        return [(x.pc, _term_of(self.origin, x.contribution)) for x in self.operations if x.contribution is not None]


def chain_of(origin: Origin) -> Chain:
    """Follow an element's value backwards through the traces of the blocks that wrote it."""
    chain, known = Chain(origin), set[tuple[int, Node]]()
    for contribution in origin.contributions:
        trace = origin.traces[contribution.block]
        first = stored(trace, contribution.record, contribution.warp, contribution.lane, contribution.skipped)
        found = _ancestors(chain, contribution.block, list(first), known)
        chain.operations += sorted(found, key=lambda x: x.node)
        here = Node(contribution.record, contribution.warp, contribution.lane, 0)
        pc = trace.records[contribution.record].pc
        chain.operations.append(
            Operation(
                contribution.block, here, pc, trace.program.instructions[pc], contribution.value, contribution.size,
                contribution,
            )
        )  # fmt: skip
    return chain


def _ancestors(chain: Chain, block: int, waiting: list[Source], known: set[tuple[int, Node]]) -> list[Operation]:
    trace, arch = chain.origin.traces[block], chain.origin.replay.launch.kernel.module.arch
    found = []
    while waiting:
        source = waiting.pop()
        if isinstance(source, Loaded):
            continue
        if isinstance(source, NotFollowed):
            chain.not_followed.setdefault(source.reason, _operation(trace, block, source.node))
            continue
        if (block, source) in known:
            continue
        known.add((block, source))
        if len(known) > MOST_NODES:
            chain.not_followed.setdefault(f"more than {MOST_NODES} values", _operation(trace, block, source))
            break
        operation = _operation(trace, block, source)
        if operation.instruction.mnemonic not in MOVES | _CHOICES:
            found.append(operation)
        waiting += sources_of(trace, source, arch)
    return found


def _operation(trace: BlockTrace, block: int, node: Node) -> Operation:
    pc = trace.records[node.record].pc
    values = trace.records[node.record].values
    bits, size = (trace.bits(node), values[node.slot].itemsize) if node.slot < len(values) else (None, 4)
    return Operation(block, node, pc, trace.program.instructions[pc], bits, size)


def _term_of(origin: Origin, contribution: Contribution) -> tuple[int, ...]:
    """Return the bits of the registers that a contribution stores or adds, or of its element if there is none."""
    trace = origin.traces[contribution.block]
    found = stored(trace, contribution.record, contribution.warp, contribution.lane, contribution.skipped)
    return tuple(trace.bits(x) for x in found if isinstance(x, Node)) or (contribution.value or 0,)

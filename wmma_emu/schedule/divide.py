# SPDX-License-Identifier: MIT
"""Division of a matrix instruction into machine instructions: one, tiles of D and parts of k, or sets."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import Arch, Instruction
from wmma_emu.layouts import LaneMap, layout_for
from wmma_emu.schedule.ownership import (
    Numbers,
    lanes_of_octet,
    origin_of_octet,
    ownership_of,
    rows_of_chunks,
)
from wmma_emu.schedule.spec import MachineStep, Ownership, Start, StepPart
from wmma_emu.schedule.table import QUAD_STEPS, Order

_THREADGROUPS = range(8)
_OCTETS = 4
_K_OF_A_SET = 4


@dataclass(frozen=True, slots=True)
class Layouts:
    """The layouts of the operands, and of the sums that the machine instructions leave in registers."""

    a: LaneMap
    b: LaneMap | None
    c: LaneMap
    sums: LaneMap
    c_is_read: bool

    @classmethod
    def of(cls, instruction: Instruction, arch: Arch, sums: str, reads_c_as_it_is: bool) -> "Layouts":
        """Look up the layouts; B of `wgmma` is in shared memory. Sums wider than D have C's layout and format."""
        b = None if instruction.is_warpgroup else layout_for(instruction, "b", arch)
        c, d = layout_for(instruction, "c", arch), layout_for(instruction, "d", arch)
        return cls(
            layout_for(instruction, "a", arch),
            b,
            c,
            d if instruction.d == sums else c,
            reads_c_as_it_is or instruction.c == sums,
        )

    def read_b(self, rows: Numbers, cols: Numbers, lanes: Numbers | None = None) -> Ownership | None:
        """Return the elements that are read of B, if it is in registers."""
        return None if self.b is None else ownership_of(self.b, rows, cols, lanes)

    def start(
        self, start: Start, written: Ownership, rows: range, cols: range, lanes: range | None = None
    ) -> Ownership | None:
        """Return the elements that products are added to: C, as it is or converted to the format of the sums."""
        if start == "zero":
            return None
        return ownership_of(self.c, rows, cols, lanes) if start == "c" and self.c_is_read else written


def opcodes_of(machine: str) -> list[tuple[int, str]]:
    """Parse counts and opcodes.

    Examples
    --------
    >>> opcodes_of("1x HMMA.884.F32.F16.STEP0 + 3x HMMA.884.F32.F32.STEP0")
    [(1, 'HMMA.884.F32.F16.STEP0'), (3, 'HMMA.884.F32.F32.STEP0')]
    """
    pairs = (text.split("x ", 1) for text in machine.split(" + "))
    return [(int(count), opcode) for count, opcode in pairs]


def undivided_step(instruction: Instruction, opcode: str, layouts: Layouts) -> Iterator[MachineStep]:
    """Yield the only machine instruction, which computes all of D from all of k."""
    ks = tuple(range(instruction.terms))
    part = _part(layouts, "c", range(instruction.m), range(instruction.n), ks, tuple(range(instruction.k)))
    yield MachineStep(0, opcode, None, None, ks, (), "c", False, (part,))


def tiles(instruction: Instruction, opcode: str, count: int, order: Order, layouts: Layouts) -> Iterator[MachineStep]:
    """Yield tiles of D and parts of k in the order's loops."""
    transposed = instruction.m < min(order.tile[0], instruction.n)
    tile = order.tile[::-1] if transposed else order.tile
    height, width = (size or whole for size, whole in zip(tile, (instruction.m, instruction.n), strict=True))
    choices: dict[str, list[Any]] = {
        "m": [range(i, i + height) for i in range(0, instruction.m, height)],
        "n": [range(i, i + width) for i in range(0, instruction.n, width)],
        "k": _parts_of_k(instruction, order),
    }
    if len(choices["m"]) * len(choices["n"]) * len(choices["k"]) != count:
        raise UnsupportedInstructionError(f"{count}x {opcode} do not divide {instruction.mnemonic} as in the table")
    loops = order.loops + "".join(x for x in "mnk" if x not in order.loops)
    started: set[tuple[int, int]] = set()
    for number, chosen in enumerate(product(*(choices[x] for x in loops))):
        at = dict(zip(loops, chosen, strict=True))
        rows, cols, (ks, b_rows) = at["m"], at["n"], at["k"]
        first = (rows.start, cols.start) not in started
        started.add((rows.start, cols.start))
        start: Start = "zero" if order.start == "zeros" else order.start if first else "d"
        part = _part(layouts, start, rows, cols, ks, b_rows)
        yield MachineStep(number, opcode, None, None, ks, (), start, transposed, (part,))


def _parts_of_k(instruction: Instruction, order: Order) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the k of each part, of the packed elements if A is sparse, and its rows of B."""
    if isinstance(order.ks, int):
        size = order.ks or instruction.terms
        runs = [tuple(range(i, i + size)) for i in range(0, instruction.terms, size)]
        return [(run, rows_of_chunks(instruction, run)) for run in runs]
    of_a = _residues(instruction.terms, order.block, order.ks)
    if order.b_ks is None:
        return [(ks, ks) for ks in of_a]
    return list(zip(of_a, _residues(instruction.k, order.block, order.b_ks), strict=True))


def _residues(k: int, block: int, classes: tuple[int, tuple[tuple[int, ...], ...]]) -> list[tuple[int, ...]]:
    modulus, residues = classes
    size = block or k
    return [
        tuple(i for i in range(first, first + size) if i % modulus in residue)
        for first in range(0, k, size)
        for residue in residues
    ]


def _part(layouts: Layouts, start: Start, rows: range, cols: range, ks: Numbers, b_rows: Numbers) -> StepPart:
    written = ownership_of(layouts.sums, rows, cols)
    return StepPart(
        None, None, 0, rows, cols, ownership_of(layouts.a, rows, ks),
        layouts.read_b(b_rows, cols),
        layouts.start(start, written, rows, cols), written,
    )  # fmt: skip


def quad_steps(instruction: Instruction, codes: list[tuple[int, str]], layouts: Layouts) -> Iterator[MachineStep]:
    """Yield Volta's sets of four k, and the steps of each, in which threadgroups compute parts."""
    queues: dict[int, list[str]] = defaultdict(list)
    for count, opcode in codes:
        queues[int(opcode.rsplit(".STEP", 1)[1])] += [opcode] * count
    for number in range(sum(count for count, _ in codes)):
        of_set, step = divmod(number, len(queues))
        opcode = queues[step][of_set]
        start: Start = "d" if of_set else "c"
        parts = tuple(_quad_part(instruction, layouts, opcode, threadgroup, of_set, step, start)
                      for threadgroup in _THREADGROUPS)  # fmt: skip
        ks = tuple(range(_K_OF_A_SET * of_set, _K_OF_A_SET * (of_set + 1)))
        yield MachineStep(number, opcode, of_set, step, ks, (), start, False, parts)


def _quad_part(
    instruction: Instruction, layouts: Layouts, opcode: str, threadgroup: int, of_set: int, step: int, start: Start
) -> StepPart:
    """Return a threadgroup's part of a step: the rows of its half in its octet's 8x8 block of D."""
    octet = threadgroup % _OCTETS
    block_row, block_col = origin_of_octet(layouts.sums, octet)
    within = QUAD_STEPS[opcode.split(".")[2]][step]
    first_row = block_row + threadgroup // _OCTETS * 4
    rows = range(first_row + within.rows.start, first_row + within.rows.stop)
    cols = range(block_col + within.cols.start, block_col + within.cols.stop)
    ks = range(_K_OF_A_SET * of_set, _K_OF_A_SET * (of_set + 1))
    own, octets_own = range(4 * threadgroup, 4 * threadgroup + 4), lanes_of_octet(octet)
    written = ownership_of(layouts.sums, rows, cols, own)
    b = layouts.read_b(ks, cols, octets_own)
    return StepPart(
        threadgroup, octet, octet if instruction.products > 1 else 0, rows, cols,
        ownership_of(layouts.a, rows, ks, own), b,
        layouts.start(start, written, rows, cols, own), written,
        None if b is None else b.lanes[0] // 4,
    )  # fmt: skip

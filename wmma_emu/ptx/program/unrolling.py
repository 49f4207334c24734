# SPDX-License-Identifier: MIT
"""Loops with a known count, unrolled as ptxas unrolls them, where functions of the counter become constants by that.

A loop is copied as often as it goes round, so that everything after sees what ptxas sees. Only loops are that give a
function, or a divisor, another known value each time; to all others it makes no difference.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from wmma_emu.ptx.program.flow import closure, jumps_of, reads, writes
from wmma_emu.ptx.program.foldable import is_function, is_quotient, number_of
from wmma_emu.ptx.program.program import KernelProgram, LabelTarget, NotBitExact, PtxInstruction
from wmma_emu.ptx.program.propagation import propagates_constants
from wmma_emu.ptx.program.rewriting import with_moved_targets

Evaluate = Callable[[PtxInstruction, Mapping[int, int]], Mapping[int, int]]
"""Of an instruction, and what is known of the registers that it reads, what the chip's instruction writes."""

_SMALL_LOOP, _MOST_ITERATIONS, _MOST_INSTRUCTIONS = 14, 128, 344
"""ptxas 13.0.88 unrolled every loop of so many instructions as often, and every other one that became no longer than
this; beyond that its choice was not read, and what is not unrolled is doubtful."""

_LIMIT = 4096
"""Rounds after which a loop is left as it is."""

_DEEPEST = 256
"""Instructions in a row that a value before a loop is followed through."""

_COUNTERS = frozenset(("add", "sub", "mov", "setp"))
"""What may stand between a counter and the jump; ptxas does not see through loops that shift."""

_CAVEAT = (
    "ptxas may unroll this loop, and round the function correctly of each value; here it is what the chip computes"
)


@dataclass(slots=True)
class _Loop:
    """A loop: what is executed in each round but for known jumps, and the known values that its functions see."""

    span: range
    copies: list[list[int]] = field(default_factory=list)
    seen: dict[int, set[int]] = field(default_factory=dict)

    @property
    def iterations(self) -> int:
        return len(self.copies)

    @property
    def is_small(self) -> bool:
        size = len(self.span)
        return size * self.iterations <= _MOST_INSTRUCTIONS or (
            size <= _SMALL_LOOP and self.iterations <= _MOST_ITERATIONS
        )


def unroll(program: KernelProgram, evaluate: Evaluate) -> KernelProgram:
    """Unroll loops with a known count in which functions become constants; doubt those that may be too long."""
    if not any(is_function(x) or is_quotient(x) for x in program.instructions):
        return program
    caveats: dict[int, NotBitExact] = {}
    while True:
        code = program.instructions
        loops = [x for x in _loops(code, evaluate) if not any(code[y].line in caveats for y in x.seen)]
        for loop in loops:
            if loop.is_small:
                program = _unrolled(program, loop)
                break
            caveats.update((code[x].line, NotBitExact(code[x].opcode, code[x].line, _CAVEAT)) for x in loop.seen)
        else:
            return replace(program, caveats=(*program.caveats, *caveats.values())) if caveats else program


def _loops(code: tuple[PtxInstruction, ...], evaluate: Evaluate) -> Iterator[_Loop]:
    jumps = jumps_of(code)
    spans = [range(target, i + 1) for i, target in jumps if target <= i and code[i].mnemonic == "bra"]
    for span in sorted(spans, key=len):
        if not any(is_function(code[x]) or is_quotient(code[x]) for x in span) or not _is_simple(code, span, jumps):
            continue
        loop = _Iterations(code, span, evaluate).loop
        if loop is not None and any(len(x) > 1 for x in loop.seen.values()):
            yield loop


def _is_simple(code: tuple[PtxInstruction, ...], span: range, jumps: list[tuple[int, int]]) -> bool:
    """Whether nothing leads into a loop but at its start, no other loop is in it, and nothing is called."""
    inside = set(span)
    if any(code[x].callee is not None or code[x].targets or code[x].mnemonic == "ret" for x in span):
        return False
    backward = [i for i, target in jumps if i in inside and target in inside and target <= i]
    entries = [i for i, target in jumps if i not in inside and target in inside and target != span.start]
    return backward == [span[-1]] and not entries


class _Iterations:
    """What a loop computes in each round, of what was known before it."""

    def __init__(self, code: tuple[PtxInstruction, ...], span: range, evaluate: Evaluate) -> None:
        self._code, self._span, self._evaluate = code, span, evaluate
        self._outside: dict[int, list[int]] = {}
        self._inside: dict[int, list[int]] = {}
        for pc, instruction in enumerate(code):
            for register in writes(instruction):
                (self._inside if pc in span else self._outside).setdefault(register, []).append(pc)
        jumps = ((i, target) for i, target in jumps_of(code) if code[i].mnemonic == "bra")
        self._outer_loop_starts = [target for i, target in jumps if i >= span.stop and target <= span.start]
        self._started: dict[int, int | None] = {}
        read = {x for pc in span for x in reads(code[pc])}
        self._known = {x: value for x in read if (value := self._value_before(x)) is not None}
        self.loop = self._counted() if self._is_counted() else None

    def _value_before(self, register: int, depth: int = 0) -> int | None:
        """Value of a register at the start of the loop; looked up once, and none on a way that leads round."""
        if register not in self._started:
            self._started[register] = None
            self._started[register] = self._computed_before(register, depth)
        return self._started[register]

    def _computed_before(self, register: int, depth: int) -> int | None:
        """Compute it, where one instruction before the loop decides it, of what others decide."""
        writers = self._outside.get(register, [])
        if len(writers) != 1 or writers[0] > self._span.start or depth > _DEEPEST:
            return None
        around = [x for x in self._outer_loop_starts if writers[0] < x]
        if around and register in self._inside:  # what leads back to behind the writer finds another value
            return None
        made = self._code[writers[0]]
        if made.guard is not None or register in reads(made) or not propagates_constants(made.opcode):
            return None
        sources = {x: None if x in self._inside else self._value_before(x, depth + 1) for x in reads(made)}
        known = {x: value for x, value in sources.items() if value is not None}
        return self._evaluate(made, known).get(register) if len(known) == len(sources) else None

    def _is_counted(self) -> bool:
        """Whether only sums lead from a counter to the jumps that end the loop."""
        ends = [self._code[x] for x in self._span if self._code[x].mnemonic == "bra" and self._leaves(x)]
        guards = [x.guard.register.index for x in ends if x.guard is not None]
        first = [pc for register in guards for pc in self._inside.get(register, ())]
        found = closure(first, lambda x: (p for r in reads(self._code[x]) for p in self._inside.get(r, ())))
        kinds = {self._code[x].mnemonic for x in found}
        return bool(kinds) and (kinds <= _COUNTERS)

    def _leaves(self, pc: int) -> bool:
        return pc == self._span[-1] or _target(self._code[pc]) not in self._span

    def _counted(self) -> _Loop | None:
        loop = _Loop(self._span)
        again: bool | None = True
        while again and loop.iterations < _LIMIT:
            again = self._iterate(loop)
        return loop if again is False else None

    def _iterate(self, loop: _Loop) -> bool | None:
        copy: list[int] = []
        loop.copies.append(copy)
        join = self._span.start
        for pc in self._span:
            instruction = self._code[pc]
            taken = self._taken(instruction)
            if instruction.mnemonic != "bra":
                self._execute(pc, taken is True and pc >= join, loop)
            elif pc == self._span[-1]:
                return taken
            elif not self._leaves(pc):
                join = max(join, _target(instruction))
            elif taken and pc >= join:
                # What stands behind the loop is where its last round ends, if it does not jump further.
                if _target(instruction) != self._span.stop:
                    copy.append(pc)
                return False
            elif taken is False:
                continue
            copy.append(pc)
        return None

    def _taken(self, instruction: PtxInstruction) -> bool | None:
        if instruction.guard is None:
            return True
        value = self._known.get(instruction.guard.register.index)
        return None if value is None else bool(value) ^ instruction.guard.negated

    def _execute(self, pc: int, always: bool, loop: _Loop) -> None:
        instruction = self._code[pc]
        operands = instruction.operands
        known = {x: self._known[x] for x in reads(instruction) if x in self._known}
        number = number_of(operands[2 if is_quotient(instruction) else 1], known) if len(operands) > 1 else None
        if number is not None and (is_function(instruction) or is_quotient(instruction)):
            loop.seen.setdefault(pc, set()).add(number)
        given: Mapping[int, int] = {}
        is_known = len(known) == len(set(reads(instruction)))
        if always and is_known and propagates_constants(instruction.opcode):
            given = self._evaluate(instruction, known)
        for register in writes(instruction):
            self._known.pop(register, None)
            if register in given:
                self._known[register] = given[register]


def _target(instruction: PtxInstruction) -> int:
    return next(x.index for x in instruction.operands if isinstance(x, LabelTarget))


def _unrolled(program: KernelProgram, loop: _Loop) -> KernelProgram:
    """Copy a loop as often as it goes round, without the jumps that are known."""
    code, first, end = program.instructions, loop.span.start, loop.span.stop
    shift = sum(map(len, loop.copies)) - len(loop.span)

    def outside(index: int) -> int:
        return index if index < end else index + shift

    new = [with_moved_targets(x, outside) for x in code[:first]]
    for pcs in loop.copies:
        start = len(new)
        moved = {pc: start + sum(x < pc for x in pcs) for pc in loop.span}
        new += [with_moved_targets(code[x], _inside(moved, outside)) for x in pcs]
    new += [with_moved_targets(x, outside) for x in code[end:]]
    functions = tuple((name, outside(start), outside(end)) for name, start, end in program.functions)
    return replace(program, instructions=tuple(new), functions=functions)


def _inside(moved: Mapping[int, int], outside: Callable[[int], int]) -> Callable[[int], int]:
    return lambda index: moved.get(index, outside(index))

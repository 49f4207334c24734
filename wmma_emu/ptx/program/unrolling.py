# SPDX-License-Identifier: MIT
"""Unroll loops with a known count as ptxas does, if functions of the counter become constants.

The body is copied for each iteration, so that later passes work on the same code as ptxas. Only loops in which a
function or a divisor has several known values are unrolled; unrolling other loops has no effect on the results.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from wmma_emu.ptx.program.flow import closure, jumps_of, reads, writes
from wmma_emu.ptx.program.foldable import is_function, is_quotient, number_of
from wmma_emu.ptx.program.program import KernelProgram, LabelTarget, NotBitExact, PtxInstruction
from wmma_emu.ptx.program.propagation import propagates_constants
from wmma_emu.ptx.program.rewriting import with_moved_targets

Evaluate = Callable[[PtxInstruction, Mapping[int, int]], Mapping[int, int]]
"""A function from an instruction and the known values of its sources to the values that the chip's instruction
writes."""

_SMALL_LOOP, _MOST_ITERATIONS, _MOST_INSTRUCTIONS = 14, 128, 344
"""ptxas 13.0.88 unrolled every loop of up to 14 instructions and 128 iterations, and every other loop that became no
longer than 344 instructions. Its choice beyond these limits is unknown: such loops are not unrolled, and get a
caveat."""

_LIMIT = 4096
"""The most iterations of a loop that is unrolled."""

_DEEPEST = 256
"""The most instructions through which a value before a loop is followed."""

_COUNTERS = frozenset(("add", "sub", "mov", "setp"))
"""The instructions allowed between a counter and the jump; ptxas does not unroll loops that shift the counter."""

_CAVEAT = (
    "ptxas may unroll this loop and round the function of each value correctly; "
    "the emulator computes the function as the chip does"
)


@dataclass(slots=True)
class _Loop:
    """A loop: the instructions of each iteration without known jumps, and the known operands of its functions."""

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
    """Unroll loops with a known count in which functions become constants; loops that may be too long get a caveat."""
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
    """Return whether a loop is entered only at its start, and contains no other loop and no call."""
    inside = set(span)
    if any(code[x].callee is not None or code[x].targets or code[x].mnemonic == "ret" for x in span):
        return False
    backward = [i for i, target in jumps if i in inside and target in inside and target <= i]
    entries = [i for i, target in jumps if i not in inside and target in inside and target != span.start]
    return backward == [span[-1]] and not entries


class _Iterations:
    """An interpreter of a loop's iterations, starting from the values known before the loop."""

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
        """Return the value of a register at the start of the loop, cached; None for a cyclic dependence."""
        if register not in self._started:
            self._started[register] = None
            self._started[register] = self._computed_before(register, depth)
        return self._started[register]

    def _computed_before(self, register: int, depth: int) -> int | None:
        """Evaluate the only instruction before the loop that writes the register, with its sources."""
        writers = self._outside.get(register, [])
        if len(writers) != 1 or writers[0] > self._span.start or depth > _DEEPEST:
            return None
        around = [x for x in self._outer_loop_starts if writers[0] < x]
        if around and register in self._inside:  # an outer loop that restarts after the writer sees another value
            return None
        made = self._code[writers[0]]
        if made.guard is not None or register in reads(made) or not propagates_constants(made.opcode):
            return None
        sources = {x: None if x in self._inside else self._value_before(x, depth + 1) for x in reads(made)}
        known = {x: value for x, value in sources.items() if value is not None}
        return self._evaluate(made, known).get(register) if len(known) == len(sources) else None

    def _is_counted(self) -> bool:
        """Return whether the jumps that end the loop depend on its counters through sums only."""
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
                # The last iteration falls through to the code after the loop, unless it jumps further.
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
    """Replace a loop by copies of its iterations, without the known jumps."""
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

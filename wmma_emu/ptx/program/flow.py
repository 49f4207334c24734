# SPDX-License-Identifier: MIT
"""Registers read and written by instructions, blocks of straight-line code, and the live registers after each."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from wmma_emu.ptx.program.program import (
    AddressOperand,
    Immediate,
    LabelTarget,
    PairOperand,
    Predicate,
    PtxInstruction,
    Register,
    Symbol,
    VectorOperand,
)

_Node = TypeVar("_Node")

NO_FALL_THROUGH = ("bra", "brx", "ret", "exit", "trap")
"""Without a guard, execution does not continue after these."""

_BLOCK_ENDS = frozenset("bra brx call ret exit trap brkpt pmevent membar".split())
"""The instructions that end straight-line code, with or without a guard."""

_PREDICABLE = frozenset(
    "abs add addc and bfe bfi bfind bmsk brev clz cnot copysign cos cvt cvta div dp2a dp4a ex2 fma fns lg2 lop3 mad "
    "mad24 madc max min mov mul mul24 neg not or popc prmt rcp rem rsqrt sad selp set setp shf shl shr sin slct sqrt "
    "sub subc szext tanh testp xor".split()
)  # fmt: skip
"""The instructions that stay in straight-line code with a guard; any other guarded instruction becomes a branch around
it."""

READS_FIRST = frozenset(
    "bar barrier wgmma st stmatrix red prefetch prefetchu cp mbarrier tcgen05 discard nanosleep stackrestore".split()
)
"""The instructions that may read their first operand."""


def registers_in(operand: object) -> tuple[int, ...]:
    """Return every register in an operand, with repetitions.

    Examples
    --------
    >>> registers_in(AddressOperand(Register(3, "%rd1", "b64"), 8))
    (3,)
    """
    if isinstance(operand, Register):
        return (operand.index,)
    if isinstance(operand, Predicate):
        return (operand.register.index,)
    parts: tuple[object, ...] = ()
    if isinstance(operand, VectorOperand):
        parts = operand.elements
    elif isinstance(operand, PairOperand):
        parts = operand.first, operand.second
    elif isinstance(operand, AddressOperand):
        parts = operand.base, *operand.coordinates
    return tuple(register for part in parts for register in registers_in(part))


def writes(instruction: PtxInstruction) -> tuple[int, ...]:
    """Return the registers that an instruction writes.

    Examples
    --------
    >>> r = Register(0, "%r1", "b32")
    >>> writes(PtxInstruction("not.b32", "not", ("b32",), (r, r), None, 1, 1))
    (0,)
    """
    first = instruction.operands[0] if instruction.operands else None
    return registers_in(first) if isinstance(first, Register | VectorOperand | PairOperand) else ()


def reads(instruction: PtxInstruction) -> tuple[int, ...]:
    """Return the registers that an instruction reads, including its guard.

    Examples
    --------
    >>> r = Register(0, "%r1", "b32")
    >>> reads(PtxInstruction("not.b32", "not", ("b32",), (r, r), None, 1, 1))
    (0,)
    """
    operands = instruction.operands
    first = operands[0] if operands else None
    written = isinstance(first, Register | VectorOperand | PairOperand) and instruction.mnemonic not in READS_FIRST
    named = [x for operand in operands[written:] for x in registers_in(operand)]
    return (*named, *registers_in(instruction.guard))


def definitions(code: Sequence[PtxInstruction]) -> dict[int, list[int]]:
    """Return for each register the indices of the instructions that write it.

    Examples
    --------
    >>> r = Register(0, "%r1", "b32")
    >>> definitions([PtxInstruction("not.b32", "not", ("b32",), (r, r), None, 1, 1)])
    {0: [0]}
    """
    found: dict[int, list[int]] = {}
    for pc, instruction in enumerate(code):
        for register in writes(instruction):
            found.setdefault(register, []).append(pc)
    return found


def targets_of(instruction: PtxInstruction) -> list[int]:
    """Return the indices to which an instruction may jump."""
    return [*(x.index for x in instruction.operands if isinstance(x, LabelTarget)), *instruction.targets]


def jumps_of(code: Sequence[PtxInstruction]) -> list[tuple[int, int]]:
    """Return the jumps to labels: the index of each jump, and of the instruction after its label."""
    return [(i, x.index) for i, one in enumerate(code) for x in one.operands if isinstance(x, LabelTarget)]


def closure(begin: Iterable[_Node], step: Callable[[_Node], Iterable[_Node]]) -> set[_Node]:
    """Return the nodes reachable from ``begin``, including those in ``begin``."""
    waiting = list(begin)
    found = set(waiting)
    while waiting:
        for x in step(waiting.pop()):
            if x not in found:
                found.add(x)
                waiting.append(x)
    return found


def readers_of(code: Sequence[PtxInstruction], alive: Iterable[int]) -> dict[int, set[int]]:
    """Return for each register the indices of the live instructions that read it."""
    found: dict[int, set[int]] = {}
    for pc in alive:
        for register in reads(code[pc]):
            found.setdefault(register, set()).add(pc)
    return found


def needed(code: Sequence[PtxInstruction]) -> set[int]:
    """Return the indices of the instructions that the assembler does not remove as dead code.

    These are the instructions that do more than compute a value, and the instructions that compute values for them.

    Examples
    --------
    >>> r = Register(0, "%r1", "b32")
    >>> needed([PtxInstruction("not.b32", "not", ("b32",), (r, r), None, 1, 1)])
    set()
    """
    writers = definitions(code)
    roots = [pc for pc, x in enumerate(code) if x.mnemonic not in _PREDICABLE]
    return closure(roots, lambda pc: [x for register in reads(code[pc]) for x in writers.get(register, ())])


def constants(code: Sequence[PtxInstruction], writers: Mapping[int, Sequence[int]]) -> dict[int, int | None]:
    """Return the registers with values that the assembler can read in place: numbers and values of constant memory.

    These are immediate values, parameters of the kernel and variables of constant memory at known addresses, and the
    results of `mov`, `neg` and `abs` applied to these. The register must have no other writer. The value is the number
    that a `mov` writes, else None.

    Examples
    --------
    >>> f = Register(0, "%f1", "f32")
    >>> code = [PtxInstruction("mov.f32", "mov", ("f32",), (f, Immediate("f32", 0x40400000)), None, 1, 1)]
    >>> constants(code, definitions(code))
    {0: 1077936128}
    """
    found: dict[int, int | None] = {}
    for pc, instruction in enumerate(code):
        written = writes(instruction)
        if instruction.guard is None and all(writers[x] == [pc] for x in written):
            if _is_constant(instruction, found):
                first = instruction.operands[1] if instruction.mnemonic == "mov" else None
                number = first.value if isinstance(first, Immediate) else None
                found.update(dict.fromkeys(written, number))
    return found


def _is_constant(instruction: PtxInstruction, known: Mapping[int, int | None]) -> bool:
    sources = instruction.operands[1:]
    if not sources:
        return False  # too few operands; the operand checks report this
    if instruction.mnemonic in ("mov", "neg", "abs"):
        return all(isinstance(x, Immediate | Symbol) or (isinstance(x, Register) and x.index in known) for x in sources)
    if instruction.mnemonic != "ld" or not {"param", "const"} & set(instruction.modifiers):
        return False
    base = sources[0].base if isinstance(sources[0], AddressOperand) else None
    return isinstance(base, Symbol) or (isinstance(base, Register) and base.index in known)


class Blocks:
    """The blocks of straight-line code that the assembler forms before it fuses anything.

    A block ends at a jump or a jump target, after a guarded instruction that does more than compute a value, after a
    fence, and after an instruction that becomes a subroutine or contains branches: division of signed, 16-bit and
    64-bit integers, quotients, reciprocals and roots with a rounding, atomics of one f16 or bf16. ``spans`` are the
    indices of the instructions of each block, ``live`` the registers that may be read after it, as bits.
    """

    def __init__(self, code: tuple[PtxInstruction, ...]) -> None:
        self.spans = _spans(code)
        self.live = _live(code, self.spans)


def _spans(code: tuple[PtxInstruction, ...]) -> list[range]:
    jumps = jumps_of(code)
    targets = Counter(target for _, target in jumps)
    # A jump to the next instruction has no effect, unless another jump has the same target.
    alone = [(i, code[i]) for i, target in jumps if target == i + 1 and targets[target] == 1]
    idle = {i for i, jump in alone if jump.mnemonic == "bra" and jump.guard is None}
    starts = {x for x in targets if x - 1 not in idle} | {x for instruction in code for x in instruction.targets}
    starts |= {x.callee for x in code if x.callee is not None}
    starts |= {i + 1 for i, x in enumerate(code) if i not in idle and _is_end(x)}
    bounds = sorted({0, len(code)} | {x for x in starts if x < len(code)})
    return [range(a, b) for a, b in pairwise(bounds)]


def _is_end(instruction: PtxInstruction) -> bool:
    mnemonic, modifiers = instruction.mnemonic, instruction.modifiers
    if mnemonic in _BLOCK_ENDS or (instruction.guard is not None and mnemonic not in _PREDICABLE):
        return True
    kind = modifiers[-1] if modifiers else ""
    match mnemonic:
        case "fence":
            return bool({"acq_rel", "sc"} & set(modifiers))
        case "div" | "rem" if kind[:1] in ("s", "u"):
            return kind != "u32"
        case "div" | "rcp" | "sqrt" | "rsqrt":
            return "full" not in modifiers and ("approx" not in modifiers or (mnemonic, kind) == ("rsqrt", "f64"))
        case "atom" | "red":
            return kind in ("f16", "bf16")
    return False


def _live(code: tuple[PtxInstruction, ...], spans: list[range]) -> list[int]:
    block_at = {span.start: i for i, span in enumerate(spans)}
    used, written, followers = [], [], []
    for i, span in enumerate(spans):
        seen = changed = 0
        for pc in span:
            for register in reads(code[pc]):
                seen |= (1 << register) & ~changed
            if code[pc].guard is None:
                for register in writes(code[pc]):
                    changed |= 1 << register
        used.append(seen)
        written.append(changed)
        last = code[span[-1]]
        falls_through = (last.guard is not None or last.mnemonic not in NO_FALL_THROUGH) and i + 1 < len(spans)
        followers.append(
            [*(block_at[x] for x in targets_of(last) if x in block_at), *([i + 1] if falls_through else ())]
        )
    before, after = used.copy(), [0] * len(spans)
    changing = True
    while changing:
        changing = False
        for i in reversed(range(len(spans))):
            live = 0
            for follower in followers[i]:
                live |= before[follower]
            entering = used[i] | (live & ~written[i])
            if live != after[i] or entering != before[i]:
                after[i], before[i], changing = live, entering, True
    return after

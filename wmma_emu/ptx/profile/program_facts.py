# SPDX-License-Identifier: MIT
"""The facts of a program's instructions that counting needs, found once for all launches."""

from collections.abc import Mapping
from threading import Lock
from typing import Any, NamedTuple

from wmma_emu.ptx.profile.atomic_loops import adds_one, is_loop, is_loop_of_halves, unused_results
from wmma_emu.ptx.profile.instruction_costs import kind_of, operations_of, products_of, shared_operand_bytes
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction
from wmma_emu.ptx.reports.frames import own_frames

ATOMICS = ("atom", "red")
_BARRIERS = ("bar", "barrier")
_TEXTURES = ("tex", "tld4", "suld", "sust", "sured")
_NO_COPY = frozenset(("commit_group", "wait_group", "prefetch"))

_KEPT = 64


class ExecutionCosts(NamedTuple):
    """The counts of one execution of an instruction: by a warp, and by each of its threads.

    ``operand_bytes`` are the bytes of shared memory that the four warps of a wgmma read together.
    """

    of_warp: Mapping[str, int]
    of_thread: Mapping[str, int]
    operand_bytes: int

    @property
    def are_of_warps(self) -> bool:
        """Whether anything counts by warp."""
        return bool(self.of_warp or self.operand_bytes)


class ProgramFacts:
    """The facts of the instructions of a program.

    ``index`` maps the id of an instruction to its index, ``atomic_rules`` that of an atomic operation on shared memory
    to its rule.
    """

    def __init__(self, instructions: tuple[PtxInstruction, ...]) -> None:
        self.instructions = instructions
        self.index = {id(x): i for i, x in enumerate(instructions)}
        self.costs = tuple(map(_costs_of, instructions))
        atomics = [i for i, x in enumerate(instructions) if x.mnemonic in ATOMICS]
        unused = unused_results(instructions) if atomics else frozenset[int]()
        self.atomic_rules = {id(instructions[i]): _rule_of(instructions[i], is_unused=i in unused) for i in atomics}
        self._described: tuple[dict[str, Any], ...] = ()

    def described(self, program: KernelProgram) -> tuple[dict[str, Any], ...]:
        """Return the fields of each `ProfiledInstruction` that do not depend on a launch."""
        if not self._described:
            self._described = tuple(_description(program, x) for x in self.instructions)
        return self._described

    def files(self, program: KernelProgram) -> set[str]:
        """Return the source files of the instructions, by their names in the PTX."""
        return {x["file"] for x in self.described(program)} - {""}


def _description(program: KernelProgram, instruction: PtxInstruction) -> dict[str, Any]:
    source = next(iter(own_frames(instruction.source)), None)
    return {
        "line": instruction.line, "opcode": instruction.opcode, "text": program.text(instruction.line),
        "kind": kind_of(instruction), "file": "" if source is None else source.file,
        "number": 0 if source is None else source.line,
        "is_branch": instruction.mnemonic == "bra" and instruction.guard is not None,
    }  # fmt: skip


def _rule_of(atomic: PtxInstruction, *, is_unused: bool) -> str:
    """Return the rule by which an atomic operation on shared memory is counted."""
    if is_loop(atomic):
        return "shared loop"
    if is_loop_of_halves(atomic):
        return "shared loop of halves"
    return "shared increment" if is_unused and adds_one(atomic) else "shared atomic"


def _costs_of(instruction: PtxInstruction) -> ExecutionCosts:
    mnemonic, modifiers = instruction.mnemonic, instruction.modifiers
    products = products_of(instruction)
    of_warp = {
        "matrix_instructions": int(bool(products)), "multiply_adds": products,
        "barriers": int(mnemonic in _BARRIERS and "warp" not in modifiers),
        "mbarrier_operations": int(mnemonic == "mbarrier"), "textures": int(mnemonic in _TEXTURES),
    }  # fmt: skip
    of_thread = {
        "operations": operations_of(instruction),
        "bulk_copies": int(mnemonic == "cp" and "bulk" in modifiers and not _NO_COPY & {*modifiers}),
    }
    return ExecutionCosts(_positive(of_warp), _positive(of_thread), shared_operand_bytes(instruction))


def _positive(given: Mapping[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in given.items() if amount}


_FACTS: dict[int, ProgramFacts] = {}
_LOCK = Lock()


def facts_of(instructions: tuple[PtxInstruction, ...]) -> ProgramFacts:
    """Return the facts of a program; those of the programs that were launched last are kept."""
    with _LOCK:
        found = _FACTS.pop(id(instructions), None)
        if found is None or found.instructions is not instructions:
            found = ProgramFacts(instructions)
        _FACTS[id(instructions)] = found
        if len(_FACTS) > _KEPT:
            del _FACTS[next(iter(_FACTS))]
        return found

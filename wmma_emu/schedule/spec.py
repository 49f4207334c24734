# SPDX-License-Identifier: MIT
"""The data types of a schedule: the machine instructions of a matrix instruction, and the elements of each."""

from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from wmma_emu.display import render
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.instructions import Arch, Instruction

Start = Literal["c", "d", "zero"]
"""The addend of a machine instruction: C; the result of an earlier one in the registers of D; or zero."""

Finish = Literal["none", "convert", "add_c", "add_sums_and_c"]
"""The final step: none; conversion to D's format; addition to C; or summation, then addition to C."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """The registers of the elements that a part reads or writes: each of the elements, in each of the lanes.

    Parameters
    ----------
    lanes : tuple of int
        0 to 31 for a warp, 0 to 127 for a warpgroup.
    registers, elements : tuple of int
        Numbers as in the operand's `LaneMap`. Machine instructions name whole pairs or fours of registers; these are
        the registers that hold the elements.
    """

    lanes: tuple[int, ...]
    registers: tuple[int, ...]
    elements: tuple[int, ...]

    def to_dict(self) -> dict[str, list[int]]:
        """Return the fields as lists."""
        return {"lanes": list(self.lanes), "registers": list(self.registers), "elements": list(self.elements)}


@dataclass(frozen=True, slots=True)
class StepPart:
    """The part that some lanes compute in one machine instruction: on Volta a threadgroup, else all lanes together.

    Parameters
    ----------
    threadgroup : int or None
        0 to 7, lanes ``4 * threadgroup`` to ``4 * threadgroup + 3``; None if all lanes work together.
    octet : int or None
        0 to 3: threadgroups ``octet`` and ``octet + 4``, a quad pair.
    matrix : int
        The independent product, 0 if there is only one.
    rows, cols : range
        Rows and columns of D.
    a, b : Ownership or None
        The elements that are read of A and B; None if they are in shared memory.
    c : Ownership or None
        The addend; None for zero. If the start is ``"d"`` it is equal to ``d``.
    d : Ownership
        The elements that are written: registers of D, or of the sums that become D in the end.
    b_threadgroup : int or None
        The threadgroup whose half of B is read, by this threadgroup and its partner.
    """

    threadgroup: int | None
    octet: int | None
    matrix: int
    rows: range
    cols: range
    a: Ownership | None
    b: Ownership | None
    c: Ownership | None
    d: Ownership
    b_threadgroup: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON: ranges are ``[first, last + 1]``."""
        held = {x: getattr(self, x) for x in "abcd"}
        return {
            "threadgroup": self.threadgroup, "octet": self.octet, "matrix": self.matrix,
            "rows": [self.rows.start, self.rows.stop], "cols": [self.cols.start, self.cols.stop],
            **{x: place and place.to_dict() for x, place in held.items()},
            "b_threadgroup": self.b_threadgroup,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class MachineStep:
    """One machine instruction.

    Parameters
    ----------
    number : int
        The number of the machine instruction, from 0, counted through all sets.
    opcode : str
        ``"HMMA.1688.F32"``.
    set, step : int or None
        On Volta: the set of four k, and the step within it, each from 0.
    ks : tuple of int
        The k whose products it adds; for a sparse A, k counts the packed elements.
    rounded : tuple of tuple of int
        The k that are summed and rounded together inside, in order, according to the model of the arithmetic; empty
        if the arithmetic is exact.
    start : {"c", "d", "zero"}
    transposed : bool
        Whether the machine's first operand is B, and its second A.
    parts : tuple of StepPart
    """

    number: int
    opcode: str
    set: int | None
    step: int | None
    ks: tuple[int, ...]
    rounded: tuple[tuple[int, ...], ...]
    start: Start
    transposed: bool
    parts: tuple[StepPart, ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows of D that it computes, of all parts."""
        return tuple(sorted({row for part in self.parts for row in part.rows}))

    @property
    def cols(self) -> tuple[int, ...]:
        """The columns of D that it computes, of all parts."""
        return tuple(sorted({col for part in self.parts for col in part.cols}))

    def registers(self, operand: Literal["a", "b", "c", "d"]) -> tuple[int, ...]:
        """Return the registers of an operand that any part reads or writes."""
        held = [getattr(part, operand) for part in self.parts]
        return tuple(sorted({x for place in held if place is not None for x in place.registers}))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return {
            "number": self.number, "opcode": self.opcode, "set": self.set, "step": self.step, "ks": list(self.ks),
            "rounded": [list(x) for x in self.rounded], "start": self.start, "transposed": self.transposed,
            "rows": list(self.rows), "cols": list(self.cols),
            "registers": {x: list(self.registers(x)) for x in ("a", "b", "c", "d")},
            "parts": [part.to_dict() for part in self.parts],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Schedule(Sourced):
    """The machine instructions of a matrix instruction on a chip, in their order.

    Parameters
    ----------
    instruction : Instruction
    arch : Arch
    lowering : str
    machine : str
        Counts and opcodes, as from `wmma_emu.instructions.machine_instructions`.
    steps : tuple of MachineStep
        The machine instructions, numbered from 0 in order. On Volta they are ordered set by set, and a step,
        `MachineStep.step`, is counted within its set: for m16n16k16 with f32 sums, machine instruction 6 is step 2 of
        set 1.
    before, after : str
        The operations of other instructions on operands first, and on results at the end; may be empty.
    finish : {"none", "convert", "add_c", "add_sums_and_c"}
        The content of ``after``, for programs.
    sums : str
        The format that the machine instructions write.
    inside : str
        The arithmetic inside a machine instruction in a sentence, with its status.
    note : str
        May be empty.
    evidence : Evidence
        The evidence for the decomposition.

    Examples
    --------
    >>> import wmma_emu as we
    >>> print(we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_80").schedule)
    wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 on sm_80 (Ampere): 2x HMMA.16816.F32
    <BLANKLINE>
      #  machine instruction  rows  columns  k     reads A  reads B  adds to  writes
      0  HMMA.16816.F32       0-15  0-7      0-15  a 0-3    b 0-1    c 0-3    d 0-3
      1  HMMA.16816.F32       0-15  8-15     0-15  a 0-3    b 2-3    c 4-7    d 4-7
    <BLANKLINE>
    inside: k 0-7, then k 8-15, each summed with its accumulator and rounded RZ to f32 (recorded)
    known from: registers in the machine code of ptxas 13.0, 2026-11-22 (inferred)
    """

    instruction: Instruction
    arch: Arch
    lowering: str
    machine: str
    steps: tuple[MachineStep, ...]
    before: str
    after: str
    finish: Finish
    sums: str
    inside: str
    note: str
    evidence: Evidence

    def __str__(self) -> str:
        return str(render("schedule.txt", self))

    def __repr__(self) -> str:
        count = len(self.steps)
        return (
            f"<Schedule of {self.instruction.mnemonic} on {self.arch}: {count} machine instruction{'s' * (count > 1)}>"
        )

    def _repr_html_(self) -> str:
        return str(render("schedule.html", self))

    @property
    def sets(self) -> tuple[tuple[MachineStep, ...], ...]:
        """The machine instructions of each set on Volta; empty on other chips."""
        numbered = [step for step in self.steps if step.set is not None]
        return tuple(tuple(steps) for _, steps in groupby(numbered, key=lambda step: step.set))

    @property
    def c_is_converted(self) -> bool:
        """Whether other instructions first convert C to the format of the sums."""
        return self.instruction.c != self.sums and self.finish == "none" and not self.sets

    def to_dict(self) -> dict[str, Any]:
        """Return everything in the types of JSON: dictionaries, lists, strings, integers, None.

        Examples
        --------
        >>> import wmma_emu as we
        >>> found = we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_70").schedule.to_dict()
        >>> found["steps"][6]["set"], found["steps"][6]["step"], found["steps"][6]["parts"][3]["cols"]
        (1, 2, [12, 16])
        """
        instruction = self.instruction
        return {
            "instruction": instruction.mnemonic, "arch": self.arch.name, "lowering": self.lowering,
            "machine": self.machine, "shape": [instruction.m, instruction.n, instruction.terms], "sums": self.sums,
            "before": self.before, "after": self.after,
            "finish": self.finish, "inside": self.inside, "note": self.note,
            "source": self.source, "status": self.status,
            "steps": [step.to_dict() for step in self.steps],
        }  # fmt: skip

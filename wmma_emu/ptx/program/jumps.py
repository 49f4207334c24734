# SPDX-License-Identifier: MIT
"""Jumps to labels that follow later, collected scope by scope until their labels are known."""

from dataclasses import dataclass, field

from wmma_emu.ptx.program.program import LabelTarget, Operand, Predicate, PtxInstruction, SourceLine
from wmma_emu.ptx.syntax.tree import Directive, InstructionText


@dataclass(slots=True)
class Jump:
    """A jump, and the index of its instruction."""

    index: int
    text: InstructionText
    opcode: str
    guard: Predicate | None
    source: SourceLine | None
    operands: tuple[Operand | None, ...] = ()

    def instruction(self, operands: tuple[Operand | None, ...], targets: tuple[int, ...] = ()) -> PtxInstruction:
        """Return the instruction, with its resolved targets."""
        text = self.text
        return PtxInstruction(
            self.opcode, text.mnemonic, text.modifiers, operands, self.guard, text.line, text.column, self.source,
            targets=targets,
        )  # fmt: skip


@dataclass(slots=True)
class BranchTable:
    """A list of labels, ``.branchtargets``, and the jumps that use it; all share one tuple of targets."""

    text: Directive
    names: tuple[str, ...]
    users: list[Jump] = field(default_factory=list)
    found: dict[str, int] = field(default_factory=dict)
    count: int = 0

    def __post_init__(self) -> None:
        self.count = len(set(self.names))


@dataclass(slots=True)
class UnresolvedJumps:
    """The jumps and tables of one scope whose labels are not known yet, by label."""

    _by_label: dict[str, list[Jump | BranchTable]] = field(default_factory=dict)

    def add(self, label: str, jump: Jump | BranchTable) -> None:
        """Add a jump to an unknown label."""
        self._by_label.setdefault(label, []).append(jump)

    def resolve(self, labels: dict[str, int], instructions: list[PtxInstruction | None]) -> None:
        """Resolve the jumps to the given labels."""
        for name in labels if len(labels) < len(self._by_label) else [x for x in self._by_label if x in labels]:
            for jump in self._by_label.pop(name, ()):
                if isinstance(jump, Jump):
                    instructions[jump.index] = jump.instruction((LabelTarget(labels[name], name),))
                    continue
                jump.found[name] = labels[name]
                if len(jump.found) == jump.count:
                    targets = tuple([jump.found[x] for x in jump.names])
                    for user in jump.users:
                        instructions[user.index] = user.instruction(user.operands, targets)

    def merge(self, inner: "UnresolvedJumps") -> None:
        """Add the unresolved jumps of an inner scope; the smaller set is moved, so that nesting stays cheap."""
        small, large = inner._by_label, self._by_label
        if len(small) > len(large):
            small, large = large, small
        for name, jumps in small.items():
            known = large.get(name, jumps)
            if known is not jumps:
                jumps, known = sorted((jumps, known), key=len)
                known += jumps
            large[name] = known
        self._by_label = large

    def first_missing(self) -> tuple[str, InstructionText | Directive] | None:
        """Return the first missing label, and the statement that uses it."""
        missing = [(x.text, name) for name, found in self._by_label.items() for x in found]
        if not missing:
            return None
        text, name = min(missing, key=lambda x: (x[0].line, x[0].column))
        return name, text

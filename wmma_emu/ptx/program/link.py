# SPDX-License-Identifier: MIT
"""A kernel and all that it calls as one list of instructions: scopes, labels, calls."""

from dataclasses import dataclass, field

from wmma_emu.ptx.program.calls import Callee, add_call, callee_of, enter, formal
from wmma_emu.ptx.program.faults import shown
from wmma_emu.ptx.program.module_names import ModuleNames, require_complete
from wmma_emu.ptx.program.program import Instruction, Operand, Predicate, SourceLine, Symbol, Target
from wmma_emu.ptx.program.resolve import Resolver
from wmma_emu.ptx.program.scopes import NamesInScope
from wmma_emu.ptx.program.storage import Storage
from wmma_emu.ptx.syntax.tree import (
    Call,
    Directive,
    FunctionText,
    InstructionText,
    Label,
    Name,
    Scope,
    Statement,
    VariableText,
)

__all__ = ["Linker"]

_LEAVES = frozenset(("ret", "exit", "trap", "bra"))


@dataclass(slots=True)
class _Jump:
    """An instruction whose labels are not all known yet."""

    place: int
    text: InstructionText
    guard: Predicate | None
    source: SourceLine | None
    operands: tuple[Operand | None, ...]
    names: tuple[str, ...]
    found: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Open:
    """A scope that is being read: what is left of it, its parameters, and its jumps."""

    statements: list[Statement]
    names: NamesInScope
    parameters: list[tuple[VariableText, Symbol]] = field(default_factory=list)
    jumps: list[_Jump] = field(default_factory=list)
    next: int = 0


class Linker:
    """Builds the instructions of one kernel.

    Attributes
    ----------
    instructions : list
        None where a jump or a call waits for its target.
    callees : dict
        Functions that are called, in the order in which they were met.
    bodies : list
        Those whose instructions belong to the kernel.
    calls : list
        Calls whose function has no first instruction yet: index, function.
    caller : Callee
        The function that is being read.
    """

    def __init__(self, module: ModuleNames, files: dict[int, str], dynamic_offset: int = 0) -> None:
        self.module = module
        self.storage = Storage(dynamic_offset)
        self.resolver = Resolver(module, self.storage)
        self.instructions: list[Instruction | None] = []
        self.callees: dict[str, Callee] = {}
        self.bodies: list[Callee] = []
        self.calls: list[tuple[int, Callee]] = []
        self.caller: Callee
        self._furthest = -1
        self._files = files
        self._sources: dict[tuple[str, str], SourceLine | None] = {}
        self._opcodes: dict[tuple[str, tuple[str, ...]], str] = {}

    def enter_formals(self, callee: Callee) -> None:
        """Give a function's parameters and results their registers and places."""
        callee.results = [formal(self, callee, x) for x in callee.function.results]
        callee.parameters = [formal(self, callee, x) for x in callee.function.parameters]

    def read(self, caller: Callee) -> None:
        """Append a function's instructions."""
        self.caller = caller
        function = caller.function
        source: SourceLine | None = None
        open_scopes = [_Open(list(function.body or ()), caller.names)]
        self.resolver.scope = caller.names
        caller.first = first = len(self.instructions)
        while open_scopes:
            scope = open_scopes[-1]
            if scope.next == len(scope.statements):
                self._close(open_scopes)
                continue
            statement = scope.statements[scope.next]
            scope.next += 1
            kind = type(statement)
            if kind is InstructionText:
                self._instruction(statement, source, scope)  # type: ignore[arg-type]
            elif isinstance(statement, Directive):
                if statement.name == "loc":
                    source = self._source(statement)
                elif statement.label is not None:
                    self._label(scope.names, statement.label, statement)
            elif isinstance(statement, Label):
                self._label(scope.names, statement.name, statement)
                scope.names.labels[statement.name] = len(self.instructions)
            elif isinstance(statement, VariableText):
                self._declare(statement, scope)
            elif isinstance(statement, Scope):
                inner = NamesInScope(scope.names)
                open_scopes.append(_Open(list(statement.body), inner))
                self.resolver.scope = inner
        if self._falls_off(first) or self._furthest == len(self.instructions):
            self.instructions.append(
                Instruction("ret", "ret", (), (), None, function.last_line or function.line, 1, source)
            )

    def _falls_off(self, first: int) -> bool:
        """Whether control may reach the closing brace: if in doubt, yes."""
        last = self.instructions[-1] if len(self.instructions) > first else None
        return last is None or last.mnemonic not in _LEAVES or last.guard is not None

    def _source(self, statement: Directive) -> SourceLine | None:
        """Where the source stands; line 0 means that it is not known."""
        number, line = statement.arguments[:2]
        key = number, line
        if key not in self._sources:
            name = self._files.get(int(number), f"file {number}")
            self._sources[key] = SourceLine(name, int(line)) if int(line) else None
        return self._sources[key]

    def _label(self, names: NamesInScope, label: str, statement: Label | Directive) -> None:
        if label in names.labels or label in names.tables or names.here(label):
            self.resolver.fault(statement, f"{shown(label)} is declared twice in these braces")
        if isinstance(statement, Directive):
            names.tables[label] = tuple(x for x in statement.arguments if x != ",")

    def _declare(self, variable: VariableText, scope: _Open) -> None:
        require_complete(self.module.lines, variable)
        if variable.space not in ("reg", "local", "param", "shared", "global", "const"):
            self.resolver.unsupported(variable, f".{variable.space} variables are not supported")
        symbol = self.storage.local(variable) if variable.space in ("local", "param") else None
        enter(self, scope.names, variable, symbol)
        if symbol is not None and variable.space == "param":
            scope.parameters.append((variable, symbol))

    def _instruction(self, text: InstructionText, source: SourceLine | None, scope: _Open) -> None:
        resolver = self.resolver
        mnemonic, modifiers = text.mnemonic, text.modifiers
        key = mnemonic, modifiers
        opcode = self._opcodes.get(key)
        if opcode is None:
            opcode = self._opcodes[key] = ".".join((mnemonic, *modifiers))
        guard = resolver.guard(text.guard, text) if text.guard is not None else None
        if mnemonic == "bra" or mnemonic == "brx":
            self._jump(text, guard, source, scope)
            return
        if mnemonic == "call":
            call = text.operands[0] if text.operands else None
            if not isinstance(call, Call):
                resolver.fault(text, "call takes a function")
            add_call(self, text, call, callee_of(self, call, text), guard, source)
            return
        found = scope.names.found
        operands: list[Operand | None] = []
        for x in text.operands:
            if type(x) is Name and x.text in found:
                operands.append(found[x.text])
            else:
                operands.append(resolver.operand(x, text))
        self.instructions.append(
            Instruction(opcode, mnemonic, modifiers, tuple(operands), guard, text.line, text.column, source)
        )

    def _jump(self, text: InstructionText, guard: Predicate | None, source: SourceLine | None, scope: _Open) -> None:
        operands: tuple[Operand | None, ...] = ()
        last = text.operands[-1] if text.operands else None
        if len(text.operands) != (1 if text.mnemonic == "bra" else 2) or not isinstance(last, Name):
            expected = "a label" if text.mnemonic == "bra" else "a register and a list of labels (.branchtargets)"
            self.resolver.fault(text, f"{text.mnemonic} takes {expected}")
        names: tuple[str, ...] | None = (last.text,)
        if text.mnemonic == "brx":
            operands = (self.resolver.operand(text.operands[0], text),)
            names = scope.names.table(last.text)
            if names is None:
                self.resolver.fault(text, f"{shown(last.text)} is no list of labels; expected one of .branchtargets")
        place = len(self.instructions)
        self.instructions.append(None)
        scope.jumps.append(_Jump(place, text, guard, source, operands, names or ()))

    def _close(self, open_scopes: list[_Open]) -> None:
        """Leave a scope: give its jumps their targets, and those that it has not to the scope around it."""
        scope = open_scopes.pop()
        labels = scope.names.labels
        outer = open_scopes[-1] if open_scopes else None
        for jump in scope.jumps:
            for name in jump.names:
                if name in labels and name not in jump.found:
                    jump.found[name] = labels[name]
            if all(x in jump.found for x in jump.names):
                self._finish(jump)
            elif outer is not None:
                outer.jumps.append(jump)
            else:
                name = next(x for x in jump.names if x not in jump.found)
                self._no_label(jump.text, name)
        for variable, symbol in scope.parameters:
            self.storage.release(variable, symbol)
        if outer is not None:
            self.resolver.scope = outer.names

    def _no_label(self, text: InstructionText, name: str) -> None:
        scope = self.resolver.scope
        what = "is no label: it is declared as a variable" if scope.lookup(name) else "is no label of this function"
        self.resolver.fault(text, f"{shown(name)} {what}, or not one that is seen from here")

    def _finish(self, jump: _Jump) -> None:
        text = jump.text
        targets = tuple(jump.found[x] for x in jump.names)
        self._furthest = max(self._furthest, *targets)
        is_table = text.mnemonic == "brx"
        self.instructions[jump.place] = Instruction(
            self._opcodes[text.mnemonic, text.modifiers], text.mnemonic, text.modifiers,
            jump.operands if is_table else (Target(targets[0], jump.names[0]),), jump.guard, text.line, text.column,
            jump.source, targets=targets if is_table else (),
        )  # fmt: skip

# SPDX-License-Identifier: MIT
"""Link a kernel and the functions that it calls into one list of instructions: scopes, labels and calls."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.program.callees import enter, variables_in
from wmma_emu.ptx.program.calls import add_call
from wmma_emu.ptx.program.faults import Positioned, reason_of, short_name
from wmma_emu.ptx.program.flow import READS_FIRST
from wmma_emu.ptx.program.jumps import BranchTable, Jump, UnresolvedJumps
from wmma_emu.ptx.program.link_state import Callee, LinkState
from wmma_emu.ptx.program.module_symbols import ModuleSymbols, require_complete
from wmma_emu.ptx.program.program import (
    AddressOperand,
    Immediate,
    Missing,
    Operand,
    Predicate,
    PtxInstruction,
    SourceLine,
    Symbol,
)
from wmma_emu.ptx.program.source_lines import SourceLines, lines_of_assembly
from wmma_emu.ptx.syntax.tokens import is_name
from wmma_emu.ptx.syntax.tree import (
    Call,
    Directive,
    InstructionText,
    Label,
    Name,
    Scope,
    Statement,
    VariableText,
)
from wmma_emu.ptx.widths import bits_of_type

_STACK = frozenset(("alloca", "stacksave", "stackrestore"))

_LEAVES = frozenset(("ret", "exit", "trap", "bra"))


@dataclass(slots=True)
class _OpenScope:
    """A scope that is being read: its statements, its parameters and its unresolved jumps."""

    statements: tuple[Statement, ...]
    parameters: list[tuple[VariableText, Symbol]] = field(default_factory=list)
    jumps: UnresolvedJumps = field(default_factory=UnresolvedJumps)
    next: int = 0


class Linker(LinkState):
    """A builder of the instructions of one kernel."""

    def __init__(
        self, module: ModuleSymbols, files: dict[int, str], shared_begin: int = 0, dynamic_offset: int = 0,
        has_frames: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(module, shared_begin, dynamic_offset, has_frames)
        self._furthest = -1
        self._sources = SourceLines(files)
        self._assembly = lines_of_assembly(module.lines)
        self._opcodes: dict[tuple[str, tuple[str, ...]], str] = {}
        self._used_bytes = 0

    def read(self, caller: Callee) -> None:
        """Append a function's instructions."""
        self.caller = caller
        self.storage.frame = caller.frame
        function = caller.function
        source: SourceLine | None = None
        open_scopes = [_OpenScope(function.body or ())]
        self.resolver.scopes = scopes = caller.scopes
        caller.first = first = len(self.instructions)
        while open_scopes:
            scope = open_scopes[-1]
            if scope.next == len(scope.statements):
                self._close(open_scopes)
                continue
            statement = scope.statements[scope.next]
            scope.next += 1
            if isinstance(statement, InstructionText):
                try:
                    self._instruction(statement, source, scope)
                except UnsupportedInstructionError as error:
                    self._refuse(".".join((statement.mnemonic, *statement.modifiers)), statement, error)
            elif isinstance(statement, Directive):
                if statement.name == "loc" and statement.line not in self._assembly:
                    source = self._sources.at(statement.arguments)
                elif statement.label is not None:
                    self._table(statement.label, statement, scope)
                elif statement.name == "pragma":
                    self._used_bytes = _used_bytes(statement.arguments)
            elif isinstance(statement, Label):
                self._require_new(statement.name, statement)
                scopes.labels[statement.name] = len(self.instructions)
                self._furthest = len(self.instructions)
            elif isinstance(statement, VariableText):
                try:
                    self._declare(statement, scope)
                except UnsupportedInstructionError as error:
                    self._refuse(f".{statement.space}", statement, error)
            elif isinstance(statement, Scope):
                scopes.enter()
                open_scopes.append(_OpenScope(statement.body))
        last = self.instructions[-1] if len(self.instructions) > first else None
        may_fall_off = last is None or last.mnemonic not in _LEAVES or last.guard is not None
        if may_fall_off or self._furthest == len(self.instructions):
            self.instructions.append(
                PtxInstruction("ret", "ret", (), (), None, function.last_line or function.line, 1, source)
            )

    def _refuse(self, opcode: str, statement: Positioned, error: UnsupportedInstructionError) -> None:
        self.resolver.sums.clear()
        self.refusals.append(Missing(opcode, statement.line, reason_of(error)))

    def _require_new(self, label: str, statement: Label | Directive) -> None:
        if self.resolver.scopes.is_taken(label):
            self.resolver.fault(statement, f"{short_name(label)} is declared twice in this scope", label)

    def _table(self, label: str, statement: Directive, scope: _OpenScope) -> None:
        """Declare a list of labels, or the name of a prototype or list of functions, which only indirect calls use."""
        self._require_new(label, statement)
        scopes = statement.arguments if statement.name == "branchtargets" else ()
        table = BranchTable(statement, scopes[::2])
        self.resolver.scopes.declare_table(label, table)
        for i, name in enumerate(scopes):
            if (name == ",") != (i % 2 == 1) or (not i % 2 and not is_name(name)):
                self.resolver.fault(
                    statement, f"found {short_name(name)} in a list of labels; expected labels and ','", name
                )
        for name in dict.fromkeys(table.names):
            scope.jumps.add(name, table)

    def _declare(self, variable: VariableText, scope: _OpenScope) -> None:
        require_complete(self.module.lines, variable)
        if variable.space not in ("reg", "local", "param", "shared", "global", "const"):
            self.resolver.unsupported(variable, f".{variable.space} variables are not supported")
        symbol = self.storage.local(variable) if variable.space in ("local", "param") else None
        enter(self, self.resolver.scopes, variable, symbol)
        if symbol is not None and variable.space == "param":
            scope.parameters.append((variable, symbol))

    def _instruction(self, text: InstructionText, source: SourceLine | None, scope: _OpenScope) -> None:
        resolver = self.resolver
        used_bytes, self._used_bytes = self._used_bytes, 0  # the pragma is about the next instruction alone
        mnemonic, modifiers = text.mnemonic, text.modifiers
        key = mnemonic, modifiers
        opcode = self._opcodes.get(key)
        if opcode is None:
            opcode = self._opcodes[key] = ".".join((mnemonic, *modifiers))
        guard = None
        if text.guard is not None:
            guard = Predicate(resolver.predicate(text.guard.register, text), text.guard.negated)
        if mnemonic == "bra" or mnemonic == "brx":
            self._jump(text, guard, source, scope)
            return
        if mnemonic == "call":
            call = text.operands[0] if text.operands else None
            if not isinstance(call, Call):
                resolver.fault(text, "call expects the name of a function")
            add_call(self, text, call, guard, source)
            return
        self.needs_frames |= mnemonic in _STACK
        found = resolver.scopes.resolved
        operands: list[Operand | None] = []
        for x in text.operands:
            if type(x) is Name and x.text in found:
                operands.append(found[x.text])
            else:
                operands.append(resolver.operand(x, text))
        if resolver.sums:
            self._add_sums(text, operands[0], guard, source)
        if self.variadic and not self.variadic.isdisjoint(variables_in(operands)):
            opcode, mnemonic, modifiers, operands = self._read_variadic(text, operands)
        made = PtxInstruction(opcode, mnemonic, modifiers, tuple(operands), guard, text.line, text.column, source)
        if used_bytes and mnemonic in ("ld", "ldu"):
            made = replace(made, used_bytes=used_bytes)
        self.instructions.append(made)

    def _read_variadic(
        self, text: InstructionText, operands: Sequence[Operand | None]
    ) -> tuple[str, str, tuple[str, ...], list[Operand | None]]:
        """Return the load of the address of variable arguments, whose address ``mov`` takes."""
        target, *rest = operands
        if text.mnemonic != "mov" or len(rest) != 1 or not isinstance(rest[0], Symbol):
            message = "variable arguments are accessed through their address, which mov.u64 takes"
            self.resolver.unsupported(text, message)
        return "ld.param.b64", "ld", ("param", "b64"), [target, AddressOperand(rest[0])]

    def _add_sums(
        self, text: InstructionText, first: Operand | None, guard: Predicate | None, source: SourceLine | None
    ) -> None:
        """Append the additions of ``register + number`` operands, before the instruction that reads them."""
        sums, self.resolver.sums = self.resolver.sums, []
        for target, base, number in sums:
            if target is first and text.mnemonic not in READS_FIRST:
                message = f"{short_name(target.name)} is a sum, and {text.mnemonic} writes this operand; "
                self.resolver.fault(text, message + "expected a register", base.name)
            width = bits_of_type(target.type)
            operands = target, base, Immediate("int", number % (1 << width))
            self.instructions.append(
                PtxInstruction(f"add.u{width}", "add", (f"u{width}",), operands, guard, text.line, text.column, source)
            )

    def _jump(
        self, text: InstructionText, guard: Predicate | None, source: SourceLine | None, scope: _OpenScope
    ) -> None:
        last = text.operands[-1] if text.operands else None
        if len(text.operands) != (1 if text.mnemonic == "bra" else 2) or not isinstance(last, Name):
            expected = "a label" if text.mnemonic == "bra" else "a register and a list of labels (.branchtargets)"
            self.resolver.fault(text, f"{text.mnemonic} expects {expected}")
        operands = (self.resolver.operand(text.operands[0], text),) if text.mnemonic == "brx" else ()
        if self.resolver.sums:
            message = f"{text.mnemonic} expects a register and a list of labels; add to the register beforehand"
            self.resolver.fault(text, message)
        jump = Jump(len(self.instructions), text, self._opcodes[text.mnemonic, text.modifiers], guard, source, operands)
        self.instructions.append(None)
        if text.mnemonic == "bra":
            scope.jumps.add(last.text, jump)
            return
        table = self.resolver.scopes.table(last.text)
        if table is None or not table.names:
            message = f"{short_name(last.text)} is not a list of labels; declare one with .branchtargets"
            self.resolver.fault(text, message, last.text)
        table.users.append(jump)

    def _close(self, open_scopes: list[_OpenScope]) -> None:
        """Leave a scope: resolve its jumps, and pass the unresolved ones to the enclosing scope."""
        scope = open_scopes.pop()
        scope.jumps.resolve(self.resolver.scopes.labels, self.instructions)
        if open_scopes:
            open_scopes[-1].jumps.merge(scope.jumps)
        elif (missing := scope.jumps.first_missing()) is not None:
            name, text = missing
            is_variable = self.resolver.scopes.lookup(name) is not None
            what = "is a variable, not a label" if is_variable else "is not a label of this scope or an enclosing one"
            self.resolver.fault(text, f"{short_name(name)} {what}", name)
        for variable, symbol in scope.parameters:
            self.storage.frame.release(variable, symbol.offset)
        self.resolver.scopes.leave()


_USED_BYTES = re.compile(r"used_bytes_mask\s+(0[xX][0-9a-fA-F]+|\d+)")


def _used_bytes(pragmas: Sequence[str]) -> int:
    """Return the bytes that the next load uses, a bit for each, 0 if no pragma states them."""
    found = [x for pragma in pragmas if (x := _USED_BYTES.search(pragma))]
    return int(found[-1][1], 0) if found else 0

# SPDX-License-Identifier: MIT
"""Statements between the braces of a function: instructions, labels, declarations, directives, scopes."""

import re

from wmma_emu.ptx.syntax.declarations import SPACES, variables
from wmma_emu.ptx.syntax.directives import directive
from wmma_emu.ptx.syntax.operands import call, operand, simple
from wmma_emu.ptx.syntax.tokens import END, Reader, is_name, is_word
from wmma_emu.ptx.syntax.tree import Guard, InstructionText, Label, OperandText, Scope, Statement

_DEEPEST = 200
"""The largest nesting depth of scopes. The parser does not recurse over scopes, but printing a tree does."""

_OPCODE = re.compile(r"[a-z_][\w.:]*", re.ASCII)


def body(reader: Reader) -> tuple[Statement, ...]:
    """Read the body of a function, ``{ ... }``."""
    reader.take("{")
    statements: list[Statement] = []
    outer: list[tuple[list[Statement], int]] = []
    opcodes: dict[str, tuple[str, tuple[str, ...]]] = {}
    tokens = reader.tokens
    while True:
        token = tokens[reader.index]
        first = token[0]
        if first == ".":
            if token[1:] in SPACES or token == ".extern":
                statements += variables(reader, ())
            else:
                statements.append(directive(reader))
        elif first == "{":
            if len(outer) >= _DEEPEST:
                raise reader.error(f"scopes nested more than {_DEEPEST} deep")
            outer.append((statements, reader.position(reader.index)[0]))
            statements = []
            reader.index += 1
        elif first == "}":
            reader.index += 1
            if not outer:
                return tuple(statements)
            inner = statements
            statements, line = outer.pop()
            statements.append(Scope(tuple(inner), line))
        elif tokens[reader.index + 1] == ":" and is_name(token):
            statements.append(_label(reader, token))
        else:
            statements.append(_instruction(reader, opcodes))


def _label(reader: Reader, token: str) -> Statement:
    line, column = reader.position(reader.index)
    if "." in token:
        reader.fail("a label name without '.'")
    reader.index += 2
    if reader.tokens[reader.index] in (".branchtargets", ".calltargets", ".callprototype"):
        return directive(reader, token)
    return Label(token, line, column)


def _instruction(reader: Reader, opcodes: dict[str, tuple[str, tuple[str, ...]]]) -> InstructionText:
    tokens = reader.tokens
    index = reader.index
    line, column = reader.position(index)
    guard = None
    if tokens[index] == "@":
        negated = tokens[index + 1] == "!"
        reader.index = index + 1 + negated
        guard = Guard(reader.name("the predicate of a guard"), negated)
    index = reader.index
    after = tokens[index + 1]
    known = opcodes.get(tokens[index]) if after != "::" and after[0] != "." else None
    if known is None:
        text = _opcode(reader)
        parts = text.split(".")
        known = parts[0], tuple(parts[1:])
        if reader.index == index + 1:
            opcodes[text] = known
        index = reader.index
    else:
        index += 1
    mnemonic, modifiers = known
    if tokens[index] == ";":
        reader.index = index + 1
        return InstructionText(mnemonic, modifiers, (), guard, line, column)
    if mnemonic == "call":
        reader.index = index
        called = call(reader)
        reader.take(";", "after an instruction")
        return InstructionText(mnemonic, modifiers, (called,), guard, line, column)
    return InstructionText(mnemonic, modifiers, _operands(reader, index), guard, line, column)


def _operands(reader: Reader, index: int) -> tuple[OperandText, ...]:
    tokens, known = reader.tokens, reader.simple
    operands: list[OperandText] = []
    while True:
        after = tokens[index + 1]
        found: OperandText | None = None
        if after == "," or after == ";":
            found = known.get(tokens[index]) or simple(reader, tokens[index])
        if found is None:
            reader.index = index
            found = operand(reader)
            index = reader.index - 1
            after = tokens[index + 1]
            if after != "," and after != ";":
                reader.fail("',' or ';' after an operand")
        operands.append(found)
        index += 2
        if after == ";":
            reader.index = index
            return tuple(operands)


def _opcode(reader: Reader) -> str:
    """Read an opcode; modifiers may contain ``::`` and be preceded by whitespace."""
    index = reader.index
    if reader.tokens[index] == END:
        reader.fail("'}' at the end of the function")
    parts = [reader.name("an instruction, a label, a declaration, a directive or '}'")]
    while True:
        token = reader.tokens[reader.index]
        if token == "::":
            reader.index += 1
            if not is_word(reader.tokens[reader.index]):
                reader.fail("a word after '::'")
            parts += [token, reader.tokens[reader.index]]
        elif token[0] == "." and len(token) > 1:
            parts.append(token)
        else:
            break
        reader.index += 1
    text = "".join(parts)
    if not _OPCODE.fullmatch(text) or ".." in text or text[-1] == ".":
        reader.index = index
        reader.fail("an opcode, such as add.s32")
    return text

# SPDX-License-Identifier: MIT
"""Statements between the braces of a function: instructions, labels, declarations, directives, scopes."""

import re

from wmma_emu.ptx.syntax.declarations import SPACES, variables
from wmma_emu.ptx.syntax.directives import directive
from wmma_emu.ptx.syntax.operands import call, operand, simple
from wmma_emu.ptx.syntax.tokens import END, Reader, is_name, is_word
from wmma_emu.ptx.syntax.tree import Guard, InstructionText, Label, OperandText, Scope, Statement

_DEEPEST = 200
"""Scopes within each other. Nothing recurses over them, but who prints a tree does."""

_OPCODE = re.compile(r"[a-z_][\w.:]*", re.ASCII)


def body(reader: Reader) -> tuple[Statement, ...]:
    """Read ``{ ... }`` of a function."""
    reader.take("{")
    statements: list[Statement] = []
    outer: list[tuple[list[Statement], int]] = []
    opcodes: dict[str, tuple[str, tuple[str, ...]]] = {}
    tokens = reader.tokens
    while True:
        token = tokens[reader.place]
        first = token[0]
        if first == ".":
            if token[1:] in SPACES or token == ".extern":
                statements += variables(reader, ())
            else:
                statements.append(directive(reader))
        elif first == "{":
            if len(outer) >= _DEEPEST:
                raise reader.error(f"scopes nested more than {_DEEPEST} deep")
            outer.append((statements, reader.position(reader.place)[0]))
            statements = []
            reader.place += 1
        elif first == "}":
            reader.place += 1
            if not outer:
                return tuple(statements)
            inner = statements
            statements, line = outer.pop()
            statements.append(Scope(tuple(inner), line))
        elif tokens[reader.place + 1] == ":" and is_name(token):
            statements.append(_label(reader, token))
        else:
            statements.append(_instruction(reader, opcodes))


def _label(reader: Reader, token: str) -> Statement:
    line, column = reader.position(reader.place)
    if "." in token:
        reader.fail("the name of a label, which has no '.'")
    reader.place += 2
    if reader.tokens[reader.place] in (".branchtargets", ".calltargets", ".callprototype"):
        return directive(reader, token)
    return Label(token, line, column)


def _instruction(reader: Reader, opcodes: dict[str, tuple[str, tuple[str, ...]]]) -> InstructionText:
    tokens = reader.tokens
    place = reader.place
    line, column = reader.position(place)
    guard = None
    if tokens[place] == "@":
        negated = tokens[place + 1] == "!"
        reader.place = place + 1 + negated
        guard = Guard(reader.name("the predicate of a guard"), negated)
    place = reader.place
    after = tokens[place + 1]
    known = opcodes.get(tokens[place]) if after != "::" and after[0] != "." else None
    if known is None:
        text = _opcode(reader)
        parts = text.split(".")
        known = parts[0], tuple(parts[1:])
        if reader.place == place + 1:
            opcodes[text] = known
        place = reader.place
    else:
        place += 1
    mnemonic, modifiers = known
    if tokens[place] == ";":
        reader.place = place + 1
        return InstructionText(mnemonic, modifiers, (), guard, line, column)
    if mnemonic == "call":
        reader.place = place
        called = call(reader)
        reader.take(";", "behind an instruction")
        return InstructionText(mnemonic, modifiers, (called,), guard, line, column)
    return InstructionText(mnemonic, modifiers, _operands(reader, place), guard, line, column)


def _operands(reader: Reader, place: int) -> tuple[OperandText, ...]:
    tokens, known = reader.tokens, reader.simple
    operands: list[OperandText] = []
    while True:
        after = tokens[place + 1]
        found: OperandText | None = None
        if after == "," or after == ";":
            found = known.get(tokens[place]) or simple(reader, tokens[place])
        if found is None:
            reader.place = place
            found = operand(reader)
            place = reader.place - 1
            after = tokens[place + 1]
            if after != "," and after != ";":
                reader.fail("',' or ';' behind an operand")
        operands.append(found)
        place += 2
        if after == ";":
            reader.place = place
            return tuple(operands)


def _opcode(reader: Reader) -> str:
    """Read an opcode whose modifiers may hold ``::`` or have blanks before them."""
    place = reader.place
    if reader.tokens[place] == END:
        reader.fail("'}' at the end of the function")
    parts = [reader.name("an instruction, a label, a declaration, a directive or '}'")]
    while True:
        token = reader.tokens[reader.place]
        if token == "::":
            reader.place += 1
            if not is_word(reader.tokens[reader.place]):
                reader.fail("a word behind '::'")
            parts += [token, reader.tokens[reader.place]]
        elif token[0] == "." and len(token) > 1:
            parts.append(token)
        else:
            break
        reader.place += 1
    text = "".join(parts)
    if not _OPCODE.fullmatch(text) or ".." in text or text[-1] == ".":
        reader.place = place
        reader.fail("an opcode, such as add.s32")
    return text

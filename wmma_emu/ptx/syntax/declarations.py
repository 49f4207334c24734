# SPDX-License-Identifier: MIT
"""Declarations of variables, registers and parameters, with initial values."""

import math
from dataclasses import dataclass, field

from wmma_emu.ptx.syntax.expressions import constant, integer
from wmma_emu.ptx.syntax.literals import constant_of
from wmma_emu.ptx.syntax.operands import literal
from wmma_emu.ptx.syntax.tokens import Reader, is_name
from wmma_emu.ptx.syntax.tree import Address, Literal, Name, OperandText, VariableText

SPACES = frozenset(("reg", "sreg", "const", "global", "local", "param", "shared", "tex"))

_TYPES = frozenset((
    "pred", "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f16x2",
    "bf16", "bf16x2", "tf32", "f32", "f64", "e4m3", "e5m2", "texref", "samplerref", "surfref",
))  # fmt: skip

_MOST_SIZES = 32
"""The largest number of dimensions of an array."""

_LARGEST_ALIGNMENT = 2**31

_MOST_REGISTERS = 2**32

_LINKING = frozenset((".extern", ".visible", ".weak", ".common"))


@dataclass(slots=True)
class _Head:
    space: str = ""
    type: str = ""
    alignment: int | None = None
    vector: int = 1
    attributes: list[str] = field(default_factory=list)


def variables(reader: Reader, attributes: tuple[str, ...]) -> list[VariableText]:
    """Read a declaration, ``.shared .align 4 .b8 a[16], b[4];``; ``attributes`` are the words before it."""
    head = _head(reader, attributes)
    found = [_variable(reader, head)]
    while reader.accept(","):
        found.append(_variable(reader, head))
    reader.take(";", "after a declaration")
    return found


def parameters(reader: Reader) -> tuple[VariableText, ...]:
    """Read ``(.param .u64 a, .param .u32 b)``."""
    reader.take("(")
    if reader.accept(")"):
        return ()
    found = []
    while True:
        if reader.tokens[reader.index] not in (".param", ".reg"):
            reader.fail("a parameter, .param or .reg")
        found.append(_variable(reader, _head(reader, ())))
        if found[-1].initial is not None:
            raise reader.error("a parameter cannot have an initial value", reader.index - 1)
        if not reader.accept(","):
            break
    reader.take(")", "or ',' after a parameter")
    return tuple(found)


def _head(reader: Reader, attributes: tuple[str, ...]) -> _Head:
    head = _Head(attributes=[*attributes, *linking_words(reader)])
    token = reader.tokens[reader.index]
    if token[0] != "." or token[1:] not in SPACES:
        reader.fail("a state space: .reg, .shared, .global, .const, .local or .param")
    head.space = token[1:]
    reader.index += 1
    if head.space == "const" and reader.accept("["):
        head.attributes.append(f"bank {integer(reader, 'a bank of constant memory', 0, 10)}")
        reader.take("]", "after a bank")
    while True:
        token = reader.tokens[reader.index]
        word = token[1:]
        if token[0] != ".":
            break
        reader.index += 1
        if word == "align":
            head.alignment = _alignment(reader)
        elif word in ("v2", "v4") and head.vector == 1 and not head.type:
            head.vector = int(word[1])
        elif word == "attribute":
            head.attributes += attribute_words(reader)
        elif word in _TYPES and not head.type:
            head.type = word
        elif word == "ptr" and head.space == "param" and head.type:
            head.attributes += _pointer(reader)
        else:
            reader.index -= 1
            reader.fail("an alignment, .v2, .v4, a type or a name" if not head.type else "the name of a variable")
    if not head.type:
        reader.fail(f"a type of a .{head.space} variable, such as .b32")
    return head


def linking_words(reader: Reader) -> list[str]:
    """Read the linking directives before a declaration: ``.visible``, ``.extern``, ``.weak``, ``.common``."""
    words: list[str] = []
    while (token := reader.tokens[reader.index]) in _LINKING:
        words.append(token[1:])
        reader.index += 1
    return words


def _alignment(reader: Reader) -> int:
    index = reader.index
    value = integer(reader, "an alignment", 1, _LARGEST_ALIGNMENT)
    if value & (value - 1):
        raise reader.error(f"found {value}; expected an alignment, a power of two", index)
    return value


def attribute_words(reader: Reader) -> list[str]:
    """Read ``(.managed)`` or ``(.unified(1, 2))`` after ``.attribute``; numbers are dropped."""
    reader.take("(", "after .attribute")
    words, depth = [], 1
    while depth:
        token = reader.tokens[reader.index]
        if token not in ("(", ")", ",") and not is_name(token) and not token[0].isdigit() and token[0] != ".":
            reader.fail("')' at the end of .attribute")
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token[0] == ".":
            words.append(token[1:])
        reader.index += 1
    return words


def _pointer(reader: Reader) -> list[str]:
    """Read the words that may follow ``.ptr``: the state space of the pointee, and its alignment."""
    words = ["ptr"]
    token = reader.tokens[reader.index]
    if token in (".const", ".global", ".local", ".shared", ".generic"):
        words.append(f"ptr {token[1:]}")
        reader.index += 1
    if reader.accept(".align"):
        words.append(f"ptr align {_alignment(reader)}")
    return words


def _variable(reader: Reader, head: _Head) -> VariableText:
    line, column = reader.position(reader.index)
    index = reader.index
    name = reader.name("the name of a variable")
    if "." in name or name == "%":
        raise reader.error(f"found {name[:80]!r}; expected the name of a variable, without '.'", index)
    count = None
    sizes: list[int] = []
    if reader.accept("<"):
        count = _register_count(reader)
        reader.take(">", "after a number of registers")
    while reader.accept("["):
        if len(sizes) == _MOST_SIZES:
            raise reader.error(f"an array of more than {_MOST_SIZES} dimensions")
        if reader.accept("]"):
            if sizes:
                raise reader.error("only the first size of an array may be missing", reader.index - 1)
            sizes.append(0)
            continue
        sizes.append(integer(reader, "the size of an array", 0))
        reader.take("]", "after the size of an array")
    if sizes and head.space == "reg":
        raise reader.error("registers cannot be arrays; use a .local array, or declare %r<5> for five registers", index)
    initial: list[OperandText] | None = None
    positions: list[int] = []  # omitted elements stay 0
    if reader.tokens[reader.index] == "=":
        if head.space not in ("global", "const"):
            reader.fail(f"';': a .{head.space} variable cannot have an initial value")
        reader.index += 1
        initial = []
        shape = [*sizes, *([head.vector] if head.vector > 1 else [])]
        if shape:
            _row(reader, shape, initial, positions, 0)
        else:
            initial, positions = [_value(reader)], [0]
        if sizes and sizes[0] == 0:
            row = _product(sizes[1:]) * head.vector
            sizes[0] = -(-(positions[-1] + 1) // row) if positions else 0
    return VariableText(
        head.space, head.type, name, head.alignment, tuple(sizes), count, head.vector,
        None if initial is None else tuple(initial), tuple(head.attributes), line, column, tuple(positions),
    )  # fmt: skip


def _register_count(reader: Reader) -> int:
    """Read the count in ``%r<5>``; it is not an expression, because ``>`` would be an operator."""
    token = reader.tokens[reader.index]
    found = constant_of(token) if token[0].isdigit() else "is not a number"
    if isinstance(found, str) or found.kind not in ("s64", "u64"):
        reader.fail("a number of registers")
    if found.value >= _MOST_REGISTERS:
        reader.fail(f"a number of registers below {_MOST_REGISTERS}")
    reader.index += 1
    return found.value


def _product(sizes: list[int]) -> int:
    return math.prod(max(x, 1) for x in sizes)


def _row(reader: Reader, sizes: list[int], found: list[OperandText], positions: list[int], start: int) -> None:
    reader.take("{", "of initial values")
    if reader.accept("}"):
        return
    step = _product(sizes[1:])
    index = 0
    while True:
        if sizes[0] and index >= sizes[0]:
            raise reader.error(f"too many initial values: the array has {sizes[0]} elements")
        if len(sizes) > 1:
            _row(reader, sizes[1:], found, positions, start + index * step)
        else:
            found.append(_value(reader))
            positions.append(start + index)
        index += 1
        if not reader.accept(","):
            break
    reader.take("}", "or ',' after an initial value")


def _value(reader: Reader) -> OperandText:
    """Read a number, ``name``, ``name + 4`` or ``generic(name) + 4``."""
    token = reader.tokens[reader.index]
    if not is_name(token) or token == "WARP_SZ":
        index = reader.index
        found: Literal = literal(constant(reader))
        if reader.tokens[reader.index] == "(":
            message = "masked addresses, as in 0xFF(name), are not supported; initialise with the whole address"
            raise reader.error(message, index)
        return found
    reader.index += 1
    if token == "generic" and reader.accept("("):
        base = Name(reader.name("a variable, in generic( )"))
        reader.take(")", "after the variable in generic( )")
        return Address(base, _addend(reader), form="generic")
    if reader.tokens[reader.index] in ("+", "-"):
        return Address(Name(token), _addend(reader), form="sum")
    return Name(token)


def _addend(reader: Reader) -> int:
    if reader.tokens[reader.index] in ("+", "-"):
        return integer(reader, "an offset", -(2**63), 2**63 - 1)
    return 0

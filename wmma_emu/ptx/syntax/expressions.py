# SPDX-License-Identifier: MIT
"""Values of constant expressions such as ``(1 << 4) | 3``, with the types of the PTX ISA.

Source: PTX ISA 9.1, Constant Expressions; details that the manual leaves open follow ptxas 13.0: shift amounts are
taken modulo 64, the results of `~ & | ^` are unsigned, and division rounds toward zero.
"""

import math
import operator
from collections.abc import Callable

from wmma_emu.ptx.syntax.literals import Constant, bits_of_double, constant_of, double_of_bits, wrap
from wmma_emu.ptx.syntax.tokens import Reader, is_name

_DEEPEST = 40
"""The largest nesting depth of parentheses, unary operators and ``?:``."""

_LEVELS = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
"""The precedence of each binary operator, as in C."""

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

_BITWISE: dict[str, Callable[[int, int], int]] = {"&": operator.and_, "|": operator.or_, "^": operator.xor}

_WARP_SIZE = 32


def integer(reader: Reader, what: str, lowest: int = 0, highest: int = 2**63 - 1) -> int:
    """Read a constant expression whose value is an integer in this range; ``what`` names it in messages."""
    index = reader.index
    found = constant(reader)
    if found.kind not in ("s64", "u64"):
        raise reader.error(f"found a floating-point number; expected {what}, an integer", index)
    if not lowest <= found.value <= highest:
        raise reader.error(f"found {found.value}; expected {what}, from {lowest} to {highest}", index)
    return found.value


def constant(reader: Reader, depth: int = 0, level: int = 0) -> Constant:
    """Read a constant expression; an operator of a lower precedence than ``level`` ends it."""
    if depth > _DEEPEST:
        raise reader.error(f"a constant expression nested more than {_DEEPEST} deep; compute it beforehand")
    left = _unary(reader, depth)
    while True:
        index = reader.index
        token = reader.tokens[index]
        if token == "?" and level == 0:
            reader.index += 1
            first = constant(reader, depth + 1)
            reader.take(":", "of ?:")
            second = constant(reader, depth + 1)
            return _select(reader, left, first, second, index)
        binds = _LEVELS.get(token, 0)
        if binds == 0 or binds < level:
            return left
        reader.index += 1
        right = constant(reader, depth + 1, binds + 1)
        left = _binary(reader, token, left, right, index)


def _unary(reader: Reader, depth: int) -> Constant:
    index = reader.index
    token = reader.tokens[index]
    if token in ("+", "-", "~", "!"):
        if depth > _DEEPEST:
            raise reader.error(f"a constant expression nested more than {_DEEPEST} deep; compute it beforehand")
        reader.index += 1
        found = _unary(reader, depth + 1)
        if found.kind == "f32" or (token == "~" and found.kind == "f64"):
            message = f"{token} cannot be applied to a number of kind {found.kind}; write the resulting value"
            raise reader.error(message, index)
        if token == "!":
            return Constant("s64", int(_value(found) == 0))
        if token == "~":
            return wrap("u64", ~found.value)
        if token == "-" and found.kind == "f64":
            return Constant("f64", found.value ^ 1 << 63)
        return wrap(found.kind, -found.value) if token == "-" else found
    if token == "(":
        reader.index += 1
        if reader.tokens[reader.index] in (".s64", ".u64"):
            kind = reader.tokens[reader.index][1:]
            reader.index += 1
            reader.take(")", "of a cast")
            if depth > _DEEPEST:
                raise reader.error(f"a constant expression nested more than {_DEEPEST} deep; compute it beforehand")
            found = _unary(reader, depth + 1)
            _require_integers(reader, f"(.{kind})", index, found)
            return wrap(kind, found.value)
        found = constant(reader, depth + 1)
        reader.take(")", "of a constant expression")
        return found
    if token == "WARP_SZ":
        reader.index += 1
        return Constant("s64", _WARP_SIZE)
    if not (token[0].isdigit() or (token[0] == "." and token[1:2].isdigit())):
        reader.fail("a number" + (", not a name" if is_name(token) else ""))
    read = constant_of(token)
    if isinstance(read, str):
        raise reader.error(f"found {token[:80]!r}, which {read}; expected a PTX number", index)
    reader.index += 1
    return read


def _value(x: Constant) -> float:
    return double_of_bits(x.value) if x.kind == "f64" else x.value


def _require_integers(reader: Reader, token: str, index: int, *found: Constant) -> None:
    if any(x.kind not in ("s64", "u64") for x in found):
        raise reader.error(f"{token} takes integers, not floating-point numbers", index)


def _select(reader: Reader, condition: Constant, first: Constant, second: Constant, index: int) -> Constant:
    _require_integers(reader, "the condition of ?:", index, condition)
    chosen = first if condition.value else second
    if first.kind == second.kind:
        return chosen
    _require_integers(reader, "?: with alternatives of two kinds", index, first, second)
    return wrap("u64", chosen.value)


def _binary(reader: Reader, token: str, left: Constant, right: Constant, index: int) -> Constant:
    if "f32" in (left.kind, right.kind):
        raise reader.error(f"{token} cannot be applied to a number written as 0f...; write the resulting value", index)
    if "f64" in (left.kind, right.kind) and token not in ("&&", "||"):
        return _of_doubles(reader, token, left, right, index)
    unsigned = "u64" in (left.kind, right.kind)
    kind = "u64" if unsigned else "s64"
    a, b = (wrap(kind, x.value).value if x.kind != "f64" else x.value for x in (left, right))
    if token in ("&&", "||"):
        truths = (_value(left) != 0, _value(right) != 0)
        return Constant("s64", int(all(truths) if token == "&&" else any(truths)))
    if token in _COMPARISONS:
        return Constant("s64", int(_COMPARISONS[token](a, b)))
    if token in _BITWISE:
        return wrap("u64", _BITWISE[token](a, b))
    if token == "<<":
        return wrap(left.kind, left.value << (right.value & 63))
    if token == ">>":
        return wrap(left.kind, left.value >> (right.value & 63))
    if token in ("/", "%"):
        if b == 0:
            raise reader.error("a constant expression divides by zero", index)
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return wrap(kind, quotient if token == "/" else a - b * quotient)
    return wrap(kind, {"+": a + b, "-": a - b, "*": a * b}[token])


def _of_doubles(reader: Reader, token: str, left: Constant, right: Constant, index: int) -> Constant:
    if left.kind != right.kind or token not in ("+", "-", "*", "/", *_COMPARISONS):
        raise reader.error(f"{token} cannot be applied to {left.kind} and {right.kind} in a constant expression", index)
    a, b = double_of_bits(left.value), double_of_bits(right.value)
    if token in _COMPARISONS:
        return Constant("s64", int(_COMPARISONS[token](a, b)))
    if token == "/" and b == 0:
        sign = math.copysign(1, a) * math.copysign(1, b)
        return Constant("f64", bits_of_double(math.nan if a == 0 or math.isnan(a) else sign * math.inf))
    result = a / b if token == "/" else {"+": a + b, "-": a - b, "*": a * b}[token]
    return Constant("f64", bits_of_double(result))

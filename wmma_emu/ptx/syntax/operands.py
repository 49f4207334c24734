# SPDX-License-Identifier: MIT
"""Operands of an instruction: names, numbers, vectors, addresses, pairs, and the operands of a call."""

from wmma_emu.ptx.syntax.expressions import constant, integer
from wmma_emu.ptx.syntax.literals import Constant, constant_of, wrap
from wmma_emu.ptx.syntax.tokens import Reader, is_name
from wmma_emu.ptx.syntax.tree import Address, Call, Literal, Name, Negated, OperandText, Pair, Vector

_NUMBER_STARTS = frozenset("0123456789.+-~(!")


def literal(found: Constant) -> Literal:
    """Return a constant as an operand."""
    return Literal("int" if found.kind in ("s64", "u64") else found.kind, found.value)


def simple(reader: Reader, token: str) -> Name | Literal | None:
    """Return, and cache, an operand that is one token; None if the operand may need more than one."""
    found = reader.simple.get(token)
    if found is None:
        if is_name(token):
            found = Name(token)
        elif token[0].isdigit() and not isinstance(number := constant_of(token), str):
            found = literal(number)
        else:
            return None
        reader.simple[token] = found
    return found


def operand(reader: Reader) -> OperandText:
    """Read one operand."""
    token = reader.tokens[reader.index]
    if is_name(token) and token != "WARP_SZ":
        return _named(reader, token)
    if token == "[":
        return _address(reader)
    if token == "{":
        vector = _vector(reader)
        return Pair(vector, Name(reader.name("a predicate, after '|'"))) if reader.accept("|") else vector
    if token == "!" and is_name(reader.tokens[reader.index + 1]):
        reader.index += 1
        return Negated(Name(reader.name("a predicate")))
    if token == "WARP_SZ" and reader.tokens[reader.index + 1] in (",", ";", "}"):
        reader.index += 1
        return Name(token)
    if token[0] in _NUMBER_STARTS or token == "WARP_SZ":
        return literal(constant(reader))
    reader.fail("an operand: a register, a variable, a number, an address in [ ] or a vector in { }")


def _named(reader: Reader, token: str) -> OperandText:
    reader.index += 1
    after = reader.tokens[reader.index]
    if after == "|":
        reader.index += 1
        return Pair(Name(token), Name(reader.name("the second result, after '|'")))
    if after == "[":
        reader.index += 1
        if is_name(reader.tokens[reader.index]):
            reader.fail("an index that is a number; add a register to the address in a separate instruction")
        index = integer(reader, "an index")
        reader.take("]", "after an index")
        return Address(Name(token), index, form="element")
    if after in ("+", "-"):
        return Address(Name(token), _offset(reader), form="sum")
    return Name(token)


def _offset(reader: Reader) -> int:
    """Read ``+ 8``, ``+ -8``, or nothing."""
    if reader.tokens[reader.index] == "-":
        reader.fail("'+' before the offset, as in [%rd1 + -8]")
    if not reader.accept("+"):
        return 0
    if is_name(reader.tokens[reader.index]) and reader.tokens[reader.index] != "WARP_SZ":
        reader.fail("an offset that is a number; an address contains one register")
    return wrap("s64", integer(reader, "an offset", -(2**63), 2**64 - 1)).value


def _address(reader: Reader) -> Address:
    reader.take("[")
    index = reader.index
    token = reader.tokens[index]
    if reader.tokens[index + 1] == "]" and is_name(token):
        reader.index = index + 2
        reader.accept(".unified")
        return Address(Name(token))
    base: Name | Literal
    offset = 0
    if is_name(token) and token != "WARP_SZ":
        reader.index += 1
        base = Name(token)
        offset = _offset(reader)
    elif token[0] in _NUMBER_STARTS or token == "WARP_SZ":
        base = Literal("int", integer(reader, "an address", -(2**63), 2**64 - 1))
    else:
        reader.fail("an address: a register or a variable, with an optional offset")
    coordinates: list[OperandText] = []
    while reader.accept(","):
        if reader.tokens[reader.index] == "[":
            reader.fail("a coordinate; addresses cannot be nested")
        coordinates.append(operand(reader))
    reader.take("]", "after an address")
    reader.accept(".unified")  # a hint: threads load from the same address
    if len(coordinates) == 1 and isinstance(coordinates[0], Vector):
        return Address(base, offset, coordinates[0].elements)
    return Address(base, offset, tuple(coordinates))


def _vector(reader: Reader) -> Vector:
    reader.take("{")
    elements: list[OperandText] = []
    tokens, known = reader.tokens, reader.simple
    while True:
        index = reader.index
        token = tokens[index]
        if token in ("{", "["):
            reader.fail("an element of a vector: a register, a variable or a number")
        after = tokens[index + 1]
        found: OperandText | None = None
        if after == "," or after == "}":
            found = known.get(token) or simple(reader, token)
        if found is None:
            found = _without_offset(reader, "an element of a vector")
        else:
            reader.index = index + 1
        elements.append(found)
        if tokens[reader.index] != ",":
            break
        reader.index += 1
    reader.take("}", "or ',' after an element of a vector")
    return Vector(tuple(elements))


def call(reader: Reader) -> Call:
    """Read ``(results), function, (arguments), list of targets or prototype``; all but the function are optional."""
    results: tuple[OperandText, ...] = ()
    if reader.tokens[reader.index] == "(":
        index = reader.index
        results = _parenthesised(reader)
        if not all(isinstance(x, Name) for x in results):
            raise reader.error("results of a call are registers or variables, not numbers", index)
        reader.take(",", "after the results of a call")
    function = Name(reader.name("the function to call"))
    arguments: tuple[OperandText, ...] = ()
    prototype = None
    if reader.accept(","):
        if reader.tokens[reader.index] == "(":
            arguments = _parenthesised(reader)
            if reader.accept(","):
                prototype = Name(reader.name("a list of targets or a prototype"))
        else:
            prototype = Name(reader.name("'(' and arguments, a list of targets or a prototype"))
    return Call(tuple(x for x in results if isinstance(x, Name)), function, arguments, prototype)


def _parenthesised(reader: Reader) -> tuple[OperandText, ...]:
    reader.take("(")
    if reader.accept(")"):
        return ()
    found = []
    while True:
        if reader.tokens[reader.index] in ("{", "["):
            reader.fail("a register, a variable or a number")
        found.append(_without_offset(reader, "an argument of a call"))
        if not reader.accept(","):
            break
    reader.take(")", "or ',' in a list of a call")
    return tuple(found)


def _without_offset(reader: Reader, what: str) -> OperandText:
    index = reader.index
    found = operand(reader)
    if isinstance(found, Address):
        raise reader.error(f"a name with an offset cannot be {what}; add the offset in a separate instruction", index)
    return found

# SPDX-License-Identifier: MIT
"""What the assembler asks of an instruction beside what it does: modifiers that exist, operands of the right kind."""

from collections.abc import Iterator
from typing import NoReturn

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.program.program import (
    AddressOperand,
    Immediate,
    Instruction,
    Operand,
    PairOperand,
    Predicate,
    Register,
    Special,
    Symbol,
    VectorOperand,
)
from wmma_emu.ptx.program.special import SPECIAL
from wmma_emu.ptx.steps.forms import Form
from wmma_emu.ptx.steps.operand_kinds import described, reason_against_constant, reason_against_register
from wmma_emu.ptx.steps.rows import CARRY
from wmma_emu.ptx.steps.spelling import ordered, syntax_of
from wmma_emu.ptx.steps.syntax_table import SYNTAXES, Syntax
from wmma_emu.ptx.widths import bits_of_type
from wmma_emu.scalar.cvt_table import CVT_TYPES

__all__ = ["require_legal_form", "require_legal_operands", "require_legal_target"]

_BITS_OF_FIELDS = {"bfe": (2, 3), "bfi": (3, 4)}
"""Operands that are a position or a length: constants from 0 to 255."""

_MOST_BARRIERS, _WARP, _MOST_ARRIVALS = 16, 32, (1 << 20) - 1

_SPACES = ("global", "const", "shared", "local", "param")


def require_legal_form(instruction: Instruction, form: Form) -> None:
    """Refuse what an assembler refuses of an instruction of one thread: operands of another kind than their types.

    Raises
    ------
    UnsupportedInstructionError
    """
    types = [x for x in (*form.destinations, *form.sources) if x != CARRY]
    targets = len(form.destinations) - form.destinations.count(CARRY)
    is_relaxed = instruction.mnemonic == "cvt"
    if instruction.mnemonic == "cvt" and instruction.modifiers[0] != "pack":
        types, is_relaxed = _types_of_conversion(instruction, len(types))
    operands = list(_flat(instruction))
    if instruction.mnemonic[0] == "%":
        return  # made by the emulator, not by a text
    if instruction.mnemonic == "cvt" and ordered("cvt", instruction.modifiers) is None:
        _refuse(instruction, "has a modifier twice, or one that this conversion has not")
    if instruction.mnemonic != "mov" and any(isinstance(x, VectorOperand) for x in instruction.operands):
        _refuse(instruction, "takes no vectors")
    if instruction.mnemonic == "set":
        types[0] = {"bf16": "u16", "bf16x2": "b32"}.get(types[0], types[0])
    may_be_sink = instruction.mnemonic in ("setp", "lop3") or isinstance(instruction.operands[0], VectorOperand)
    for place, (operand, asked) in enumerate(zip(operands, types, strict=False)):
        if place < targets:
            _require_target(instruction, operand, asked, is_relaxed, may_be_sink)
        else:
            _require_source(instruction, operand, asked, is_relaxed)
    for place in _BITS_OF_FIELDS.get(instruction.mnemonic, ()):
        number = instruction.operands[place]
        if isinstance(number, Immediate) and not 0 <= number.value <= 255:
            _refuse(instruction, f"{number.value} is no position or length of bits: they are from 0 to 255")


def _types_of_conversion(instruction: Instruction, count: int) -> tuple[list[str], bool]:
    """Types of a cvt's operands as it names them, and whether registers may be wider: of small formats they may not."""
    *_, target, source = (x for x in instruction.modifiers if x in CVT_TYPES)
    plain = all(x == "f16x2" or (x[0] in "usf" and x[1:].isdigit()) for x in (target, source))
    return [target, *[source] * (count - 1)], plain and not (source == "f16x2" or (target == "f16x2" and source[0] != "f"))


def _flat(instruction: Instruction) -> Iterator[Operand | None]:
    for operand in instruction.operands:
        if isinstance(operand, VectorOperand):
            yield from operand.elements
        elif isinstance(operand, PairOperand):
            yield from (operand.first, operand.second)
        else:
            yield operand


def _require_target(
    instruction: Instruction, operand: Operand | None, asked: str, is_relaxed: bool, may_be_sink: bool
) -> None:
    if operand is None:
        if not may_be_sink:
            _refuse(instruction, "writes a register, not the sink _")
        return
    if not isinstance(operand, Register):
        _refuse(instruction, f"writes a register, not {described(operand)}")
    _say(instruction, reason_against_register(operand, asked, is_relaxed=is_relaxed))


def _require_source(instruction: Instruction, operand: Operand | None, asked: str, is_relaxed: bool = False) -> None:
    mnemonic = instruction.mnemonic
    if isinstance(operand, Predicate):
        _say(instruction, None if asked == "pred" else f"{described(operand)} is a predicate; the operand is of .{asked}")
    elif isinstance(operand, Register):
        _say(instruction, reason_against_register(operand, asked, is_relaxed=is_relaxed))
    elif isinstance(operand, Immediate):
        if asked == "pred" and (operand.kind != "int" or not {"bf16", "bf16x2"}.isdisjoint(instruction.modifiers)):
            _refuse(instruction, "takes a predicate here, no constant")
        if mnemonic[0] == "v" and mnemonic[-1] in "24":
            _refuse(instruction, "takes registers, no constants")
        if instruction.modifiers[-2:] == ("tf32", "f32") and operand.kind == "f64":
            _refuse(instruction, "takes no constant of .f64: write the pattern, 0f3F800000 for 1")
        _say(instruction, reason_against_constant(operand, asked))
    elif isinstance(operand, Special):
        _require_special(instruction, operand, asked)
    elif isinstance(operand, Symbol) and operand.space == "global" and asked[-2:] != "64":
        _refuse(instruction, f"takes the address of {operand.name}, which has 64 bits, as .{asked}: write mov.u64")
    elif isinstance(operand, Symbol) and (asked[0] == "f" or (mnemonic != "mov" and "+" not in operand.name)):
        _refuse(instruction, f"takes no variable: take the address of {operand.name} with mov first")
    elif operand is None or isinstance(operand, VectorOperand | PairOperand):
        _refuse(instruction, f"takes a register or a number here, not {described(operand)}")
    elif isinstance(operand, AddressOperand):
        _refuse(instruction, "takes a register or a number here, not an address in [ ]")


def _require_special(instruction: Instruction, operand: Special, asked: str) -> None:
    """Require an instruction that reads special registers: mov of its width, and cvt between integers."""
    given = SPECIAL[operand.name].type
    is_integer = given != "pred" and asked[0] in "bus" and asked != "pred"
    bits, wanted = (bits_of_type(given), bits_of_type(asked)) if is_integer else (1, 0)
    if instruction.mnemonic == "mov" and (bits == wanted or (bits, wanted) == (32, 16) or given == asked):
        return
    target = instruction.modifiers[-2] if len(instruction.modifiers) > 1 else "f"
    if instruction.mnemonic == "cvt" and bits >= wanted > 0 and target[0] in "us" and instruction.modifiers[0] != "pack":
        return
    _refuse(instruction, f"does not take the special register %{operand.name} (.{given}) here: read it with mov.{given} first")


def require_legal_operands(instruction: Instruction) -> None:
    """Refuse what an assembler refuses of any other instruction: modifiers that it has not, operands of the wrong kind.

    Raises
    ------
    UnsupportedInstructionError
    """
    if instruction.mnemonic not in SYNTAXES:
        return
    syntax = syntax_of(instruction)
    if syntax is None:
        _refuse(instruction, "has modifiers that do not exist, exclude each other, or are missing")
    if instruction.mnemonic in ("call", "bra", "brx"):
        return
    asked = _asked(instruction, syntax)
    for operand, kind in zip(instruction.operands, asked, strict=False):
        _require_kind(instruction, operand, kind)


def _asked(instruction: Instruction, syntax: Syntax) -> list[str]:
    """Kinds of the operands that are given: those that may be missing are left out, the last first."""
    kinds, given = list(syntax.operands), len(instruction.operands)
    if kinds[-1:] == ["*"]:
        return kinds[:-1][:given]
    if kinds[:1] == ["=u64_?"] and given and isinstance(instruction.operands[0], AddressOperand):
        del kinds[0]
    if "L2::cache_hint" not in instruction.modifiers and kinds[-1:] == ["u64?"]:
        kinds.pop()
    for place in range(len(kinds) - 1, -1, -1):
        if len(kinds) > given and kinds[place].endswith("?") and not (kinds[place] == "u64?" and place == len(kinds) - 1):
            del kinds[place]
    if len(kinds) != given:
        least = sum(not x.endswith("?") for x in syntax.operands)
        _refuse(instruction, f"takes {least if len(kinds) > given else len(kinds)} operands, not {given}")
    return [x.removesuffix("?") for x in kinds]


def _require_kind(instruction: Instruction, operand: Operand | None, kind: str) -> None:
    if kind[0] == "[":
        _require_address(instruction, operand, kind[1:-1])
    elif kind[0] == "=":
        _require_written(instruction, operand, kind[1:])
    elif kind[0] == "{":
        _require_vector(instruction, operand, kind[1:-1])
    elif kind == "#":
        if not isinstance(operand, Immediate) or operand.kind != "int":
            _refuse(instruction, f"takes an integer constant here, not {described(operand)}")
        if operand.value < 0 and "wait_group" in instruction.modifiers:
            _refuse(instruction, f"waits for all groups but a number from 0 on, not {operand.value}")
        if operand.value != 128 and instruction.mnemonic in ("discard", "applypriority"):
            _refuse(instruction, f"is of 128 bytes, not of {operand.value}")
    elif kind == "barrier":
        _require_source(instruction, operand, "u32")
        if isinstance(operand, Immediate) and not 0 <= operand.value % (1 << 32) < _MOST_BARRIERS:
            _refuse(instruction, f"there is no barrier {operand.value}: a block has {_MOST_BARRIERS}, from 0 on")
    elif kind == "threads":
        _require_source(instruction, operand, "u32")
        if isinstance(operand, Immediate) and operand.value % _WARP:
            _refuse(instruction, f"{operand.value} threads are no whole number of warps, {_WARP} threads each")
        if isinstance(operand, Immediate) and not operand.value and "arrive" in instruction.modifiers:
            _refuse(instruction, "0 threads never arrive")
    elif kind == "count":
        _require_source(instruction, operand, "u32")
        if isinstance(operand, Immediate) and not 0 < operand.value % (1 << 32) <= _MOST_ARRIVALS:
            _refuse(instruction, f"a phase has 1 to {_MOST_ARRIVALS} arrivals, not {operand.value}")
    elif kind == "parity":
        _require_source(instruction, operand, "u32")
        if isinstance(operand, Immediate) and operand.value not in (0, 1):
            _refuse(instruction, f"a parity is 0 or 1, not {operand.value}")
    elif kind == "address":
        is_wide = isinstance(operand, Register) and operand.type[1:] == "64"
        _require_source(instruction, operand, "u64" if is_wide else "u32")
    elif kind == "limit":
        _require_source(instruction, operand, "pred" if _is_predicate(operand) else "u32")
        size = instruction.operands[2]
        if isinstance(operand, Immediate) and isinstance(size, Immediate) and not 0 <= operand.value <= size.value:
            _refuse(instruction, f"reads {operand.value} of the {size.value} bytes that it copies")
    elif kind == "descriptor":
        if isinstance(operand, VectorOperand):
            _require_vector(instruction, operand, "A")
        else:
            _require_source(instruction, operand, "u64")
    elif kind[0] == "&" and isinstance(operand, Symbol):
        _require_space(instruction, operand, _space(instruction))
    else:
        if kind[0] == "%" and isinstance(operand, Immediate):
            _refuse(instruction, "takes a register here, no constant")
        _require_source(instruction, operand, _type(instruction, kind.strip("%&!")))
        if kind == "pred!" and isinstance(operand, Immediate) and operand.value not in (0, 1) and instruction.mnemonic == "wgmma":
            _refuse(instruction, f"takes a predicate for scale-d, or 0 or 1, not {operand.value}")


def _is_predicate(operand: Operand | None) -> bool:
    return isinstance(operand, Predicate) or (isinstance(operand, Register) and operand.type == "pred")


def _type(instruction: Instruction, kind: str) -> str:
    """Name the type that a kind stands for: "T" is the last modifier's."""
    return instruction.modifiers[-1] if kind == "T" else kind


_OF_PRODUCTS = {"f16": "f16x2", "bf16": "bf16x2", "tf32": "tf32", "f64": "b64"}


def _type_of_fragment(instruction: Instruction, kind: str) -> str:
    formats = [x for x in instruction.modifiers if x in CVT_TYPES or x in ("b1", "s4", "u4", "f64")]
    is_wmma = instruction.mnemonic == "wmma"
    if kind in "AB":
        name = formats[1] if len(formats) > 2 else formats[0]
        return ("b64" if name == "f64" else "b32") if is_wmma else _OF_PRODUCTS.get(name, "b32")
    name = formats[0] if kind == "D" else formats[3 if len(formats) > 3 else -1]
    return name if name in ("f32", "f64", "s32") else "b32" if is_wmma else "f16x2"


def _require_written(instruction: Instruction, operand: Operand | None, kind: str) -> None:
    if kind[0] == "{":
        inner = kind.strip("{}_")
        if instruction.mnemonic in _VECTORS_ALONE:
            _require_vector(instruction, operand, inner)
        if operand is None:
            if kind[-1] != "_":
                _refuse(instruction, "writes registers, not the sink _")
            return
        if isinstance(operand, VectorOperand):
            if instruction.mnemonic == "atom" and not all(x is None or isinstance(x, Register) for x in operand.elements):
                _refuse(instruction, "writes registers, nothing else")
            if instruction.mnemonic == "wgmma" and None in operand.elements:
                _refuse(instruction, "reads its accumulators, which are registers, not the sink _")
            return _require_vector(instruction, operand, inner)
        is_relaxed, name = inner[0] == "~", inner.lstrip("~")
        return _require_target(instruction, operand, _type(instruction, name) if name not in "ABCD" else "b32", is_relaxed, False)
    if isinstance(operand, PairOperand):
        if kind[-1] not in "|!":
            _refuse(instruction, "has one result, not a pair p|q")
        if kind[-1] == "!" and operand.second is None:
            _refuse(instruction, "writes a predicate, not the sink _")
        if operand.second is not None:
            _require_target(instruction, operand.second, "pred", False, True)
        operand = operand.first
    elif kind[-1] == "!":
        _refuse(instruction, "has two results; write its destination as a pair p|q")
    name = kind.rstrip("_|?!")
    _require_target(instruction, operand, _type(instruction, name), False, "_" in kind)
    return None


_VECTORS_ALONE = ("ldmatrix", "stmatrix", "mma", "wmma", "wgmma")
"""Instructions whose vectors are written in braces, also those of one element."""


def _require_vector(instruction: Instruction, operand: Operand | None, kind: str) -> None:
    """Judge the registers of a vector, or what stands for one of one element."""
    if instruction.mnemonic in _VECTORS_ALONE and not isinstance(operand, VectorOperand):
        _refuse(instruction, f"takes a vector in braces here, not {described(operand)}")
    is_relaxed, name = kind[0] == "~", kind.lstrip("~")
    asked = _type_of_fragment(instruction, name) if name in "ABCD" else _type(instruction, name)
    if instruction.mnemonic in ("atom", "red") and isinstance(operand, VectorOperand) and len(operand.elements) == 1:
        _refuse(instruction, "takes a register here, not a vector of one")
    if not isinstance(operand, VectorOperand):
        if operand is None:
            _refuse(instruction, "writes a register, not the sink _")
        return _require_source(instruction, operand, asked, is_relaxed)
    registers = [x for x in operand.elements if isinstance(x, Register)]
    types = {x.type for x in registers}
    plain = {"i" if x[0] in "us" else x for x in types if x[0] != "b"}
    if len(plain) > 1:
        _refuse(instruction, f"has a vector of registers of different types: {', '.join('.' + x for x in sorted(types))}")
    bits = next((x for x in registers if x.type[0] == "b"), None)
    first = bits or next(iter(registers), None)
    if first is not None and not (is_relaxed and asked == "f32" and plain == {"i"}):
        _say(instruction, reason_against_register(first, asked, is_relaxed=is_relaxed))
        for x in registers:
            width = asked if not is_relaxed else first.type
            if reason_against_register(x, f"b{_digits(width)}") is not None:
                _say(instruction, reason_against_register(x, width))
    for x in operand.elements:
        if isinstance(x, Symbol):
            _refuse(instruction, f"takes no variable: take the address of {x.name} with mov first")
        if isinstance(x, Immediate):
            _say(instruction, reason_against_constant(x, asked) if asked[0] in "busf" and asked[1:].isdigit() else None)
    return None


def _digits(name: str) -> str:
    return {"f16x2": "32", "bf16x2": "32", "tf32": "32"}.get(name, name.lstrip("busf"))


def _require_address(instruction: Instruction, operand: Operand | None, space: str) -> None:
    if not isinstance(operand, AddressOperand):
        _refuse(instruction, f"takes an address in brackets, [register + constant] for one, not {described(operand)}")
    base, is_written = operand.base, space == "SPACE" or instruction.mnemonic == "mbarrier"
    space = _space(instruction) if is_written else space
    if isinstance(base, Symbol):
        _require_space(instruction, base, space)
    elif isinstance(base, Register) and (base.type[0] not in "bus" or base.type[1:] not in ("16", "32", "64")):
        _refuse(instruction, f"{base.name} is a register of .{base.type}, which holds no address")
    elif isinstance(base, Register) and is_written and space in ("", "global") and base.type[1:] == "32":
        if instruction.mnemonic != "wmma":
            _refuse(instruction, f"{base.name} has 32 bits; addresses of global and of generic memory have 64")
    elif isinstance(base, Immediate) and space != "local":
        _refuse(instruction, "an address that is a number is one of local memory; mov it into a register")


def require_legal_target(instruction: Instruction, target: str, version: str) -> None:
    """Refuse what ptxas refuses for a text's ``.target`` and ``.version``, whatever chip runs it.

    Raises
    ------
    UnsupportedInstructionError

    Examples
    --------
    >>> fence = Instruction("wgmma.fence.sync.aligned", "wgmma", ("fence", "sync", "aligned"), (), None, 7, 1)
    >>> require_legal_target(fence, "sm_90a", "8.0")
    >>> require_legal_target(fence, "sm_90", "8.0")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: line 7: wgmma.fence.sync.aligned: needs .target sm_90a, and the text is
    for sm_90
    """
    if instruction.mnemonic in _OF_ONE_CHIP and target[-1:].isdigit():
        _refuse(instruction, f"needs .target {target}a, and the text is for {target}")
    if instruction.mnemonic in ("vote", "shfl") and "sync" not in instruction.modifiers:
        release = tuple(int(x) for x in version.split("."))
        if release >= _SYNC_SINCE and int(target.strip("sm_af") or 0) >= _INDEPENDENT_THREADS:
            _refuse(instruction, f"is not for {target} since PTX 6.4: write {instruction.mnemonic}.sync with a membermask")


_OF_ONE_CHIP = ("wgmma", "setmaxnreg")
"""Instructions of targets with a suffix: sm_90a, sm_100f."""

_SYNC_SINCE, _INDEPENDENT_THREADS = (6, 4), 70


def _space(instruction: Instruction) -> str:
    return next((x for x in instruction.modifiers if x.split("::")[0] in _SPACES), "")


def _require_space(instruction: Instruction, symbol: Symbol, space: str) -> None:
    wanted = space.split("::")[0]
    if wanted not in ("", "param", symbol.space):
        _refuse(instruction, f"{symbol.name} is a variable of .{symbol.space}, not of .{wanted}")


def _say(instruction: Instruction, reason: str | None) -> None:
    if reason is not None:
        _refuse(instruction, reason)


def _refuse(instruction: Instruction, why: str) -> NoReturn:
    raise UnsupportedInstructionError(f"line {instruction.line}: {instruction.opcode}: {why}")

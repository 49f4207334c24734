# SPDX-License-Identifier: MIT
"""The assembler's rules for instructions other than lane operations: legal modifiers, and operands of the right
kind.
"""

from collections.abc import Callable

from wmma_emu.ptx.program.operand_kinds import describe
from wmma_emu.ptx.program.program import (
    AddressOperand,
    Immediate,
    Operand,
    PairOperand,
    Predicate,
    PtxInstruction,
    Register,
    Symbol,
    VectorOperand,
)
from wmma_emu.ptx.steps.addresses import space_of
from wmma_emu.ptx.steps.lane_operand_rules import refuse, require_source, require_target
from wmma_emu.ptx.steps.machine_vector_rules import require_vector, type_of_data
from wmma_emu.ptx.steps.spelling import syntax_of
from wmma_emu.ptx.steps.syntax_table import Syntax

_MOST_BARRIERS, _WARP, _MOST_ARRIVALS, _WORD = 16, 32, (1 << 20) - 1, 1 << 32


def require_legal_operands(instruction: PtxInstruction) -> None:
    """Raise an error if an assembler rejects the modifiers or operands of an instruction."""
    syntax = syntax_of(instruction)
    if syntax is None:
        refuse(instruction, "has modifiers that do not exist or exclude each other, or lacks a modifier")
    if instruction.mnemonic in ("call", "bra", "brx"):
        return
    for operand, kind in zip(instruction.operands, _kinds_given(instruction, syntax), strict=False):
        _require(instruction, operand, kind)


def _kinds_given(instruction: PtxInstruction, syntax: Syntax) -> list[str]:
    """Return the kinds of the given operands; optional kinds without an operand are removed, from the end."""
    kinds, given = list(syntax.operands), len(instruction.operands)
    if kinds[-1:] == ["*"]:
        return kinds[:-1][:given]
    if kinds[:1] == ["=u64_?"] and given and isinstance(instruction.operands[0], AddressOperand):
        del kinds[0]
    if "L2::cache_hint" in instruction.modifiers:
        kinds[-1] = kinds[-1].removesuffix("?")
    elif kinds[-1:] == ["u64?"]:
        kinds.pop()
    for position in range(len(kinds) - 1, -1, -1):
        if len(kinds) > given and kinds[position].endswith("?"):
            del kinds[position]
    if len(kinds) != given:
        least = sum(not x.endswith("?") for x in syntax.operands)
        expected = least if len(kinds) > given else len(kinds)
        refuse(instruction, f"expects {expected} operand{'s' * (expected != 1)}, not {given}")
    return [x.removesuffix("?") for x in kinds]


def _require(instruction: PtxInstruction, operand: Operand | None, kind: str) -> None:
    if kind in _CONSTANTS:
        expected, is_legal, said = _CONSTANTS[kind]
        require_source(instruction, operand, expected)
        if isinstance(operand, Immediate) and not is_legal(operand.value, instruction):
            refuse(instruction, said.format(operand.value))
    elif kind[0] == "[":
        _require_address(instruction, operand)
    elif kind[0] == "=":
        _require_written(instruction, operand, kind[1:])
    elif kind[0] == "{":
        require_vector(instruction, operand, kind[1:-1])
    elif kind == "#":
        _require_number(instruction, operand)
    elif kind == "address":
        is_wide = isinstance(operand, Register) and operand.type[1:] == "64"
        require_source(instruction, operand, "u64" if is_wide else "u32")
    elif kind == "limit":
        _require_limit(instruction, operand)
    elif kind == "metadata":
        alone = operand.elements[0] if isinstance(operand, VectorOperand) and len(operand.elements) == 1 else operand
        _require(instruction, alone, "%b32")
    elif kind == "descriptor" and isinstance(operand, VectorOperand):
        require_vector(instruction, operand, "A")
    elif kind[0] == "&" and isinstance(operand, Symbol):
        pass  # its space is checked where its address is taken
    elif kind[0] == "%" and isinstance(operand, Immediate | Symbol):
        what = "a constant" if isinstance(operand, Immediate) else f"the variable {operand.name}"
        refuse(instruction, f"expects a register, not {what}")
    else:
        require_source(
            instruction, operand, "u64" if kind == "descriptor" else type_of_data(instruction, kind.strip("%&"))
        )


_IsLegal = Callable[[int, PtxInstruction], bool]

_CONSTANTS: dict[str, tuple[str, _IsLegal, str]] = {
    "barrier": (
        "u32", lambda n, _: n % _WORD < _MOST_BARRIERS,
        "barrier {} does not exist: the barriers of a block are 0 to 15",
    ),
    "threads": (
        "u32", lambda n, x: n % _WARP == 0 and (n % _WORD > 0 or "arrive" not in x.modifiers),
        "the thread count {} is not legal: it has to be a multiple of the warp size, 32, and positive for arrive",
    ),
    "count": (
        "u32", lambda n, _: 0 < n <= _MOST_ARRIVALS,
        "the arrival count {} is not legal: a phase has 1 to 1048575 arrivals",
    ),
    "parity": ("u32", lambda n, _: n in (0, 1), "the parity {} is not legal: it has to be 0 or 1"),
    "scale": ("pred", lambda n, _: n in (0, 1), "scale-d is {}; expected a predicate, 0 or 1"),
}  # fmt: skip
"""Kinds of operands with restricted constants: the type, the check of a constant, and the message for illegal ones."""


def _require_number(instruction: PtxInstruction, operand: Operand | None) -> None:
    if not isinstance(operand, Immediate) or operand.kind != "int":
        refuse(instruction, f"expects an integer constant, not {describe(operand)}")
    if operand.value < 0 and "wait_group" in instruction.modifiers:
        refuse(instruction, f"expects a number of pending groups from 0 upwards, not {operand.value}")
    if operand.value != 128 and instruction.mnemonic in ("discard", "applypriority"):
        refuse(instruction, f"supports a size of 128 bytes only, not {operand.value}")


def _require_limit(instruction: PtxInstruction, operand: Operand | None) -> None:
    """Check the operand that limits the bytes read by a copy: a number of bytes, or a predicate."""
    is_predicate = isinstance(operand, Predicate) or (isinstance(operand, Register) and operand.type == "pred")
    require_source(instruction, operand, "pred" if is_predicate else "u32")
    size = instruction.operands[2]
    if isinstance(operand, Immediate) and isinstance(size, Immediate) and not 0 <= operand.value <= size.value:
        refuse(instruction, f"cannot read {operand.value} of the {size.value} bytes that it copies")


def _require_written(instruction: PtxInstruction, operand: Operand | None, kind: str) -> None:
    """Check a result: "{T}" is a vector, "|" an optional pair, "!" a required pair, and "_" permits the sink."""
    if kind[0] == "{":
        if operand is not None or kind[-1] != "_":
            require_vector(instruction, operand, kind.strip("{}_"), is_written=True)
        return
    if isinstance(operand, PairOperand):
        if kind[-1] not in "|!":
            refuse(instruction, "has one result; write a register instead of a pair p|q")
        if kind[-1] == "!" and operand.second is None:
            refuse(instruction, "expects a predicate as its second result, not the sink _")
        require_target(instruction, operand.second, "pred", may_be_sink=True)
        operand = operand.first
    elif kind[-1] == "!":
        refuse(instruction, "has two results; write its destination as a pair p|q")
    require_target(instruction, operand, type_of_data(instruction, kind.rstrip("_|!")), may_be_sink="_" in kind)


_WITH_NARROW_ADDRESSES = ("wmma", "cp")
"""The instructions that accept a 32-bit register as an address of global memory (ptxas 13.0)."""


def _require_address(instruction: PtxInstruction, operand: Operand | None) -> None:
    """Check the register of an address; variables and numbers are checked where the address is evaluated."""
    if not isinstance(operand, AddressOperand):
        refuse(instruction, f"expects an address in brackets, such as [register + constant], not {describe(operand)}")
    base = operand.base
    if not isinstance(base, Register):
        return
    if base.type[0] not in "bus" or base.type[1:] not in ("16", "32", "64"):
        refuse(instruction, f"{base.name} is a register of .{base.type}, which cannot contain an address")
    is_narrow = base.type[1:] == "32" and instruction.mnemonic not in _WITH_NARROW_ADDRESSES
    if is_narrow and space_of(instruction) in ("", "global"):
        refuse(instruction, f"{base.name} has 32 bits; global and generic addresses have 64 bits")

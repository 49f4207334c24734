# SPDX-License-Identifier: MIT
"""The layout and initial contents of the module's variables in global and constant memory."""

import math
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from wmma_emu.errors import PtxSyntaxError, UnsupportedInstructionError
from wmma_emu.ptx.program.faults import fault, reason_of, short_name, unsupported
from wmma_emu.ptx.program.program import Missing, Symbol
from wmma_emu.ptx.program.sizes import BYTES, align, alignment_of, bytes_of
from wmma_emu.ptx.syntax.literals import double_of_bits
from wmma_emu.ptx.syntax.tree import Address, Literal, Name, OperandText, VariableText

LARGEST = {"global": 2**28, "const": 2**16}
"""The largest total size of all variables: the constant memory of every chip (CUDA programming guide, technical
specifications), and a limit of this emulator for global memory, which protects the host's memory."""

Relocation = tuple[int, Symbol, int, bool]


@dataclass(slots=True)
class VariableSpace:
    """The variables of one state space."""

    space: str
    size: int = 0
    symbols: list[Symbol] = field(default_factory=list)
    texts: list[VariableText] = field(default_factory=list)


def lay_out(memory: VariableSpace, variable: VariableText, lines: tuple[str, ...]) -> Symbol:
    """Allocate a variable after the previous ones."""
    size = bytes_of(variable)
    offset = align(memory.size, alignment_of(variable))
    if offset + size > LARGEST[memory.space]:
        raise unsupported(
            lines, variable, f"the .{memory.space} variables up to {short_name(variable.name)} take "
            f"{offset + size} bytes; at most {LARGEST[memory.space]} are supported"
        )  # fmt: skip
    symbol = Symbol(memory.space, offset, variable.name, size)
    memory.size = offset + size
    memory.symbols.append(symbol)
    memory.texts.append(variable)
    return symbol


def initial_bytes(
    memory: VariableSpace, lookup: Callable[[str], Symbol | str], lines: tuple[str, ...]
) -> tuple[bytes, tuple[Relocation, ...], dict[Symbol, Missing]]:
    """Compute the initial contents of a memory; ``lookup`` returns a symbol, or the reason why it is not available.

    An address that is not available, such as the address of a shared variable, becomes zeros and a refusal.
    """
    relocations: list[Relocation] = []
    refused: dict[Symbol, Missing] = {}
    if not any(x.initial for x in memory.texts):
        return bytes(memory.size), (), refused
    contents = bytearray(memory.size)
    for symbol, variable in zip(memory.symbols, memory.texts, strict=True):
        width = BYTES[variable.type]
        initial = variable.initial or ()
        for place, value in zip(variable.positions or range(len(initial)), initial, strict=True):
            offset = symbol.offset + place * width
            if isinstance(value, Literal):
                bits = _bits(variable, value, lines)
                contents[offset : offset + width] = bits.to_bytes(width, "little")
                continue
            try:
                relocations.append((offset, *_address(variable, value, lookup, lines)))
            except UnsupportedInstructionError as error:
                refused.setdefault(symbol, Missing(f".{memory.space}", variable.line, reason_of(error)))
    return bytes(contents), tuple(relocations), refused


def propagate_refusals(
    refused: dict[Symbol, Missing], symbols: Iterable[Symbol], relocations: Iterable[tuple[str, Relocation]]
) -> dict[Symbol, Missing]:
    """Return the refused variables, and those whose initial values refer to one of them, directly or indirectly.

    ``symbols`` are all variables, in the order of their offsets within each space; ``relocations`` are the addresses in
    initial values, with the space that contains them.
    """
    if not refused:
        return {}
    by_space: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        by_space.setdefault(symbol.space, []).append(symbol)
    offsets = {space: [x.offset for x in found] for space, found in by_space.items()}
    referrers: dict[Symbol, list[Symbol]] = {}
    for space, (offset, meant, _, _) in relocations:
        referrers.setdefault(meant, []).append(by_space[space][bisect_right(offsets[space], offset) - 1])
    found, waiting = dict(refused), list(refused)
    for symbol in waiting:
        for holder in referrers.get(symbol, ()):
            if holder not in found:
                found[holder] = found[symbol]
                waiting.append(holder)
    return found


def _bits(variable: VariableText, value: Literal, lines: tuple[str, ...]) -> int:
    """Return the bits of a number in the variable's type; as in ptxas, the kind of the number has to match the type."""
    kind, width = variable.type, BYTES[variable.type]
    if kind in ("f32", "f64"):
        if kind == value.kind:
            return value.value
        if value.kind == "f64":
            return _single(double_of_bits(value.value))
    elif value.kind == "int" and kind not in ("f16", "f16x2", "bf16", "bf16x2"):
        return value.value & (1 << 8 * width) - 1
    elif kind[0] == "b" and value.kind == f"f{8 * width}":
        return value.value
    given = "an integer" if value.kind == "int" else f"a floating-point number ({value.kind})"
    raise _mismatch(variable, given, lines)


def _mismatch(variable: VariableText, given: str, lines: tuple[str, ...]) -> PtxSyntaxError:
    return fault(lines, variable, f"{given} cannot initialise {short_name(variable.name)}, which is .{variable.type}")


def _single(value: float) -> int:
    try:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    except OverflowError:
        return int(struct.unpack("<I", struct.pack("<f", math.copysign(math.inf, value)))[0])


def _address(
    variable: VariableText, value: OperandText, lookup: Callable[[str], Symbol | str], lines: tuple[str, ...]
) -> tuple[Symbol, int, bool]:
    """Return the symbol, the offset, and whether the address is generic."""
    if BYTES[variable.type] != 8 or variable.type == "f64":
        raise _mismatch(variable, "a 64-bit address", lines)
    base = value.base if isinstance(value, Address) else value
    if not isinstance(base, Name):
        raise _mismatch(variable, "this operand", lines)
    symbol = lookup(base.text)
    if isinstance(symbol, str):
        message = f"{short_name(base.text)}, in the initial value of {short_name(variable.name)}, {symbol}"
        raise (fault if symbol.startswith("is not") else unsupported)(lines, variable, message)
    if isinstance(value, Address):
        return symbol, value.offset, value.form == "generic"
    return symbol, 0, False

# SPDX-License-Identifier: MIT
"""Every spelling of a lane operation as an instruction on registers, and drawn values of its sources."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from tools.ptx_scalar_inputs import COUNT, inputs_of
from wmma_emu.formats import format_of
from wmma_emu.ptx.program.program import (
    Immediate,
    Operand,
    PairOperand,
    Predicate,
    PtxInstruction,
    Register,
    VectorOperand,
)
from wmma_emu.ptx.steps.approximations import FACTOR_ENTRIES
from wmma_emu.ptx.steps.floats import SCALED_ENTRIES
from wmma_emu.ptx.steps.operation_entries import CARRY, OperationEntry
from wmma_emu.ptx.steps.values import ALL_VIDEO_ENTRIES, VALUE_ENTRIES, VALUE_STEPS, VECTOR_ENTRIES
from wmma_emu.ptx.widths import bits_of_type
from wmma_emu.scalar.cvt_table import CVT_FORMS, CVT_TYPES

ENTRIES = {**VALUE_ENTRIES, **VECTOR_ENTRIES, **ALL_VIDEO_ENTRIES, **FACTOR_ENTRIES, **SCALED_ENTRIES}
"""Every entry of the tables of lane operations; `cvt` has its own table."""

_TABLES = (0x00, 0x1B, 0x3C, 0x80, 0x96, 0xCA, 0xEA, 0xFF)
_SELECTORS = (0x5410, 0x7632, 0x0123, 0xBA98, 0x3210, 0x0004)
_INTEGERS = tuple(f"{sign}{bits}" for sign in "us" for bits in (8, 16, 32, 64))


@cache
def instructions() -> tuple[PtxInstruction, ...]:
    """Return every spelling, on registers that are numbered from 0."""
    return tuple(_numbered(x) for x in (*_of_entries(), *_conversions()))


def _of_entries() -> Iterator[PtxInstruction]:
    for entry in ENTRIES.values():
        mnemonic = entry.opcode.split(".")[0]
        if entry.opcode in VECTOR_ENTRIES:
            parts = VectorOperand((_register(entry.words[1]),) * int(entry.words[0][1:]))
            yield _instruction(entry.opcode, parts, parts)
            continue
        for table in _TABLES if mnemonic == "lop3" else (None,):
            yield _of_entry(entry, {} if table is None else {3: table})
        if mnemonic in ("min", "max") and entry.opcode.endswith(".f32") and "abs" not in entry.opcode:
            yield _instruction(entry.opcode, *[_register("f32")] * 4)
        if entry.opcode == "prmt.b32":
            yield from (_of_entry(entry, {2: x}) for x in _SELECTORS)
        if entry.opcode in ("mov.b16", "mov.b32", "mov.b64"):
            yield from _packs(entry.opcode)


def _of_entry(entry: OperationEntry, constants: dict[int, int]) -> PtxInstruction:
    # The types first, with too many operands; then the instruction as it is.
    bare = [Immediate("int", constants.get(i - 1, 0)) for i in range(6)]
    operation = entry.make(_instruction(entry.opcode, *bare), *entry.words)
    targets = [_register(x) for x in operation.destinations if x != CARRY]
    sources: list[Operand] = [
        Immediate("int", constants[i]) if i in constants else _register(kind)
        for i, kind in enumerate(operation.sources)
        if kind != CARRY
    ]
    if len(targets) == 2 and not entry.opcode.startswith("%"):
        return _instruction(entry.opcode, PairOperand(*targets), *sources)
    return _instruction(entry.opcode, *targets, *sources)


def _packs(opcode: str) -> Iterator[PtxInstruction]:
    width = int(opcode[5:])
    for count in (2, 4):
        if width // count >= (16 if width == 64 else 8):
            parts = VectorOperand((_register(f"b{width // count}"),) * count)
            yield _instruction(opcode, parts, _register(f"b{width}"))
            yield _instruction(opcode, _register(f"b{width}"), parts)


def _conversions() -> Iterator[PtxInstruction]:
    for form in CVT_FORMS.values():
        if form.status == "not modelled":
            continue
        opcode = form.mnemonic
        plain = _instruction(opcode, *[_register("b32")] * (1 + form.num_operands + form.is_scaled))
        operation = VALUE_STEPS["cvt"](plain)
        target = CVT_TYPES[form.target]
        least = max(target.bits, 8)
        sources = [_register(x) for x in operation.sources]
        yield _instruction(opcode, _register(f"b{least}"), *sources)
        for width in (16, 32, 64):
            # Integers may be in wider registers.
            if form.target in _INTEGERS and width > least and not form.modifiers:
                yield _instruction(opcode, _register(f"b{width}"), *sources)
            if form.source in _INTEGERS and width > bits_of_type(form.source) and not form.modifiers:
                yield _instruction(opcode, _register(f"b{least}"), _register(f"b{width}"))


def _register(kind: str) -> Register:
    return Register(0, "%r", "pred" if kind == "pred" else f"b{bits_of_type(kind)}")


def _instruction(opcode: str, *operands: Operand | None) -> PtxInstruction:
    mnemonic, *modifiers = opcode.split(".")
    return PtxInstruction(opcode, mnemonic, tuple(modifiers), operands, None, 1, 1)


def _numbered(instruction: PtxInstruction) -> PtxInstruction:
    """Give each register a different number."""
    count = iter(range(100))

    def numbered(operand: Any) -> Any:
        match operand:
            case Register():
                return replace(operand, index=next(count))
            case Predicate():
                return replace(operand, register=numbered(operand.register))
            case VectorOperand():
                return VectorOperand(tuple(map(numbered, operand.elements)))
            case PairOperand():
                return PairOperand(numbered(operand.first), numbered(operand.second))
        return operand

    return replace(instruction, operands=tuple(map(numbered, instruction.operands)))


def registers_of(instruction: PtxInstruction) -> tuple[Register, ...]:
    """Return the registers of an instruction in the order of their numbers."""
    found = []
    for operand in instruction.operands:
        match operand:
            case VectorOperand():
                found += operand.elements
            case PairOperand():
                found += [operand.first, operand.second]
            case Predicate():
                found.append(operand.register)
            case _:
                found.append(operand)
    return tuple(sorted((x for x in found if isinstance(x, Register)), key=lambda x: x.index))


def chosen(kind: str, place: int) -> Any:
    """Return `COUNT` values of a type that distinguish rules of arithmetic, those of the recordings."""
    if kind == "f32x2":
        low, high = (inputs_of("f32", place + i).astype(np.uint64) for i in (0, 3))
        return np.roll(high, place) << np.uint64(32) | low
    if kind.endswith("x4"):
        return inputs_of("u32", place)
    return inputs_of(kind, place)


def plain(kind: str, place: int) -> Any:
    """Return `COUNT` ordinary values of a type: for these, NumPy's functions take short cuts."""
    random = np.random.default_rng(place)
    if kind in ("pred", "cc"):
        return random.integers(0, 2, COUNT) == 1
    name, _, packed = kind.partition("x")
    bits = bits_of_type(name)
    if "f" in name or name[0] == "e":
        fmt = format_of(name)
        random_bits = random.integers(0, 1 << fmt.fraction_bits, (COUNT, int(packed or 1)), np.uint64)
        exponent = fmt.bias + random.integers(0, 2, random_bits.shape)
        words = exponent.astype(np.uint64) << np.uint64(fmt.fraction_bits) | random_bits
        words <<= np.uint64(fmt.ignored_low_bits)
    else:
        words = random.integers(1, 8, (COUNT, int(packed or 1)), np.uint64)
    return words.astype(f"u{bits // 8}").view(f"u{bits * int(packed or 1) // 8}").reshape(-1)


def drawn(kinds: tuple[str, ...], count: int, seed: int) -> list[Any]:
    """Return values of sources: every combination of special values as far as there is room, chosen values, and noise.

    ``count`` is a multiple of 32.
    """
    random = np.random.default_rng(seed)
    tables = [_special(kind) for kind in kinds]
    combinations = min(int(np.prod([float(len(x)) for x in tables])), count // 3)
    places = np.arange(combinations)
    found = []
    for place, (kind, table) in enumerate(zip(kinds, tables, strict=True)):
        special = table[places % len(table)]
        places = places // len(table)
        words = np.tile(chosen(kind, place), -(-count // COUNT))[: count // 3]
        rest = count - len(special) - len(words)
        noise = random.integers(0, 256, rest * words.itemsize, np.uint8)
        noise = noise > 127 if words.dtype == bool else noise.view(words.dtype)
        found.append(np.concatenate([special, words, noise]))
    return found


@cache
def _special(kind: str) -> Any:
    """Return the special values of a type: zeros, limits, infinities, NaNs, and their neighbours."""
    sample = chosen(kind, 0)
    if sample.dtype == bool:
        return np.array([False, True])
    name = kind.partition("x")[0]
    bits = sample.itemsize * 8
    edges = {0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64}
    edges |= {1 << i for i in (bits // 4, bits // 2, bits - 2, bits - 1)}
    if "f" in name and name != "tf32":
        fmt = format_of(name)
        one, quiet = fmt.bias << fmt.fraction_bits, 1 << fmt.fraction_bits - 1
        edges |= {
            fmt.infinity,
            fmt.infinity | 1,
            fmt.infinity | quiet,
            one,
            one >> 1,
            fmt.max_finite,
            1 << fmt.fraction_bits,
        }
        edges |= {x | fmt.sign_mask for x in edges}
    every = {(x + y) % (1 << bits) for x in edges for y in (-1, 0, 1)} | {-x % (1 << bits) for x in edges}
    if bits == 32 and kind.endswith("x2"):
        every = {x << 16 | y for x in edges for y in edges if x < 1 << 16 and y < 1 << 16}
    return np.array(sorted(every), sample.dtype)

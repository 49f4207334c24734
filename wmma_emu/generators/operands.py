# SPDX-License-Identifier: MIT
"""Functions that draw the operands of one instruction with one input generator."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import (
    ArgumentError,
    ArgumentValueError,
    CallError,
    UnknownNameError,
    UnsupportedInstructionError,
    shorten,
)
from wmma_emu.formats.codec import Bits
from wmma_emu.generators.block_scales import Scales, scale_pools
from wmma_emu.generators.draws import Draw
from wmma_emu.generators.facts import Facts
from wmma_emu.generators.plan import Plan
from wmma_emu.generators.sparsity import ALTERNATIVES, draw_indices, spread
from wmma_emu.generators.table import GENERATORS, InputGenerator
from wmma_emu.instructions import Instruction, lookup
from wmma_emu.instructions.spec import Operand
from wmma_emu.renamed import renamed_keywords
from wmma_emu.suggestions import did_you_mean
from wmma_emu.warp import BoundInstruction, BoundMatrixInstruction

VERSION = 1
"""The version of the drawn bits: it changes whenever a draw changes, and is part of the key."""


class Operands(NamedTuple):
    """Pools of matrices of bit patterns, one element an entry; every A can be combined with every B and every C.

    Parameters
    ----------
    a : unsigned integer array, shape (a_tiles, m, terms)
        ``terms`` is k, or fewer if A is packed.
    b : unsigned integer array, shape (b_tiles, k, n)
    c : unsigned integer array, shape (c_tiles, m, n)
    indices : int64 array, shape (a_tiles, m, terms), or None
        The k of each packed element of A.
    """

    a: Bits
    b: Bits
    c: Bits
    indices: NDArray[np.int64] | None


def generators_of(instruction: Instruction | BoundInstruction | str) -> tuple[str, ...]:
    """Return the names of the input generators that apply to an instruction's formats and shape.

    Examples
    --------
    >>> import wmma_emu as we
    >>> generators_of(we.instruction("m16n8k32.s32.s8.s8.s32"))
    ('integer_normal', 'integer_limits', 'integer_raw', 'integer_mostly_zero')
    """
    facts = Facts.of(row_of(instruction))
    return tuple(name for name, generator in GENERATORS.items() if _applies(generator, facts))


@renamed_keywords(family="generator")
def draw(
    instruction: Instruction | BoundInstruction | str, generator: str, seed: int,
    a_tiles: int, b_tiles: int, c_tiles: int,
) -> Operands:  # fmt: skip
    """Draw pools of A, B and C with one input generator; every combination of them is a sample.

    The draw does not depend on the chip: it uses only formats and shape. Memory layouts and modifiers do not matter
    either; a larger number of tiles begins with the same tiles. `draw_scales` draws block scales.

    Parameters
    ----------
    instruction : Instruction, BoundInstruction or str
    generator : str
        One of ``generators_of(instruction)``.
    seed : int
    a_tiles, b_tiles, c_tiles : int
        The number of matrices of each, at least 1. The seed decides their common structure, such as which positions of
        k cancel each other: a campaign takes many seeds.

    Returns
    -------
    Operands
        The same bits on every machine and with every version of NumPy.

    Raises
    ------
    UnsupportedInstructionError
        If the input generator does not apply to the instruction.
    FragmentMismatchError
        If the seed is not an integer, or a number of tiles is not a positive integer.

    Examples
    --------
    Two A, three B, three C; then all six products of an A and a B, with the C of that B:

    >>> import wmma_emu as we
    >>> from wmma_emu.arithmetic import matmul
    >>> ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
    >>> a, b, c, indices = draw(ins, "cancel_pairs", 0, 2, 3, 3)
    >>> a.shape, b.shape, c.shape, a.dtype, indices
    ((2, 16, 16), (3, 16, 8), (3, 16, 8), dtype('uint16'), None)
    >>> matmul(ins.product, a[:, None], b, c).shape
    (2, 3, 16, 8)
    """
    entry = row_of(instruction)
    facts = Facts.of(entry)
    chosen = _generator(entry, facts, generator)
    _check_numbers(seed, {"a_tiles": a_tiles, "b_tiles": b_tiles, "c_tiles": c_tiles})
    key = _key(seed, chosen, facts)
    plan = Plan(facts, key, chosen.pairing)
    alternatives = ALTERNATIVES if facts.is_sparse else 1
    tiles: dict[Operand, int] = {"a": a_tiles, "b": b_tiles * alternatives, "c": c_tiles}
    a, b, c = (_matrices(chosen, Draw(facts, plan, operand, key, count)) for operand, count in tiles.items())
    if not facts.is_sparse:
        return Operands(a, b, c, None)
    return Operands(a, spread(facts, b), c, draw_indices(facts, plan, key, a_tiles))


@renamed_keywords(family="generator")
def draw_scales(
    instruction: Instruction | BoundInstruction | str, generator: str, seed: int, a_tiles: int, b_tiles: int
) -> Scales:
    """Draw the block scales for pools of A and B of the same input generator and seed.

    Parameters
    ----------
    instruction : Instruction, BoundInstruction or str
        An instruction with block scales.
    generator : str
        One of ``generators_of(instruction)``. If it has a structure over k, such as products that cancel, the scales
        preserve it.
    seed, a_tiles, b_tiles : int
        As for `draw`.

    Returns
    -------
    Scales
        uint8 patterns: (a_tiles, m, scale_vec) and (b_tiles, scale_vec, n).

    Raises
    ------
    UnsupportedInstructionError
        If the instruction has no block scales, or the input generator does not apply to it.
    FragmentMismatchError
        If the seed is not an integer, or a number of tiles is not a positive integer.

    Examples
    --------
    >>> name = "m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
    >>> scale_a, scale_b = draw_scales(name, "cancel_halves", 0, 2, 3)
    >>> scale_a.shape, scale_b.shape, scale_a.dtype
    ((2, 16, 2), (3, 2, 8), dtype('uint8'))
    >>> products = scale_a[0, 0].astype(int) + scale_b[0, :, 0]                 # exponents, the same in both blocks
    >>> bool(products[0] == products[1])
    True
    """
    entry = row_of(instruction)
    facts = Facts.of(entry)
    if facts.scale is None:
        raise UnsupportedInstructionError(
            f"{entry.mnemonic} has no block scales; use an instruction with .block_scale (kind::mxf8f6f4, kind::mxf4, "
            "kind::mxf4nvf4)"
        )
    chosen = _generator(entry, facts, generator)
    _check_numbers(seed, {"a_tiles": a_tiles, "b_tiles": b_tiles})
    return scale_pools(facts, facts.scale, chosen.scales, _key(seed, chosen, facts), a_tiles, b_tiles)


def _key(seed: int, generator: InputGenerator, facts: Facts) -> str:
    return f"wmma_emu families {VERSION}|{int(seed)}|{generator.name}|{facts.name()}"


def _generator(entry: Instruction, facts: Facts, generator: object) -> InputGenerator:
    chosen = GENERATORS.get(generator) if isinstance(generator, str) else None
    if chosen is None or not _applies(chosen, facts):
        legal = generators_of(entry)
        hint = did_you_mean(generator, legal, f"it has {', '.join(legal)}")
        raise UnknownNameError(f"{entry.mnemonic} has no input generator {shorten(generator)}{hint}")
    return chosen


def row_of(instruction: object) -> Instruction:
    """Return the table entry of an instruction, which may be bound to a chip, unbound, or a mnemonic."""
    if isinstance(instruction, BoundMatrixInstruction):
        return instruction.instruction
    if isinstance(instruction, Instruction | str):
        return lookup(instruction)
    raise CallError(
        f"{shorten(instruction)} is not an instruction; pass wmma_emu.instruction(...), or a mnemonic such as "
        "'m16n8k16.f32.f16.f16.f32'"
    )


def _matrices(generator: InputGenerator, draw: Draw) -> Any:
    patterns = np.broadcast_to(generator.make(draw), draw.shape)
    # Patterns never exceed the format's width: the conversion drops only zero bits.
    return np.ascontiguousarray(patterns).astype(draw.fmt.storage)


def _applies(generator: InputGenerator, facts: Facts) -> bool:
    return generator.kind == facts.a.kind and generator.applies(facts)


def _check_numbers(seed: object, tiles: dict[str, object]) -> None:
    if not _is_integer(seed):
        raise ArgumentError(f"seed={shorten(seed)} is not an integer")
    for name, count in tiles.items():
        if not _is_integer(count) or int(count) < 1:  # type: ignore[call-overload]
            raise ArgumentValueError(f"{name}={shorten(count)} is not a number of tiles; pass 1 or more")


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)

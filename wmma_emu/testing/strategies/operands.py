# SPDX-License-Identifier: MIT
"""The A, B and C of an instruction: every family of inputs, raw bits, zeros, and edits of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import hypothesis.strategies as st
import numpy as np
from hypothesis.errors import InvalidArgument
from numpy.typing import NDArray

from wmma_emu import generators as all_generators
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.generators.operands import row_of
from wmma_emu.generators.samples import names_of
from wmma_emu.generators.words import random_words
from wmma_emu.instructions import Instruction
from wmma_emu.layouts import granularity_of
from wmma_emu.renamed import renamed_keywords
from wmma_emu.testing.strategies.checks import Allowed, with_names_as_tuples
from wmma_emu.testing.strategies.matrices import ROUNDS, one_in, seeds, window
from wmma_emu.testing.strategies.operand_matrices import OperandMatrices
from wmma_emu.testing.strategies.patterns import integers, pattern_strategy
from wmma_emu.warp import BoundInstruction
from wmma_emu.warp.sparse import expand

_TERMS = 6

_OFTEN = {"cancel_pairs": 6, "floor_bits": 6}
"""Families that come so many times as often as others: they alone see some rules, and not with every seed.

Of f16 results those are the floor under alignment and the exponents of FP8 subnormals (docs/explanation/input-generators.md).
"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Operands as patterns, A packed: (tiles, m, terms), (tiles, k, n), (tiles, m, n); and the indices of A."""

    a: Bits
    b: Bits
    c: Bits
    indices: NDArray[np.int64] | None
    seed: int
    origin: str


@renamed_keywords(families="generators")
@with_names_as_tuples
@st.composite
def operands(
    draw: st.DrawFn,
    instruction: BoundInstruction | Instruction | str,
    *,
    generators: Iterable[str] | None = None,
    allow_nan: bool = True,
    allow_infinity: bool = True,
    allow_subnormal: bool = True,
) -> OperandMatrices:
    """Draw the A, B and C of an instruction: inputs under which rules of arithmetic differ, not uniform bits.

    Each is zeros, or uniform bits, or one of the instruction's `families` with a drawn seed; then up to six terms of
    one dot product, and its c, are set to drawn numbers. So matrices of any size take few draws. Shrinks to zeros; or,
    of a family that Hypothesis cannot take apart, to one row, one column, few k and few significant bits of it.

    Parameters
    ----------
    instruction : BoundInstruction, Instruction or str
        A mnemonic does as well: the chip has no part in it.
    generators : iterable of str, optional
        Names out of ``wmma_emu.testing.generators.families_of(instruction)``; by default all of them, and uniform bits.
    allow_nan, allow_infinity, allow_subnormal : bool
        Whether operands may be such; where not, zeros stand in their places. Results may be all the same.

    Returns
    -------
    strategy of OperandMatrices
        A tuple (A, B, C) in the dtypes of the formats: ``ins(*operands)``. A sparse A has the zeros that it leaves out.
        Block scales come from `scales`.

    Raises
    ------
    UnsupportedInstructionError
        When drawn, for an instruction that does not exist, or a family that it does not have.
    hypothesis.errors.InvalidArgument
        When drawn, if ``families`` names none.

    Examples
    --------
    >>> import wmma_emu as we
    >>> from hypothesis import Phase, find, settings
    >>> anew = settings(database=None, phases=[Phase.generate])
    >>> from wmma_emu.testing.strategies import operands
    >>> ins = we.instruction("m16n8k8.f32.f16.f16.f32", arch="sm_90")
    >>> find(operands(ins, generators=["normal"]), lambda x: True, settings=anew)
    <mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32: zeros
      A 16x8 f16: all +0
      B 8x8 f16: all +0
      C 16x8 f32: all +0>
    """
    row = row_of(instruction)
    allowed = Allowed(allow_nan, allow_infinity, allow_subnormal).checked()
    drawn = draw_operands(draw, row, generators, allowed)
    a = drawn.a if drawn.indices is None else expand(row, drawn.a, drawn.indices)
    formats = tuple(row.format(x) for x in ("a", "b", "c"))
    A, B, C = (from_bits(bits[0], fmt) for bits, fmt in zip((a, drawn.b, drawn.c), formats, strict=True))
    return OperandMatrices(A, B, C, drawn.origin, formats)


def _bases(row: Instruction, generators: Iterable[str] | None) -> tuple[str, ...]:
    """What is drawn from: zeros, and what is asked for; or every family, and raw bits."""
    if generators == ():
        legal = ", ".join(map(repr, all_generators.generators_of(row)))
        raise InvalidArgument(f"families names none; leave it out for all, or pass some of {legal}")
    names = names_of(row, generators)
    if generators is not None:
        return ("zeros", *names)
    return ("zeros", *(name for name in names for _ in range(_OFTEN.get(name, 1))), "raw bits", "raw bits")


@cache
def _named(bases: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.sampled_from(bases)


def draw_operands(
    draw: st.DrawFn, row: Instruction, generators: Iterable[str] | None, allowed: Allowed, tiles: int = 1
) -> Drawn:
    """Draw patterns of A, packed where it is sparse, B and C."""
    base = draw(_named(_bases(row, generators)))
    seed = draw(seeds())
    a, b, c, indices = _base(row, base, seed, tiles)
    left_out, (a, b, c) = _windows(draw, row, a, b, c)
    precision = _precision(draw, row)
    formats = tuple(row.format(x) for x in ("a", "b", "c"))
    if precision is not None:
        a, b, c = (_cut(bits, fmt, precision) for bits, fmt in zip((a, b, c), formats, strict=True))
        left_out += f", {precision} fraction bit{'' if precision == 1 else 's'}"
    a, b, c = (
        np.array(allowed.zeroed(bits, fmt)) for bits, fmt in zip((a, b, c), formats, strict=True)
    )  # fmt: skip
    edits = _edit(draw, row, a, b, c, indices, allowed)
    what = base
    if base != "zeros":
        what = f"{base if base == 'raw bits' else f'generator {base!r}'}, seed {seed}{left_out}"
    origin = f"{row.mnemonic}: {what}" + (f"; edits: {', '.join(edits)}" if edits else "")
    return Drawn(a, b, c, indices, seed, origin)


def _base(row: Instruction, base: str, seed: int, tiles: int) -> tuple[Bits, Bits, Bits, NDArray[np.int64] | None]:
    """What edits start from."""
    indices = None
    if base not in ("zeros", "raw bits"):
        return all_generators.draw(row, base, seed, tiles, tiles, tiles)
    if row.is_sparse:
        indices = all_generators.draw(row, all_generators.generators_of(row)[0], seed, tiles, 1, 1).indices
    made = []
    for operand in ("a", "b", "c"):
        fmt, shape = row.format(operand), (tiles, *row.matrix_shape(operand))
        if base == "zeros":
            made.append(np.zeros(shape, fmt.storage))
        else:
            words = random_words(f"wmma_emu operands|{seed}|{operand}", int(np.prod(shape))) & np.uint64(fmt.mask)
            made.append(words.astype(fmt.storage).reshape(shape))
    a, b, c = made
    return a, b, c, indices


def _windows(
    draw: st.DrawFn, row: Instruction, a: Bits, b: Bits, c: Bits
) -> tuple[str, tuple[Bits, Bits, Bits]]:  # fmt: skip
    """Keep some rows, columns and k: all of them, mostly."""
    rows, columns, terms = window(draw, row.m), window(draw, row.n), window(draw, row.terms)
    keeps_c = draw(one_in(ROUNDS)) > 0
    said = []
    if rows != (0, row.m):
        a, c = _kept(a, -2, *rows), _kept(c, -2, *rows)
        said.append(_range_text("row", *rows))
    if columns != (0, row.n):
        b, c = _kept(b, -1, *columns), _kept(c, -1, *columns)
        said.append(_range_text("column", *columns))
    if terms != (0, row.terms):
        # Of a sparse A places are counted in its packed elements; of B the rows that those can name are kept.
        a = _kept(a, -1, *terms)
        of_b = terms
        if row.is_sparse:
            places = granularity_of(row)
            of_b = (terms[0] // places.kept * places.chunk, -(-terms[1] // places.kept) * places.chunk)
        b = _kept(b, -2, *of_b)
        said.append(_range_text("k", *of_b))
    if not keeps_c:
        c = np.zeros_like(c)
        said.append("no c")
    return "".join(f", {text}" for text in said), (a, b, c)


def _kept(bits: Bits, axis: int, start: int, stop: int) -> Bits:
    """Put +0 everywhere else."""
    result = np.zeros_like(bits)
    here = (..., slice(start, stop)) if axis == -1 else (..., slice(start, stop), slice(None))
    result[here] = bits[here]
    return result


def _range_text(name: str, start: int, stop: int) -> str:
    if stop - start == 1:
        return f"{name} {start} alone"
    return f"{name}{'' if name == 'k' else 's'} {start} to {stop - 1}" if stop > start else f"no {name}"


def _precision(draw: st.DrawFn, row: Instruction) -> int | None:
    """Draw how many fraction bits are kept: all, mostly."""
    widest = max(row.format(x).fraction_bits for x in ("a", "b", "c"))
    if not widest:
        return None
    kept = widest
    for _ in range(widest.bit_length()):
        if draw(one_in(ROUNDS)) == 0:
            kept //= 2
    return kept if kept < widest else None


def _cut(bits: Bits, fmt: Format, kept: int) -> Bits:
    """Clear fraction bits, but those of NaN."""
    low = fmt.fraction_bits + fmt.ignored_low_bits - kept
    if low <= 0 or not fmt.is_float:
        return bits
    # What has all bits of the exponent set, or of everything: infinities and NaN.
    top = fmt.storage.type(fmt.infinity if fmt.has_infinity else fmt.mask & ~fmt.sign_mask)
    special = (bits & top == top) & (fmt.nan != "none")
    return np.where(special, bits, bits & fmt.storage.type(fmt.mask & ~((1 << low) - 1)))


def _edit(
    draw: st.DrawFn,
    row: Instruction,
    a: Bits,
    b: Bits,
    c: Bits,
    indices: NDArray[np.int64] | None,
    allowed: Allowed,
) -> list[str]:
    """Set terms of one dot product, in place; says which."""
    i, j = draw(integers(0, row.m - 1)), draw(integers(0, row.n - 1))
    tile = draw(integers(0, len(a) - 1))
    edits = []
    # Of several matrices, as in registers of m8n8k4, the first index says which.
    of = f"{tile}, " if len(a) > 1 else ""
    for position, x, y in draw(_terms(row, allowed)):
        k = position if indices is None else int(indices[tile, i, position])
        a[tile, i, position], b[tile, k, j] = x, y
        edits += [f"A[{of}{i}, {k}] = {x:#x}", f"B[{of}{k}, {j}] = {y:#x}"]
    if draw(st.booleans()):
        c[tile, i, j] = draw(pattern_strategy(row.format("c"), allowed))
        edits.append(f"C[{of}{i}, {j}] = {int(c[tile, i, j]):#x}")
    return edits


@cache
def _terms(row: Instruction, allowed: Allowed) -> st.SearchStrategy[list[tuple[int, int, int]]]:
    """Strategy of terms: a position of k, and the patterns of a and b."""
    a, b = (pattern_strategy(row.format(x), allowed) for x in ("a", "b"))
    return st.lists(st.tuples(integers(0, row.terms - 1), a, b), max_size=_TERMS, unique_by=lambda term: term[0])

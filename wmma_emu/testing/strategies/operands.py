# SPDX-License-Identifier: MIT
"""The A, B and C of an instruction: every input generator, raw bits, zeros, and edits of them."""

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
"""Input generators that are drawn this many times as often as others.

Only they expose some rules, and not with every seed.

For f16 results those rules are the alignment floor and the exponents of FP8 subnormals
(docs/explanation/input-generators.md).
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
    """Draw the A, B and C of an instruction: inputs for which rules of arithmetic differ, not uniform bits.

    They are zeros, uniform bits, or the result of one of the instruction's input generators with a drawn seed; then up
    to six terms of one dot product, and its c, are set to drawn numbers. So matrices of any size take few draws. They
    shrink to zeros; or, where Hypothesis cannot shrink a generator's elements, to one row, one column, few k and few
    significant bits.

    Parameters
    ----------
    instruction : BoundInstruction, Instruction or str
        The chip does not matter, so that a mnemonic is sufficient.
    generators : iterable of str, optional
        Names from ``wmma_emu.testing.generators.generators_of(instruction)``; by default all of them, and uniform bits.
    allow_nan, allow_infinity, allow_subnormal : bool
        Whether operands may be NaN, infinite or subnormal; otherwise they are replaced by zeros. Results still may be.

    Returns
    -------
    strategy of OperandMatrices
        A tuple (A, B, C) in the dtypes of the formats: ``ins(*operands)``. A sparse A includes its zeros. `scales`
        draws block scales.

    Raises
    ------
    UnsupportedInstructionError
        When drawn, if the instruction does not exist, or an input generator does not apply to it.
    hypothesis.errors.InvalidArgument
        When drawn, if ``generators`` is empty.

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
    entry = row_of(instruction)
    allowed = Allowed(allow_nan, allow_infinity, allow_subnormal).checked()
    drawn = draw_operands(draw, entry, generators, allowed)
    a = drawn.a if drawn.indices is None else expand(entry, drawn.a, drawn.indices)
    formats = tuple(entry.format(x) for x in ("a", "b", "c"))
    A, B, C = (from_bits(bits[0], fmt) for bits, fmt in zip((a, drawn.b, drawn.c), formats, strict=True))
    return OperandMatrices(A, B, C, drawn.origin, formats)


def _bases(entry: Instruction, generators: Iterable[str] | None) -> tuple[str, ...]:
    """Return the starting points: zeros, and the named generators; or every generator, and raw bits."""
    if generators == ():
        legal = ", ".join(map(repr, all_generators.generators_of(entry)))
        raise InvalidArgument(f"generators is empty; leave it out for all, or pass some of {legal}")
    names = names_of(entry, generators)
    if generators is not None:
        return ("zeros", *names)
    return ("zeros", *(name for name in names for _ in range(_OFTEN.get(name, 1))), "raw bits", "raw bits")


@cache
def _named(bases: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.sampled_from(bases)


def draw_operands(
    draw: st.DrawFn, entry: Instruction, generators: Iterable[str] | None, allowed: Allowed, tiles: int = 1
) -> Drawn:
    """Draw patterns of A, packed if it is sparse, B and C."""
    base = draw(_named(_bases(entry, generators)))
    seed = draw(seeds())
    a, b, c, indices = _base(entry, base, seed, tiles)
    left_out, (a, b, c) = _windows(draw, entry, a, b, c)
    precision = _precision(draw, entry)
    formats = tuple(entry.format(x) for x in ("a", "b", "c"))
    if precision is not None:
        a, b, c = (_cut(bits, fmt, precision) for bits, fmt in zip((a, b, c), formats, strict=True))
        left_out += f", {precision} fraction bit{'' if precision == 1 else 's'}"
    a, b, c = (
        np.array(allowed.zeroed(bits, fmt)) for bits, fmt in zip((a, b, c), formats, strict=True)
    )  # fmt: skip
    edits = _edit(draw, entry, a, b, c, indices, allowed)
    what = base
    if base != "zeros":
        what = f"{base if base == 'raw bits' else f'generator {base!r}'}, seed {seed}{left_out}"
    origin = f"{entry.mnemonic}: {what}" + (f"; edits: {', '.join(edits)}" if edits else "")
    return Drawn(a, b, c, indices, seed, origin)


def _base(entry: Instruction, base: str, seed: int, tiles: int) -> tuple[Bits, Bits, Bits, NDArray[np.int64] | None]:
    """Return the operands that edits start from."""
    indices = None
    if base not in ("zeros", "raw bits"):
        return all_generators.draw(entry, base, seed, tiles, tiles, tiles)
    if entry.is_sparse:
        indices = all_generators.draw(entry, all_generators.generators_of(entry)[0], seed, tiles, 1, 1).indices
    made = []
    for operand in ("a", "b", "c"):
        fmt, shape = entry.format(operand), (tiles, *entry.matrix_shape(operand))
        if base == "zeros":
            made.append(np.zeros(shape, fmt.storage))
        else:
            words = random_words(f"wmma_emu operands|{seed}|{operand}", int(np.prod(shape))) & np.uint64(fmt.mask)
            made.append(words.astype(fmt.storage).reshape(shape))
    a, b, c = made
    return a, b, c, indices


def _windows(
    draw: st.DrawFn, entry: Instruction, a: Bits, b: Bits, c: Bits
) -> tuple[str, tuple[Bits, Bits, Bits]]:  # fmt: skip
    """Keep some rows, columns and k: usually all of them."""
    rows, columns, terms = window(draw, entry.m), window(draw, entry.n), window(draw, entry.terms)
    keeps_c = draw(one_in(ROUNDS)) > 0
    said = []
    if rows != (0, entry.m):
        a, c = _kept(a, -2, *rows), _kept(c, -2, *rows)
        said.append(_range_text("row", *rows))
    if columns != (0, entry.n):
        b, c = _kept(b, -1, *columns), _kept(c, -1, *columns)
        said.append(_range_text("column", *columns))
    if terms != (0, entry.terms):
        # The positions of a sparse A count packed elements; B keeps the rows that these can refer to.
        a = _kept(a, -1, *terms)
        of_b = terms
        if entry.is_sparse:
            places = granularity_of(entry)
            of_b = (terms[0] // places.kept * places.chunk, -(-terms[1] // places.kept) * places.chunk)
        b = _kept(b, -2, *of_b)
        said.append(_range_text("k", *of_b))
    if not keeps_c:
        c = np.zeros_like(c)
        said.append("no c")
    return "".join(f", {text}" for text in said), (a, b, c)


def _kept(bits: Bits, axis: int, start: int, stop: int) -> Bits:
    """Set everything outside a range to +0."""
    result = np.zeros_like(bits)
    here = (..., slice(start, stop)) if axis == -1 else (..., slice(start, stop), slice(None))
    result[here] = bits[here]
    return result


def _range_text(name: str, start: int, stop: int) -> str:
    if stop - start == 1:
        return f"{name} {start} alone"
    return f"{name}{'' if name == 'k' else 's'} {start} to {stop - 1}" if stop > start else f"no {name}"


def _precision(draw: st.DrawFn, entry: Instruction) -> int | None:
    """Draw the number of fraction bits to keep: usually all."""
    widest = max(entry.format(x).fraction_bits for x in ("a", "b", "c"))
    if not widest:
        return None
    kept = widest
    for _ in range(widest.bit_length()):
        if draw(one_in(ROUNDS)) == 0:
            kept //= 2
    return kept if kept < widest else None


def _cut(bits: Bits, fmt: Format, kept: int) -> Bits:
    """Clear fraction bits, except those of NaN."""
    low = fmt.fraction_bits + fmt.ignored_low_bits - kept
    if low <= 0 or not fmt.is_float:
        return bits
    # Infinities and NaN have all exponent bits set, or all bits.
    top = fmt.storage.type(fmt.infinity if fmt.has_infinity else fmt.mask & ~fmt.sign_mask)
    special = (bits & top == top) & (fmt.nan != "none")
    return np.where(special, bits, bits & fmt.storage.type(fmt.mask & ~((1 << low) - 1)))


def _edit(
    draw: st.DrawFn,
    entry: Instruction,
    a: Bits,
    b: Bits,
    c: Bits,
    indices: NDArray[np.int64] | None,
    allowed: Allowed,
) -> list[str]:
    """Set terms of one dot product in place, and return a description."""
    i, j = draw(integers(0, entry.m - 1)), draw(integers(0, entry.n - 1))
    tile = draw(integers(0, len(a) - 1))
    edits = []
    # With several matrices, as in registers of m8n8k4, the first index is the matrix.
    of = f"{tile}, " if len(a) > 1 else ""
    for position, x, y in draw(_terms(entry, allowed)):
        k = position if indices is None else int(indices[tile, i, position])
        a[tile, i, position], b[tile, k, j] = x, y
        edits += [f"A[{of}{i}, {k}] = {x:#x}", f"B[{of}{k}, {j}] = {y:#x}"]
    if draw(st.booleans()):
        c[tile, i, j] = draw(pattern_strategy(entry.format("c"), allowed))
        edits.append(f"C[{of}{i}, {j}] = {int(c[tile, i, j]):#x}")
    return edits


@cache
def _terms(entry: Instruction, allowed: Allowed) -> st.SearchStrategy[list[tuple[int, int, int]]]:
    """Return the strategy of terms: a position of k, and the patterns of a and b."""
    a, b = (pattern_strategy(entry.format(x), allowed) for x in ("a", "b"))
    return st.lists(st.tuples(integers(0, entry.terms - 1), a, b), max_size=_TERMS, unique_by=lambda term: term[0])

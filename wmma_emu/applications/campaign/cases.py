# SPDX-License-Identifier: MIT
"""One element of D with all of its inputs: the form in which a mismatch is stored and executed separately."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.applications.campaign.registers import Variant, apply_variant, pack_operands, read_scales
from wmma_emu.arithmetic import DotProduct, matmul
from wmma_emu.formats import format_of
from wmma_emu.generators import Operands, Scales
from wmma_emu.instructions import Instruction
from wmma_emu.layouts import granularity_of
from wmma_emu.warp import BoundInstruction

ElementIndex = tuple[int, int, int, int, int]
"""Tile of A, tile of B and C, product of the warp (0, or one of four), row and column of D."""


Execute = Callable[..., NDArray[Any]]
"""A function that executes an instruction on registers: ``BoundInstruction.execute``, or a backend's."""


@dataclass(frozen=True, slots=True)
class Case:
    """One element of D: its row of A, its column of B, its c, and the patterns of D from both sides.

    Row, column and product are its position in its tile; a has all ``terms`` patterns of the row of A, b all ``k``
    patterns of the column of B. For a sparse A, indices are the k of each packed element; ``scale_a`` and ``scale_b``
    are the block scales of the row and of the column, if the instruction has them.
    """

    row: int
    column: int
    product: int
    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int
    indices: tuple[int, ...] | None
    variant: Variant
    theirs: int = 0
    ours: int = 0
    scale_a: tuple[int, ...] = ()
    scale_b: tuple[int, ...] = ()

    @classmethod
    def at(
        cls, ins: BoundInstruction, operands: Operands, index: ElementIndex, variant: Variant,
        scales: Scales | None = None,
    ) -> "Case":  # fmt: skip
        """Extract one element from pools of tiles."""
        i, j, product, row, column = index
        together = ins.instruction.products
        i, j = i * together + product, j * together + product
        a, b, c, indices = operands
        return cls(
            row, column, product, tuple(a[i, row].tolist()), tuple(b[j, :, column].tolist()), int(c[j, row, column]),
            None if indices is None else tuple(indices[i, row].tolist()), variant,
            scale_a=() if scales is None else tuple(scales.a[i, row].tolist()),
            scale_b=() if scales is None else tuple(scales.b[j, :, column].tolist()),
        )  # fmt: skip

    def k_of(self, term: int) -> int:
        """Return the k of a term's element of B."""
        return term if self.indices is None else self.indices[term]

    def dot_operands(self, ins: BoundInstruction) -> tuple[list[int], list[int], int]:
        """Return the operands of the dot product after applying the variant: one a and one b for each term, and c."""
        a, b, c, indices = apply_variant(ins.instruction, _patterns(ins.instruction, [self]), self.variant)
        column = b[0] if indices is None else np.take(b[0], indices[0])
        return a[0].tolist(), column.tolist(), int(c[0])

    def dot_scales(self, ins: BoundInstruction) -> dict[str, Any]:
        """Return the block scales of the row and of the column, as the instruction reads them; empty without scales."""
        scales = read_scales(ins.instruction, _scales(ins.instruction, [self]))
        return {} if scales is None else {"scale_a": scales.a[0].tolist(), "scale_b": scales.b[0].tolist()}

    def with_results(self, theirs: int, ours: int) -> "Case":
        """Return the case with the results of both sides."""
        return replace(self, theirs=theirs, ours=ours)


def _patterns(entry: Instruction, cases: Sequence[Case]) -> Operands:
    """Return patterns of many cases: a (cases, terms), b (cases, k), c (cases,)."""
    a, b, c = (
        np.array([getattr(case, x) for case in cases], entry.format(x).storage) for x in ("a", "b", "c")
    )  # fmt: skip
    indices = np.array([case.indices for case in cases], np.int64) if entry.is_sparse else None
    return Operands(a, b, c, indices)


def _scales(entry: Instruction, cases: Sequence[Case]) -> Scales | None:
    """Return block scales of many cases, (cases, scale_vec), for A and for B."""
    if not entry.is_block_scaled:
        return None
    return Scales(*(np.array([getattr(case, x) for case in cases], np.uint8) for x in ("scale_a", "scale_b")))


def plain_indices(entry: Instruction) -> NDArray[np.int64]:
    """Return the first legal choice of every chunk of a sparse row: (terms,)."""
    places = granularity_of(entry)
    first = next(columns for columns in places.nibbles.values() if list(columns) == sorted(columns))
    return np.array([start + x for start in range(0, entry.k, places.chunk) for x in first], np.int64)


def emulate_cases(ins: BoundInstruction, product: DotProduct, cases: Sequence[Case]) -> list[int]:
    """Compute the element of each case; all have the same variant."""
    a, b, c, indices = apply_variant(ins.instruction, _patterns(ins.instruction, cases), cases[0].variant)
    if indices is not None:
        b = np.take_along_axis(b, indices, axis=1)
    scales = read_scales(ins.instruction, _scales(ins.instruction, cases))
    of_a, of_b = (None, None) if scales is None else (scales.a[:, None, :], scales.b[:, :, None])
    d = matmul(product, a[:, None, :], b[:, :, None], c[:, None, None], threads=1, scale_a=of_a, scale_b=of_b)
    result: list[int] = d[:, 0, 0].tolist()
    return result


def execute_cases(execute: Execute, ins: BoundInstruction, cases: Sequence[Case]) -> list[int]:
    """Execute each case in a separate tile, at its position; all share the position and the variant.

    All other elements are +0, with block scales of one.
    """
    entry, first = ins.instruction, cases[0]
    patterns = _patterns(entry, cases)
    together = entry.products
    count = len(cases) * together
    a = np.zeros((count, *entry.matrix_shape("a")), patterns.a.dtype)
    b = np.zeros((count, entry.k, entry.n), patterns.b.dtype)
    c = np.zeros((count, entry.m, entry.n), patterns.c.dtype)
    own = slice(first.product, None, together)
    a[own, first.row] = patterns.a
    b[own, :, first.column] = patterns.b
    c[own, first.row, first.column] = patterns.c
    indices = None
    if patterns.indices is not None:
        indices = np.tile(plain_indices(entry), (count, entry.m, 1))
        indices[own, first.row] = patterns.indices
    every = np.arange(len(cases))
    packed = pack_operands(ins, Operands(a, b, c, indices), first.variant, _scale_tiles(entry, cases))
    (x, y, z), keywords = packed.some_pairs(every, every)
    d = ins.d.unpack_bits(execute(ins, x, y, z, **keywords))
    d = d.reshape(len(cases), together, entry.m, entry.n)
    result: list[int] = d[:, first.product, first.row, first.column].tolist()
    return result


def one_of_scales(entry: Instruction) -> int:
    """Return the pattern of a block scale of one."""
    fmt = format_of(entry.scale)
    return fmt.bias << fmt.fraction_bits


def _scale_tiles(entry: Instruction, cases: Sequence[Case]) -> Scales | None:
    """Return block scales of a tile for each case: the case's own at its position, and one elsewhere."""
    own, first = _scales(entry, cases), cases[0]
    if own is None:
        return None
    a = np.full((len(cases), entry.m, entry.scale_vec), one_of_scales(entry), np.uint8)
    b = np.full((len(cases), entry.scale_vec, entry.n), one_of_scales(entry), np.uint8)
    a[:, first.row], b[:, :, first.column] = own
    return Scales(a, b)

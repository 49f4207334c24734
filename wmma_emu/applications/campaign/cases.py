# SPDX-License-Identifier: MIT
"""One element of D with everything that it is made of: what a mismatch is, and how it is executed alone."""

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
"""Executes an instruction on registers: ``BoundInstruction.execute``, or that of a backend."""


@dataclass(frozen=True, slots=True)
class Case:
    """One element of D: its row of A, its column of B, its c, and the patterns of D that either side gives.

    Row, column and product say where it stands in its tile; a has all ``terms`` patterns of the row of A, b all ``k``
    of the column of B. Of a sparse A, indices are the k that each packed element stands for; ``scale_a`` and
    ``scale_b`` are the block scales of the row and of the column, where the instruction has them.
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
        """Take one element out of pools of tiles."""
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
        """The k that a term's element of B stands at."""
        return term if self.indices is None else self.indices[term]

    def dot_operands(self, ins: BoundInstruction) -> tuple[list[int], list[int], int]:
        """What is multiplied and added: one a and one b for each term, and c, the variant carried out."""
        a, b, c, indices = apply_variant(ins.instruction, _patterns(ins.instruction, [self]), self.variant)
        column = b[0] if indices is None else np.take(b[0], indices[0])
        return a[0].tolist(), column.tolist(), int(c[0])

    def dot_scales(self, ins: BoundInstruction) -> dict[str, Any]:
        """Block scales of the row and of the column, as the instruction reads them; nothing where it has none."""
        scales = read_scales(ins.instruction, _scales(ins.instruction, [self]))
        return {} if scales is None else {"scale_a": scales.a[0].tolist(), "scale_b": scales.b[0].tolist()}

    def with_results(self, theirs: int, ours: int) -> "Case":
        """Put results in."""
        return replace(self, theirs=theirs, ours=ours)


def _patterns(row: Instruction, cases: Sequence[Case]) -> Operands:
    """Patterns of many cases: a (cases, terms), b (cases, k), c (cases,)."""
    a, b, c = (
        np.array([getattr(case, x) for case in cases], row.format(x).storage) for x in ("a", "b", "c")
    )  # fmt: skip
    indices = np.array([case.indices for case in cases], np.int64) if row.is_sparse else None
    return Operands(a, b, c, indices)


def _scales(row: Instruction, cases: Sequence[Case]) -> Scales | None:
    """Block scales of many cases, (cases, scale_vec) of A and of B."""
    if not row.is_block_scaled:
        return None
    return Scales(*(np.array([getattr(case, x) for case in cases], np.uint8) for x in ("scale_a", "scale_b")))


def plain_indices(row: Instruction) -> NDArray[np.int64]:
    """The first legal choice of every chunk of a sparse row: (terms,)."""
    places = granularity_of(row)
    first = next(columns for columns in places.nibbles.values() if list(columns) == sorted(columns))
    return np.array([start + x for start in range(0, row.k, places.chunk) for x in first], np.int64)


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
    """Execute each case in a tile of its own, at its place; all have place and variant in common.

    All else is +0, with block scales of one.
    """
    row, first = ins.instruction, cases[0]
    patterns = _patterns(row, cases)
    together = row.products
    count = len(cases) * together
    a = np.zeros((count, *row.matrix_shape("a")), patterns.a.dtype)
    b = np.zeros((count, row.k, row.n), patterns.b.dtype)
    c = np.zeros((count, row.m, row.n), patterns.c.dtype)
    own = slice(first.product, None, together)
    a[own, first.row] = patterns.a
    b[own, :, first.column] = patterns.b
    c[own, first.row, first.column] = patterns.c
    indices = None
    if patterns.indices is not None:
        indices = np.tile(plain_indices(row), (count, row.m, 1))
        indices[own, first.row] = patterns.indices
    every = np.arange(len(cases))
    packed = pack_operands(ins, Operands(a, b, c, indices), first.variant, _scale_tiles(row, cases))
    (x, y, z), keywords = packed.some_pairs(every, every)
    d = ins.d.unpack_bits(execute(ins, x, y, z, **keywords))
    d = d.reshape(len(cases), together, row.m, row.n)
    result: list[int] = d[:, first.product, first.row, first.column].tolist()
    return result


def one_of_scales(row: Instruction) -> int:
    """The pattern of a block scale of one."""
    fmt = format_of(row.scale)
    return fmt.bias << fmt.fraction_bits


def _scale_tiles(row: Instruction, cases: Sequence[Case]) -> Scales | None:
    """Block scales of a tile for each case: its own in its place, else one."""
    own, first = _scales(row, cases), cases[0]
    if own is None:
        return None
    a = np.full((len(cases), row.m, row.scale_vec), one_of_scales(row), np.uint8)
    b = np.full((len(cases), row.scale_vec, row.n), one_of_scales(row), np.uint8)
    a[:, first.row], b[:, :, first.column] = own
    return Scales(a, b)

# SPDX-License-Identifier: MIT
"""The operands of a small matrix product in memory, as native code reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.native.code import LONG, address, entry, gathered, load, store
from wmma_emu.arithmetic.native.operands import Number, exponent_of, scale_of, value_of
from wmma_emu.formats import format_of
from wmma_emu.llvm.values import Symbol


@dataclass(frozen=True)
class Tile:
    """The positions in memory of the elements of A, B, C and D.

    Values are float32 (float64 for f64), words of 32 bits for single bits. For aligned sums the exponents of all values
    follow, int32. A is a number of blocks of ``rows`` rows: (blocks, k, rows). B may be in any order: the index of an
    element is the sum of ``columns[j]`` and ``depth[k]``. C and D consist of columns, (number, rows), each the product
    of a block of A, by number in ``blocks``, and a column of B. If A is sparse, a table (blocks, k, rows) has the
    ``depth`` of each of its elements.

    Parameters
    ----------
    product : DotProduct
    rows : int
        The number of rows that are computed at once: 8 or 16.
    blocks, columns, depth : tuple of int
    size_of_b : int
        The number of elements of B in memory.
    """

    product: DotProduct
    rows: int
    blocks: tuple[int, ...]
    columns: tuple[int, ...]
    depth: tuple[int, ...]
    size_of_b: int

    @property
    def is_sparse(self) -> bool:
        """Whether rows of A are multiplied by different rows of B."""
        return len(self.depth) != self.terms

    @cached_property
    def terms(self) -> int:
        """The number of products of a dot product; 32 single bits count as one."""
        return self.product.k // 32 if self.product.a.bits == 1 else self.product.k

    @property
    def has_exponents(self) -> bool:
        """Whether the exponents of values are in memory."""
        return self.product.model.arithmetic == "aligned_sum"

    @property
    def scale_vec(self) -> int:
        """The number of scales of a row of A, and of a column of B; 0 without scales."""
        return self.product.scale_vec

    @property
    def operands(self) -> list[str]:
        """The names of the arguments of the product's function that are operands."""
        return ["a", "b", *["chosen"] * self.is_sparse, *["scale_a", "scale_b"] * bool(self.scale_vec)]

    @property
    def value_dtype(self) -> "np.dtype[np.generic]":
        """The dtype of values of A and B."""
        if self.product.a.bits == 1:
            return np.dtype(np.uint32)
        return np.dtype(np.float64 if self.product.a.name == "f64" else np.float32)

    @property
    def word_dtype(self) -> "np.dtype[np.generic]":
        """The dtype of an element of C and D in memory."""
        return np.dtype(np.uint64 if self.product.d.bits == 64 else np.uint32)

    @property
    def size_of_a(self) -> int:
        """The number of elements of A in memory."""
        return (max(self.blocks) + 1) * self.terms * self.rows

    def bytes_of(self, size: int) -> int:
        """Return the number of bytes of a matrix of ``size`` elements, its exponents included."""
        return size * (self.value_dtype.itemsize + 4 * self.has_exponents)

    def write_scales(self, pattern: Symbol, pointer: ir.Value, block: int) -> None:
        """Convert the scales of a block, of all rows of A or of all columns of B, and store them."""
        scaling = self.product.model.scaling
        number = scale_of(pattern, format_of(self.product.scale or "ue8m0"), only_exponents=scaling == "exponents")
        for i, x in enumerate(number):
            store(x, address(pattern.builder, pointer, (i * self.scale_vec + block) * pattern.size, 4))

    def write(self, pattern: Symbol, operand: str, pointer: ir.Value, index: "int | ir.Value", size: int) -> None:
        """Convert patterns of A or B, and store them from element ``index`` onward."""
        builder = pattern.builder
        if self.product.a.bits == 1:
            store(pattern, address(builder, pointer, index, 4))
            return
        value = value_of(pattern, self.product.a if operand == "a" else self.product.b)
        store(value, address(builder, pointer, index, value.dtype.itemsize))
        if self.has_exponents:
            fmt = self.product.operand_formats[operand == "b"]
            exponents = address(builder, pointer, size, 4)
            store(exponent_of(value, fmt.emin), address(builder, exponents, index, 4))


class Column:
    """The operands of one column of D: a block of A, and a column of B.

    ``name`` is the beginning of the names of functions that are defined for the product.
    """

    def __init__(self, tile: Tile, builder: ir.IRBuilder, operands: Mapping[str, ir.Value], name: str) -> None:
        self.tile, self.builder, self.operands, self.name = tile, builder, operands, name

    @classmethod
    def at(
        cls, tile: Tile, builder: ir.IRBuilder, given: Mapping[str, ir.Value], index: ir.Value, name: str
    ) -> "Column":
        """Return the operands of the column with a number, from the operands of the whole product."""
        size = tile.value_dtype.itemsize
        block = entry(builder, [x * tile.terms * tile.rows for x in tile.blocks], index)
        operands = {"a": address(builder, given["a"], block, size)}
        operands["b"] = address(builder, given["b"], entry(builder, tile.columns, index), size)
        if tile.is_sparse:
            operands["chosen"] = address(builder, given["chosen"], block, 4)
        if tile.scale_vec:
            operands["scale_a"] = given["scale_a"]
            operands["scale_b"] = address(builder, given["scale_b"], index, 4)
        return cls(tile, builder, operands, name)

    def with_pointers(self, builder: ir.IRBuilder, pointers: Sequence[ir.Value]) -> "Column":
        """Return the same operands in another function, which has the pointers as arguments."""
        return Column(self.tile, builder, dict(zip(self.operands, pointers, strict=True)), self.name)

    def scales(self, block: "int | ir.Value") -> Number:
        """Return the product of the scales of A and B of a block, for all rows: significands and exponents."""
        rows, columns = self.tile.rows, len(self.tile.columns)
        vec = self.tile.scale_vec
        numbers = []
        for name, width, count in (("scale_a", rows, rows), ("scale_b", columns, 0)):
            place = block * width if isinstance(block, int) else self.builder.mul(block, ir.Constant(LONG, width))
            exponents = address(self.builder, self.operands[name], vec * width, 4)
            numbers.append(
                [self._read(x, place, y, count) for x, y in ((self.operands[name], np.float32), (exponents, np.int32))]
            )
        (x, p), (y, q) = numbers
        return Number(x * y, p + q)

    def a(self, k: "int | ir.Value") -> Number:
        """Return the elements of A of all rows."""
        place = self._row(k)
        value = self._read(self.operands["a"], place, self.tile.value_dtype, self.tile.rows)
        if not self.tile.has_exponents:
            return Number(value)
        exponents = address(self.builder, self.operands["a"], self.tile.size_of_a, 4)
        return Number(value, self._read(exponents, place, np.int32, self.tile.rows))

    def b(self, k: "int | ir.Value") -> Number:
        """Return the element of B, or, if A is sparse, the element for each row."""
        dtype = self.tile.value_dtype
        if self.tile.is_sparse:
            where = self._read(self.operands["chosen"], self._row(k), np.int32, self.tile.rows)
            found = gathered(self.operands["b"], where, dtype)
            # Computing the exponents is faster than gathering them.
            smallest = self.tile.product.operand_formats[1].emin
            return Number(found, exponent_of(found, smallest) if self.tile.has_exponents else None)
        exponents = address(self.builder, self.operands["b"], self.tile.size_of_b, 4)
        depth = self.tile.depth
        place = depth[k] if isinstance(k, int) else entry(self.builder, depth, k)
        value = self._read(self.operands["b"], place, dtype)
        return Number(value, self._read(exponents, place, np.int32) if self.tile.has_exponents else None)

    def largest(self, number: int) -> Any:
        """Return the largest exponents of the products of a step, with those of their scales."""
        found: list[Any] = []
        size = self.tile.product.scale_block
        for k in self.tile.product.steps[number]:
            exponent = self.a(k).exponent + self.b(k).exponent
            found.append(exponent + self.scales(k // size).exponent if size else exponent)
        while len(found) > 1:
            pairs = [np.maximum(x, y) for x, y in zip(found[::2], found[1::2], strict=False)]
            found = [*pairs, *found[len(found) // 2 * 2 :]]
        return found[0]

    def _row(self, k: "int | ir.Value") -> "int | ir.Value":
        rows = self.tile.rows
        return k * rows if isinstance(k, int) else self.builder.mul(k, ir.Constant(LONG, rows))

    def _read(self, pointer: ir.Value, place: "int | ir.Value", dtype: Any, count: int = 0) -> Symbol:
        size = np.dtype(dtype).itemsize
        return load(self.builder, address(self.builder, pointer, place, size), dtype, count, size * max(count, 1))

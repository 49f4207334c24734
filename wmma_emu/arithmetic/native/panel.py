# SPDX-License-Identifier: MIT
"""Panels of A and B, decoded and packed for the product of large matrices, and the operands of one row of D.

Native code computes 16 neighbouring elements of a row of D at once. A panel consists of blocks of 16 lines (rows of A,
columns of B), and has for each block and each instruction an array (k, 16) of values. For aligned sums, exponents
follow in a second array, in the order of the steps: each word of 32 bits has the exponents of a line for four
products, or for two if the formats have many exponents. Zeros have an exponent below all others, and sums saturate.
If c is added last, the last word is a size, from which it follows whether a dot product loses no bits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.native.code import LONG, POINTER, address, entry, fold, load, loop, store
from wmma_emu.arithmetic.native.operands import NONE, SPECIAL, Number, exponent_of, value_of
from wmma_emu.llvm import ir_types
from wmma_emu.llvm.values import Symbol, constant

LINES = 16
"""The lines of a block."""


@dataclass(frozen=True)
class Panel:
    """The form of the panels of a product."""

    product: DotProduct

    @property
    def rows(self) -> int:
        """The number of rows of D that are computed at once: short steps wait longer for each other."""
        return 2 if len(self.product.steps[0]) >= 16 else 4

    @property
    def value_dtype(self) -> "np.dtype[np.generic]":
        """The dtype of values."""
        return np.dtype(np.float64 if self.product.model.chain_format.name == "f64" else np.float32)

    @cached_property
    def exponent_dtype(self) -> "np.dtype[np.generic]":
        """The dtype of exponents: int8 if sums of two, and zeros below them, fit."""
        low, high, zero = self.limits(np.int8)
        tops = [fmt.emax for fmt in self.product.operand_formats]
        return np.dtype(np.int8 if high < np.iinfo(np.int8).max + zero and zero + max(tops) < low else np.int16)

    def limits(self, dtype: Any) -> tuple[int, int, int]:
        """Return the lowest and the highest exponent of a finite product, and the exponent of zeros."""
        formats = self.product.operand_formats
        return sum(x.emin for x in formats), sum(x.emax for x in formats), np.iinfo(dtype).min // 2

    @cached_property
    def groups(self) -> list[dict[int, list[tuple[int, ...]]]]:
        """The k of each word of exponents, for each step and each block of scales."""
        size = 4 // self.exponent_dtype.itemsize
        found = []
        for ks in self.product.steps:
            blocks: dict[int, list[int]] = {}
            for k in ks:
                blocks.setdefault(k // self.product.scale_block if self.product.scale_block else 0, []).append(k)
            parts = {x: [tuple(y[i : i + size]) for i in range(0, len(y), size)] for x, y in blocks.items()}
            # A word that is not full has its last exponent several times.
            found.append({x: [z + z[-1:] * (size - len(z)) for z in y] for x, y in parts.items()})
        return found

    @cached_property
    def words(self) -> int:
        """The words of exponents of a line in an instruction; 0 if there are none."""
        if self.product.model.arithmetic != "aligned_sum":
            return 0
        return sum(len(words) for step in self.groups for words in step.values()) + self.has_sizes

    @property
    def has_sizes(self) -> bool:
        """Whether ordinary dot products of an instruction may lose no bits before c is added (`PanelRow.size`)."""
        product, model = self.product, self.product.model
        formats = product.a, product.b
        unit = sum(x.emin - x.fraction_bits for x in formats)
        is_wide = model.fraction_bits >= model.output_format.fraction_bits == 23 and product.scale is None
        is_short = 2 * sum(x.fraction_bits for x in formats) < 23 and model.min_exponent - model.fraction_bits <= unit
        return model.c_joins == "last_add" and model.accumulator == "f32" and is_wide and is_short

    def define_packing(self, module: ir.Module, name: str, operand: str) -> None:
        """Add ``void (ptr values, ptr exponents, ptr patterns, i64 count)``: ``count`` times the lines of a block.

        Patterns have the form of the values, in the storage dtype of their format.
        """
        fmt = self.product.a if operand == "a" else self.product.b
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER] * 3 + [LONG]), name)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        values, exponents, patterns, count = function.args
        size, bits = self.value_dtype.itemsize, fmt.storage.itemsize
        terms = self.product.k
        with loop(builder, count) as index:
            first = builder.mul(index, ir.Constant(LONG, terms))
            with loop(builder, terms) as k:
                place = builder.mul(builder.add(first, k), ir.Constant(LONG, LINES))
                pattern = load(builder, address(builder, patterns, place, bits), fmt.storage, LINES)
                value = value_of(pattern.astype(np.uint64 if fmt.bits == 64 else np.uint32), fmt)
                store(value.astype(self.value_dtype), address(builder, values, place, size))
            if self.words:
                here = address(builder, values, first, size * LINES)
                target = address(builder, exponents, index, 4 * LINES * self.words)
                self._pack_exponents(builder, here, target, operand)
        builder.ret_void()

    def _pack_exponents(self, builder: ir.IRBuilder, values: ir.Value, exponents: ir.Value, operand: str) -> None:
        """Write a loop over the words of an instruction."""
        fmt = self.product.operand_formats[operand == "b"]
        words = [ks for step in self.groups for parts in step.values() for ks in parts]
        bits, (*_, zero) = 8 * self.exponent_dtype.itemsize, self.limits(self.exponent_dtype)
        with loop(builder, len(words)) as number:
            word: Any = None
            for slot in range(32 // bits):
                k = entry(builder, [ks[slot] for ks in words], number)
                value = load(builder, address(builder, values, k, 4 * LINES), np.float32, LINES)
                exponent = np.clip(exponent_of(value, fmt.emin), zero, (1 << bits - 1) - 1)
                part = (exponent & np.int32((1 << bits) - 1)) << slot * bits
                word = part if word is None else word | part
            store(word, address(builder, exponents, number, 4 * LINES))
        if self.has_sizes:
            store(self._sizes(builder, values, operand), address(builder, exponents, len(words), 4 * LINES))

    def _sizes(self, builder: ir.IRBuilder, values: ir.Value, operand: str) -> Any:
        """Return the lengths of lines, in units of their lowest bits, or a little more.

        As in `wmma_emu.arithmetic.exact`, subnormals have the size at which the unit aligns them.
        """
        source, fmt = (
            (x, y)[operand == "b"] for x, y in ((self.product.a, self.product.b), self.product.operand_formats)
        )
        zero = constant(builder, 0, np.float32, (LINES,))

        def added(k: ir.Value, total: Any) -> Any:
            value = load(builder, address(builder, values, k, 4 * LINES), np.float32, LINES)
            size: Any = np.where(np.abs(value) < np.float32(2.0**fmt.emin), np.float32(2.0**fmt.emin), value)
            return total + np.where(value == np.float32(0), value, size * size)

        def lower(k: ir.Value, found: Any) -> Any:
            value = load(builder, address(builder, values, k, 4 * LINES), np.float32, LINES)
            exponent = np.maximum((value.view(np.int32) >> 23 & 255) - 127, np.int32(source.emin))
            return np.minimum(found, np.where(value == np.float32(0), np.int32(source.emax), exponent))

        length = np.sqrt(fold(builder, self.product.k, zero, added))
        lowest = fold(builder, self.product.k, (zero.view(np.int32) + source.emax), lower) - source.fraction_bits
        return length * np.float32(1 + 2.0**-16) * (127 - lowest << 23).view(np.float32)


class PanelRow:
    """The operands of 16 elements of a row of D, for one instruction: numbers of A, and vectors of B.

    ``operands`` are pointers to the first value, and to the scales, of the line of A and the block of B;
    ``exponents`` are pointers to the exponents of A and B.
    """

    def __init__(
        self,
        panel: Panel,
        builder: ir.IRBuilder,
        operands: Mapping[str, ir.Value],
        exponents: Sequence[ir.Value],
        name: str,
    ) -> None:
        self.tile, self.builder, self.operands, self.name = panel, builder, operands, name
        self._exponents = exponents

    def with_pointers(self, builder: ir.IRBuilder, pointers: Sequence[ir.Value]) -> "PanelRow":
        """Return the same operands in another function, which has the pointers as arguments."""
        return PanelRow(self.tile, builder, dict(zip(self.operands, pointers, strict=True)), (), self.name)

    def a(self, k: "int | ir.Value") -> Number:
        """Return an element of the row of A."""
        return self._number("a", k, 0)

    def b(self, k: "int | ir.Value") -> Number:
        """Return elements of the columns of B."""
        return self._number("b", k, LINES)

    def _number(self, operand: str, k: "int | ir.Value", count: int) -> Number:
        dtype = self.tile.value_dtype
        value = load(self.builder, self._place(operand, k, dtype.itemsize), dtype, count)
        if self.tile.product.model.arithmetic != "aligned_sum":
            return Number(value)
        return Number(value, exponent_of(value, self.tile.product.operand_formats[operand == "b"].emin))

    def _place(self, operand: str, index: "int | ir.Value", size: int) -> ir.Value:
        return address(self.builder, self.operands[operand], index, size * LINES)

    def scales(self, block: "int | ir.Value") -> Number:
        """Return the products of the scales of A and B of a block: significands and exponents."""
        vec = self.tile.product.scale_vec
        found: list[Any] = []
        for i, dtype in enumerate((np.float32, np.int32)):
            at = vec * i + block if isinstance(block, int) else self.builder.add(block, ir.Constant(LONG, vec * i))
            found += [
                load(self.builder, self._place(f"scale_{x}", at, 4), dtype, y) for x, y in (("a", 0), ("b", LINES))
            ]
        return Number(found[0] * found[1], found[2] + found[3])

    def size(self) -> Any:
        """Return limits of the sums of the products, in units that divide all products."""
        x, y = (
            load(self.builder, address(self.builder, pointer, self.tile.words - 1, 4 * LINES), np.float32, count)
            for pointer, count in zip(self._exponents, (0, LINES), strict=True)
        )
        return x * y

    def largest(self, number: int) -> Any:
        """Return the largest exponents of the products of a step."""
        groups, found = self.tile.groups, []
        first = sum(len(words) for step in groups[:number] for words in step.values())
        for block, words in groups[number].items():
            exponent = self._largest_of_words(range(first, first + len(words)))
            found.append(exponent + self.scales(block).exponent if self.tile.product.scale_block else exponent)
            first += len(words)
        return reduce(np.maximum, found)

    def _largest_of_words(self, words: range) -> Any:
        dtype = self.tile.exponent_dtype
        sums: list[Any] = []
        for word in words:
            x, y = (
                load(self.builder, address(self.builder, pointer, word, 4 * LINES), np.int32, count, 4)
                for pointer, count in zip(self._exponents, (0, LINES), strict=True)
            )
            pair = [z.broadcast_to((LINES,)).view(dtype) for z in (x, y)]
            total = ir_types.call(self.builder, "llvm.sadd.sat", *(z.value for z in pair))
            sums.append(Symbol(self.builder, total, dtype, pair[0].shape))
        largest = reduce(np.maximum, sums)
        bits = 8 * dtype.itemsize
        for shift in (16, 8)[: 4 // dtype.itemsize // 2]:
            largest = np.maximum(largest, (largest.view(np.int32) << shift).view(dtype))
        exponent: Any = largest.view(np.int32) >> 32 - bits
        if bits == 8:
            low, high, _ = self.tile.limits(dtype)
            exponent = np.where(exponent > high, np.int32(SPECIAL), np.where(exponent < low, np.int32(NONE), exponent))
        return exponent

# SPDX-License-Identifier: MIT
"""The native function of the product of panels: D = A B + C for all matrices of a batch, where D overwrites C."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.arithmetic.native.code import LONG, POINTER, address, load, loop, memory_of, store
from wmma_emu.arithmetic.native.operands import value_of
from wmma_emu.arithmetic.native.panel import LINES, Panel, PanelRow
from wmma_emu.arithmetic.native.product import execute, pattern_of
from wmma_emu.llvm.values import Symbol


def define_panel_product(module: ir.Module, panel: Panel, name: str) -> None:
    """Add ``void (ptr c, a, b, exponents of a, of b, scales of a, of b, i64 matrices, parts, blocks, instructions)``.

    C has the shape (matrices, parts, `Panel.rows`, blocks, 16): words with the patterns of c, which become those of d.
    Panels of A have as many blocks of 16 rows as C needs. See `Panel` for the other arrays; others are not used.
    """
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER] * 7 + [LONG] * 4), name)
    for argument in function.args[:7]:
        argument.add_attribute("noalias")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    c, *operands = function.args[:7]
    counts: list[Any] = [Symbol(builder, x, np.int64) for x in function.args[7:]]
    matrices, parts, blocks, instructions = counts
    count, shift = panel.rows, (LINES // panel.rows).bit_length() - 1
    size = LINES * (8 if panel.product.d.bits == 64 else 4)
    sums = [memory_of(builder, LINES * panel.value_dtype.itemsize) for _ in range(count)]
    with loop(builder, matrices.value) as i, loop(builder, blocks.value) as j, loop(builder, parts.value) as k:
        places: list[Any] = [Symbol(builder, x, np.int64) for x in (i, j, k)]
        matrix, block, part = places
        first = matrix * (parts + (1 << shift) - 1 >> shift) + (part >> shift), matrix * blocks + block
        rows = [((matrix * parts + part) * count + row) * blocks + block for row in range(count)]
        words = [address(builder, c, row.value, size) for row in rows]
        for word, own in zip(words, sums, strict=True):
            pattern = load(builder, word, np.uint64 if size > 64 else np.uint32, LINES)
            store(value_of(pattern, panel.product.c).astype(panel.value_dtype), own)
        with loop(builder, instructions.value) as index:
            which = [(x * instructions + Symbol(builder, index, np.int64)).value for x in first]
            lines = [
                _row(panel, operands, which, (part & (1 << shift) - 1) * count + row, name) for row in range(count)
            ]
            values = [load(builder, own, panel.value_dtype, LINES) for own in sums]
            for value, own in zip(execute(lines, values), sums, strict=True):
                store(_as_c(panel, value), own)
        for word, own in zip(words, sums, strict=True):
            store(pattern_of(load(builder, own, panel.value_dtype, LINES), panel.product.d), word)
    builder.ret_void()


def _as_c(panel: Panel, value: Any) -> Any:
    """Return the result of an instruction as the c of the next: chains may compute in another format than D's."""
    product = panel.product
    if product.model.arithmetic == "fma_chain" and product.d.name == "f16":
        return value.astype(np.float16).astype(panel.value_dtype)
    return value


def _row(panel: Panel, operands: Sequence[ir.Value], which: Sequence[ir.Value], line: Any, name: str) -> PanelRow:
    """Return the operands of a row; ``which`` are the numbers of the arrays of A and B, ``line`` the line of A."""
    builder, product = line.builder, panel.product
    size = panel.value_dtype.itemsize
    sizes = (product.k * size, size), (panel.words * 4, 4), (product.scale_vec * 8, 4)
    found = []
    for (whole, each), pointers in zip(sizes, zip(operands[::2], operands[1::2], strict=True), strict=True):
        x, y = (address(builder, p, i, whole * LINES) for p, i in zip(pointers, which, strict=True))
        found.append((address(builder, x, line.value, each), y))
    (a, b), exponents, (scale_a, scale_b) = found
    scales = {"scale_a": scale_a, "scale_b": scale_b} if product.scale_vec else {}
    return PanelRow(panel, builder, {"a": a, "b": b, **scales}, exponents, name)

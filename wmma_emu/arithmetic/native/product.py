# SPDX-License-Identifier: MIT
"""The native function of a product: D = A B + C on a tile in memory, where D overwrites C."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.native.aligned_sums import Row, aligned_sum
from wmma_emu.arithmetic.native.chains import fma_chain, integer_sum, popcount
from wmma_emu.arithmetic.native.code import POINTER, address, load, loop, store
from wmma_emu.arithmetic.native.operands import value_of
from wmma_emu.arithmetic.native.tile import Column, Tile
from wmma_emu.arithmetic.numpy_engine import has
from wmma_emu.formats import Format

_EACH: dict[str, Callable[[Any, Any], Any]] = {"fma_chain": fma_chain, "integer": integer_sum, "popcount": popcount}
"""The functions that compute elements of D from the values of c."""

_MOST_EXACT = 1 << 24
"""The limit of integer sums, which are computed in float32."""


def reason_against(product: DotProduct) -> str | None:
    """Return why a product has no native code; None if it has."""
    model = product.model
    if model.arithmetic == "integer":
        largest = max(abs(product.a.min_integer), product.a.max_integer) * max(
            abs(product.b.min_integer), product.b.max_integer
        )
        return None if largest * product.k < _MOST_EXACT else "sums of integers are not exact in float32"
    if model.arithmetic == "popcount":
        return None
    if model.arithmetic == "fma_chain":
        return None if model.chain_format.name in ("f32", "f64") else f"chains in {model.chain_format} have no code"
    rounding = {"f32": "RZ", "f16": "RNE"}.get(model.accumulator)
    if model.rounding != rounding or not has(product):
        return f"sums that are rounded {model.rounding} to {model.accumulator} with these bits have no native code"
    return None


def define_product(module: ir.Module, tile: Tile, name: str) -> ir.Function:
    """Add a function ``void (ptr c, ptr a, ptr b, ...)`` to a module: all columns of a tile, with `Tile.operands`.

    The names of this function, and of those that it calls, begin with a name that nothing else in the module has.
    """
    pointers = [POINTER] * (1 + len(tile.operands))
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), pointers), f"{name} product")
    function.linkage = "internal"
    for argument in function.args:
        argument.add_attribute("noalias")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    c, *given = function.args
    operands = dict(zip(tile.operands, given, strict=True))
    size = tile.word_dtype.itemsize * tile.rows
    with loop(builder, len(tile.columns)) as index:
        column = Column.at(tile, builder, operands, index, name)
        place = address(builder, c, index, size)
        words = load(builder, place, tile.word_dtype, tile.rows, size)
        product = tile.product
        is_number = product.c.is_float
        given = value_of(words, product.c) if is_number else words
        [result] = execute([column], [given])
        store(pattern_of(result, product.d) if is_number else result, place, size)
    builder.ret_void()
    return function


def execute(rows: Sequence[Row], values: Sequence[Any]) -> list[Any]:
    """Execute an instruction on the values of c of some rows."""
    arithmetic = rows[0].tile.product.model.arithmetic
    if arithmetic == "aligned_sum":
        return aligned_sum(rows, values)
    return [_EACH[arithmetic](row, c) for row, c in zip(rows, values, strict=True)]


def pattern_of(value: Any, fmt: Format) -> Any:
    """Return the words of values, rounded to nearest; NaN becomes canonical, except in f64."""
    if fmt.name == "f64":
        return value.view(np.uint64)
    word = value.view(np.uint32)
    if fmt.name == "f16":
        word = value.astype(np.float16).view(np.uint16).astype(np.uint32)
    return np.where(value != value, np.uint32(fmt.canonical_nan), word)

# SPDX-License-Identifier: MIT
"""Memory, loops and a few intrinsic functions for symbols, which have the other operations of NumPy."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.llvm import ir_types
from wmma_emu.llvm.values import Symbol

LONG = ir.IntType(64)
POINTER = ir.PointerType()


def address(builder: ir.IRBuilder, pointer: ir.Value, index: "int | ir.Value", bytes_each: int = 1) -> ir.Value:
    """Return the address of element ``index`` after a pointer."""
    index = ir.Constant(LONG, index) if isinstance(index, int) else index
    place = builder.gep(pointer, [index], source_etype=ir.ArrayType(ir.IntType(8), bytes_each))
    place.type = POINTER
    return place


def memory_of(builder: ir.IRBuilder, size: int) -> ir.Value:
    """Return a pointer to memory of the function that is written, aligned to 64 bytes."""
    place = builder.alloca(ir.ArrayType(ir.IntType(8), size))
    place.align = 64
    return address(builder, place, 0)


def load(builder: ir.IRBuilder, pointer: ir.Value, dtype: Any, count: int = 0, align: int = 0) -> Symbol:
    """Load a vector, or a scalar if the count is 0, that begins at a pointer."""
    shape = (count,) if count else ()
    size = np.dtype(dtype).itemsize
    value = builder.load(pointer, typ=ir_types.of_shape(dtype, shape), align=align or size)
    return Symbol(builder, value, dtype, shape)


def store(value: Symbol, pointer: ir.Value, align: int = 0) -> None:
    """Store a symbol from a pointer onward."""
    value.builder.store(value.value, pointer, align=align or value.dtype.itemsize)


def gathered(pointer: ir.Value, indices: Symbol, dtype: Any) -> Symbol:
    """Load the elements of 32 or 64 bits with some indices after a pointer."""
    builder, count = indices.builder, indices.size
    place = builder.gep(pointer, [indices.value], source_etype=ir_types.element(dtype))
    place.type = ir.VectorType(POINTER, count)
    whole, every = ir_types.vector(dtype, count), ir.VectorType(ir.IntType(1), count)
    signature = ir.FunctionType(whole, [place.type, every, whole])
    name = (
        f"llvm.masked.gather.v{count}{np.dtype(dtype).kind.replace('u', 'i')}{8 * np.dtype(dtype).itemsize}.v{count}p0"
    )
    gather = ir_types.declared(builder.module, name, signature)
    found = builder.call(gather, [place, ir.Constant(every, [1] * count), ir.Constant(whole, ir.Undefined)])
    return Symbol(builder, found, dtype, (count,))


@contextmanager
def loop(builder: ir.IRBuilder, count: "int | ir.Value") -> Iterator[ir.Value]:
    """Write a loop; the body gets its index, from 0 to a count of at least 1."""
    count = ir.Constant(LONG, count) if isinstance(count, int) else count
    before, body = builder.block, builder.append_basic_block("body")
    builder.branch(body)
    builder.position_at_end(body)
    index = builder.phi(LONG)
    index.add_incoming(ir.Constant(LONG, 0), before)
    yield index
    following = builder.add(index, ir.Constant(LONG, 1))
    index.add_incoming(following, builder.block)
    after = builder.append_basic_block("after")
    builder.cbranch(builder.icmp_unsigned("<", following, count), body, after)
    builder.position_at_end(after)


def fold(builder: ir.IRBuilder, count: int, start: Symbol, step: Callable[[ir.Value, Symbol], Symbol]) -> Symbol:
    """Write a loop that replaces a value by ``step(index, value)``, and return its last value."""
    before = builder.block
    with loop(builder, count) as index:
        phi = builder.phi(start.value.type)
        phi.add_incoming(start.value, before)
        found = step(index, Symbol(builder, phi, start.dtype, start.shape))
        phi.add_incoming(found.value, builder.block)
    return found


def table(module: ir.Module, numbers: Sequence[int]) -> ir.GlobalVariable:
    """Return constant words of a module, a new global for each call."""
    kind = ir.ArrayType(ir.IntType(32), len(numbers))
    found = ir.GlobalVariable(module, kind, module.get_unique_name("numbers"))
    found.linkage, found.global_constant, found.initializer = "internal", True, ir.Constant(kind, list(numbers))
    return found


def entry(builder: ir.IRBuilder, numbers: Sequence[int], index: ir.Value) -> ir.Value:
    """Return an entry of known numbers as 64 bits, computed from the index if they are evenly spaced."""
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 0
    if list(numbers) == [numbers[0] + step * i for i in range(len(numbers))]:
        return builder.add(builder.mul(index, ir.Constant(LONG, step)), ir.Constant(LONG, numbers[0]))
    place = address(builder, table(builder.module, numbers), index, 4)
    return load(builder, place, np.int32).astype(np.int64).value


def any_of(flags: Symbol) -> ir.Value:
    """Return one bit: whether any element of a vector of bools is True."""
    kind = ir.IntType(flags.size)
    return flags.builder.icmp_unsigned("!=", flags.builder.bitcast(flags.value, kind), ir.Constant(kind, 0))


def truncated(x: Symbol) -> Symbol:
    """Round floats toward zero."""
    return Symbol(x.builder, ir_types.call(x.builder, "llvm.trunc", x.value), x.dtype, x.shape)


def to_int32(x: Symbol) -> Symbol:
    """Convert floats to int32, toward zero; results of numbers beyond its range must not be used."""
    kind = ir_types.of_shape(np.int32, x.shape)
    return Symbol(x.builder, x.builder.fptosi(x.value, kind), np.int32, x.shape)


def fused(x: Symbol, y: Symbol, z: Symbol) -> Symbol:
    """Compute x * y + z, rounded once to nearest; x or y may be a scalar."""
    x, y = x.broadcast_to(z.shape), y.broadcast_to(z.shape)
    return Symbol(x.builder, ir_types.call(x.builder, "llvm.fma", x.value, y.value, z.value), x.dtype, x.shape)


_ROUNDINGS = {"RZ": 0, "RNE": 1, "RU": 2, "RD": 3}
"""The numbers of rounding modes in LLVM."""


@contextmanager
def rounding(builder: ir.IRBuilder, mode: str) -> Iterator[None]:
    """Write code in which `fused` rounds in a mode: the processor's mode is changed for it."""
    if mode != "RNE":
        _set_rounding(builder, mode)
    yield
    if mode != "RNE":
        _set_rounding(builder, "RNE")


def _set_rounding(builder: ir.IRBuilder, mode: str) -> None:
    signature = ir.FunctionType(ir.VoidType(), [ir.IntType(32)])
    function = ir_types.declared(builder.module, "llvm.set.rounding", signature)
    builder.call(function, [ir.Constant(ir.IntType(32), _ROUNDINGS[mode])])


def fused_in_mode(x: Symbol, y: Symbol, z: Symbol) -> Symbol:
    """Compute x * y + z, rounded once in the mode of the processor; x or y may be a scalar."""
    x, y = x.broadcast_to(z.shape), y.broadcast_to(z.shape)
    builder, text = x.builder, ir.types.MetaDataType()
    kinds = [x.value.type] * 3 + [text] * 2
    name = f"llvm.experimental.constrained.fma.v{x.size}f{8 * x.dtype.itemsize}"
    function = ir_types.declared(builder.module, name, ir.FunctionType(x.value.type, kinds))
    words = [ir.MetaDataString(builder.module, word) for word in ("round.dynamic", "fpexcept.strict")]
    found = builder.call(function, [x.value, y.value, z.value, *words])
    return Symbol(builder, found, x.dtype, x.shape)


def concatenated(parts: Sequence[Symbol]) -> Symbol:
    """Join vectors of equal lengths, whose number is a power of two."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    x, y = concatenated(parts[:half]), concatenated(parts[half:])
    mask = ir.Constant(ir.VectorType(ir.IntType(32), 2 * x.size), list(range(2 * x.size)))
    return Symbol(x.builder, x.builder.shuffle_vector(x.value, y.value, mask), x.dtype, (2 * x.size,))

# SPDX-License-Identifier: MIT
"""Constant tables in a module, and loads of their elements at an index for each element of a vector."""

from hashlib import sha256
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from wmma_emu.llvm import ir_types


def gather(builder: ir.IRBuilder, table: NDArray[Any], indices: ir.Value) -> ir.Value:
    """Load elements of a table of integers, whose indices, of 64 bits, have to be in its range."""
    one = ir_types.element(table.dtype)
    place = builder.gep(_global(builder.module, table), [indices], source_etype=one)
    if not isinstance(indices.type, ir.VectorType):
        return builder.load(place, typ=one)
    count = indices.type.count
    place.type, whole = ir.VectorType(ir.PointerType(), count), ir.VectorType(one, count)
    every = ir_types.repeated(1, ir.VectorType(ir.IntType(1), count))
    signature = ir.FunctionType(whole, [place.type, every.type, whole])
    load = ir_types.declared(builder.module, f"llvm.masked.gather.v{count}{one}.v{count}p0", signature)
    return builder.call(load, [place, every, ir_types.repeated(0, whole)])


def narrowest(table: NDArray[Any]) -> NDArray[Any]:
    """Return a table of int64 as one of int32, if its numbers permit."""
    narrow = table.astype(np.int32) if table.dtype == np.int64 else table
    return narrow if np.array_equal(narrow, table) else table


def _global(module: ir.Module, values: NDArray[Any]) -> ir.GlobalVariable:
    """Return the constant of a module with the values of an array."""
    name = f"table.{values.dtype}.{sha256(values.tobytes()).hexdigest()[:16]}"
    if name in module.globals:
        return module.globals[name]
    kind = ir.ArrayType(ir_types.element(values.dtype), values.size)
    table = ir.GlobalVariable(module, kind, name)
    table.linkage, table.global_constant = "internal", True
    table.initializer = ir.Constant(kind, [int(x) for x in values.reshape(-1)])
    return table

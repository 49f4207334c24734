# SPDX-License-Identifier: MIT
"""Symbols behave as NumPy arrays: dtypes, shapes and promotion, and code with NumPy's results."""

import ctypes

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from llvmlite import ir

from wmma_emu.llvm import ir_types
from wmma_emu.llvm.compile import load, object_code
from wmma_emu.llvm.values import NotTraceableError, Symbol, symbol_of

COUNT = 8


def run(function, *arrays):
    """Return the result of a function that is traced on symbols, compiled, and run on arrays of eight elements."""
    module, pointer = ir.Module(), ir.PointerType()
    traced = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer] * (len(arrays) + 1)), "traced")
    builder = ir.IRBuilder(traced.append_basic_block())
    sources = [
        Symbol(builder, builder.load(place, typ=ir_types.vector(x.dtype, x.size), align=1), x.dtype)
        for place, x in zip(traced.args[1:], arrays, strict=True)
    ]
    found = function(*sources)
    found = symbol_of(builder, found, found.dtype, found.shape)
    stored = found.astype(np.uint8) if found.dtype == bool else found
    builder.store(stored.value, traced.args[0], align=1)
    builder.ret_void()
    result = np.zeros(found.shape, stored.dtype)
    address = load(object_code(module), ["traced"])["traced"]
    places = [x.ctypes.data for x in (result, *arrays)]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(places))(address)(*places)
    return result.astype(found.dtype)


WORDS = np.array([0, 1, 7, 31, 32, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF], np.uint32)
NUMBERS = np.array([0.0, -0.0, 1.5, -2.75, 1e30, -np.inf, np.inf, np.nan])

FUNCTIONS = {
    "a sum with a Python number": (lambda a: a + 5, WORDS),
    "a sum of two dtypes": (lambda a: a + a.astype(np.int64), WORDS),
    "a product of bools": (lambda a: (a > 3) * 5, WORDS),
    "bools as logic": (lambda a: ~((a > 3) | (a == 0)) ^ (a < 2), WORDS),
    "a shift by each element": (lambda a: np.uint32(3) << a, WORDS),
    "a signed shift by each element": (lambda a: a.view(np.int32) >> a.view(np.int32), WORDS),
    "a choice": (lambda a: np.where(a > 7, a, 0), WORDS),
    "limits": (lambda a: np.clip(a.view(np.int32), -5, 9), WORDS),
    "magnitudes": (lambda a: np.abs(a.view(np.int32)), WORDS),
    "halves": (lambda a: a[..., None].view(np.uint16)[..., 1], WORDS),
    "a sum of parts": (lambda a: a[..., None].view(np.uint8).sum(axis=-1), WORDS),
    "a vector of halves joined": (
        lambda a: (a[..., None].view(np.uint16) + np.uint16(1)).view(np.uint32)[..., 0],
        WORDS,
    ),
    "counted bits": (lambda a: np.bitwise_count(a), WORDS),
    "swapped bytes": (lambda a: a.byteswap(), WORDS),
    "quotients": (lambda a: a // np.where(a == 7, a ^ a, np.uint32(3)), WORDS),
    "a sum in place": (lambda a: np.add(a.astype(np.int64), a, out=a.astype(np.int64)), WORDS),
    "integers to floats": (lambda a: a.astype(np.float32), WORDS),
    "floats": (lambda a: a * a - a, NUMBERS),
    "comparisons of floats": (lambda a: (a != a) | (a < 0), NUMBERS),
    "floats to integers": (lambda a: a.astype(np.int64), NUMBERS),
    "rounded floats": (lambda a: a.astype(np.float32).view(np.uint32) & 0x7FC0_0000, NUMBERS),
    "bits of floats": (lambda a: np.abs(a).view(np.uint64) >> np.uint64(32), NUMBERS),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_traced_function_has_the_result_of_the_function(name):
    function, array = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        expected = function(array.copy())
        given = run(function, array)
    assert (given.dtype, given.shape) == (expected.dtype, expected.shape)
    assert given.tobytes() == expected.tobytes()


def test_a_double_is_rounded_once_to_a_half():
    # Rounded to float32 first, the number would be a tie, which becomes the even 1.
    above = np.full(COUNT, 1 + 2.0**-11 + 2.0**-40)
    assert run(lambda a: a.astype(np.float16), above)[0] == np.float16(1 + 2.0**-10)


def test_a_fused_multiply_add_rounds_once():
    x = np.full(COUNT, 1 + 2.0**-52)
    assert run(lambda a: Symbol.multiply_add(a, a, -(a + 2.0**-52)), x)[0] == 2.0**-104


def test_elements_of_a_table_are_looked_up():
    table = np.array([5, 1 << 40, -7])
    assert run(lambda a: (a & 1).taken_from(table), WORDS)[:3].tolist() == [5, 1 << 40, 1 << 40]


def symbol():
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [ir_types.vector("u4", COUNT)]), "f")
    return Symbol(ir.IRBuilder(function.append_basic_block()), function.args[0], np.uint32)


def test_short_cuts_that_depend_on_data_are_not_taken():
    x = symbol() > 3
    assert x.any() is True
    assert x.all() is False


@pytest.mark.parametrize(
    "function",
    [bool, np.asarray, lambda x: np.arange(4)[x], np.exp, np.sort, lambda x: np.zeros(COUNT, np.uint32).__iadd__(x)],
)
def test_what_has_no_code_is_an_error(function):
    with pytest.raises(NotTraceableError):
        function(symbol())

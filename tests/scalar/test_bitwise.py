# SPDX-License-Identifier: MIT
"""Bit operations: all 256 tables of lop3, bit by bit, and values taken as other types."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.scalar import bitwise
from wmma_emu.scalar.bitwise import lop3, lop3_lut

WORDS = st.integers(0, 2**32 - 1)


def bit_by_bit(a, b, c, table):
    """The definition: bit 4a + 2b + c of the table, for each of 32 bits."""
    return sum((table >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i for i in range(32))


def random_words(count, seed):
    return np.random.default_rng(seed).integers(0, 2**32, (3, count), np.uint32)


@pytest.mark.exhaustive
def test_every_table_gives_every_combination_its_bit():
    for table in range(256):
        assert lop3(0xF0, 0xCC, 0xAA, table) & 0xFF == table
        a, b, c = random_words(4, table)
        expected = [bit_by_bit(int(x), int(y), int(z), table) for x, y, z in zip(a, b, c, strict=True)]
        assert lop3(a, b, c, table).tolist() == expected
        assert lop3(a.view(np.int32), b.view(np.int32), c.view(np.int32), table).view(np.uint32).tolist() == expected
        assert [lop3(int(x), int(y), int(z), table) for x, y, z in zip(a, b, c, strict=True)] == expected


@pytest.mark.exhaustive
def test_the_table_of_every_expression_is_found_again():
    for table in range(256):
        assert lop3_lut(lambda a, b, c, table=table: lop3(a, b, c, table)) == table


@pytest.mark.property
@given(WORDS, WORDS, WORDS, st.integers(0, 255))
def test_integers_give_what_the_definition_says(a, b, c, table):
    assert lop3(a, b, c, table) == bit_by_bit(a, b, c, table)


@pytest.mark.parametrize("expression, table", [
    (lambda a, b, c: (a & b) | c, 0xEA),
    (lambda a, b, c: a & b & c, 0x80),
    (lambda a, b, c: a | b | c, 0xFE),
    (lambda a, b, c: a & b & ~c, 0x40),
    (lambda a, b, c: (a & b | c) ^ a, 0x1A),
    (lambda a, b, c: a ^ b ^ c, 0x96),
    (lambda a, b, c: (a & b) | (a & c) | (b & c), 0xE8),
    (lambda a, b, c: (a & b) | (~a & c), 0xCA),
    (lambda a, b, c: 0, 0x00),
    (lambda a, b, c: -1, 0xFF),
    (lambda a, b, c: ~a, 0x0F),
    (lambda a, b, c: c, 0xAA),
    (lambda a, b, c: a & b if True else c, 0xC0),
])  # fmt: skip
def test_expressions_have_the_tables_that_the_ptx_manual_and_arithmetic_give(expression, table):
    assert lop3_lut(expression) == table
    a, b, c = random_words(50, table)
    np.testing.assert_array_equal(
        lop3(a, b, c, table), np.broadcast_to(np.int64(expression(*map(np.int64, (a, b, c)))) & 0xFFFFFFFF, 50)
    )


@pytest.mark.parametrize("expression", [
    lambda a, b, c: a + b,
    lambda a, b, c: a - b,
    lambda a, b, c: a * b & c,
    lambda a, b, c: a << 1,
    lambda a, b, c: a | b >> 1,
    lambda a, b, c: a and b or c,
    lambda a, b, c: a or b,
    lambda a, b, c: not a,
    lambda a, b, c: a == b,
    lambda a, b, c: a > b,
    lambda a, b, c: b if a else c,
    lambda a, b, c: a if a > b else b,
    lambda a, b, c: max(a, b, c),
    lambda a, b, c: min(a, c),
    lambda a, b, c: a & 0xFF,
    lambda a, b, c: a | 0x100,
    lambda a, b, c: 1,
    lambda a, b, c: a.bit_count(),
    lambda a, b, c: a % 16 | b,
])  # fmt: skip
def test_what_looks_at_more_than_single_bits_has_no_table(expression):
    with pytest.raises(UnsupportedInstructionError, match="no function of single bits"):
        lop3_lut(expression)


@pytest.mark.parametrize("expression", [
    lambda a, b: a & b,
    lambda a, b, c: a / b,
    lambda a, b, c: a & 0.5,
    lambda a, b, c: None,
    lambda a, b, c: "x",
    lambda a, b, c: 1 // 0,
])  # fmt: skip
def test_what_cannot_be_computed_of_three_integers_is_refused(expression):
    with pytest.raises(UnsupportedInstructionError, match="could not be computed of three integers"):
        lop3_lut(expression)


@pytest.mark.parametrize("expression", ["(a & b) | c", 0xEA, None])
def test_a_table_is_made_of_a_function(expression):
    with pytest.raises(UnsupportedInstructionError, match="the expression is a function of three integers"):
        lop3_lut(expression)


def test_arrays_broadcast_and_integers_join_them():
    a, b = np.arange(6, dtype=np.uint32).reshape(2, 3), np.arange(3, dtype=np.uint32)
    np.testing.assert_array_equal(lop3(a, b, 0xFF00, 0xEA), (a & b) | np.uint32(0xFF00))
    assert lop3(np.int32(-1), np.int32(5), -8, 0x80) == np.int32(0) and lop3(-1, 5, -8, 0x80) == 0
    assert lop3(np.arange(3, dtype=np.int32), -1, -1, 0x80).tolist() == [0, 1, 2]


def test_integers_count_as_32_bits_and_the_result_is_not_negative():
    assert lop3(-1, 0, 0, 0xF0) == 0xFFFF_FFFF


def test_operands_are_left_as_they_are():
    a, b, c = random_words(8, 1)
    before = a.copy(), b.copy(), c.copy()
    lop3(a, b, c, 0x1A)
    for x, y in zip((a, b, c), before, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("table", [-1, 256, 1.0, "0xEA", None, True])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(UnsupportedInstructionError, match="immLut is an integer from 0 to 255"):
        lop3(1, 2, 3, table)


U32 = np.zeros(4, np.uint32)


@pytest.mark.parametrize("operands", [
    (U32, U32, U32.view(np.int32)), (U32.astype(np.int64), U32, U32), (U32.astype(np.float32), U32, U32),
    (U32, U32, 2**32), (U32, U32, 1.0), (1, 2, "3"), (1, -(2**31) - 1, 3), (U32, U32[:3], U32), (True, 1, 1),
    ([1], 1, 1), (U32, None, U32),
])  # fmt: skip
def test_what_are_no_words_of_one_dtype_is_refused(operands):
    with pytest.raises(FragmentMismatchError, match="lop3"):
        lop3(*operands, 0xEA)


VIEWS = [
    ("float_as_uint", np.float32, np.uint32), ("uint_as_float", np.uint32, np.float32),
    ("float_as_int", np.float32, np.int32), ("int_as_float", np.int32, np.float32),
    ("double_as_longlong", np.float64, np.int64), ("longlong_as_double", np.int64, np.float64),
]  # fmt: skip


@pytest.mark.parametrize("name, source, target", VIEWS)
def test_bits_are_taken_as_another_type_without_conversion(name, source, target):
    size = np.dtype(source).itemsize
    values = np.random.default_rng(size).integers(0, 256, 1000 * size, np.uint8).view(source).reshape(10, 100)
    got = getattr(bitwise, name)(values)
    assert (got.dtype, got.shape) == (np.dtype(target), values.shape)
    assert got.tobytes() == values.tobytes()
    assert getattr(bitwise, name)(values[::2, 1::3]).tobytes() == values[::2, 1::3].tobytes()
    one = getattr(bitwise, name)(values[0, 0])
    assert isinstance(one, target) and one.tobytes() == values[0, 0].tobytes()


@pytest.mark.parametrize("name, source, target", VIEWS)
def test_what_has_another_type_is_refused(name, source, target):
    for wrong in (np.zeros(3, target), np.zeros(3, np.float16), np.dtype(source).newbyteorder().type(0).newbyteorder()
                  if hasattr(np.generic, "newbyteorder") else np.zeros(1, np.dtype(source).newbyteorder()), 1.0, 1,
                  None, [1.0]):  # fmt: skip
        with pytest.raises(FragmentMismatchError, match=f"{name} takes {np.dtype(source).name} of NumPy"):
            getattr(bitwise, name)(wrong)


def test_signalling_nan_survives_there_and_back():
    bits = np.array([0x7F800001, 0xFF800001, 0x7FC00000], np.uint32)
    np.testing.assert_array_equal(bitwise.float_as_uint(bitwise.uint_as_float(bits)), bits)

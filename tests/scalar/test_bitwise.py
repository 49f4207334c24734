# SPDX-License-Identifier: MIT
"""lop3 for all 256 tables, tables of expressions, and values reinterpreted as other types."""

import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.kernels import Lanes
from wmma_emu.scalar import bitwise
from wmma_emu.scalar.bitwise import lop3, lop3_lut

TABLES = range(256)
WORDS = [0, 1, 0xFFFFFFFF, 0x80000000, 0xF0F0F00F, 0xCCCCCC33, 0xAAAAAA55, 0x12345678, 0xDEADBEEF, 0x7FFFFFFF]


def bit_by_bit(a, b, c, table):
    """Look up each of the 32 bits in the table."""
    return sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32))


def triples(count, seed=20261125):
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2**32, (count, 3), np.uint64).astype(np.uint32)
    words[: len(WORDS), 0], words[: len(WORDS), 1], words[: len(WORDS), 2] = WORDS, WORDS[3:] + WORDS[:3], WORDS[::-1]
    return words.T.copy()


@pytest.mark.exhaustive
def test_every_table_gives_the_bits_of_its_entries_on_integers_and_arrays():
    a, b, c = triples(16)
    columns = list(zip(a.tolist(), b.tolist(), c.tolist(), strict=True))
    for table in TABLES:
        expected = [bit_by_bit(*words, table) for words in columns]
        on_integers = [lop3(*words, table) for words in columns]
        assert on_integers == expected and all(type(x) is int for x in on_integers)
        result = lop3(a, b, c, table)
        assert result.dtype == np.uint32 and result.tolist() == expected
        signed = lop3(a.view(np.int32), b.view(np.int32), c.view(np.int32), np.uint8(table))
        assert signed.dtype == np.int32 and signed.view(np.uint32).tolist() == expected


@pytest.mark.exhaustive
def test_one_byte_contains_all_eight_combinations_of_bits():
    assert [lop3(0xF0, 0xCC, 0xAA, table) & 0xFF for table in TABLES] == list(TABLES)


def test_arrays_scalars_and_integers_broadcast():
    a, b, c = triples(12)
    for table in (0x00, 0xFF, 0xE8, 0x96, 0xEA, 0x1B):
        result = lop3(a[:, np.newaxis], b[np.newaxis, :], -2, table)
        assert result.shape == (12, 12) and result.dtype == np.uint32
        assert result.tolist() == [[bit_by_bit(x, y, 0xFFFFFFFE, table) for y in b.tolist()] for x in a.tolist()]
        assert int(lop3(np.uint32(a[3]), 7, c[3], table)) == bit_by_bit(int(a[3]), 7, int(c[3]), table)
        assert lop3(a[:0], b[0], 1, table).shape == (0,)
        assert lop3(a[::2], b[1::2], c[:6], table).tolist() == [
            bit_by_bit(*words, table) for words in zip(a[::2].tolist(), b[1::2].tolist(), c[:6].tolist(), strict=True)
        ]


def test_results_have_one_word_per_lane_and_operands_are_unchanged():
    a, b, c = (Lanes(x) for x in triples(32))
    before = [x.tobytes() for x in (a, b, c)]
    assert type(lop3(a, b, c, 0x96)) is Lanes
    assert [x.tobytes() for x in (a, b, c)] == before


def sum_of_products(table):
    """Return an expression for a table, with only & | ~."""

    def expression(a, b, c):
        result = 0
        for entry in range(8):
            if table >> entry & 1:
                result = result | (a if entry & 4 else ~a) & (b if entry & 2 else ~b) & (c if entry & 1 else ~c)
        return result

    return expression


@pytest.mark.exhaustive
def test_the_table_of_every_boolean_function_is_found():
    assert [lop3_lut(sum_of_products(table)) for table in TABLES] == list(TABLES)


@pytest.mark.parametrize(
    ("expression", "table"),
    [
        (lambda a, b, c: (a & b) | c, 0xEA),
        (lambda a, b, c: (a & b) | (~a & c), 0xCA),
        (lambda a, b, c: (a & b) | (b & c) | (a & c), 0xE8),
        (lambda a, b, c: a ^ b ^ c, 0x96),
        (lambda a, b, c: ~(a | b | c), 0x01),
        (lambda a, b, c: 0, 0x00),
        (lambda a, b, c: -1, 0xFF),
        (lambda a, b, c: np.bitwise_and(a, ~c), 0x50),
    ],
)
def test_the_tables_of_known_expressions(expression, table):
    assert lop3_lut(expression) == table


NOT_BITWISE = {
    "sum": lambda a, b, c: a + b,
    "difference": lambda a, b, c: a - b,
    "negation": lambda a, b, c: -a,
    "product": lambda a, b, c: a * b,
    "left shift": lambda a, b, c: a << 1,
    "right shift": lambda a, b, c: (a >> 1) ^ c,
    "shift by 8": lambda a, b, c: a >> 8,
    "and of words": lambda a, b, c: a and b,
    "or of words": lambda a, b, c: a or b,
    "not of a word": lambda a, b, c: not a,
    "choice": lambda a, b, c: b if a else c,
    "comparison": lambda a, b, c: a if a > b else c,
    "equality": lambda a, b, c: a == b,
    "maximum": lambda a, b, c: max(a, b),
    "constant mask": lambda a, b, c: a & 0xFF,
    "constant": lambda a, b, c: 0xEA,
    "one": lambda a, b, c: 1,
    "exclusive or with one": lambda a, b, c: a ^ 1,
}


@pytest.mark.parametrize("name", NOT_BITWISE)
def test_an_expression_that_is_not_a_function_of_single_bits_has_no_table(name):
    with pytest.raises(UnsupportedInstructionError) as caught:
        lop3_lut(NOT_BITWISE[name])
    assert str(caught.value) == (
        "the expression is not a function of single bits, so it has no table; use only & | ^ ~"
    )


@pytest.mark.parametrize(
    "expression", [lambda a, b: a, lambda a, b, c: a / 1, lambda a, b, c: "a", lambda a, b, c: None, lambda *x: 1 // 0]
)
def test_an_expression_that_fails_or_does_not_return_an_integer_is_reported(expression):
    with pytest.raises(UnsupportedInstructionError, match="the expression could not be evaluated for three integers: "):
        lop3_lut(expression)


@pytest.mark.parametrize("wrong", [0xEA, None, "a & b"], ids=repr)
def test_an_expression_is_callable(wrong):
    with pytest.raises(
        UnsupportedInstructionError, match="the expression is a function of three integers, as in lambda"
    ):
        lop3_lut(wrong)


@pytest.mark.parametrize("table", [-1, 256, 1.0, "EA", None, True, np.arange(2)], ids=repr)
def test_a_table_has_eight_bits(table):
    with pytest.raises(UnsupportedInstructionError, match="immLut is an integer from 0 to 255, not "):
        lop3(1, 2, 3, table)


@pytest.mark.parametrize("word", [2**32, -(2**31) - 1, 1.0, "1", None, True, [1]], ids=repr)
def test_an_integer_has_32_bits(word):
    with pytest.raises(FragmentMismatchError, match="b of lop3 is a word of 32 bits, an integer or an array, not "):
        lop3(1, word, 3, 0xEA)


U32 = np.arange(4, dtype=np.uint32)


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (U32, U32.view(np.int32), "not a uint32, b int32; reinterpret the bits with .view(numpy.uint32)"),
        (U32, U32.view(np.float32), "not a uint32, b float32; reinterpret the bits with .view(numpy.uint32)"),
        (U32, U32.astype(np.int64), "not a uint32, b int64; convert with .astype(numpy.uint32)"),
        (U32 > 1, U32 > 2, "not a bool, b bool; convert with .astype(numpy.uint32)"),
        (np.int64(1), 2, "not a int64; convert with .astype(numpy.uint32)"),
    ],
)
def test_words_have_one_dtype_of_32_bits(a, b, text):
    with pytest.raises(FragmentMismatchError) as caught:
        lop3(a, b, 1, 0xEA)
    assert str(caught.value) == f"lop3 takes words of one dtype, uint32 or int32, {text}"


def test_shapes_that_do_not_broadcast_are_rejected():
    with pytest.raises(FragmentMismatchError, match=r"do not broadcast: a \(4,\), b \(3,\)"):
        lop3(U32, U32[:3], 0, 0xEA)


REINTERPRETATIONS = {
    "float_as_uint": (np.float32, np.uint32),
    "uint_as_float": (np.uint32, np.float32),
    "float_as_int": (np.float32, np.int32),
    "int_as_float": (np.int32, np.float32),
    "double_as_longlong": (np.float64, np.int64),
    "longlong_as_double": (np.int64, np.float64),
}


@pytest.mark.parametrize("name", REINTERPRETATIONS)
def test_a_value_reinterpreted_as_another_type_keeps_its_bits(name):
    source, target = REINTERPRETATIONS[name]
    function, size = getattr(bitwise, name), np.dtype(source).itemsize
    codes = np.random.default_rng(20261126).integers(0, 256, (4, 50, size), np.uint8)
    codes[0, :, -2:] = 0xFF  # NaN with payloads, or negative numbers
    values = codes.view(source)[..., 0]
    for x in (values, values[::2], values[:, ::3], values.T, values[:0], Lanes(values[0, :32])):
        result = function(x)
        assert (result.dtype, result.shape, type(result)) == (np.dtype(target), x.shape, type(x))
        assert result.tobytes() == x.tobytes()
    scalar = function(values[0, 0])
    assert type(scalar) is target and scalar.tobytes() == values[0, 0].tobytes()


@pytest.mark.parametrize("wrong", [1, 1.0, None, [1.0], np.float16(1), np.arange(3, dtype=np.int16)], ids=repr)
@pytest.mark.parametrize("name", REINTERPRETATIONS)
def test_values_of_another_type_are_rejected(name, wrong):
    source = np.dtype(REINTERPRETATIONS[name][0]).name
    with pytest.raises(
        FragmentMismatchError, match=rf"^{name} takes NumPy {source} values, such as numpy.{source}\(...\), not"
    ):
        getattr(bitwise, name)(wrong)

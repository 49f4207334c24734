# SPDX-License-Identifier: MIT
import math
import struct

import pytest

from wmma_emu.errors import PtxSyntaxError
from wmma_emu.ptx.syntax.parser import parse
from wmma_emu.ptx.syntax.tree import Literal

HEAD = ".version 8.0\n.target sm_80\n.entry k() {\n"


def literal(text):
    """Return the kind and value of the last operand of an instruction."""
    operand = parse(f"{HEAD}mov.b64 %r1, {text}; }}").functions[0].body[0].operands[-1]
    assert isinstance(operand, Literal)
    return operand.kind, operand.value


def f64(value):
    return "f64", int(struct.unpack("<Q", struct.pack("<d", value))[0])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("7", 7),
        ("017", 15),
        ("0x1f", 31),
        ("0X1FU", 31),
        ("0b101", 5),
        ("0B11U", 3),
        ("10U", 10),
        ("00", 0),
        ("18446744073709551615", 2**64 - 1),
        ("0xFFFFFFFFFFFFFFFF", 2**64 - 1),
        ("-1", -1),
        ("- 1", -1),
        ("+5", 5),
        ("--5", 5),
        ("-0x10", -16),
        ("-9223372036854775807", 1 - 2**63),
        ("0x" + "0" * 900 + "1", 1),
    ],
)
def test_integers_are_read_in_every_base(text, value):
    assert literal(text) == ("int", value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1.5", 1.5), (".5", 0.5), ("1.", 1.0), ("1e5", 1e5), ("1.5e-3", 1.5e-3), ("2.E+1", 20.0), ("-1.5", -1.5),
     ("-0.0", -0.0), ("1e999", math.inf), ("4.9e-324", 4.9e-324), ("-.5e1", -5.0)],
)  # fmt: skip
def test_decimal_floating_point_numbers_are_the_bits_of_a_double(text, value):
    assert literal(text) == f64(value)


def test_hexadecimal_floating_point_numbers_are_their_bits():
    assert literal("0f3F800000") == ("f32", 0x3F800000)
    assert literal("0Fffc00001") == ("f32", 0xFFC00001)
    assert literal("0d3FF0000000000000") == ("f64", 0x3FF0 << 48)
    assert literal("0DFFFFFFFFFFFFFFFF") == ("f64", 2**64 - 1)


# The values were read from the machine code that ptxas 13.0 generates.
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3+4*2", 11),
        ("(3+4)*2", 14),
        ("5 % 3", 2),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("7&3|8^1", 11),
        ("5 > 3 ? -1 : 2", -1),
        ("2<3<4", 1),
        ("1<<70", 64),
        ("-1>>1", -1),
        ("-1U>>1", 2**63 - 1),
        ("(.u64)-1>>1", 2**63 - 1),
        ("0xffffffffffffffff>>1", 2**63 - 1),
        ("~0 >> 60", 15),
        ("-8&~1>>1", 0x7FFFFFFFFFFFFFF8),
        ("!5", 0),
        ("!0", 1),
        ("1 ? 2 : 0 ? 3 : 4", 2),
        ("0 ? 2 : 0 ? 3 : 4", 4),
        ("9223372036854775808/3", 0x2AAAAAAAAAAAAAAA),
        ("-9223372036854775808 > 0", 1),
        ("1.5 > 1.0", 1),
        ("WARP_SZ+1", 33),
        ("1 && 0 || 2", 1),
        ("3 != 3", 0),
        ("3 >= 3", 1),
        ("(.s64)0xffffffffffffffff", -1),
        ("9223372036854775807 + 1", -(2**63)),
    ],
)
def test_constant_expressions_have_the_value_that_ptxas_computes(text, value):
    found = literal(text)
    assert found[0] == "int"
    assert found[1] % 2**64 == value % 2**64


def test_expressions_of_doubles_are_ieee():
    assert literal("0.1+0.2") == f64(0.1 + 0.2)
    assert literal("1.0/3.0*2.0-1e9") == f64(1.0 / 3.0 * 2.0 - 1e9)
    assert literal("-1.0/0.0") == f64(-math.inf)
    assert literal("1 ? 1.5 : 2.5") == f64(1.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("18446744073709551616", "does not fit 64 bits"),
        ("9" * 2000, "more than 1000 characters"),
        ("09", "is not a number"),
        ("0x", "is not a number"),
        ("5u", "is not a number"),
        ("0f3F8", "is not a number"),
        ("1/0", "divides by zero"),
        ("5 % (3-3)", "divides by zero"),
        ("-0f3F800000", "write the resulting value"),
        ("0f3F800000+0f3F800000", "write the resulting value"),
        ("~1.5", "write the resulting value"),
        ("1.5 & 2.5", "& cannot be applied to f64 and f64 in a constant expression"),
        ("1 + 1.5", "+ cannot be applied to s64 and f64 in a constant expression"),
        ("1.5 ? 1 : 2", "the condition of ?: takes integers"),
        ("(1", "expected ')'"),
        ("1 ? 2", "expected ':'"),
        ("1 +", "expected a number"),
        ("1 + %r2", "expected a number, not a name"),
        ("(" * 100 + "1" + ")" * 100, "nested"),
        ("-" * 2000 + "1", "nested"),
        ("(.u64)" * 2000 + "1", "nested"),
        ("1?" * 2000, "nested"),
        ("5%3", "expected ',' or ';'"),
    ],
)
def test_an_invalid_number_is_refused_with_a_reason(text, message):
    with pytest.raises(PtxSyntaxError) as error:
        literal(text)
    assert message in str(error.value)
    assert error.value.line == 4

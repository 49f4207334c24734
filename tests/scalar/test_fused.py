# SPDX-License-Identifier: MIT
"""Fused multiply-adds, sums and products: exact, rounded once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats.second_path import MODES, ROWS, RULES, round_fraction, special, value
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats import format_of
from wmma_emu.scalar import add, double, fma, mul, reference

ARITHMETIC = ["f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2"]


def exact_fma(a, b, c, name, mode="RNE", out=None, rule="ieee"):
    """Compute independently, with fractions and the rules of IEEE 754 for zeros, infinities and NaN."""
    row, target = ROWS[name], ROWS[out or name]
    (sa, x), (sb, y), (sc, z) = (value(bits, row) for bits in (a, b, c))
    sp = sa ^ sb
    if "nan" in (x, y, z) or {x, y} == {"inf", 0}:
        return special("nan", 0, target)
    if "inf" in (x, y):
        return special("nan", 0, target) if z == "inf" and sc != sp else special("inf", sp, target, rule)
    if z == "inf":
        return special("inf", sc, target, rule)
    total = (-1) ** sp * x * y + (-1) ** sc * z
    sign = int(total < 0)
    if total == 0:
        sign = sp if sp == sc else int(mode == "RD")
    return round_fraction(sign, abs(total), target, mode, rule)


def check(columns, name, mode, **rest):
    """Compare array and reference with the independent result."""
    fmt = format_of(name)
    a, b, c = (np.array(column, fmt.storage) for column in columns)
    out = format_of(rest["out"]) if "out" in rest else None
    got = fma(a, b, c, fmt, mode, out=out, overflow=rest.get("rule", "ieee")).tolist()
    for x, y, z, bits in zip(*columns, got, strict=True):
        want = exact_fma(x, y, z, name, mode, **rest)
        assert hex(bits) == hex(want), [hex(v) for v in (x, y, z)]
        one = reference.fma(x, y, z, fmt, mode, out=out, overflow=rest.get("rule", "ieee"))
        assert hex(one) == hex(want), [hex(v) for v in (x, y, z)]


@st.composite
def triples(draw, name):
    """Draw patterns of every kind; half of the time c nearly cancels the product, or is half a step away from it."""
    fmt = format_of(name)
    low, hidden = fmt.ignored_low_bits, 1 << (fmt.fraction_bits + fmt.ignored_low_bits)
    edges = [0, 1 << low, fmt.max_finite, hidden, hidden - (1 << low), fmt.bias * hidden]
    edges += [fmt.infinity, fmt.canonical_nan]
    pattern = st.integers(0, fmt.mask) | st.sampled_from([e for e in edges if e >= 0]).flatmap(
        lambda e: st.sampled_from([e, e | fmt.sign_mask])
    )
    sparse = st.builds(
        lambda sign, exponent, bit: sign | (exponent * hidden + bit) & (fmt.sign_mask - 1),
        st.sampled_from([0, fmt.sign_mask]),
        st.integers(0, (1 << fmt.exponent_bits) - 1),
        st.sampled_from([0] + [1 << (low + i) for i in range(fmt.fraction_bits)]),
    )
    number = pattern | sparse
    a, b, c = draw(number), draw(number), draw(number)
    if draw(st.booleans()):
        product = reference.mul(a, b, fmt, "RZ")
        nearby = (product & ~fmt.sign_mask) + draw(st.integers(-2, 2)) * (1 << low)
        halfway = draw(st.sampled_from([0, 0, fmt.fraction_bits + 1, 2 * fmt.fraction_bits, -fmt.fraction_bits - 2]))
        nearby -= halfway * hidden
        c = max(0, min(nearby, fmt.max_finite)) | draw(st.sampled_from([0, fmt.sign_mask]))
    return a, b, c


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.property
@pytest.mark.parametrize("name", ARITHMETIC)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_fma_is_the_exact_value_rounded_once(name, data):
    rows = data.draw(st.lists(triples(name), min_size=1, max_size=12))
    mode = data.draw(st.sampled_from(MODES))
    check(tuple(zip(*rows, strict=True)), name, mode, rule=data.draw(st.sampled_from(RULES)))


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.property
@pytest.mark.parametrize(
    ("name", "out"), [("f16", "f32"), ("f32", "f16"), ("e4m3", "f16"), ("f64", "f32"), ("bf16", "e5m2"), ("f32", "f64")]
)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_the_result_may_have_another_format(name, out, data):
    rows = data.draw(st.lists(triples(name), min_size=1, max_size=12))
    check(tuple(zip(*rows, strict=True)), name, data.draw(st.sampled_from(MODES)), out=out)


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["e2m1", "e2m3", "e3m2"])
@pytest.mark.parametrize("mode", ["RNE", "RD", "odd"])
def test_all_sums_and_products_of_the_smallest_formats(name, mode):
    fmt = format_of(name)
    codes = np.arange(1 << fmt.bits, dtype=np.uint8)
    one, zero = ROWS[name].bias << ROWS[name].m, ROWS[name].sign_bit if mode != "RD" else 0
    sums, products = add(codes[:, None], codes, fmt, mode), mul(codes[:, None], codes, fmt, mode)
    for x in codes.tolist():
        for y in codes.tolist():
            assert sums[x, y] == exact_fma(one, x, y, name, mode)
            assert products[x, y] == exact_fma(x, y, zero, name, mode)


@pytest.mark.parametrize("name", [*ROWS])
@pytest.mark.parametrize("nan", ["canonical", "propagate"])
def test_arrays_agree_with_the_reference_on_random_patterns(name, nan):
    fmt = format_of(name)
    rng = np.random.default_rng(11)
    for mode in MODES:
        a, b, c = rng.integers(0, fmt.mask, (3, 200), np.uint64, endpoint=True).astype(fmt.storage)
        c[:20] = rng.choice(np.array([fmt.canonical_nan & fmt.mask, fmt.max_finite], fmt.storage), 20)
        for function, one, operands in ((fma, reference.fma, (a, b, c)), (add, reference.add, (a, c)),
                                        (mul, reference.mul, (a, b))):  # fmt: skip
            got = function(*operands, fmt, mode, nan).tolist()
            want = [one(*numbers, fmt, mode, nan) for numbers in zip(*(o.tolist() for o in operands), strict=True)]
            assert got == want, (mode, function.__name__)


@pytest.mark.parametrize(
    ("name", "a", "b", "c", "mode", "bits"),
    [
        # float64 and one cast rounds these twice: the exact sums are just off a tie of f32
        ("f32", 0x3F800001, 0x3F800001, 0x33800000, "RNE", 0x3F800003),
        ("f32", 0x3F800000, 0x3FC00000, 0x33000001, "RNE", 0x3FC00000),
        ("f32", 0x4B800001, 0x3F800000, 0x00000001, "RNE", 0x4B800001),
        ("f32", 0x4B800000, 0x3F800000, 0x3F800000, "RNE", 0x4B800000),
        ("f32", 0x4B800000, 0x3F800000, 0x3F800001, "RNE", 0x4B800001),
        ("f32", 0x4B800001, 0x3F800000, 0xBF800001, "RNE", 0x4B800000),
        ("f32", 0x4B000000, 0x3F000000, 0x80000001, "RNE", 0x4A800000),
        ("f32", 0x33800000, 0x3F800001, 0x3F800000, "RNE", 0x3F800001),  # 1 + 2**-24 + 2**-47
        ("f32", 0x33800000, 0x3F800000, 0x3F800000, "RNE", 0x3F800000),
        ("f32", 0x80000001, 0x33800000, 0x33800000, "RNE", 0x33800000),
        ("f32", 0x00000001, 0x3F000000, 0x00000000, "RNE", 0x00000000),
        ("f32", 0x00000001, 0x3F000001, 0x00000000, "RNE", 0x00000001),
        ("f32", 0x7F7FFFFF, 0x40000000, 0xFF7FFFFF, "RNE", 0x7F7FFFFF),
        ("f32", 0x7F7FFFFF, 0x40000000, 0xFF000000, "RZ", 0x7F7FFFFF),
        # signs of zero
        ("f32", 0x3F800000, 0x3F800000, 0xBF800000, "RNE", 0x00000000),
        ("f32", 0x3F800000, 0x3F800000, 0xBF800000, "RD", 0x80000000),
        ("f32", 0x80000000, 0x3F800000, 0x80000000, "RNE", 0x80000000),
        ("f32", 0x80000000, 0x3F800000, 0x00000000, "RNE", 0x00000000),
        ("f32", 0x80000000, 0x3F800000, 0x00000000, "RD", 0x80000000),
        ("f32", 0x00000000, 0x00000000, 0x00000000, "RD", 0x00000000),
        ("f32", 0x80000001, 0x00000001, 0x00000000, "RNE", 0x80000000),  # a negative number that rounds to zero
        ("f64", 0x8000000000000000, 0x3FF0000000000000, 0x8000000000000000, "RNE", 0x8000000000000000),
        ("f64", 0x8000000000000000, 0x3FF0000000000000, 0, "RNE", 0),
        ("f64", 0x3FF0000000000000, 0x3FF0000000000000, 0xBFF0000000000000, "RD", 0x8000000000000000),
        # f64: the product's tail decides a tie; only the 128-bit path computes the last four
        ("f64", 0x3FF0000000000001, 0x3FF0000000000001, 0x3CA0000000000000, "RNE", 0x3FF0000000000003),
        ("f64", 0x3FF0000000000001, 0x3CA0000000000000, 0x3FF0000000000000, "RNE", 0x3FF0000000000001),
        ("f64", 0x3FF0000000000000, 0x3CA0000000000000, 0x3FF0000000000000, "RNE", 0x3FF0000000000000),
        ("f64", 0x3FF0000000000000, 0xBC90000000000001, 0x3FF0000000000000, "RNE", 0x3FEFFFFFFFFFFFFF),
        ("f64", 0x0000000000000001, 0x3FE0000000000000, 0x0000000000000001, "RNE", 0x0000000000000002),
        ("f64", 0x0000000000000001, 0x3FE0000000000000, 0x0000000000000000, "RNE", 0x0000000000000000),
        ("f64", 0x7FEFFFFFFFFFFFFF, 0x4000000000000000, 0xFFEFFFFFFFFFFFFF, "RNE", 0x7FEFFFFFFFFFFFFF),
        ("f64", 0x7FEFFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF, 0x0000000000000001, "RZ", 0x7FEFFFFFFFFFFFFF),
        # infinities
        ("f16", 0x7C00, 0x0000, 0x0000, "RNE", 0x7FFF),
        ("f16", 0x7C00, 0x3C00, 0xFC00, "RNE", 0x7FFF),
        ("f16", 0xFC00, 0x3C00, 0xFC00, "RNE", 0xFC00),
        ("f16", 0x3C00, 0x3C00, 0xFC00, "RU", 0xFC00),
    ],
)  # fmt: skip
def test_one_triple_gives_known_bits(name, a, b, c, mode, bits):
    assert hex(exact_fma(a, b, c, name, mode)) == hex(bits)
    check(([a], [b], [c]), name, mode)


def test_float64_with_a_cast_to_float32_is_wrong_if_a_tail_breaks_a_tie():
    # (1 + 2**-12)**2 = 1 + 2**-11 + 2**-24 is a tie of f32, and 2**-80 is too small to be added to it in float64.
    a, c = np.array([0x3F800800], np.uint32), np.array([0x17800000], np.uint32)
    x, z = (bits.view(np.float32).astype(np.float64) for bits in (a, c))
    assert hex((x * x + z).astype(np.float32).view(np.uint32)[0]) == "0x3f801000"
    assert hex(fma(a, a, c, "f32")[0]) == hex(exact_fma(0x3F800800, 0x3F800800, 0x17800000, "f32")) == "0x3f801001"


@pytest.mark.parametrize("name", ["f64", "f32"])
def test_nan_is_canonical_or_the_first_of_b_c_a_quieted(name):
    fmt = format_of(name)
    quiet, infinity = 1 << (fmt.fraction_bits - 1), fmt.infinity
    na, nb, nc = infinity | 1, infinity | 2 | fmt.sign_mask, infinity | 3
    one = fmt.bias << fmt.fraction_bits
    rows = [
        (na, nb, nc, nb | quiet),
        (na, one, nc, nc | quiet),
        (na, one, one, na | quiet),
        (na, nb, one, nb | quiet),
        (infinity, 0, nc, nc | quiet),
        (infinity, 0, one, fmt.canonical_nan),
        (infinity, one, infinity | fmt.sign_mask, fmt.canonical_nan),
    ]
    for a, b, c, bits in rows:
        arrays = [np.array([x], fmt.storage) for x in (a, b, c)]
        assert fma(*arrays, fmt, nan="propagate").tolist() == [bits]
        assert fma(*arrays, fmt).tolist() == [fmt.canonical_nan]
        assert reference.fma(a, b, c, fmt, "RNE", "propagate") == bits
    assert add(np.array([na], fmt.storage), np.array([nb], fmt.storage), fmt, nan="propagate")[0] == na | quiet


def test_fast_and_exact_paths_of_f64_agree():
    rng = np.random.default_rng(5)
    size = 50_000
    sign = rng.integers(0, 2, (3, size), np.uint64) << np.uint64(63)
    exponent = rng.integers(1023 - 60, 1023 + 60, (3, size)).astype(np.uint64) << np.uint64(52)
    fraction = rng.integers(0, 1 << 52, (3, size), np.uint64)
    fraction &= np.where(rng.integers(0, 2, (3, size)), ~np.uint64(0), np.uint64(0x7 << 49 | 1))
    a, b, c = sign | exponent | fraction
    c[::3] = mul(a, b, "f64", "RZ")[::3] ^ np.uint64(1 << 63)
    floats = double._on_floats(a, b, c)
    wide = double._exact(format_of("f64"), "RNE", "canonical", "ieee", a, b, c)
    assert np.array_equal(floats, wide) and np.array_equal(fma(a, b, c, "f64"), wide)


def test_f64_products_that_miss_a_tie_by_less_than_the_last_bit_of_their_tail():
    # a * b = 2**-53 * (1 + r * 2**-105) with c = 1 or 1 + 2**-52: the small parts, 2**-53 and the rest, have to be
    # added with rounding to odd, both if that changes the last bit and if it must not.
    rng = np.random.default_rng(9)
    fmt, rows = format_of("f64"), []
    for a in rng.integers(1 << 52, 1 << 53, 300).tolist():
        for b in ((1 << 105) // a, (1 << 105) // a + 1):
            if b >> 52 != 1:
                continue
            for sign in (0, 1 << 63):
                for c in (0x3FF0000000000000, 0x3FF0000000000001, 0xBFF0000000000001):
                    rows.append((a - (1 << 52) + (1023 << 52) | sign, b - (1 << 52) + (969 << 52), c))
    got = fma(*np.array(rows, np.uint64).T, fmt).tolist()
    assert rows
    assert got == [reference.fma(*row, fmt) for row in rows]


def test_shapes_broadcast_and_large_arrays_are_split_into_blocks():
    rng = np.random.default_rng(6)
    a = rng.integers(0, 0x7C00, (3, 1, 7000), np.uint16)
    b = rng.integers(0, 0x7C00, (4, 1), np.uint16)
    c = np.uint16(0x3C00) + np.zeros((), np.uint16)
    whole = fma(a, b, c, "f16")
    assert whole.shape == (3, 4, 7000) and whole.dtype == np.uint16
    assert np.array_equal(whole[2, 3, ::-1], fma(a[2, 0, ::-1], b[3], c, "f16"))
    assert fma(c, c, c, "f16").shape == () and mul(a[:0], b, "f16").shape == (0, 4, 7000)


def test_invalid_operands_are_rejected():
    half = np.zeros(2, np.uint16)
    with pytest.raises(FragmentMismatchError, match=r"b holds f16 patterns .* of uint16, not an array of float16"):
        fma(half, half.view(np.float16), half, "f16")
    with pytest.raises(FragmentMismatchError, match="a holds f16 patterns as unsigned integers of uint16, not int;"):
        mul(3, half, "f16")
    with pytest.raises(FragmentMismatchError, match=r"do not broadcast together: a \(2,\), b \(3,\)"):
        mul(half, np.zeros(3, np.uint16), "f16")
    with pytest.raises(FragmentMismatchError, match="a NaN of f64 cannot be propagated into f32"):
        fma(half, half, half, "f64", nan="propagate", out="f32")
    with pytest.raises(UnsupportedInstructionError, match="there is no NaN rule 'payload'"):
        fma(half, half, half, "f16", nan="payload")
    with pytest.raises(UnsupportedInstructionError, match="no rounding 'rn'"):
        fma(half, half, half, "f16", "rn")
    with pytest.raises(UnsupportedInstructionError, match="s32 is not a floating-point format"):
        add(half, half, "s32")


@pytest.mark.slow
@pytest.mark.parametrize("name", ARITHMETIC)
def test_fma_of_many_random_triples_agrees_with_the_reference(name):
    fmt = format_of(name)
    rng = np.random.default_rng(13)
    for mode in MODES:
        a, b, c = rng.integers(0, fmt.mask, (3, 60_000), np.uint64, endpoint=True).astype(fmt.storage)
        c[::2] = mul(a, b, fmt, "RZ")[::2] ^ rng.integers(0, 4, 30_000).astype(fmt.storage)
        got = fma(a, b, c, fmt, mode).tolist()
        numbers = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
        assert got == [reference.fma(*number, fmt, mode) for number in numbers]

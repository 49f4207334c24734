# SPDX-License-Identifier: MIT
"""bit_patterns, from_dtype, formats and matrices: every value can come, the simplest come last, and bad use."""

import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.extra import numpy as hnp

from wmma_emu.errors import UnsupportedInstructionError, WmmaEmuError
from wmma_emu.formats import FORMATS, decode, unpack
from wmma_emu.formats.dtypes import dtype_of
from wmma_emu.testing import bits, from_bits
from wmma_emu.testing.strategies import bit_patterns, formats, from_dtype, matrices, operands

pytestmark = [pytest.mark.property, pytest.mark.slow]

FLOATS = [name for name, fmt in FORMATS.items() if fmt.is_float]
NARROW = [name for name, fmt in FORMATS.items() if fmt.bits <= 8]
FOREIGN = [
    getattr(ml_dtypes, name)
    for name in (
        "float8_e3m4", "float8_e4m3", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz",
        "int2", "uint2", "int1", "uint1",
    )
    if hasattr(ml_dtypes, name)
]  # fmt: skip
REFUSED_BY_HYPOTHESIS = [
    getattr(ml_dtypes, name)
    for name in (
        "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn",
        "float4_e2m1fn", "int4", "uint4",
    )
] + FOREIGN  # fmt: skip
PHASES = [Phase.generate, Phase.shrink]
MANY = settings(
    max_examples=3000, database=None, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES
)  # fmt: skip
ANEW = settings(MANY, max_examples=2000)


def seen(strategy, examples=3000):
    found = set()

    @seed(0)
    @settings(MANY, max_examples=examples, phases=[Phase.generate])
    @given(strategy)
    def collect(value):
        found.add(value)

    collect()
    return found


def numbers_of(name, patterns):
    fmt = FORMATS[name]
    return unpack(np.array(sorted(patterns), fmt.storage), fmt)


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NARROW)
def test_every_pattern_of_a_narrow_format_comes(name):
    legal = 128 if name == "ue4m3" else 1 << FORMATS[name].bits
    assert seen(bit_patterns(name)) == set(range(legal))


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", FOREIGN, ids=lambda dtype: dtype.__name__)
def test_every_pattern_of_a_dtype_without_a_format_comes(dtype):
    width = int(np.dtype(dtype).name.removeprefix("u")[3:]) if "int" in dtype.__name__ else 8
    assert seen(bit_patterns(dtype)) == set(range(1 << width))


@pytest.mark.parametrize("name", [name for name in FLOATS if FORMATS[name].bits > 8])
def test_wide_formats_show_every_kind_of_number_in_few_hundred_examples(name):
    fmt = FORMATS[name]
    found = seen(bit_patterns(name), 500)
    u = numbers_of(name, found)
    subnormal = (u.significand != 0) & (u.significand < 1 << fmt.fraction_bits) & ~u.is_nan & ~u.is_infinity
    assert u.is_nan.sum() > 1 and u.is_infinity.any() and subnormal.sum() > 1
    assert {0, fmt.sign_mask} <= found
    values = decode(np.array(sorted(found), fmt.storage), fmt)
    with np.errstate(invalid="ignore"):
        exponents = np.frexp(values[np.isfinite(values) & (values != 0)])[1]
    assert exponents.max() > fmt.emax // 2 and exponents.min() < fmt.emin // 2
    if fmt.ignored_low_bits:
        assert {word & 0x1FFF for word in found} > {0}


def forbidden(name, codes):
    """Which patterns are NaN, infinite, subnormal."""
    fmt = FORMATS[name]
    u = unpack(np.array(codes, fmt.storage), fmt)
    few = (u.significand != 0) & (u.significand < 1 << fmt.fraction_bits) & ~u.is_nan & ~u.is_infinity
    return {"allow_nan": u.is_nan, "allow_infinity": u.is_infinity, "allow_subnormal": few}


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("switch", ["allow_nan", "allow_infinity", "allow_subnormal"])
@pytest.mark.parametrize("name", FLOATS)
def test_what_is_not_allowed_does_not_come(name, switch):
    found = seen(bit_patterns(name, **{switch: False}), 120)
    assert len(found) > 7 and not forbidden(name, sorted(found))[switch].any()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in FLOATS if FORMATS[name].bits <= 8])
def test_every_allowed_pattern_is_drawn(name):
    codes = list(range(128 if name == "ue4m3" else 1 << FORMATS[name].bits))
    wrong = np.any(list(forbidden(name, codes).values()), axis=0)
    strategy = bit_patterns(name, allow_nan=False, allow_infinity=False, allow_subnormal=False)
    assert seen(strategy) == set(np.array(codes)[~wrong].tolist())


def test_no_float32_that_is_nan_comes_for_tf32_where_nan_are_not_allowed():
    strategy = bit_patterns("tf32", allow_nan=False)
    values = np.array(sorted(seen(strategy, 300)), np.uint32).view(np.float32)
    assert np.isinf(values).any() and not np.isnan(values).any()

    @settings(MANY, max_examples=100)
    @given(matrices("tf32", 50, allow_nan=False))
    def none_in_matrices_either(A):
        assert not np.isnan(A).any()

    none_in_matrices_either()


def subnormal_in_float32(words):
    words = np.asarray(words, np.uint32)
    return (words & 0x7F800000 == 0) & (words & 0x7FFFFFFF != 0)


TF32 = {
    "bit_patterns": (lambda **none: bit_patterns("tf32", **none), lambda drawn: drawn),
    "from_dtype": (lambda **none: from_dtype("tf32", **none), lambda drawn: drawn.view(np.uint32)),
    "matrices": (lambda **none: matrices("tf32", 50, **none), lambda drawn: drawn.view(np.uint32)),
    "operands": (
        lambda **none: operands("m16n8k8.f32.tf32.tf32.f32", **none),
        lambda drawn: np.concatenate([drawn.A.view(np.uint32).ravel(), drawn.B.view(np.uint32).ravel()]),
    ),
}


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("case", TF32)
def test_no_float32_that_is_subnormal_comes_for_tf32_where_they_are_not_allowed(case):
    make, words_of = TF32[case]
    came = []

    @settings(MANY, max_examples=300, phases=[Phase.generate])
    @given(make(allow_subnormal=False), make())
    def draw(without, all_of_them):
        assert not subnormal_in_float32(words_of(without)).any()
        came.append(subnormal_in_float32(words_of(all_of_them)).any())

    draw()
    assert any(came)


def test_a_failing_example_shows_style_seed_and_elements():
    @settings(ANEW, max_examples=300)
    @given(matrices("bf16", (40, 50)))
    def all_zeros(A):
        assert not bits(A).any()

    with pytest.raises(AssertionError) as caught:
        all_zeros()
    (shown,) = [line for line in caught.value.__notes__ if line.startswith("matrix ")]
    assert re.fullmatch(r"matrix 40x50 bf16, all \+0 but \[\d+, \d+\] \S+ \(0x[0-9a-f]{4}\)  \(.+\)", shown)


def test_names_of_dtypes_and_of_formats_are_taken_and_no_others():
    for name, expected in (
        ("float64", np.float64), ("int64", np.int64), ("bool", np.bool_), ("u4", ml_dtypes.uint4),
        ("float4_e2m1fn", ml_dtypes.float4_e2m1fn), ("bfloat16", ml_dtypes.bfloat16), ("s8", np.int8),
    ):  # fmt: skip
        assert type(find(from_dtype(name), lambda x: True, settings=ANEW)) is expected
    for code in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "<f4", "e", "half", "double", "float", "int"):
        with pytest.raises(UnsupportedInstructionError, match=r"did you mean|pass '(u?int|float)\d+' for "):
            find(from_dtype(code), lambda x: True, settings=ANEW)


@pytest.mark.parametrize("name", [name for name in FLOATS if FORMATS[name].has_zero])
def test_patterns_shrink_to_plus_zero_then_to_one_and_to_few_bits(name):
    fmt = FORMATS[name]

    def value(word):
        return decode(np.array([word], fmt.storage), fmt)[0]

    assert find(bit_patterns(name), lambda word: True, settings=ANEW) == 0
    assert value(find(bit_patterns(name), lambda word: value(word) != 0, settings=ANEW)) == 1
    assert value(find(bit_patterns(name), lambda word: value(word) >= 1.5, settings=ANEW)) in (1.5, 2)
    if fmt.sign_mask:
        assert value(find(bit_patterns(name), lambda word: value(word) < 0, settings=ANEW)) == -1
    if fmt.emax > 8:
        # Which of the numbers near the limit is the simplest depends on where the search began.
        assert 100 < value(find(bit_patterns(name), lambda word: 100 < value(word) < np.inf, settings=ANEW)) <= 128


def test_scales_shrink_to_one_and_integers_to_zero():
    assert find(bit_patterns("ue8m0"), lambda word: True, settings=ANEW) == 0x7F
    assert find(bit_patterns("s8"), lambda word: True, settings=ANEW) == 0
    assert find(bit_patterns("s8"), lambda word: word > 0x7F, settings=ANEW) == 0xFF
    assert find(bit_patterns("u8"), lambda word: word > 20, settings=ANEW) == 21


@pytest.mark.parametrize("dtype", REFUSED_BY_HYPOTHESIS, ids=lambda dtype: dtype.__name__)
def test_dtypes_that_hypothesis_refuses_are_drawn_as_scalars_and_as_elements_of_its_arrays(dtype):
    with pytest.raises(InvalidArgument):
        hnp.from_dtype(np.dtype(dtype)).validate()
    kinds = set()

    @settings(MANY, max_examples=60)
    @given(from_dtype(dtype), hnp.arrays(dtype, (2, 3), elements=from_dtype(dtype)))
    def draw(scalar, array):
        assert type(scalar) is dtype and array.dtype == np.dtype(dtype) and array.shape == (2, 3)
        kinds.update(bits(array).ravel().tolist())

    draw()
    assert len(kinds) > 1


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int64, np.bool_, "tf32"])
def test_dtypes_of_numpy_and_formats_are_drawn_too(dtype):
    expected = np.float32 if dtype == "tf32" else dtype

    @settings(MANY, max_examples=30)
    @given(from_dtype(dtype))
    def draw(scalar):
        assert type(scalar) is expected

    draw()


def test_payloads_of_nan_survive_being_drawn_into_arrays():
    wanted = hnp.arrays(np.float32, 3, elements=from_dtype(np.float32))
    found = find(wanted, lambda x: (np.isnan(x) & (x.view(np.uint32) & 0x3FFFFF != 0)).any(), settings=MANY)
    assert np.isnan(found).any()


@pytest.mark.parametrize("name", FORMATS)
def test_matrices_have_their_shape_and_dtype_and_shrink_to_zeros(name):
    @settings(MANY, max_examples=40)
    @given(matrices(name, (5, 3)))
    def draw(A):
        assert A.shape == (5, 3) and A.dtype == dtype_of(name)
        assert bits(A, name).max() <= FORMATS[name].mask

    draw()
    least = bits(find(matrices(name, (5, 3)), lambda A: True, settings=ANEW), name)
    assert (least == (0 if FORMATS[name].has_zero else 0x7F)).all()


def test_large_matrices_take_few_draws_and_shrink_to_one_element():
    large = matrices("f16", (300, 400))

    def wanted(A):
        with np.errstate(invalid="ignore"):
            return (A == 3).any()

    found = find(large, wanted, settings=settings(ANEW, max_examples=500))
    assert found.shape == (300, 400)
    assert (found == 3).sum() == 1 and np.count_nonzero(found) <= 2


@settings(MANY, max_examples=200)
@given(matrices("e5m2", (20, 20), allow_nan=False, allow_infinity=False, allow_subnormal=False))
def test_matrices_have_no_values_that_are_not_allowed(A):
    u = unpack(bits(A), FORMATS["e5m2"])
    assert not u.is_nan.any() and not u.is_infinity.any()
    assert not ((u.significand != 0) & (u.significand < 4)).any()


def test_shapes_without_axes_and_without_elements_are_drawn():
    for shape, expected in (((), ()), ((0, 4), (0, 4)), (7, (7,)), ([2, 2], (2, 2))):
        assert find(matrices("bf16", shape), lambda A: True, settings=ANEW).shape == expected
    shaped = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(lambda shape: matrices("f16", shape))
    assert find(shaped, lambda A: A.size > 5, settings=ANEW).size > 5


@pytest.mark.parametrize("place", [(0, 0), (1, 2), (4, 6)], ids=str)
def test_any_position_of_a_matrix_can_have_the_only_nonzero_element(place):
    found = find(matrices("f16", (5, 7)), lambda A: bits(A)[place] != 0, settings=ANEW)
    assert np.argwhere(bits(found)).tolist() == [list(place)]


def test_formats_are_drawn_by_kind():
    assert seen(formats()) == set(FORMATS.values())
    assert {fmt.name for fmt in seen(formats(kind="integer"))} == {"s32", "s8", "u8", "s4", "u4"}


BAD = {
    "format": (lambda: bit_patterns("xyz"), UnsupportedInstructionError, "e4m3"),
    "format with another number": (lambda: bit_patterns("f17"), UnsupportedInstructionError, "did you mean 'f16'"),
    "format of others": (lambda: bit_patterns("fp16"), UnsupportedInstructionError, "did you mean 'f16'"),
    "capitals": (lambda: bit_patterns("F16"), UnsupportedInstructionError, "did you mean 'f16'"),
    "turned round": (lambda: from_dtype("bf61"), UnsupportedInstructionError, "did you mean 'bf16'"),
    "dtype misspelt": (
        lambda: from_dtype("float8_e4m3f"),
        UnsupportedInstructionError,
        "did you mean 'float8_e4m3fn'|or 'float8_e4m3fn'",
    ),
    "bytes": (lambda: bit_patterns(b"f16"), UnsupportedInstructionError, "^b'f16' is not a format"),
    "a type": (lambda: bit_patterns(dict), UnsupportedInstructionError, "^<class 'dict'> is not the type of a format"),
    "eight bytes or bits": (
        lambda: bit_patterns("f8"),
        UnsupportedInstructionError,
        "float64.*did you mean 'e4m3' or 'e5m2'",
    ),
    "integers of eight": (lambda: matrices("i8", 3), UnsupportedInstructionError, "int64.*did you mean 's8'"),
    "a letter": (lambda: from_dtype("d"), UnsupportedInstructionError, "'float64'"),
    "no format": (lambda: bit_patterns(None), UnsupportedInstructionError, "f16"),
    "dtype": (lambda: from_dtype(complex), UnsupportedInstructionError, "complex128"),
    "object": (lambda: from_dtype(object()), UnsupportedInstructionError, "f16"),
    "switch": (lambda: bit_patterns("f16", allow_nan="no"), InvalidArgument, "True nor False"),
    "negative shape": (lambda: matrices("f16", (2, -1)), InvalidArgument, "shape"),
    "shape of floats": (lambda: matrices("f16", 2.5), InvalidArgument, "shape"),
    "shape as a strategy": (lambda: matrices("f16", st.just((2, 2))), InvalidArgument, "flatmap"),
    "shape too large": (lambda: matrices("f16", (1 << 20, 1 << 20)), InvalidArgument, "elements"),
    "size too large": (lambda: matrices("f16", 1 << 30), InvalidArgument, "elements"),
    "too many axes": (lambda: matrices("f16", (1,) * 40), InvalidArgument, "32"),
    "kind": (lambda: formats(kind="double"), InvalidArgument, "'float'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_use_is_an_error_when_drawn_that_names_the_fix_and_not_before(case):
    make, error, words = BAD[case]
    strategy = make()
    with pytest.raises(error, match=words) as caught:
        find(strategy, lambda value: True, settings=ANEW)
    assert issubclass(error, WmmaEmuError | InvalidArgument) and len(str(caught.value)) < 400


def test_from_bits_and_patterns_go_together():
    @settings(MANY, max_examples=100)
    @given(st.data(), formats())
    def round_trip(data, fmt):
        word = data.draw(bit_patterns(fmt))
        assert bits(from_bits([word], fmt), fmt).tolist() == [word]

    round_trip()

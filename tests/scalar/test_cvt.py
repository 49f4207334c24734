# SPDX-License-Identifier: MIT
"""cvt: every legal form against an independent implementation, its table against the assembler, and errors."""

import hashlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats.second_path import ROWS, round_fraction, special, value
from tests.scalar.cvt_oracle import convert_all, convert_word, parts, values_of
from wmma_emu.errors import ArgumentError, FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.scalar.cvt import cvt
from wmma_emu.scalar.cvt_table import CVT_FORMS, CVT_TYPES

FORMS = {form.mnemonic: form for form in CVT_FORMS.values() if form.rounding != "rs" and not form.is_scaled}
SCALED = {form.mnemonic: form for form in CVT_FORMS.values() if form.is_scaled}
SCALAR_16 = sorted({form.source for form in FORMS.values() if CVT_TYPES[form.source].bits <= 16})
WIDE = sorted(name for name, form in FORMS.items() if form.source not in SCALAR_16)

ASSEMBLED = {
    "sm_75": (706, "ee6aa365abbc1b0a0388c7a7645029e782679a4dbc96ea03bd16662dda5037bc"),
    "sm_80": (747, "1ae6462ce4508bd9199c06b9fa1dfb9d933df7a6ca673c37cde4f0fbb8623efd"),
    "sm_86": (747, "1ae6462ce4508bd9199c06b9fa1dfb9d933df7a6ca673c37cde4f0fbb8623efd"),
    "sm_89": (759, "63abdc488cdb7ac6793c96a6e73aac1c217d07bf1c8f2c2c8e68d0fb0dfac9da"),
    "sm_90": (856, "5885c450429412209f0165a79521ecbf1cc6bb2de53328a920465634776fa025"),
    "sm_100": (901, "30cef3b0b8a12cdd1228d4daf0e71835799a0a1bd92ae7eb8e65fba133e15fba"),
    "sm_103": (901, "30cef3b0b8a12cdd1228d4daf0e71835799a0a1bd92ae7eb8e65fba133e15fba"),
    "sm_120": (883, "ef27937a096c51cc99c826254ac431754764bbc73275ba774dfa052716423c5e"),
    "sm_121": (883, "ef27937a096c51cc99c826254ac431754764bbc73275ba774dfa052716423c5e"),
}
"""The forms that ptxas 13.0 (V13.0.88) accepts for each target, of all combinations of types and modifiers, with the
SHA-256 of their sorted list (sm_90, sm_100, ...: for sm_90a, sm_100a, ...). Conversions between bf16 and 8 bits need
registers of .b8, .u8 or .s8."""


@pytest.mark.parametrize("chip", ASSEMBLED)
def test_the_table_has_the_forms_that_the_assembler_accepts(chip):
    names = sorted(
        ".".join((form.target, form.source, *sorted(form.modifiers)))
        for form in CVT_FORMS.values()
        if chip in form.archs and not form.release
    )
    assert (len(names), hashlib.sha256("\n".join(names).encode()).hexdigest()) == ASSEMBLED[chip]


NEWER = "1d120dc675048fe6edfdd90a573989ac80119b7498cd8a9438752c6658cf06b6"
"""The SHA-256 of the sorted list of packed forms, without those of s2f6x2, that ptxas 13.4 (V13.4.59) accepts for each
of sm_100a, sm_103a and sm_120a and ptxas 13.0 does not, of 18,480 combinations of types and modifiers."""


@pytest.mark.parametrize("chip", ["sm_100", "sm_103", "sm_120", "sm_121"])
def test_the_table_has_the_newer_forms_that_the_assembler_accepts(chip):
    newer = [form for form in CVT_FORMS.values() if chip in form.archs and form.release]
    names = sorted(".".join((form.target, form.source, *sorted(form.modifiers))) for form in newer)
    assert hashlib.sha256("\n".join(names).encode()).hexdigest() == NEWER
    assert not [form for form in CVT_FORMS.values() if form.release and "sm_90" in form.archs]


def _scaled_element(pattern, scale, form):
    """Return one element of bf16, from the exact product of a number and a power of two."""
    bf16, overflow = ROWS["bf16"], "saturate" if "satfinite" in form.modifiers else "ieee"
    sign, size = value(pattern, ROWS[parts(form.source)[0]])
    if size == "nan" or scale == 255:
        return 0x7FFF
    if "relu" in form.modifiers and sign:
        return 0
    if size == "inf":
        return special("inf", sign, bf16, overflow)
    return round_fraction(sign, size * Fraction(2) ** (scale - 127), bf16, "RNE", overflow)


@pytest.mark.sweep(keep=1 / 8)
@pytest.mark.parametrize("name", SCALED)
def test_scaled_elements_are_exact_products_rounded_once(name):
    form = SCALED[name]
    slot = parts(form.source)[2]
    scales = [0, 1, 2, 3, 4, 5, 8, 100, 126, 127, 128, 200, 247, 248, 252, 253, 254, 255]
    lows, highs = np.meshgrid(np.arange(1 << slot), scales)
    elements, factors = lows.ravel(), highs.ravel()
    other_element, other_factor = elements[::-1], factors[::-1]
    word = (elements | other_element << slot).astype(f"u{CVT_TYPES[form.source].bits // 8}")
    got = cvt(word, name, scale=(factors | other_factor << 8).astype(np.uint16), arch="sm_100")
    unused = (1 << slot) - (1 << CVT_TYPES[form.source].element.bits)
    low = [_scaled_element(int(x) & ~unused, int(s), form) for x, s in zip(elements, factors, strict=True)]
    high = [_scaled_element(int(x) & ~unused, int(s), form) for x, s in zip(other_element, other_factor, strict=True)]
    assert (got & 0xFFFF).tolist() == low
    assert (got >> 16).tolist() == high


def test_scales_are_required_where_they_belong_and_refused_elsewhere():
    word = np.array([0x3838], np.uint16)
    with pytest.raises(ArgumentError, match="pass scale"):
        cvt(word, "cvt.rn.scaled::n2::ue8m0.bf16x2.e4m3x2", arch="sm_100")
    with pytest.raises(ArgumentError, match="has no scales; leave scale out"):
        cvt(word, "cvt.rn.bf16x2.e4m3x2", scale=word, arch="sm_100")


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.exhaustive
@pytest.mark.parametrize("source", SCALAR_16)
def test_every_pattern_of_at_most_16_bits_converts_according_to_its_value(source):
    element, count, slot = parts(source)
    word = np.arange(1 << (slot * count), dtype=f"u{max(slot * count, 8) // 8}")
    lanes = [(word >> (slot * i) & ((1 << slot) - 1)).astype(f"u{max(slot, 8) // 8}") for i in range(count)]
    values = [values_of(x, element) for x in lanes]
    for name, form in FORMS.items():
        if form.source == source:
            want = np.zeros(word.shape, np.uint64)
            for i in range(count):
                want |= convert_all(lanes[i], values[i], form) << np.uint64(i * parts(form.target)[2])
            got = cvt(word, name, arch="sm_100")
            assert got.dtype.itemsize * 8 == CVT_TYPES[form.target].bits
            wrong = got.astype(np.uint64) != want
            assert not wrong.any(), (name, [hex(x) for x in (word[wrong][0], got[wrong][0], want[wrong][0])])


@pytest.mark.thorough
@pytest.mark.exhaustive
@pytest.mark.parametrize("source", ["f16x2", "bf16x2"])
def test_both_halves_of_a_register_convert_independently(source):
    element = source[:-2]
    half = np.arange(1 << 16, dtype=np.uint32)
    word = half << 16 | half[::-1]
    values = values_of(half.astype(np.uint16), element)
    forms = [(name, form) for name, form in FORMS.items() if form.source == source]
    assert forms
    for name, form in forms:
        converted = convert_all(half.astype(np.uint16), values, form)
        want = converted << np.uint64(parts(form.target)[2]) | converted[::-1]
        assert (cvt(word, name, arch="sm_100") == want).all(), name


EDGES_32 = [
    sign | x
    for sign in (0, 1 << 31)
    for x in (
        0, 1, 0x007FFFFF, 0x00800000, 0x00400000, 0x7F800000, 0x7F800001, 0x7F801FFF, 0x7F802000, 0x7FC00000,
        0x7FFFFFFF, 0x7F7FFFFF, 0x7F7FF000, 0x7F7FE000, 0x3F800000, 0x3F7FFFFF, 0x3F800001, 0x3F000000, 0x3FC00000,
        0x40200000, 0x47800000, 0x477FE000, 0x477FEFFF, 0x477FF000, 0x33000000, 0x33000001, 0x387FE000, 0x38800000,
        0x4F000000, 0x4EFFFFFF, 0x4F800000, 0x4F7FFFFF, 0x5F000000, 0x5F800000, 0x5F7FFFFF, 0x43E00000, 0x43E80000,
        0x43E7FFFF, 0x47600000, 0x47700000, 0x42FF0000, 0x43000000, 0x437F8000, 0x40C00000, 0x40E00000, 0x41E00000,
        0x3E800000, 0x3D800000, 0x3F801000, 0x3F803000, 0x3F808000, 0x3F818000, 0x3C7FFFFF, 0x7EFFFFFF, 0x7F000000,
        0x7F000001,
    )
]  # fmt: skip
TINY = (
    [0x380FFFFFE0000000 + x for x in (-1, 0, 1)] + [0x380FFFFFF0000000 + x for x in (-1, 0, 1)] + [0x3810000000000000]
)
"""f64 numbers around the smallest normal f32, some of which reach it when rounded to 24 bits."""
BIG = [0x41DFFFFFFFC00000, 0x41E0000000000000, 0x43DFFFFFFFFFFFFF, 0x43E0000000000000, 0x43EFFFFFFFFFFFFF,
       0x43F0000000000000, 0x47EFFFFFEFFFFFFF, 0x47EFFFFFF0000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000,
       0x7FF0000000000001, 0x7FF8000000000000, 0x3FE0000000000000, 0x3FF8000000000000, 0x4004000000000000,
       0x3FF0000000000000, 1, 0]  # fmt: skip
EDGES_64 = [sign << 63 | x for sign in (0, 1) for x in (*TINY, *BIG)]
EDGES_INTEGER = [x % (1 << 64) for n in (7, 8, 15, 16, 24, 25, 31, 32, 53, 54, 62, 63) for e in (-1, 0, 1)
                 for x in ((1 << n) + e, -(1 << n) + e)] + [0, (1 << 64) - 1, (1 << 62) + (1 << 9) + 1]  # fmt: skip


def edges(source):
    if CVT_TYPES[source].element.is_float:
        return EDGES_32 if CVT_TYPES[source].bits == 32 else EDGES_64
    return [x & CVT_TYPES[source].element.mask for x in EDGES_INTEGER]


def check(name, words, others):
    form = FORMS[name]
    dtype = f"u{CVT_TYPES[form.source].bits // 8}"
    two = form.num_operands == 2
    got = cvt(np.array(words, dtype), name, np.array(others, dtype) if two else None, arch="sm_100")
    want = [convert_word(a, form, b if two else None) for a, b in zip(words, others, strict=True)]
    for a, b, x, y in zip(words, others, got.tolist(), want, strict=True):
        assert hex(x) == hex(y), (name, hex(a), hex(b))


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("name", WIDE)
def test_edge_cases_of_wide_sources_convert_according_to_the_fraction(name):
    words = edges(FORMS[name].source)
    check(name, words, words[::-1])


@pytest.mark.thorough
@pytest.mark.property
@settings(deadline=None, max_examples=400)
@given(
    st.sampled_from(WIDE),
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(-160, 140), st.integers(0, 2**52 - 1), st.integers(0, 52)),
        min_size=2,
        max_size=8,
    ),
)
def test_wide_sources_convert_according_to_the_fraction(name, numbers):
    words = []
    for sign, exponent, fraction, zeros in numbers:
        fraction = fraction >> zeros << zeros
        match FORMS[name].source:
            case "f64":
                words.append(sign << 63 | (exponent + 1023) << 52 | fraction)
            case "f32":
                words.append(sign << 31 | min(max(exponent + 127, 0), 255) << 23 | fraction >> 29)
            case "f16x2" | "bf16x2":
                words.append(fraction >> 20)
            case source:
                words.append((-fraction if sign else fraction) << abs(exponent) % 13 & CVT_TYPES[source].element.mask)
    check(name, words, words[::-1])


@pytest.mark.parametrize(
    ("name", "a", "b", "want"),
    [
        ("cvt.rn.f16x2.f32", 0x3F800000, 0x40000000, 0x3C004000),  # the first source goes to the upper half
        ("cvt.rn.satfinite.e4m3x2.f32", 0x3F800000, 0xFFC00000, 0x387F),
        ("cvt.rn.satfinite.relu.e4m3x2.f32", 0xC7000000, 0x47000000, 0x007E),
        ("cvt.rn.satfinite.e2m1x2.f32", 0x40C00000, 0xBF000000, 0x79),
        ("cvt.rn.satfinite.e3m2x2.f32", 0xC1E00000, 0x7FC00000, 0x3F1F),
        ("cvt.rp.satfinite.ue8m0x2.f32", 0xC0400000, 0x00000001, 0x8100),
        ("cvt.rn.f16x2.e4m3x2", 0x7FC0, None, 0x7FFFC000),
        ("cvt.rn.relu.f16x2.e5m2x2", 0xBC7C, None, 0x00007C00),
        ("cvt.rn.bf16x2.ue8m0x2", 0xFF00, None, 0x7FFF0040),
        ("cvt.rna.tf32.f32", 0x7F800001, None, 0x7F800000),
        ("cvt.rna.satfinite.tf32.f32", 0x7F800001, None, 0x7F7FE000),
        ("cvt.rna.satfinite.tf32.f32", 0x7FC00000, None, 0x7FBFE000),
        ("cvt.rn.tf32.f32", 0xFF800001, None, 0x7FFFE000),
        ("cvt.rn.relu.tf32.f32", 0xBF800000, None, 0),
        ("cvt.f32.bf16", 0xFF81, None, 0xFF810000),
        ("cvt.ftz.f32.bf16", 0xFF81, None, 0x7FFFFFFF),
        ("cvt.ftz.f32.bf16", 0x8001, None, 0x80000000),
        ("cvt.f32.f32", 0xFF800001, None, 0xFF800001),
        ("cvt.ftz.f32.f32", 0x807FFFFF, None, 0x80000000),
        ("cvt.sat.f32.f32", 0x7FC00000, None, 0),
        ("cvt.sat.f32.f32", 0x80000000, None, 0),
        ("cvt.rn.ftz.f32.f64", 0xB80FFFFFEFFFFFFF, None, 0x80000000),
        ("cvt.rn.ftz.f32.f64", 0xB80FFFFFF0000000, None, 0x80800000),
        ("cvt.rn.f32.f64", 0xB80FFFFFE0000000, None, 0x80800000),
        ("cvt.rz.ftz.f32.f64", 0x380FFFFFFFFFFFFF, None, 0),
        ("cvt.rp.ftz.f32.f64", 0x380FFFFFE0000001, None, 0x00800000),
        ("cvt.rp.ftz.f16.f32", 0x00000001, None, 1),  # .ftz has no effect in this form
        ("cvt.rp.ftz.bf16.f32", 0x00000001, None, 0),
        ("cvt.rpi.ftz.s32.f32", 0x00000001, None, 0),
        ("cvt.rpi.s32.f32", 0x00000001, None, 1),
        ("cvt.rzi.s64.f32", 0x7FC00000, None, 0x8000000000000000),
        ("cvt.rzi.u32.f32", 0x7FC00000, None, 0),
        ("cvt.rzi.u8.f64", 0x7FF8000000000000, None, 0x80),
        ("cvt.rzi.u64.f32", 0x5F800000, None, 0xFFFFFFFFFFFFFFFF),
        ("cvt.rni.f32.f32", 0xBF000000, None, 0x80000000),
        ("cvt.rn.f32.u64", 0xFFFFFF7FFFFFFFFF, None, 0x5F7FFFFF),
        ("cvt.rn.f32.u64", 0xFFFFFF8000000000, None, 0x5F800000),
        ("cvt.rn.f16.u32", 0x0001FFFF, None, 0x7C00),
        ("cvt.sat.s8.u64", 0xFFFFFFFFFFFFFFFF, None, 0x7F),
        ("cvt.s64.s8", 0x80, None, 0xFFFFFFFFFFFFFF80),
    ],
)
def test_one_register_converts_to_known_bits(name, a, b, want):
    dtype = f"u{CVT_TYPES[FORMS[name].source].bits // 8}"
    got = cvt(np.array(a, dtype), name, None if b is None else np.array(b, dtype), arch="sm_100")
    assert got.shape == () and hex(int(got)) == hex(want)


def test_upper_bits_of_an_integer_in_a_wider_register_are_ignored():
    assert cvt(np.array([0xABCDEF80], np.uint32), "cvt.s32.s8").tolist() == [0xFFFFFF80]


def test_modifiers_may_be_in_any_order_and_two_sources_broadcast():
    a, b = np.full((3, 1), 0xBF800000, np.uint32), np.full(4, 0x3F800000, np.uint32)
    got = cvt(a, "cvt.relu.satfinite.rn.e4m3x2.f32", b)
    assert got.dtype == np.uint16 and got.tolist() == [[0x0038] * 4] * 3


def test_the_result_is_never_the_input_array():
    bits = np.array([1], np.uint32)
    cvt(bits, "cvt.f32.f32")[:] = 0
    cvt(bits, "cvt.u32.u32")[:] = 0
    assert bits.tolist() == [1]


@pytest.mark.parametrize(
    ("name", "arch", "message"),
    [
        (
            "cvt.rn.satfinite.e4m3x2.f32",
            "sm_80",
            r"sm_80 has no .* first chip that supports it is sm_89. Nearest on sm_80: cvt",
        ),
        ("cvt.rn.satfinite.tf32.f32", "sm_90a", r"first chip that supports it is sm_100\. Nearest"),
        ("cvt.f16.f32", "sm_90", r"from f32 to f16 the rounding is one of .rn, .rz, .rm, .rp; name one"),
        ("cvt.rm.tf32.f32", "sm_90", r"the rounding is one of .rna, .rn, .rz, not .rm"),
        ("cvt.rn.u32.u64", "sm_90", r"does not round, so that .rn is not legal"),
        ("cvt.rn.e4m3x2.f32", "sm_90", r"modifiers \(none\) are not legal; legal: .satfinite, .satfinite.relu"),
        ("cvt.sat.u16.u8", "sm_90", r"modifiers .sat are not legal; legal: none"),
        ("cvt.rni.u8.tf32", "sm_90", r"u8 is converted from u8, s8, .* not from tf32"),
        ("cvt.rn.rz.f16.f32", "sm_90", r"it names 2 roundings, rn and rz"),
        ("cvt.rn.rn.f16.f32", "sm_90", r"gives .rn twice"),
        ("cvt.rnn.f16.f32", "sm_90", r"'rnn' is not a modifier of cvt; did you mean 'rn'"),
        ("cvt.rn.f17.f32", "sm_90", r"'f17' is not a type that cvt converts to; did you mean 'f16'"),
        ("mul.f32", "sm_90", r"is not a conversion"),
        (3, "sm_90", r"named by its PTX mnemonic, such as 'cvt.rn.f16.f32', not by 3"),
        ("cvt.rn.f16.f32", "h200", r"there is no chip 'h200'; .*arch_of finds"),
        ("cvt.rs.satfinite.e4m3x4.f32", "sm_100", r"rounds stochastically.* Use 'cvt.rn.satfinite.e4m3x2.f32'"),
        (
            "cvt.rs.f16x2.f32",
            "sm_121",
            r"sm_121 has no 'cvt.rs.f16x2.f32'; chips that support it are sm_100, sm_103",
        ),
    ],
)
def test_forms_that_do_not_exist_are_rejected(name, arch, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        cvt(np.zeros(2, np.uint32), name, arch=arch)


@pytest.mark.parametrize(
    ("name", "a", "b", "message"),
    [
        ("cvt.rn.f16x2.f32", np.zeros(2, np.uint32), None, r"has two sources: a, .* upper half .* pass b too"),
        ("cvt.rn.f16.f32", np.zeros(2, np.uint32), np.zeros(2, np.uint32), r"has one source; leave b out"),
        (
            "cvt.rn.f16.f32",
            np.zeros(2, np.float32),
            None,
            r"a of .* holds f32 patterns, unsigned .* 32 bits, not float32",
        ),
        ("cvt.rn.f16.f32", np.zeros(2, np.uint64), None, r"holds f32, 32 bits a register, not uint64; pass uint32"),
        ("cvt.u16.u32", np.zeros(2, np.uint16), None, r"holds u32, 32 bits a register, not uint16; pass uint32"),
        ("cvt.rn.f16.f32", [1, 2], None, r"not list"),
        ("cvt.rn.f16x2.f32", np.zeros(2, np.uint32), np.zeros(3, np.uint32), r"do not broadcast: b \(3,\), a \(2,\)"),
    ],
    ids=["one of two", "two of one", "floats", "wide float", "narrow", "list", "shapes"],
)
def test_invalid_sources_are_rejected(name, a, b, message):
    with pytest.raises(FragmentMismatchError, match=message):
        cvt(a, name, b)

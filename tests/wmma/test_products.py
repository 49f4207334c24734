# SPDX-License-Identifier: MIT
"""Products of fragments: every overload on every chip, against the same instruction on matrices."""

import numpy as np
import pytest

import wmma_emu as we
from tests.wmma.fragment_types import (
    B1,
    OVERLOADS,
    S4,
    TF32,
    U4,
    A,
    B,
    C,
    chips,
    filled,
    random_bits,
    since,
    unverified,
)
from wmma_emu import UnspecifiedBehaviourWarning, UnverifiedModelWarning, wmma
from wmma_emu.arithmetic import dot_product_of, reference
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats.dtypes import to_bits
from wmma_emu.instructions import ARCHS, INSTRUCTIONS
from wmma_emu.wmma.saturation import HARDWARE

XOR, AND = wmma.experimental.bmmaBitOpXOR, wmma.experimental.bmmaBitOpAND
INTEGERS = [row for row in OVERLOADS if row[2].format.kind == "integer"]
HALVES = [row for row in OVERLOADS if row[2] is wmma.half]
WITHOUT_SATF = [row for row in OVERLOADS if row not in INTEGERS and row not in HALVES]


def identity(overload):
    shape, d, ab, c, a_layout, b_layout = overload
    return "-".join(["x".join(map(str, shape)), d.name, ab.name, c.name, a_layout.name, b_layout.name])


def operands(overload, arch="sm_90", seed=0, warps=()):
    shape, d, ab, c, a_layout, b_layout = overload
    return (
        wmma.fragment(C, *shape, d, arch=arch),
        filled(A, *shape, ab, a_layout, arch=arch, seed=seed, warps=warps),
        filled(B, *shape, ab, b_layout, arch=arch, seed=seed + 1, warps=warps),
        filled(C, *shape, c, arch=arch, seed=seed + 2, warps=warps),
    )


def mnemonic(overload, modifiers=""):
    shape, d, ab, c, a_layout, b_layout = overload
    types = (d, c) if ab is wmma.half else (d, ab, ab, c)
    m, n, k = shape
    names = ".".join(x.format.name for x in types)
    return f"wmma.mma.sync.aligned.{a_layout.order}.{b_layout.order}.m{m}n{n}k{k}.{names}{modifiers}"


def on_matrices(name, arch, *frags):
    return we.instruction(name, arch=arch)(*(frag.to_matrix() for frag in frags))


def test_no_product_of_mma_h_is_listed_twice():
    assert len(OVERLOADS) == len(set(OVERLOADS))


def test_the_instruction_table_has_the_same_products():
    listed = {mnemonic(overload) for overload in OVERLOADS}
    assert listed == {
        name for name, row in INSTRUCTIONS.items() if row.family == "wmma.mma" and not row.modifiers and row.a != "b1"
    }


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize("overload", OVERLOADS, ids=identity)
def test_every_product_matches_its_instruction_on_every_chip(overload):
    shape, _, ab, *_ = overload
    for arch in chips(*shape, ab):
        with unverified():
            d, a, b, c = operands(overload, arch)
            wmma.mma_sync(d, a, b, c)
            expected = on_matrices(mnemonic(overload), arch, a, b, c)
        assert np.array_equal(to_bits(d.to_matrix(), d.format), to_bits(expected, d.format)), arch


@pytest.mark.parametrize("op", [XOR, AND])
def test_products_of_bits_match_their_instruction_on_every_chip(op):
    assert {arch for arch, row in ARCHS.items() if row.number >= since(8, 8, 128, B1)} == set(chips(8, 8, 128, B1))
    for arch in chips(8, 8, 128, B1):
        d, a, b, c = operands(((8, 8, 128), wmma.int32, B1, wmma.int32, wmma.row_major, wmma.col_major), arch)
        if op is AND and arch == "sm_75":
            with pytest.raises(UnsupportedInstructionError, match="first chip that supports it is sm_80"):
                wmma.bmma_sync(d, a, b, c, op)
            assert not d.is_initialised
            continue
        for run in (wmma.bmma_sync, wmma.experimental.bmma_sync):
            run(d, a, b, c, op)
            x, y = a.to_matrix()[:, :, None], b.to_matrix()[None]
            ones = np.sum(x ^ y if op is XOR else x & y, axis=1, dtype=np.int32)
            assert np.array_equal(d.to_matrix(), c.to_matrix() + ones)


def test_bmma_sync_counts_xor_unless_told_otherwise():
    d, a, b, c = operands(((8, 8, 128), wmma.int32, B1, wmma.int32, wmma.row_major, wmma.col_major))
    e = wmma.fragment(C, 8, 8, 128, wmma.int32)
    wmma.bmma_sync(d, a, b, c)
    wmma.bmma_sync(e, a, b, c, XOR, wmma.experimental.bmmaAccumulateOpPOPC, engine="reference")
    assert d == e


@pytest.mark.parametrize("overload", [row for row in OVERLOADS if row[1] is row[3]], ids=identity)
def test_d_may_be_c(overload):
    d, a, b, c = operands(overload)
    x = c.x
    wmma.mma_sync(d, a, b, c)
    wmma.mma_sync(c, a, b, c)
    assert c == d
    assert np.shares_memory(c.x, x)


def test_a_chain_of_products_equals_gemm():
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(shape).astype(np.float16) for shape in ((16, 64), (64, 16)))
    a = wmma.fragment(A, 16, 16, 16, wmma.half, wmma.row_major)
    b = wmma.fragment(B, 16, 16, 16, wmma.half, wmma.row_major)
    c = wmma.fragment(C, 16, 16, 16, wmma.float32)
    wmma.fill_fragment(c, 0.0)
    for k in range(0, 64, 16):
        wmma.load_matrix_sync(a, x[:, k:])
        wmma.load_matrix_sync(b, y[k:])
        wmma.mma_sync(c, a, b, c)
    expected = we.gemm(x, y, instr="wmma.mma.m16n16k16.f32.f32")
    assert np.array_equal(to_bits(c.to_matrix(), "f32"), to_bits(expected, "f32"))


@pytest.mark.parametrize("engine", ["reference", "numpy"])
def test_engines_agree(engine):
    for overload in (OVERLOADS[0], OVERLOADS[16], INTEGERS[0]):
        d, a, b, c = operands(overload)
        e = wmma.fragment(C, *overload[0], overload[1])
        wmma.mma_sync(d, a, b, c)
        wmma.mma_sync(e, a, b, c, engine=engine)
        assert d == e


@pytest.mark.parametrize("arch", ["sm_70", "sm_75", "sm_90"])
@pytest.mark.parametrize("warps", [(0,), (1,), (3,), (2, 2)])
def test_a_batch_is_a_loop_over_warps(warps, arch):
    with unverified():
        d, a, b, c = operands(OVERLOADS[5], arch, warps=warps)
        wmma.mma_sync(d, a, b, c)
        assert d.warps == warps
        single = operands(OVERLOADS[5], arch)
        for index in np.ndindex(warps):
            for one, many in zip(single[1:], (a, b, c), strict=True):
                one.write_bits(many.bits("x")[(slice(None), *index)])
            wmma.mma_sync(*single)
            assert np.array_equal(single[0].bits("x"), d.bits("x")[(slice(None), *index)])


def test_batches_broadcast_and_d_takes_their_shape():
    overload = OVERLOADS[5]
    d, a, _, c = operands(overload, warps=(3,))
    _, _, b, _ = operands(overload)
    wmma.mma_sync(d, a, b, c)
    assert d.warps == (3,)
    one = operands(overload)[3]
    wmma.mma_sync(one, a, b, one)
    assert one.warps == (3,)
    with pytest.raises(FragmentMismatchError, match=r"do not broadcast: a \(3,\), b \(\), c \(2,\)"):
        wmma.mma_sync(d, a, b, operands(overload, warps=(2,))[3])


def test_unrounded_float32_is_truncated_in_a_tf32_product():
    shape = (16, 16, 8)
    for a_layout, b_layout in ((wmma.row_major, wmma.col_major), (wmma.col_major, wmma.row_major)):
        a, b = filled(A, *shape, TF32, a_layout), filled(B, *shape, TF32, b_layout, seed=1)
        c, d, e = (filled(C, *shape, wmma.float32, seed=2) for _ in range(3))
        wmma.mma_sync(d, a, b, c)
        assert (a.bits("x") & 0x1FFF).any()
        for frag in (a, b):
            frag.write_bits(frag.bits("x") & np.uint32(0xFFFFE000))
        wmma.mma_sync(e, a, b, c)
        # A NaN whose payload is in the truncated bits reads as an infinity: the patterns do not include any.
        assert d == e


def test_float_to_tf32_rounds_ties_away():
    def rounded(pattern):
        return int(wmma.float_to_tf32(np.uint32(pattern).view(np.float32)).view(np.uint32))

    assert rounded(0x3F800FFF) == 0x3F800000
    assert rounded(0x3F801000) == 0x3F802000
    assert rounded(0x3F803000) == 0x3F804000
    assert rounded(0xBF801000) == 0xBF802000
    assert rounded(0x80000000) == 0x80000000
    assert rounded(0x00001000) == 0x00002000
    assert rounded(0x7F7FFFFF) == 0x7F800000
    assert rounded(0x7F800000) == 0x7F800000
    assert rounded(0x7F801FFF) == 0x7F800000  # a NaN whose payload is cut away
    assert rounded(0xFFC01234) == 0xFFC00000
    assert isinstance(wmma.float_to_tf32(np.float32(1)), np.float32)


def test_float_to_tf32_takes_arrays_and_elements_of_fragments():
    x = random_bits(TF32.format, (4, 5)).view(np.float32)
    before = x.copy()
    rounded = wmma.float_to_tf32(x)
    assert rounded.shape == (4, 5) and np.array_equal(x.view(np.uint32), before.view(np.uint32))
    finite = np.isfinite(x)
    bits = x.view(np.uint32)[finite].astype(np.int64)
    assert np.array_equal(rounded.view(np.uint32)[finite], (bits + 0x1000) >> 13 << 13)
    frag = filled(A, 16, 16, 8, TF32, wmma.row_major)
    for i in range(frag.num_elements):
        frag.x[i] = wmma.float_to_tf32(frag.x[i])
    assert not (frag.bits("x")[~np.isnan(frag.x)] & 0x1FFF).any()


@pytest.mark.parametrize("given", [1.0, 1, np.float64(1), np.zeros(3), np.zeros(3, np.uint32), None, [1.0], "1"])
def test_float_to_tf32_rounds_only_float32(given):
    with pytest.raises(FragmentMismatchError, match="float_to_tf32 takes float32"):
        wmma.float_to_tf32(given)


@pytest.mark.parametrize("arch", [name for name, row in ARCHS.items() if row.number >= 75])
@pytest.mark.parametrize("shape", [(16, 16, 16), (32, 8, 16), (8, 32, 16)])
def test_since_turing_edited_duplicates_change_nothing(shape, arch):
    overload = (shape, wmma.float32, wmma.half, wmma.float32, wmma.row_major, wmma.col_major)
    with unverified():
        d, a, b, c = operands(overload, arch)
        e = operands(overload, arch)[0]
        wmma.mma_sync(d, a, b, c)
        for frag in (a, b):
            read = frag.lane_map.read_elements
            before = frag.to_matrix()
            frag.x[read:] = 7
            assert np.array_equal(to_bits(frag.to_matrix(), "f16"), to_bits(before, "f16"))
        wmma.mma_sync(e, a, b, c)
        assert d == e
        a.x[0, 0] = 7
        wmma.mma_sync(e, a, b, c)
        assert d != e


@pytest.mark.parametrize("satf", [True, "hardware", np.True_])
@pytest.mark.parametrize("overload", INTEGERS, ids=identity)
def test_satf_clamps_integers(overload, satf):
    shape, _, ab, *_ = overload
    for arch in chips(*shape, ab):
        d, a, b, c = operands(overload, arch)
        c.x[:] = np.where(c.x < 0, -(2**31), 2**31 - 1)
        wmma.mma_sync(d, a, b, c, satf)
        x, y, z = (frag.to_matrix().astype(np.int64) for frag in (a, b, c))
        assert np.array_equal(d.to_matrix(), np.clip(x @ y + z, -(2**31), 2**31 - 1)), arch
        wmma.mma_sync(d, a, b, c, satf=False)
        assert np.array_equal(d.to_matrix(), (x @ y + z).astype(np.int32)), arch


def saturated(bits, fmt):
    """One number, in the words of the documentation."""
    infinity, largest = {"f16": (0x7C00, 0x7BFF), "f32": (0x7F800000, 0x7F7FFFFF)}[fmt.name]
    sign, magnitude = bits & fmt.sign_mask, bits & (fmt.mask >> 1)
    if magnitude > infinity:
        return 0
    return sign | largest if magnitude == infinity else bits


@pytest.mark.parametrize("overload", HALVES, ids=identity)
def test_satf_on_halves_has_the_documented_effect_and_warns(overload):
    d, a, b, c = operands(overload)
    e = wmma.fragment(C, *overload[0], overload[1])
    for i, special in enumerate((np.inf, -np.inf, np.nan)):
        c.x[i] = special
    wmma.mma_sync(d, a, b, c)
    with pytest.warns(UnspecifiedBehaviourWarning) as caught:
        wmma.mma_sync(e, a, b, c, satf=True)
    assert caught[0].filename == __file__
    fmt = d.format
    expected = [saturated(int(x), fmt) for x in d.bits("d").flat]
    assert e.bits("e").ravel().tolist() == expected != d.bits("d").ravel().tolist()


def with_specials(c):
    for i, special in enumerate((np.inf, -np.inf, np.nan, 65504, -65504)):
        c.x[i] = special


@pytest.mark.parametrize("overload", HALVES, ids=identity)
def test_satf_on_halves_does_nothing_on_hopper_but_where_f32_sums_become_halves(overload):
    d, a, b, c = operands(overload)
    e = wmma.fragment(C, *overload[0], overload[1])
    with_specials(c)
    wmma.mma_sync(d, a, b, c)
    wmma.mma_sync(e, a, b, c, satf="hardware")
    assert (d == e) is (d.type is c.type or d.type is wmma.float32)


def test_the_conversion_that_satf_makes_truncate_keeps_finite_sums_finite():
    d, a, b, c = (wmma.fragment(C, 16, 16, 16, wmma.half), *operands(HALVES[0])[1:3],
                  wmma.fragment(C, 16, 16, 16, wmma.float32))  # fmt: skip
    for frag in (a, b):
        wmma.fill_fragment(frag, 0)
    wmma.fill_fragment(c, 0)
    c.x[:6] = np.array([[70000], [-70000], [np.inf], [np.nan], [1 + 2**-10 * 0.999], [-1e-9]], np.float32)
    wmma.mma_sync(d, a, b, c)
    assert [hex(x[0]) for x in d.bits("d")[:6]] == ["0x7c00", "0xfc00", "0x7c00", "0x7fff", "0x3c01", "0x8000"]
    wmma.mma_sync(d, a, b, c, satf="hardware")
    assert [hex(x[0]) for x in d.bits("d")[:6]] == ["0x7bff", "0xfbff", "0x7c00", "0x7fff", "0x3c00", "0x8000"]


@pytest.mark.parametrize("arch", ["sm_70", "sm_72", "sm_75"])
def test_satf_in_the_machine_code_of_volta_and_turing_is_taken_at_its_word_and_warns(arch):
    with unverified():
        d, a, b, c = operands(HALVES[0], arch)
        e = operands(HALVES[0], arch)[0]
        with_specials(c)
        with pytest.warns(UnverifiedModelWarning, match="taken to do what is documented"):
            wmma.mma_sync(d, a, b, c, satf="hardware")
        with pytest.warns(UnspecifiedBehaviourWarning):
            wmma.mma_sync(e, a, b, c, satf=True)
    assert d == e


EFFECTS = {
    ("sm_70", "f32", "f32"): "documented",
    ("sm_70", "f32", "f16"): "documented",
    ("sm_70", "f16", "f16"): "documented",
    ("sm_72", "f32", "f32"): "documented",
    ("sm_72", "f32", "f16"): "documented",
    ("sm_72", "f16", "f16"): "documented",
    ("sm_75", "f32", "f32"): "documented",
    ("sm_75", "f32", "f16"): "documented",
    ("sm_75", "f16", "f16"): "documented",
    ("sm_80", "f32", "f32"): "none",
    ("sm_80", "f32", "f16"): "none",
    ("sm_80", "f16", "f16"): "none",
    ("sm_80", "f16", "f32"): "truncated",
    ("sm_86", "f32", "f32"): "none",
    ("sm_86", "f32", "f16"): "none",
    ("sm_86", "f16", "f16"): "none",
    ("sm_86", "f16", "f32"): "truncated",
    ("sm_89", "f32", "f32"): "none",
    ("sm_89", "f32", "f16"): "none",
    ("sm_89", "f16", "f16"): "none",
    ("sm_89", "f16", "f32"): "truncated",
    ("sm_90", "f32", "f32"): "none",
    ("sm_90", "f32", "f16"): "none",
    ("sm_90", "f16", "f16"): "none",
    ("sm_90", "f16", "f32"): "truncated",
    ("sm_100", "f32", "f32"): "none",
    ("sm_100", "f32", "f16"): "none",
    ("sm_100", "f16", "f16"): "none",
    ("sm_100", "f16", "f32"): "truncated",
    ("sm_120", "f32", "f32"): "none",
    ("sm_120", "f32", "f16"): "none",
    ("sm_120", "f16", "f16"): "none",
    ("sm_120", "f16", "f32"): "truncated",
    ("sm_103", "f32", "f32"): "none",
    ("sm_103", "f32", "f16"): "none",
    ("sm_103", "f16", "f16"): "none",
    ("sm_103", "f16", "f32"): "truncated",
    ("sm_121", "f32", "f32"): "none",
    ("sm_121", "f32", "f16"): "none",
    ("sm_121", "f16", "f16"): "none",
    ("sm_121", "f16", "f32"): "truncated",
}
"""By chip and the formats of D and C; of Volta and Turing with D in f16 and C in f32 nothing is known."""


def test_every_row_of_what_chips_do_has_its_effect_and_its_evidence():
    assert {key: row.effect for key, row in HARDWARE.items()} == EFFECTS
    assert {arch for arch, *_ in EFFECTS} == set(ARCHS)
    for (arch, *_), row in HARDWARE.items():
        assert row.source and row.status == ("measured" if arch == "sm_90" else "inferred")


@pytest.mark.parametrize("arch", ["sm_70", "sm_72", "sm_75"])
def test_what_satf_does_on_a_chip_without_evidence_is_not_guessed(arch):
    with unverified():
        _, a, b, c = operands(HALVES[0], arch)
        d = wmma.fragment(C, *HALVES[0][0], wmma.half, arch=arch)
        c = wmma.fragment(C, *HALVES[0][0], wmma.float32, arch=arch)
        wmma.fill_fragment(c, 0)
        with pytest.raises(UnsupportedInstructionError, match=f"on {arch} with D in f16 and C in f32 is not known"):
            wmma.mma_sync(d, a, b, c, satf="hardware")
    assert not d.is_initialised


@pytest.mark.parametrize("satf", [True, "hardware"])
@pytest.mark.parametrize("overload", WITHOUT_SATF, ids=identity)
def test_other_types_have_no_satf(overload, satf):
    d, a, b, c = operands(overload)
    with pytest.raises(UnsupportedInstructionError, match="has no satf"):
        wmma.mma_sync(d, a, b, c, satf=satf)
    assert not d.is_initialised


@pytest.mark.parametrize("satf", ["yes", 1, 0, None, 1.0, "Hardware", np.array([True, False])])
def test_satf_is_a_bool_or_hardware(satf):
    with pytest.raises(UnsupportedInstructionError, match="satf is True, False or 'hardware'"):
        wmma.mma_sync(*operands(OVERLOADS[0]), satf=satf)


@pytest.mark.parametrize("which", ["a", "b", "c"])
def test_an_uninitialised_operand_is_named(which):
    frags = dict(zip("dabc", operands(OVERLOADS[0]), strict=True))
    old = frags[which]
    frags[which] = wmma.fragment(old.use, old.m, old.n, old.k, old.type, old.layout)
    with pytest.raises(FragmentMismatchError, match=f"^{which} is an uninitialised"):
        wmma.mma_sync(*frags.values())
    assert not frags["d"].is_initialised


def test_fragments_that_do_not_belong_together_are_named():
    d, a, b, c = operands(OVERLOADS[0])
    half = (16, 16, 16, wmma.half)
    wrong = {
        "a is a fragment<matrix_b": (d, filled(B, *half, wmma.row_major), b, c),
        "b is a fragment<matrix_a": (d, a, filled(A, *half, wmma.row_major), c),
        "d is a fragment<matrix_a": (a, a, b, c),
        "c is a fragment<accumulator, ...>, not ndarray": (d, a, b, c.x),
        "different products, m x n x k: d 16 x 16 x 16, a 16 x 16 x 16, b 32 x 8 x 16":
            (d, a, filled(B, 32, 8, 16, wmma.half, wmma.row_major), c),
        "different chips, whose registers differ: d sm_90, a sm_90, b sm_90, c sm_80":
            (d, a, b, filled(C, *half, arch="sm_80")),
        "(half, half, bfloat16, half); the nearest fix is to make b wmma.half":
            (d, a, filled(B, 16, 16, 16, wmma.bfloat16, wmma.row_major), c),
        "(half, half, half, int32); the nearest fix is to make c wmma.float32":
            (d, a, b, filled(C, 16, 16, 16, wmma.int32)),
    }  # fmt: skip
    for text, frags in wrong.items():
        with pytest.raises(FragmentMismatchError) as caught:
            wmma.mma_sync(*frags)
        assert text in str(caught.value)
    assert not d.is_initialised


def test_signed_and_unsigned_integers_do_not_mix():
    for first, second, shape in ((wmma.int8, wmma.uint8, (16, 16, 16)), (S4, U4, (8, 8, 32))):
        a, b = filled(A, *shape, first, wmma.row_major), filled(B, *shape, second, wmma.col_major)
        c = filled(C, *shape, wmma.int32)
        with pytest.raises(FragmentMismatchError, match="cannot multiply fragments of"):
            wmma.mma_sync(c, a, b, c)


def test_each_kind_of_product_has_its_function():
    with pytest.raises(FragmentMismatchError, match="bmma_sync"):
        wmma.mma_sync(*operands(((8, 8, 128), wmma.int32, B1, wmma.int32, wmma.row_major, wmma.col_major)))
    with pytest.raises(FragmentMismatchError, match="use mma_sync"):
        wmma.bmma_sync(*operands(OVERLOADS[0]))
    d, a, b, c = operands(((8, 8, 128), wmma.int32, B1, wmma.int32, wmma.row_major, wmma.col_major))
    with pytest.raises(UnsupportedInstructionError, match="no operation 'xor'"):
        wmma.bmma_sync(d, a, b, c, "xor")
    with pytest.raises(UnsupportedInstructionError, match="no accumulation"):
        wmma.bmma_sync(d, a, b, c, XOR, AND)


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("arch", ["sm_70", "sm_72"])
@pytest.mark.parametrize("overload", HALVES, ids=identity)
def test_on_volta_each_quad_pair_multiplies_its_own_copies(overload, arch):
    """Against a loop over lanes: what a lane's elements of D are is read off its own quad pair's A and B."""
    with unverified():
        d, a, b, c = operands(overload, arch)
        rng = np.random.default_rng(5)
        for frag in (a, b):  # a different replica in every lane
            frag.x = rng.standard_normal(frag.x.shape).astype(np.float16)
        wmma.mma_sync(d, a, b, c)
    product = dot_product_of(INSTRUCTIONS[mnemonic(overload)], arch)
    expected = {}
    for pair in range(4):
        lanes = [lane for lane in range(32) if lane >> 2 & 3 == pair]
        x = {tuple(a.coords[i, lane]): int(a.bits("a")[i, lane]) for i in range(16) for lane in lanes}
        y = {tuple(b.coords[i, lane]): int(b.bits("b")[i, lane]) for i in range(16) for lane in lanes}
        assert len(x) == len(y) == 128
        z = {tuple(c.coords[i, lane]): int(c.bits("c")[i, lane]) for i in range(8) for lane in lanes}
        for i in range(8):
            for lane in lanes:
                row, col = d.coords[i, lane]
                terms = [x[row, k] for k in range(16)], [y[k, col] for k in range(16)]
                expected[i, lane] = reference.dot(product, *terms, z[row, col])
    assert {(i, lane): int(d.bits("d")[i, lane]) for i in range(8) for lane in range(32)} == expected
    registers = [frag.registers() for frag in (a, b, c)]
    with unverified():
        bound = we.instruction(mnemonic(overload), arch=arch)
    assert np.array_equal(bound.execute(*registers), d.registers())


def test_copies_that_differ_have_no_matrix():
    a = filled(A, 16, 16, 16, wmma.half, wmma.row_major, arch="sm_70")
    a.x[0, 8] = 1
    a.x[0, 0] = 2
    with pytest.raises(FragmentMismatchError, match="replicas of an element of frag differ between lanes"):
        a.to_matrix()
    assert str(a).endswith("replicas of an element differ between lanes; x has all of them")
    with unverified():
        bound = we.instruction(mnemonic(HALVES[0]), arch="sm_70")
    with pytest.raises(FragmentMismatchError, match="replicas"):
        bound.a.unpack(a.registers())

# SPDX-License-Identifier: MIT
"""Input generators: their values, the same on every machine, and a generator that shows each rule of a model."""

import hashlib

import numpy as np
import pytest

import wmma_emu as we
from tools.altered_arithmetic import UNALTERED, compute
from tools.parameter_visibility import (
    PAGE,
    SUBJECTS,
    UNSEEN,
    alterations_of,
    changed,
    generators_text,
    operands,
    product_of,
    unseen_reason,
)
from wmma_emu.arithmetic import matmul
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats import decode, unpack
from wmma_emu.instructions import INSTRUCTIONS, lookup
from wmma_emu.layouts import pack_metadata, unpack_metadata
from wmma_emu.testing import generators

REPRESENTATIVES = {
    (i.family, i.d, i.a, i.b, i.c, i.m, i.k): i for i in reversed(INSTRUCTIONS.values())
}  # the last one wins: the first of the table
SPARSE = {(i.family, i.a, i.k): i for i in reversed(INSTRUCTIONS.values()) if i.is_sparse}
F16 = lookup("m16n8k16.f32.f16.f16.f32")
BF16 = lookup("m16n8k16.f32.bf16.bf16.f32")
BY_NAME = {subject.name: subject for subject in SUBJECTS}


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("row", REPRESENTATIVES.values(), ids=lambda i: i.mnemonic)
def test_every_instruction_has_generators_and_each_gives_patterns_of_its_formats(row):
    names = generators.generators_of(row)
    assert len(names) >= (3 if not row.format("a").is_float else 15)
    for name in names:
        drawn = generators.draw(row, name, 7, 2, 1, 1)
        for operand, bits in zip("abc", drawn[:3], strict=True):
            fmt = row.format(operand)
            assert bits.dtype == fmt.storage
            assert bits.shape[1:] == row.matrix_shape(operand)
            assert int(bits.max()) <= fmt.mask
        assert (drawn.indices is not None) == row.is_sparse


def test_the_bits_of_a_draw_never_change():
    """Recordings are checked against inputs that are drawn again: another digest needs another VERSION."""
    digest = hashlib.sha256()
    for mnemonic in ("m16n8k16.f32.f16.f16.f32", "m16n8k32.f16.e4m3.e5m2.f16", "m16n8k8.f32.tf32.tf32.f32",
                     "m16n8k4.f64.f64.f64.f64", "m16n8k32.s32.s8.u8.s32", "mma.sp.m16n8k128.s32.s4.s4.s32",
                     "mma.sp.m16n8k32.f32.bf16.bf16.f32", "m16n8k256.s32.b1.b1.s32.and.popc"):  # fmt: skip
        row = lookup(mnemonic)
        for name in generators.generators_of(row):
            for array in generators.draw(row, name, 3, 2, 2, 2):
                if array is not None:
                    digest.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())
    assert generators.VERSION == 1
    assert digest.hexdigest()[:16] == "f3af50200deb4466"


def test_a_seed_gives_the_same_bits_again_and_another_seed_others():
    for name in generators.generators_of(BF16):
        first, again, other = (generators.draw(BF16, name, seed, 2, 2, 2) for seed in (1, 1, 2))
        for operand in range(3):
            np.testing.assert_array_equal(first[operand], again[operand])
        assert any((first[i] != other[i]).any() for i in range(3)), name


@pytest.mark.parametrize("row", [BF16, SPARSE["mma.sp", "bf16", 32]], ids=["dense", "sparse"])
def test_more_tiles_begin_with_the_same_tiles(row):
    for name in generators.generators_of(row):
        few, many = generators.draw(row, name, 5, 2, 1, 3), generators.draw(row, name, 5, 7, 4, 5)
        for small, large in zip(few, many, strict=True):
            if small is not None:
                np.testing.assert_array_equal(small, large[: len(small)], err_msg=name)


def test_memory_layouts_modifiers_and_the_chip_do_not_matter():
    rows = [lookup(f"wmma.mma.{a}.{b}.m16n16k16.f32.f32") for a in ("row", "col") for b in ("row", "col")]
    draws = [generators.draw(row, "cancel_pairs", 1, 1, 1, 1) for row in rows]
    for drawn in draws[1:]:
        np.testing.assert_array_equal(drawn.a, draws[0].a)
    plain, clamped = (lookup(f"m16n8k32{x}.s32.s8.s8.s32") for x in ("", ".satfinite"))
    np.testing.assert_array_equal(*(generators.draw(x, "integer_limits", 1, 1, 1, 1).c for x in (plain, clamped)))
    bound = we.instruction("m16n8k16.f32.bf16.bf16.f32", arch="sm_80")
    np.testing.assert_array_equal(*(generators.draw(x, "normal", 1, 1, 1, 1).a for x in (BF16, bound)))


def products_of(row, name: str, seed: int = 0, a_tiles: int = 4, b_tiles: int = 4) -> np.ndarray:
    """Every product of every pair of tiles, exactly: (a_tiles, b_tiles, m, n, terms)."""
    drawn = generators.draw(row, name, seed, a_tiles, b_tiles, 1)
    a, b = decode(drawn.a, row.format("a")), decode(drawn.b, row.format("b"))
    with np.errstate(all="ignore"):
        if drawn.indices is None:
            return np.einsum("xmk,ykn->xymnk", a, b)
        met = np.stack([tile[drawn.indices] for tile in b], axis=1)
        return np.einsum("xmk,xymkn->xymnk", a, met)


@pytest.mark.parametrize("mnemonic", ["m16n8k16.f32.bf16.bf16.f32", "m16n8k32.f32.e4m3.e5m2.f32",
                                      "m16n8k8.f32.tf32.tf32.f32", "m16n8k8.f64.f64.f64.f64"])  # fmt: skip
def test_the_halves_of_k_cancel_exactly_for_every_pair_of_tiles(mnemonic):
    row = lookup(mnemonic)
    products = products_of(row, "cancel_halves")
    half = row.k // 2
    assert (products[..., :half] == -products[..., half:]).all()
    assert (products != 0).any(-1).all()


def test_shuffled_pairs_cancel_and_a_few_products_are_left():
    products = products_of(BF16, "cancel_pairs")
    left = (products.sum(-1) != 0).mean()
    one, other = (products_of(BF16, "cancel_pairs", seed)[0, 0, 0, 0] for seed in (0, 1))
    pairs = [{(i, j) for i in range(16) for j in range(i) if p[i] == -p[j] != 0} for p in (one, other)]
    assert left > 0.9
    assert all(len(found) == 7 for found in pairs)
    assert pairs[0] != pairs[1]


@pytest.mark.parametrize("row", [i for i in SPARSE.values() if i.format("a").is_float], ids=lambda i: i.mnemonic)
def test_the_products_that_metadata_select_cancel_in_three_rows_of_four(row):
    products = products_of(row, "cancel_halves", a_tiles=2, b_tiles=2)
    half = row.terms // 2
    structured = np.arange(row.m) % 4 != 3
    cancels = (products[..., :half] == -products[..., half:]).all(-1)
    assert cancels[:, :, structured].all()
    if row.a != "tf32":
        assert not cancels[:, :, ~structured].all()


@pytest.mark.parametrize("row", SPARSE.values(), ids=lambda i: i.mnemonic)
def test_indices_are_legal_and_of_every_kind_ascending_where_they_have_to_be(row):
    name = generators.generators_of(row)[0]
    indices = generators.draw(row, name, 1, 16, 1, 1).indices
    np.testing.assert_array_equal(unpack_metadata(row, pack_metadata(row, indices)), indices)
    ordered = row.family == "mma.sp::ordered_metadata" or row.a == "tf32"
    assert (np.diff(indices, axis=-1) > 0).all() == ordered
    chunk = {"tf32": 2}.get(row.a, 8 if row.container("a").bits == 4 else 4)
    kept = chunk // 2
    choices = {tuple(x) for x in (indices % chunk).reshape(-1, kept).tolist()}
    assert len(choices) == (2 if row.a == "tf32" else 6 if ordered else 12)


def test_the_two_k_of_a_packed_position_hold_different_elements():
    row = SPARSE["mma.sp", "bf16", 32]
    b = generators.draw(row, "cancel_pairs", 0, 1, 8, 1).b
    assert (b[:, 0::2] != b[:, 1::2]).mean() > 0.9


def test_special_values_occur_in_every_position_and_in_c():
    drawn = generators.draw(F16, "specials", 0, 32, 1, 8)
    a, c = unpack(drawn.a, F16.format("a")), unpack(drawn.c, F16.format("c"))
    for found in (a.is_nan, a.is_infinity):
        assert found.any((0, 1)).all()
    signalling = a.is_nan & ((drawn.a & 0x0200) == 0)
    assert signalling.any() and (a.is_nan & a.sign).any() and c.is_nan.any() and c.is_infinity.any()


def test_products_of_infinity_and_zero_and_infinities_of_both_signs_occur():
    products = products_of(BF16, "specials", a_tiles=32, b_tiles=32)
    drawn = generators.draw(BF16, "specials", 0, 32, 32, 1)
    no_nan = (
        ~unpack(drawn.a, BF16.format("a")).is_nan.any(-1)[:, None, :, None]
        & ~unpack(drawn.b, BF16.format("b")).is_nan.any(1)[None, :, None, :]
    )
    assert (np.isnan(products).any(-1) & no_nan).any()
    assert ((products == np.inf).any(-1) & (products == -np.inf).any(-1)).any()


def test_tf32_has_nan_whose_payload_the_chip_does_not_see():
    row = lookup("m16n8k8.f32.tf32.tf32.f32")
    a = generators.draw(row, "specials", 0, 16, 1, 1).a
    infinite = (a & 0x7FFF_E000) == 0x7F80_0000
    assert (infinite & ((a & 0x1FFF) != 0)).any()


def test_each_position_of_k_is_alone_in_some_row():
    for mnemonic, name in (("m16n8k16.f32.f16.f16.f32", "mostly_zero"),
                           ("m16n8k32.s32.s8.s8.s32", "integer_mostly_zero"),
                           ("m16n8k256.s32.b1.b1.s32.xor.popc", "bit_mostly_zero")):  # fmt: skip
        row = lookup(mnemonic)
        a = generators.draw(row, name, 0, 32, 1, 1).a
        fmt = row.format("a")
        nonzero = (a & ~a.dtype.type(fmt.sign_mask)) != 0 if fmt.is_float else a != 0
        alone = nonzero & (nonzero.sum(-1, keepdims=True) == 1)
        assert alone.any((0, 1)).all(), mnemonic


def test_sums_pass_both_ends_of_s32_and_stay_inside():
    for mnemonic in ("m16n8k32.s32.s8.s8.s32", "m16n8k64.s32.u4.s4.s32", "m16n8k32.s32.u8.u8.s32"):
        row = lookup(mnemonic)
        drawn = generators.draw(row, "integer_limits", 0, 8, 8, 8)
        a, b, c = (decode(x, row.format(n)) for x, n in zip(drawn[:3], "abc", strict=True))
        total = np.matmul(a[:, None], b) + c
        inside = (total >= -(2**31)) & (total < 2**31)
        assert (total >= 2**31).any() and inside.any()
        assert (total < -(2**31)).any() == (row.format("a").signed or row.format("b").signed)


def test_a_generator_that_the_formats_cannot_show_is_refused_with_those_that_they_can():
    with pytest.raises(UnsupportedInstructionError, match=r"has no input generator 'small_products'.*single_bits"):
        generators.draw(F16, "small_products", 0, 1, 1, 1)
    with pytest.raises(UnsupportedInstructionError, match="did you mean 'cancel_pairs'"):
        generators.draw(F16, "cancel_pair", 0, 1, 1, 1)
    with pytest.raises(UnsupportedInstructionError, match="has no input generator None"):
        generators.draw(F16, None, 0, 1, 1, 1)


@pytest.mark.parametrize("arguments", [("0", 1, 1, 1), (0, 0, 1, 1), (0, 1, -1, 1), (0, 1, 1, 1.0), (True, 1, 1, 1)],
                         ids=str)  # fmt: skip
def test_seeds_and_numbers_of_tiles_are_checked(arguments):
    with pytest.raises(FragmentMismatchError):
        generators.draw(F16, "normal", *arguments)


# What they see


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda s: f"{s.arch} {s.mnemonic}")
def test_the_copy_of_the_arithmetic_is_the_arithmetic(subject):
    instruction, product = product_of(subject)
    for name in generators.generators_of(instruction):
        pools = operands(instruction, name, 11, 300)
        np.testing.assert_array_equal(compute(product, *pools, UNALTERED), matmul(product, *pools), err_msg=name)


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.parametrize(
    "subject",
    [pytest.param(x, marks=[pytest.mark.slow] if i % 2 else []) for i, x in enumerate(SUBJECTS)],
    ids=lambda s: f"{s.arch} {s.mnemonic}",
)
def test_every_rule_of_a_model_is_seen_by_a_generator_or_by_none_for_a_reason(subject):
    instruction, _ = product_of(subject)
    seen: set[str] = set()
    for name in generators.generators_of(instruction):
        outputs = 5000 if name in ("floor_bits", "ties") else 1000
        seen |= {rule for rule, count in changed(subject, name, seeds=2, outputs=outputs).items() if count}
    expected = {x.name for x in alterations_of(subject) if not unseen_reason(subject, x)}
    # Volta's F = 23 leaves an f32 little to lose: three outputs of 10,000 of one generator.
    assert seen == expected or (subject.arch == "sm_70" and seen == expected - {"rounded twice"})


def test_the_rows_of_what_cannot_be_seen_name_subjects_and_alterations_that_exist():
    for subjects, names, reason in UNSEEN:
        assert reason
        for subject in subjects:
            assert {*names} <= {x.name for x in alterations_of(BY_NAME[subject])}, subject


@pytest.mark.parametrize(("subject", "generator"), [("bf16", "floor_bits"), ("f16, f16", "ties"),
                                                 ("FP8 wgmma, f16", "floor_bits"), ("f64", "specials")])  # fmt: skip
def test_the_page_shows_the_measured_counts(subject, generator):
    page = PAGE.read_text(encoding="utf-8")
    section = page[page.index(f"### {subject}: ") :].split("\n### ")[0]
    header, line = (
        next(x for x in section.splitlines() if x.startswith(start)) for start in ("| |", f"| `{generator}` |")
    )
    names, cells = ([x.strip() for x in row.split("|")[2:-1]] for row in (header, line))
    found = changed(BY_NAME[subject], generator)
    assert {name: int(cell or 0) for name, cell in zip(names, cells, strict=True)} == {x: found[x] for x in names}
    assert sum(map(bool, cells)) > 3


def test_the_page_lists_the_generators_of_the_table():
    assert generators_text() in PAGE.read_text(encoding="utf-8")

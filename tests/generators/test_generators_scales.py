# SPDX-License-Identifier: MIT
"""Block scales of the input generators: that they are the same everywhere, keep their structure, and reach all ends."""

import hashlib

import numpy as np
import pytest

from wmma_emu.arithmetic import dot_product_of, matmul
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats import decode, format_of
from wmma_emu.generators.block_scales import PATTERNS
from wmma_emu.instructions import INSTRUCTIONS, lookup
from wmma_emu.layouts import pack_metadata, unpack_metadata
from wmma_emu.testing import generators

SCALED = {(i.family, i.k, i.scale, i.scale_vec): i for i in reversed(INSTRUCTIONS.values()) if i.is_block_scaled}
MXF4 = lookup("m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0")
NVF4 = lookup("m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3")
MXF8 = lookup("m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0")
PADDING = np.uint8(0x7F)


def values(scales, row):
    """What scales are as numbers; the top bit of ue4m3 is padding."""
    return tuple(decode(x & PADDING if row.scale == "ue4m3" else x, format_of(row.scale)) for x in scales)


@pytest.mark.parametrize("row", SCALED.values(), ids=lambda i: i.mnemonic)
def test_every_generator_of_a_block_scaled_instruction_has_scales_of_its_shapes(row):
    for name in generators.generators_of(row):
        a, b = generators.draw_scales(row, name, 1, 2, 3)
        assert a.shape == (2, row.m, row.scale_vec)
        assert b.shape == (3, row.scale_vec, row.n)
        assert a.dtype == b.dtype == np.uint8


def test_the_bits_of_scales_never_change():
    digest = hashlib.sha256()
    for row in (MXF4, NVF4, MXF8):
        for name in generators.generators_of(row):
            for array in generators.draw_scales(row, name, 3, 2, 2):
                digest.update(array.tobytes())
    assert generators.VERSION == 1
    assert digest.hexdigest()[:16] == "fdfdebb1177ec0fb"


@pytest.mark.parametrize("row", [MXF4, NVF4], ids=["ue8m0", "ue4m3"])
def test_a_seed_gives_the_same_scales_again_and_more_tiles_begin_with_the_same(row):
    for name in generators.generators_of(row):
        few, many, other = (generators.draw_scales(row, name, *x) for x in ((5, 2, 1), (5, 6, 4), (6, 2, 1)))
        for one, more in zip(few, many, strict=True):
            np.testing.assert_array_equal(one, more[: len(one)], err_msg=name)
        assert any((x != y).any() for x, y in zip(few, other, strict=True)), name


@pytest.mark.parametrize("row", SCALED.values(), ids=lambda i: i.mnemonic)
def test_halves_of_k_that_cancel_still_cancel_under_their_scales(row):
    levels = set()
    for seed in range(8):
        drawn = generators.draw(row, "cancel_halves", seed, 2, 2, 1)
        a, b = (decode(x, row.format(n)) for x, n in zip(drawn[:2], "ab", strict=True))
        of_a, of_b = values(generators.draw_scales(row, "cancel_halves", seed, 2, 2), row)
        block = row.k // row.scale_vec
        if drawn.indices is None:
            b = b * np.repeat(of_b, block, axis=1)
            products = np.einsum("xmk,ykn->xymnk", a * np.repeat(of_a, block, axis=-1), b)
        else:
            met = np.stack([(t * np.repeat(s, block, axis=0))[drawn.indices] for t, s in zip(b, of_b, strict=True)], 1)
            products = np.einsum("xmk,xymkn->xymnk", a * np.repeat(of_a, block // 2, axis=-1), met)
            products = products[:, :, np.arange(row.m) % 4 != 3]  # the others take any of their k
        half = row.terms // 2
        assert (products[..., :half] == -products[..., half:]).all()
        levels |= {bool((x == x[..., :1]).all()) for x in (of_a,)}
    assert row.scale_vec == 1 or levels == {True, False}  # alike in all blocks, and not


def test_pairs_that_metadata_move_together_cancel_together():
    row = lookup("mma.sp::ordered_metadata.m16n8k128.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0")
    for seed in range(3):
        drawn = generators.draw(row, "cancel_pairs", seed, 2, 1, 1)
        np.testing.assert_array_equal(unpack_metadata(row, pack_metadata(row, drawn.indices)), drawn.indices)
        a = decode(drawn.a, row.format("a"))
        met = decode(drawn.b[0], row.format("b"))[drawn.indices]
        sums = (a[..., None] * met)[:, np.arange(row.m) % 4 != 3].sum(2)
        rest = np.abs(sums) <= 8 * 36
        assert rest.all()
        assert np.median(np.abs(sums)) < 9


def test_one_block_of_a_line_stands_far_above_the_rest():
    for row, most in ((MXF4, 20), (NVF4, 10)):
        a, _ = values(generators.draw_scales(row, "scales_far", 0, 16, 1), row)
        distance = np.log2(a.max(-1) / np.sort(a, axis=-1)[..., -2])
        assert distance.max() > most
        assert len(np.unique(np.round(distance))) > most // 2


def test_special_scales_are_nan_zero_smallest_largest_subnormal_and_one():
    a, b = generators.draw_scales(MXF4, "scales_special", 0, 32, 32)
    for found in (a, b):
        assert {0x00, 0x01, 0x7F, 0xFE, 0xFF} <= set(found.ravel().tolist())
    a, b = generators.draw_scales(NVF4, "scales_special", 0, 64, 64)
    for found in (a, b):
        assert {0x00, 0x01, 0x38, 0x7E, 0x7F, *range(1, 8)} <= set((found & PADDING).ravel().tolist())
        assert (found & 0x80).any()
        assert (found == 0xFF).any()


@pytest.mark.parametrize("row", [MXF4, NVF4, MXF8], ids=["mxf4", "nvf4", "mxf8"])
def test_the_other_generators_have_neither_nan_nor_padding_among_their_scales(row):
    for name in set(generators.generators_of(row)) - {"scales_special", "scales_raw"}:
        for found in generators.draw_scales(row, name, 0, 8, 8):
            assert not ((found & 0x80).any() if row.scale == "ue4m3" else (found == 0xFF).any()), name
            assert not (row.scale == "ue4m3" and (found == 0x7F).any()), name


def test_scales_bring_sums_to_both_ends_of_f32():
    product = dot_product_of(MXF8, "sm_120")
    a, b, c, _ = generators.draw(MXF8, "scales_limits", 0, 8, 8, 8)
    of_a, of_b = generators.draw_scales(MXF8, "scales_limits", 0, 8, 8)
    d = matmul(product, a[:, None], b, c, scale_a=of_a[:, None], scale_b=of_b).view(np.float32)
    assert np.isinf(d).any()
    assert ((d != 0) & (np.abs(d) < 2.0**-126)).any()
    assert (np.abs(d[np.isfinite(d)]) > 1e38).any()


def test_formats_without_nan_have_largest_numbers_in_its_place():
    row = lookup("m16n8k32.kind::f8f6f4.f32.e2m1.e3m2.f32")
    drawn = generators.draw(row, "specials", 0, 16, 1, 1)
    assert (drawn.a & 7 == 7).any()


def test_generators_of_scales_are_for_instructions_with_scales():
    own = {x for x in generators.GENERATORS if x.startswith("scales_")}
    assert own
    assert own <= set(generators.generators_of(MXF4))
    assert not own & set(generators.generators_of("m16n8k32.kind::f8f6f4.f32.e2m1.e3m2.f32"))
    assert {x.scales for x in generators.GENERATORS.values()} <= set(PATTERNS)


def test_wrong_use_is_refused():
    with pytest.raises(UnsupportedInstructionError, match=r"has no block scales; use an instruction with .block_scale"):
        generators.draw_scales("m16n8k16.f32.f16.f16.f32", "normal", 0, 1, 1)
    with pytest.raises(UnsupportedInstructionError, match=r"no input generator 'scale_far'.*did you mean 'scales_far'"):
        generators.draw_scales(MXF4, "scale_far", 0, 1, 1)
    for wrong in (("0", 1, 1), (0, 0, 1), (0, 1, 1.5)):
        with pytest.raises(FragmentMismatchError):
            generators.draw_scales(MXF4, "normal", *wrong)

# SPDX-License-Identifier: MIT
"""Fragments: which exist, where their elements live, and that they behave as values."""

import copy
import pickle
import re
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.wmma.fragment_types import (
    B1,
    FRAGMENTS,
    MEM_ROW,
    S4,
    TF32,
    U4,
    A,
    B,
    C,
    chips,
    filled,
    identity,
    matrix_shape,
    random_array,
    random_bits,
)
from wmma_emu import Pointer, wmma
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats.packing import pack_words
from wmma_emu.instructions import ARCHS
from wmma_emu.layouts.wmma_table import FRAGMENTS as TABLE

IDS = [identity(*row) for row in FRAGMENTS]
VECTORS = Path(__file__).parents[1] / "data" / "sm90_wmma_layouts.npz"

NUM_ELEMENTS = {
    wmma.half: (16, 16, 16), wmma.int8: (8, 16, 4), wmma.uint8: (8, 16, 4), wmma.bfloat16: (8, 16, 4),
}  # fmt: skip
"""Positions of A in 16x16x16, 32x8x16 and 8x32x16; for B the last two are exchanged."""

DTYPES = {
    wmma.half: np.float16, wmma.bfloat16: ml_dtypes.bfloat16, wmma.float32: np.float32, wmma.double: np.float64,
    wmma.int8: np.int8, wmma.uint8: np.uint8, wmma.int32: np.int32, TF32: np.float32, S4: ml_dtypes.int4,
    U4: ml_dtypes.uint4, B1: np.bool_,
}  # fmt: skip


def num_elements(use, m, n, k, type_):
    if use is C:
        return 8 if m * n == 256 else 2
    if type_ in NUM_ELEMENTS:
        first, tall, wide = NUM_ELEMENTS[type_]
        return {16: first, 32: tall if use is A else wide, 8: wide if use is A else tall}[m]
    return {TF32: 4, wmma.double: 1, S4: 8, U4: 8, B1: 32}[type_]


def test_no_fragment_of_mma_h_is_listed_twice():
    assert len(FRAGMENTS) == len(set(FRAGMENTS))


def test_the_table_of_layouts_has_the_fragments_of_mma_h():
    listed = {
        (use.value, f"m{m}n{n}k{k}", type_.format.name, None if layout is None else layout.order)
        for use, m, n, k, type_, layout in FRAGMENTS
    }
    tabled = {
        (use, shape, fmt, order)
        for (shape, use, fmt), row in TABLE.items()
        for order in ([None] if use == "accumulator" else row.stored)
    }
    assert listed == tabled


@pytest.mark.parametrize("row", FRAGMENTS, ids=IDS)
def test_every_fragment_exists_on_its_chips_and_on_no_earlier_one(row):
    use, m, n, k, type_, _ = row
    for arch in ARCHS:
        if arch not in chips(m, n, k, type_):
            with pytest.raises(UnsupportedInstructionError):
                wmma.fragment(*row, arch=arch)
            continue
        frag = wmma.fragment(*row, arch=arch)
        assert (frag.use, frag.m, frag.n, frag.k, frag.type, frag.layout) == row
        assert frag.arch is ARCHS[arch]
        assert frag.num_elements == num_elements(use, m, n, k, type_)
        assert frag.num_storage_elements == (1 if type_ in (S4, U4, B1) else frag.num_elements)
        assert frag.coords.shape == (frag.num_elements, 32, 2)
        assert frag.lane_map.matrix_shape == matrix_shape(use, m, n, k)
        assert frag.x.dtype == DTYPES[type_] and frag.x.shape == (frag.num_elements, 32)


def test_hoppers_coordinates_match_the_recording():
    arrays = np.load(VECTORS)
    compared = 0
    for key in arrays.files:
        found = re.fullmatch(r"layout\|(\w+)\|m(\d+)n(\d+)k(\d+)\|(\w*)\|(\w*)\|(?:mem_)?(row|col)_major", key)
        if not found:
            continue
        use, *sizes, multiplicand, accumulator, order = found.groups()
        types = {type_.format.name: type_ for type_ in DTYPES}
        layout = None if use == "accumulator" else getattr(wmma, f"{order}_major")
        frag = wmma.fragment(
            getattr(wmma, use), *map(int, sizes), types[accumulator or multiplicand], layout, arch="sm_90"
        )
        assert np.array_equal(frag.coords, arrays[key].transpose(1, 0, 2)), key
        compared += 1
    assert compared > 50


def follows_the_formulas(frag):
    """The formulas that people use for the accumulator of 16x16x16."""
    row, col = np.divmod(np.arange(256), 16)
    lane, index = row % 8 * 4 + col % 8 // 2, col // 8 * 4 + row // 8 * 2 + col % 2
    return np.array_equal(frag.coords[index, lane], np.stack((row, col), axis=-1))


@pytest.mark.parametrize("type_", [wmma.float32, wmma.half, wmma.int32])
def test_the_formulas_of_the_accumulator_hold_since_turing_and_not_on_volta(type_):
    for arch in chips(16, 16, 16, type_):
        frag = wmma.fragment(C, 16, 16, 16, type_, arch=arch)
        # On Xavier, sm_72, the integer accumulator matches later chips.
        assert follows_the_formulas(frag) == (ARCHS[arch].number >= 75 or type_ is wmma.int32)


def test_where_voltas_accumulator_is_instead():
    lane, i = np.arange(32), np.arange(8)[:, None]
    origin_row = 8 * (lane >> 2 & 1) + 4 * (lane >> 4)
    origin_col = 8 * (lane >> 3 & 1)
    whole_rows = np.broadcast_arrays(origin_row + lane % 4, origin_col + i)
    checks = np.broadcast_arrays(origin_row + (lane & 1) + (i & 2), origin_col + (lane & 2) + (i & 1) + (i & 4))
    for type_, expected in ((wmma.half, whole_rows), (wmma.float32, checks)):
        frag = wmma.fragment(C, 16, 16, 16, type_, arch="sm_70")
        assert np.array_equal(frag.coords, np.stack(expected, axis=-1))


@pytest.mark.parametrize("row", FRAGMENTS, ids=IDS)
def test_a_fragment_that_nothing_was_put_into_is_refused(row):
    frag = wmma.fragment(*row)
    assert not frag.is_initialised and "uninitialised" in repr(frag) and "uninitialised" in str(frag)
    for use_it in (frag.to_matrix, frag.registers):
        with pytest.raises(FragmentMismatchError, match="uninitialised"):
            use_it()
    assert not frag.is_initialised


def test_reading_an_uninitialised_fragment_shows_all_bits_set():
    assert np.isnan(wmma.fragment(C, 16, 16, 16, wmma.float32).x).all()
    assert (wmma.fragment(C, 16, 16, 16, wmma.int32).x == -1).all()
    assert wmma.fragment(A, 8, 8, 128, B1, wmma.row_major).x.all()
    assert np.isnan(wmma.fragment(A, 16, 16, 16, wmma.bfloat16, wmma.row_major).x.astype(np.float32)).all()


def test_elements_are_written_one_at_a_time_as_in_cuda():
    frag = wmma.fragment(C, 16, 16, 16, wmma.float32)
    wmma.fill_fragment(frag, 1.5)
    for i in range(frag.num_elements):
        frag.x[i] *= 2
    frag.x[3, 7] = -1
    row, col = frag.coords[3, 7]
    expected = np.full((16, 16), 3, np.float32)
    expected[row, col] = -1
    assert np.array_equal(frag.to_matrix(), expected)


def test_elements_written_into_a_fresh_fragment_define_it():
    frag = wmma.fragment(C, 16, 16, 16, wmma.int32)
    for i in range(frag.num_elements):
        frag.x[i] = 16 * frag.coords[i, :, 0] + frag.coords[i, :, 1]
    assert np.array_equal(frag.to_matrix(), np.arange(256).reshape(16, 16))


@pytest.mark.parametrize("row", FRAGMENTS, ids=IDS)
def test_x_takes_whole_arrays_bit_for_bit_and_registers_pack_them(row):
    frag = wmma.fragment(*row)
    fmt = frag.format
    bits = random_bits(fmt, (frag.num_elements, 3, 32), 1)
    elements = random_array(frag.type, bits.shape, 1)
    frag.x = elements
    assert frag.warps == (3,) and np.array_equal(frag.bits("x"), bits)
    assert not np.shares_memory(frag.x, elements)
    assert np.array_equal(frag.registers(), pack_words(bits, fmt))
    assert frag.registers().shape == (frag.lane_map.num_registers, 3, 32)


def test_x_takes_raw_bits_of_floats():
    frag = wmma.fragment(C, 16, 16, 16, wmma.float32)
    frag.x = np.full((8, 32), 0x7F812345, np.uint32)
    assert (frag.x.view(np.uint32) == 0x7F812345).all()


def test_x_in_place_operators_keep_the_array():
    frag = filled(C, 16, 16, 16, wmma.int32)
    x = frag.x
    frag.x += 1
    assert np.shares_memory(frag.x, x)


@pytest.mark.parametrize(
    ("elements", "text"),
    [
        (np.zeros((32, 8), np.float32), r"x has shape \(32, 8\).*\(8, \*warps, 32\)"),
        (np.zeros(32, np.float32), "elements first, lanes last"),
        (np.zeros((8, 32), np.float64), "float64"),
        (np.zeros((8, 32), np.int32), "int32"),
        (0.0, "fill_fragment sets all"),
        ([0.0], "Python list"),
        (None, "None"),
    ],
)
def test_x_refuses_other_shapes_and_types_and_is_unchanged(elements, text):
    frag = filled(C, 16, 16, 16, wmma.float32)
    before = copy.copy(frag)
    with pytest.raises(FragmentMismatchError, match=text):
        frag.x = elements
    assert frag == before


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("warps", [(), (2,), (2, 3), (0,)])
@pytest.mark.parametrize("row", FRAGMENTS, ids=IDS)
def test_copies_and_pickles_are_equal_and_independent(row, warps):
    frag = filled(*row, warps=warps)
    for other in (copy.copy(frag), copy.deepcopy(frag), pickle.loads(pickle.dumps(frag))):
        assert other == frag and not other != frag
        assert other.x.dtype == frag.x.dtype
        assert np.array_equal(other.bits("x"), frag.bits("x"))
        assert not np.shares_memory(other.x, frag.x)
        if other.x.size:
            other.write_bits(other.bits("x") ^ other.format.storage.type(1))
            assert other != frag


def test_uninitialised_fragments_copy_and_pickle_too():
    frag = wmma.fragment(A, 16, 16, 16, wmma.half, wmma.row_major, arch="v100")
    for other in (copy.copy(frag), pickle.loads(pickle.dumps(frag))):
        assert other == frag and not other.is_initialised and other.arch.name == "sm_70"
    other.x[:] = 0
    assert other != frag


def test_fragments_of_other_types_chips_or_batches_differ():
    frag = filled(A, 16, 16, 16, wmma.half, wmma.row_major)
    others = [
        filled(A, 16, 16, 16, wmma.half, wmma.col_major),
        filled(A, 16, 16, 16, wmma.half, wmma.row_major, arch="sm_80"),
        filled(A, 16, 16, 16, wmma.half, wmma.row_major, warps=(1,)),
        filled(A, 16, 16, 16, wmma.half, wmma.row_major, seed=1),
    ]
    assert all(frag != other for other in others)
    assert frag != 1 and frag != "frag"


def test_equality_compares_bits():
    frag, other = (wmma.fragment(C, 16, 16, 16, wmma.float32) for _ in range(2))
    wmma.fill_fragment(frag, 0.0)
    wmma.fill_fragment(other, -0.0)
    assert frag != other
    wmma.fill_fragment(frag, float("nan"))
    wmma.fill_fragment(other, float("nan"))
    assert frag == other


def test_fragments_have_no_hash():
    with pytest.raises(TypeError):
        hash(wmma.fragment(C, 16, 16, 16, wmma.float32))


def test_fragments_show_their_type_chip_and_warps():
    a = wmma.fragment(A, 16, 16, 8, TF32, wmma.row_major, arch="a100")
    assert repr(a) == "<fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> on sm_80: uninitialised>"
    a.x[:] = 1
    assert repr(a) == "<fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> on sm_80: 4 elements a lane, 1 warp>"
    d = wmma.fragment(C, 8, 8, 32, wmma.int32)
    wmma.load_matrix_sync(d, Pointer(np.arange(256, dtype=np.int32), np.array([0, 64, 128])), 8, MEM_ROW)
    assert repr(d) == "<fragment<accumulator, 8, 8, 32, int> on sm_90: 2 elements a lane, 3 warps>"
    assert str(d).splitlines()[1:3] == ["warp 0:", "[[ 0  1  2  3  4  5  6  7]"]
    wmma.load_matrix_sync(d, np.arange(64, dtype=np.int32), 8, MEM_ROW)
    assert str(d).splitlines()[-1] == " [56 57 58 59 60 61 62 63]]"


def test_names_show_themselves_as_python_writes_them():
    names = [wmma.half, TF32, S4, A, wmma.row_major, MEM_ROW, wmma.experimental.bmmaBitOpXOR]
    assert [eval(repr(name), {"wmma": wmma}) for name in names] == names
    assert all(pickle.loads(pickle.dumps(name)) is name for name in names)


@pytest.mark.parametrize("row", FRAGMENTS, ids=IDS)
def test_a_fragment_in_print_has_its_c_plus_plus_type(row):
    use, m, n, k, type_, layout = row
    text = str(filled(*row, warps=(2,)))
    end = "" if layout is None else f", {layout.name}"
    assert f"fragment<{use.name}, {m}, {n}, {k}, {type_.cpp}{end}> on sm_90" in text
    assert max(map(len, text.splitlines())) <= 120


def test_integers_of_numpy_are_sizes_too():
    assert wmma.fragment(B, np.int64(16), np.uint8(16), 16, wmma.half, wmma.col_major).m == 16


@pytest.mark.parametrize("name", ["use", "m", "n", "k", "type", "layout", "arch", "lane_map", "registers", "other"])
def test_what_makes_the_type_of_a_fragment_cannot_be_set(name):
    frag = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
    with pytest.raises(FragmentMismatchError, match=f"the {name} of a fragment cannot be set"):
        setattr(frag, name, 8)
    assert repr(frag) == "<fragment<accumulator, 16, 16, 16, float> on sm_90: uninitialised>"


def test_what_is_done_to_the_array_object_of_x_is_not_done_to_the_fragment():
    frag = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
    wmma.fill_fragment(frag, 1)
    x = frag.x
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # NumPy 2.5 deprecates it
        x.shape = (32, 8)
    x.flags.writeable = False
    wmma.fill_fragment(frag, 2)
    frag.x[3] *= 2
    frag.x *= 3
    assert frag.x.shape == (8, 32)
    assert frag.x[:, 0].tolist() == [6, 6, 6, 12, 6, 6, 6, 6]
    assert x.ravel()[0] == 6


@pytest.mark.parametrize("name", ["arch", "lane_map", "x"])
def test_nothing_of_a_fragment_can_be_deleted(name):
    frag = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
    with pytest.raises(FragmentMismatchError):
        delattr(frag, name)
    assert frag.lane_map.rows == 16

# SPDX-License-Identifier: MIT
"""Loads and stores against loops over elements, for every fragment, layout, stride and kind of memory."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wmma_emu as we
from tests.wmma.fragment_types import (
    B1,
    FRAGMENTS,
    MEM_COL,
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
from wmma_emu.errors import AlignmentError, DivergenceError, FragmentMismatchError, OutOfBoundsError
from wmma_emu.formats.dtypes import from_bits, to_bits

IDS = [identity(*row) for row in FRAGMENTS]
ACCUMULATORS = [row for row in FRAGMENTS if row[0] is C]


def loads():
    """Every load: the fragment and the argument for its storage order."""
    for row in FRAGMENTS:
        if row[0] is not C:
            yield row, None
        else:
            yield row, MEM_ROW
            yield row, MEM_COL


LOADS = list(loads())
LOAD_IDS = [identity(*row) + ("" if layout is None else f"-{layout.name}") for row, layout in LOADS]


def order_of(row, layout):
    return (layout or row[-1]).order


def ldm_multiple(fmt):
    return {64: 2, 32: 4, 16: 8, 8: 8, 4: 32, 1: 128}[fmt.bits]


def legal_ldm(row, layout, more=0):
    rows, cols = matrix_shape(*row[:4])
    extent = cols if order_of(row, layout) == "row" else rows
    multiple = ldm_multiple(row[4].format)
    return (-(-extent // multiple) + more) * multiple


def address(order, row, col, ldm):
    return row * ldm + col if order == "row" else col * ldm + row


def span(row, layout, ldm):
    rows, cols = matrix_shape(*row[:4])
    return address(order_of(row, layout), rows - 1, cols - 1, ldm) + 1


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("more", [0, 1, 3])
@pytest.mark.parametrize(("row", "layout"), LOADS, ids=LOAD_IDS)
def test_every_lane_gets_the_elements_of_its_coordinates(row, layout, more):
    ldm = legal_ldm(row, layout, more)
    memory = random_bits(row[4].format, span(row, layout, ldm))
    order = order_of(row, layout)
    for arch in chips(*row[1:5]):
        frag = wmma.fragment(*row, arch=arch)
        wmma.load_matrix_sync(frag, from_bits(memory, frag.format), ldm, layout)
        where = address(order, frag.coords[..., 0], frag.coords[..., 1], ldm)
        assert np.array_equal(frag.bits("x"), memory[where]), arch


@pytest.mark.parametrize("layout", [MEM_ROW, MEM_COL])
@pytest.mark.parametrize("more", [0, 2])
@pytest.mark.parametrize("row", ACCUMULATORS, ids=[identity(*row) for row in ACCUMULATORS])
def test_a_store_writes_the_tile_and_nothing_else(row, layout, more):
    ldm = legal_ldm(row, layout, more)
    rows, cols = matrix_shape(*row[:4])
    fmt = row[4].format
    size = span(row, layout, ldm) + 40
    for arch in chips(*row[1:5]):
        frag = filled(*row, arch=arch)
        memory = random_bits(fmt, size, 1)
        expected = memory.copy()
        matrix = to_bits(frag.to_matrix(), fmt)
        for i in range(rows):
            for j in range(cols):
                expected[32 + address(layout.order, i, j, ldm)] = matrix[i, j]
        stored = from_bits(memory, fmt)
        wmma.store_matrix_sync(stored[32:], frag, ldm, layout)
        assert np.array_equal(to_bits(stored, fmt), expected), arch


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("row", ACCUMULATORS, ids=[identity(*row) for row in ACCUMULATORS])
def test_what_was_stored_loads_again(row, more):
    frag, other = filled(*row), wmma.fragment(*row)
    for layout in (MEM_ROW, MEM_COL):
        ldm = legal_ldm(row, layout, more)
        memory = random_array(row[4], span(row, layout, ldm), 1)
        wmma.store_matrix_sync(memory, frag, ldm, layout)
        wmma.load_matrix_sync(other, memory, ldm, layout)
        assert other == frag


@pytest.mark.parametrize(
    "row", [row for row in FRAGMENTS if row[4].format.bits > 8 and row[4] is not TF32], ids=lambda row: identity(*row)
)
def test_raw_bits_load_and_store_as_the_numbers_do(row):
    layout = MEM_ROW if row[0] is C else None
    ldm = legal_ldm(row, layout)
    memory = random_array(row[4], span(row, layout, ldm))
    raw = memory.view(row[4].format.storage)
    frag, other = wmma.fragment(*row), wmma.fragment(*row)
    wmma.load_matrix_sync(frag, memory, ldm, layout)
    wmma.load_matrix_sync(other, raw, ldm, layout)
    assert frag == other
    if row[0] is C:
        written = np.zeros_like(raw)
        wmma.store_matrix_sync(written, frag, ldm, layout)
        assert np.array_equal(written, raw)


@pytest.mark.parametrize("type_", [S4, U4, B1])
@pytest.mark.parametrize("use", [A, B])
@pytest.mark.parametrize("more", [0, 1])
def test_packed_memory_loads_as_one_element_an_entry_does(type_, use, more):
    layout = wmma.row_major if use is A else wmma.col_major
    row = (use, 8, 8, 128 if type_ is B1 else 32, type_, layout)
    ldm = legal_ldm(row, None, more)
    elements = random_bits(type_.format, 8 * ldm)
    if type_ is B1:
        packed = np.packbits(elements, bitorder="little")
    else:
        packed = elements[::2] | elements[1::2] << 4
    frag, other = wmma.fragment(*row), wmma.fragment(*row)
    wmma.load_matrix_sync(frag, packed, ldm)
    wmma.load_matrix_sync(other, from_bits(elements, type_.format), ldm)
    assert frag == other
    with pytest.raises(OutOfBoundsError, match="packed"):
        wmma.load_matrix_sync(frag, packed[: -1 - (ldm - row[3]) * type_.format.bits // 8], ldm)


def test_a_pointer_into_packed_memory_counts_bytes():
    row = (A, 8, 8, 32, U4, wmma.row_major)
    packed = np.random.default_rng(0).integers(0, 256, 512, np.uint8)
    frag, other = wmma.fragment(*row), wmma.fragment(*row)
    wmma.load_matrix_sync(frag, Pointer(packed, 64), 32)
    wmma.load_matrix_sync(other, packed[64:], 32)
    assert frag == other
    assert int(frag.x[1, 0]) == packed[64] >> 4


def test_entries_of_unpacked_memory_are_aligned_as_if_packed():
    for type_, k in ((S4, 32), (B1, 128)):
        frag = wmma.fragment(A, 8, 8, k, type_, wmma.row_major)
        memory = random_array(type_, 4096)
        wmma.load_matrix_sync(frag, memory[32 // type_.format.bits :], k)  # the fragment has 4 bytes in each lane
        with pytest.raises(AlignmentError, match="legal distances are multiples of 4 bytes"):
            wmma.load_matrix_sync(frag, memory[16 // type_.format.bits :], k)


@pytest.mark.parametrize(("row", "layout"), LOADS, ids=LOAD_IDS)
def test_a_pointer_is_a_multiple_of_the_bytes_that_a_lane_holds(row, layout):
    frag = wmma.fragment(*row)
    size = frag.lane_map.num_registers * frag.lane_map.register_bits // 8
    assert size in (4, 8, 16, 32)
    step = 8 * size // row[4].format.bits
    memory = random_array(row[4], 64 * 512)
    ldm = 512
    wmma.load_matrix_sync(frag, memory[step:], ldm, layout)
    if step > 1:
        with pytest.raises(AlignmentError, match=f"legal distances are multiples of {size} bytes"):
            wmma.load_matrix_sync(frag, memory[step // 2 :], ldm, layout)


@pytest.mark.parametrize("type_", [wmma.int8, wmma.uint8, S4, U4, B1])
def test_a_loop_over_k_reaches_every_tile_of_narrow_types(type_):
    m = n = 16 if type_.format.bits == 8 else 8
    k = {8: 16, 4: 32, 1: 128}[type_.format.bits]
    A_matrix, B_matrix = random_array(type_, (m, 4 * k)), random_array(type_, (4 * k, n))
    a = wmma.fragment(A, m, n, k, type_, wmma.row_major)
    b = wmma.fragment(B, m, n, k, type_, wmma.col_major)
    c = wmma.fragment(C, m, n, k, wmma.int32)
    wmma.fill_fragment(c, 0)
    multiply = wmma.bmma_sync if type_ is B1 else wmma.mma_sync
    columns = np.ascontiguousarray(B_matrix.T).reshape(-1)
    for k0 in range(0, 4 * k, k):
        wmma.load_matrix_sync(a, A_matrix.reshape(-1)[k0:], 4 * k)
        wmma.load_matrix_sync(b, columns[k0:], 4 * k)
        multiply(c, a, b, c)
    ins = next(x for x in we.INSTRUCTIONS.values() if x.family == "wmma.mma" and x.a == type_.format.name and x.m == m)
    assert np.array_equal(c.to_matrix(), we.gemm(A_matrix, B_matrix, instr=ins.mnemonic))


@pytest.mark.parametrize(("row", "layout"), LOADS, ids=LOAD_IDS)
def test_a_view_is_loaded_from_its_top_left_corner(row, layout):
    rows, cols = matrix_shape(*row[:4])
    order, fmt = order_of(row, layout), row[4].format
    matrix = random_array(row[4], (512, 512))
    view = matrix[64:, 256:]
    view = view.T if order == "col" else view
    frag = wmma.fragment(*row)
    wmma.load_matrix_sync(frag, view, layout=layout)
    assert np.array_equal(to_bits(frag.to_matrix(), fmt), to_bits(view[:rows, :cols], fmt))
    other = wmma.fragment(*row)
    wmma.load_matrix_sync(other, view, 512, layout)
    assert frag == other


@pytest.mark.parametrize("layout", [MEM_ROW, MEM_COL])
def test_a_view_is_stored_to(layout):
    frag = filled(C, 16, 16, 16, wmma.float32)
    matrix = np.zeros((48, 48), np.float32)
    view = matrix[16:, 8:] if layout is MEM_ROW else matrix.T[16:, 32:]
    wmma.store_matrix_sync(view, frag, layout=layout)
    assert np.array_equal(to_bits(view[:16, :16], "f32"), to_bits(frag.to_matrix(), "f32"))
    assert np.count_nonzero(matrix.view(np.uint32)) == np.count_nonzero(frag.bits("x"))


def test_every_other_row_is_a_larger_stride():
    matrix = random_array(wmma.half, (32, 32))
    frag = wmma.fragment(A, 16, 16, 16, wmma.half, wmma.row_major)
    wmma.load_matrix_sync(frag, matrix[::2])
    assert np.array_equal(to_bits(frag.to_matrix(), "f16"), to_bits(matrix[::2, :16], "f16"))


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("warps", [(0,), (1,), (5,), (2, 3)])
@pytest.mark.parametrize(("row", "layout"), LOADS, ids=LOAD_IDS)
def test_a_batch_of_pointers_loads_as_a_loop_over_warps_does(row, layout, warps):
    ldm = legal_ldm(row, layout)
    step = 256 // row[4].format.bits
    offsets = np.random.default_rng(3).permutation(int(np.prod(warps))).reshape(warps) * step
    memory = random_array(row[4], span(row, layout, ldm) + step * max(1, offsets.size))
    frag, single = wmma.fragment(*row), wmma.fragment(*row)
    wmma.load_matrix_sync(frag, Pointer(memory, offsets), ldm, layout)
    assert frag.warps == warps
    for index in np.ndindex(warps):
        wmma.load_matrix_sync(single, memory[offsets[index] :], ldm, layout)
        assert np.array_equal(frag.bits("x")[(slice(None), *index)], single.bits("x"))


def test_a_batch_of_pointers_stores_as_a_loop_over_warps_does():
    frag = filled(C, 8, 32, 16, wmma.float32, warps=(2, 3))
    offsets = np.arange(6).reshape(2, 3) * 256
    memory, expected = np.zeros(6 * 256, np.float32), np.zeros(6 * 256, np.float32)
    wmma.store_matrix_sync(Pointer(memory, offsets), frag, 8, MEM_COL)
    for index in np.ndindex(2, 3):
        single = wmma.fragment(C, 8, 32, 16, wmma.float32)
        single.x = frag.x[(slice(None), *index)]
        wmma.store_matrix_sync(expected[offsets[index] :], single, 8, MEM_COL)
    assert np.array_equal(memory.view(np.uint32), expected.view(np.uint32))


def test_one_fragment_is_stored_to_many_places_and_interleaved_tiles_do_not_collide():
    frag = filled(C, 16, 16, 16, wmma.float32)
    memory = np.zeros(16 * 64, np.float32)
    wmma.store_matrix_sync(Pointer(memory, np.arange(4) * 16), frag, 64, MEM_ROW)
    tiles = to_bits(memory.reshape(16, 4, 16), "f32")
    assert all(np.array_equal(tiles[:, i], to_bits(frag.to_matrix(), "f32")) for i in range(4))


def test_warps_that_would_write_the_same_element_write_nothing():
    frag = filled(C, 16, 16, 16, wmma.float32, warps=(3,))
    memory = np.zeros(1024, np.float32)
    for pointer in (memory, Pointer(memory, np.array([0, 256, 8]))):
        with pytest.raises(DivergenceError, match="both write element"):
            wmma.store_matrix_sync(pointer, frag, 16, MEM_ROW)
    assert not memory.any()


def test_pointers_for_another_number_of_warps_are_refused():
    frag = filled(C, 16, 16, 16, wmma.float32, warps=(3,))
    with pytest.raises(FragmentMismatchError, match=r"\(2,\) warps, the fragment elements of \(3,\)"):
        wmma.store_matrix_sync(Pointer(np.zeros(1024, np.float32), np.array([0, 256])), frag, 16, MEM_ROW)
    with pytest.raises(FragmentMismatchError, match=r"\(3,\) warps"):
        wmma.store_matrix_sync(np.zeros((64, 64), np.float32), frag, layout=MEM_ROW)


def test_a_load_of_the_same_batch_writes_in_place_as_a_register_is_overwritten():
    frag = filled(C, 16, 16, 16, wmma.int32)
    x = frag.x
    wmma.load_matrix_sync(frag, np.arange(256, dtype=np.int32), 16, MEM_ROW)
    assert np.shares_memory(frag.x, x) and x[0, 0] == 0
    wmma.load_matrix_sync(frag, Pointer(np.arange(512, dtype=np.int32), np.array([0, 256])), 16, MEM_ROW)
    assert frag.x.shape == (8, 2, 32)


def test_a_failed_load_leaves_the_fragment_as_it_was():
    frag = filled(A, 16, 16, 16, wmma.half, wmma.row_major)
    before = frag.bits("x")
    memory = np.zeros(256, np.float16)
    for wrong in ((memory[1:], 16), (memory, 17), (memory, 8), (memory[:255], 16), (np.zeros(256), 16)):
        with pytest.raises((AlignmentError, OutOfBoundsError, FragmentMismatchError)):
            wmma.load_matrix_sync(frag, *wrong)
    assert np.array_equal(frag.bits("x"), before)


def test_a_failed_store_leaves_the_memory_as_it_was():
    frag = filled(C, 16, 16, 16, wmma.float32)
    memory = np.zeros(300, np.float32)
    attempts = ((memory[1:], 16), (memory, 17), (memory, 12), (memory[48:], 16), (memory.view(np.int32), 16))
    for wrong in attempts:
        with pytest.raises((AlignmentError, OutOfBoundsError, FragmentMismatchError)):
            wmma.store_matrix_sync(wrong[0], frag, wrong[1], MEM_ROW)
    assert not memory.any()


def test_the_last_element_of_a_tile_may_be_the_last_of_the_array():
    frag = wmma.fragment(A, 16, 16, 16, wmma.half, wmma.row_major)
    wmma.load_matrix_sync(frag, np.zeros(15 * 24 + 16, np.float16), 24)
    with pytest.raises(OutOfBoundsError):
        wmma.load_matrix_sync(frag, np.zeros(15 * 24 + 15, np.float16), 24)


def test_8_bit_strides_are_multiples_of_8_bytes_and_others_of_16():
    for type_, legal, wrong in ((wmma.int8, 24, 20), (wmma.half, 24, 20), (wmma.bfloat16, 24, 28)):
        frag = wmma.fragment(A, 16, 16, 16, type_, wmma.row_major)
        memory = random_array(type_, 1024)
        wmma.load_matrix_sync(frag, memory, legal)
        with pytest.raises(AlignmentError, match="multiples of"):
            wmma.load_matrix_sync(frag, memory, wrong)


def test_foreign_arrays_are_memory_too():
    class ForeignMemory:
        def __init__(self, array):
            self.array = array

        def __array__(self, dtype=None, copy=None):
            return self.array

    memory = np.zeros(256, np.float32)
    frag = filled(C, 16, 16, 16, wmma.float32)
    wmma.store_matrix_sync(ForeignMemory(memory), frag, 16, MEM_ROW)
    assert np.array_equal(memory.view(np.uint32).reshape(16, 16), to_bits(frag.to_matrix(), "f32"))


def test_packed_bytes_in_two_dimensions_are_not_guessed_at():
    frag = wmma.fragment(A, 8, 8, 32, S4, wmma.row_major)
    with pytest.raises(FragmentMismatchError, match="reshape"):
        wmma.load_matrix_sync(frag, np.zeros((8, 32), np.uint8))
    wmma.load_matrix_sync(frag, np.zeros((8, 32), ml_dtypes.int4))


@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from(LOADS),
    st.integers(0, 4),
    st.integers(0, 5),
    st.lists(st.integers(0, 7), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
)
@pytest.mark.property
def test_any_legal_load_and_store_is_a_loop_over_elements(case, more, start, blocks, seed):
    row, layout = case
    use, type_ = row[0], row[4]
    fmt, order = type_.format, order_of(row, layout)
    ldm, step = legal_ldm(row, layout, more), 256 // fmt.bits
    start *= step
    tile = -(-span(row, layout, ldm) // step) * step
    offsets = np.array([block * tile for block in dict.fromkeys(blocks)])
    bits = random_bits(fmt, start + 8 * tile, seed)
    memory = from_bits(bits, fmt)
    frag = wmma.fragment(*row)
    wmma.load_matrix_sync(frag, Pointer(memory[start:], offsets), ldm, layout)
    elements = frag.bits("x")
    for warp, offset in enumerate(offsets):
        for i, lane in np.ndindex(frag.num_elements, 32):
            r, c = frag.coords[i, lane]
            assert elements[i, warp, lane] == bits[start + offset + address(order, r, c, ldm)]
    if use is C:
        target = from_bits(np.zeros_like(bits), fmt)
        wmma.store_matrix_sync(Pointer(target[start:], offsets), frag, ldm, layout)
        rows, cols = np.indices(matrix_shape(*row[:4]))
        touched = start + offsets[:, None, None] + address(order, rows, cols, ldm)
        expected = np.zeros_like(bits)
        expected[touched] = bits[touched]
        assert np.array_equal(to_bits(target, fmt), expected)

# SPDX-License-Identifier: MIT
"""Products with a sparse A: registers, matrices, one dot product for each element; and what is refused."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.arithmetic import reference
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.instructions import instructions_of
from wmma_emu.layouts import granularity_of, metadata_map, pack_metadata
from wmma_emu.testing import generators
from wmma_emu.warp import sparse

ROWS = [row for family in ("mma.sp", "mma.sp::ordered_metadata") for row in instructions_of("sm_90", family=family)]
WARPGROUP = instructions_of("sm_90", family="wgmma.sp", shape="m64n8k32") + instructions_of(
    "sm_90", family="wgmma.sp", shape="m64n8k64"
)
F16 = we.instruction("mma.sp.m16n8k32.f32.f16.f16.f32")
PAIRS = we.instruction("mma.sp.m16n8k64.s32.s4.s4.s32")
TF32 = we.instruction("mma.sp.m16n8k8.f32.tf32.tf32.f32")
ORDERED = we.instruction("mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32")


def drawn(ins, seed=0, tiles=2, generator=None):
    """Patterns of A packed, B and C, and the k of the packed elements."""
    row = ins.instruction
    names = generators.generators_of(row)
    return generators.draw(row, generator or names[seed % len(names)], seed, tiles, tiles, tiles)


def registers(ins, operands, selector=0):
    return (
        ins.a.pack_bits(operands.a), ins.b.pack_bits(operands.b), ins.c.pack_bits(operands.c),
        pack_metadata(ins.instruction, operands.indices, selector),
    )  # fmt: skip


def element_by_element(product, a, b, c, indices):
    """One dot product for each element of D, of the elements of B that the row's indices name."""
    d = np.empty(c.shape, product.d.storage)
    for *batch, i, j in np.ndindex(c.shape):
        at = tuple(batch)
        column = b[at][indices[at][i], j]
        d[(*at, i, j)] = reference.dot(product, a[at][i].tolist(), column.tolist(), int(c[(*at, i, j)]))
    return d


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_element_is_one_dot_product_of_the_elements_that_metadata_names(row):
    ins = we.instruction(row.mnemonic)
    last = 0 if row.k // granularity_of(row).chunk == 16 else 1  # where there is one, a selector that is not the first
    for seed in range(3):
        operands = drawn(ins, seed, tiles=1)
        a, b, c, metadata = registers(ins, operands, last)
        d = ins.d.unpack_bits(ins.execute(a, b, c, metadata=metadata, selector=last))
        expected = element_by_element(ins.product, operands.a, operands.b, operands.c, operands.indices)
        assert np.array_equal(d, expected), generators.generators_of(row)[seed]


@pytest.mark.parametrize("ins", [F16, PAIRS, TF32, ORDERED], ids=lambda ins: ins.mnemonic)
def test_engines_agree_on_registers(ins):
    a, b, c, metadata = registers(ins, drawn(ins, 1))
    results = [ins.execute(a, b, c, metadata=metadata, engine=engine) for engine in ("reference", "numpy", "auto")]
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


@pytest.mark.parametrize("row", [*ROWS, *WARPGROUP], ids=str)
def test_a_call_on_matrices_compresses_and_gives_the_bits_of_execute(row):
    ins = we.instruction(row.mnemonic)
    operands = drawn(ins, 0, tiles=1)
    indices = np.sort(operands.indices, axis=-1)
    whole = sparse.expand(row, operands.a, indices)
    packed, metadata = ins.compress(from_bits(whole, ins.a.format))
    A, B, C = (from_bits(x, fmt) for x, fmt in ((whole, ins.a.format), (operands.b, ins.b.format),
                                                (operands.c, ins.c.format)))  # fmt: skip
    b = operands.b if row.is_warpgroup else ins.b.pack_bits(operands.b)
    d = ins.execute(ins.a.pack(packed), b, ins.c.pack_bits(operands.c), metadata=metadata)
    D = ins(A, B, C)
    assert np.array_equal(to_bits(D, ins.d.format, "D"), ins.d.unpack_bits(d))
    assert np.array_equal(to_bits(we.mma(A, B, C, instr=row.mnemonic), ins.d.format, "D"), ins.d.unpack_bits(d))


@pytest.mark.parametrize("selector", [0, 1])
def test_the_selector_changes_lanes_not_bits(selector):
    a, b, c, metadata = registers(F16, drawn(F16, 2), selector)
    first = F16.execute(*registers(F16, drawn(F16, 2))[:3], metadata=registers(F16, drawn(F16, 2))[3])
    assert np.array_equal(F16.execute(a, b, c, metadata=metadata, selector=selector), first)
    left_out = np.arange(32) % 4 // 2 != selector
    metadata[..., left_out] = 0xDEAD_BEEF
    assert np.array_equal(F16.execute(a, b, c, metadata=metadata, selector=selector), first)


def test_an_infinity_or_nan_in_b_that_meets_nothing_changes_nothing():
    operands = drawn(F16, 0, tiles=1, generator="normal")
    indices = np.broadcast_to(np.arange(0, 32, 4)[:, None] + [1, 3], (1, 16, 8, 2)).reshape(1, 16, 16)
    a, b, c = F16.a.pack_bits(operands.a), operands.b.copy(), F16.c.pack_bits(operands.c)
    metadata = pack_metadata(F16.instruction, indices)
    before = F16.execute(a, F16.b.pack_bits(b), c, metadata=metadata)
    b[:, 0::4], b[:, 2::4] = 0x7C00, 0x7E00
    assert np.array_equal(F16.execute(a, F16.b.pack_bits(b), c, metadata=metadata), before)
    b[:, 1] = 0x7C00
    assert not np.array_equal(F16.execute(a, F16.b.pack_bits(b), c, metadata=metadata), before)


def test_a_packed_zero_meets_infinity_where_a_dense_zero_would():
    A, B = np.zeros((16, 32), np.float16), np.ones((32, 8), np.float16)
    B[2] = np.inf
    assert not np.isnan(F16(A, B)).any()  # the first two of four fill up; column 2 is left out
    B[1] = np.inf
    assert np.isnan(F16(A, B)).all()


def test_warps_axes_broadcast():
    operands = drawn(F16, 4, tiles=6)
    a, b, c, metadata = registers(F16, operands)
    a, metadata = a.reshape(4, 6, 1, 1, 32)[:, :2], metadata.reshape(6, 1, 1, 32)[:2]
    b, c = b.reshape(4, 1, 6, 1, 32)[:, :, :3], c.reshape(4, 1, 1, 6, 32)[:, :, :, :1]
    d = F16.execute(a, b, c, metadata=metadata)
    assert d.shape == (4, 2, 3, 1, 32)
    for i, j in np.ndindex(2, 3):
        one = F16.execute(a[:, i, 0, 0], b[:, 0, j, 0], c[:, 0, 0, 0], metadata=metadata[i, 0, 0])
        assert np.array_equal(d[:, i, j, 0], one)
    one_metadata = np.full(32, 0x4444_4444, np.uint32)
    assert F16.execute(a, b, c, metadata=one_metadata).shape == d.shape


def test_no_warps_give_no_results():
    empty = [np.zeros((x, 0, 32), np.uint32) for x in (4, 4, 4)]
    assert F16.execute(*empty, metadata=np.zeros((0, 32), np.uint32)).shape == (4, 0, 32)
    assert F16(np.zeros((0, 16, 32), np.float16), np.zeros((32, 8), np.float16)).shape == (0, 16, 8)


def test_gathering_a_few_warps_at_a_time_does_not_show(monkeypatch):
    a, b, c, metadata = registers(F16, drawn(F16, 5, tiles=7))
    whole = F16.execute(a, b, c, metadata=metadata)
    monkeypatch.setattr(sparse, "_AT_ONCE", 2 * 16 * 16 * 8)
    assert np.array_equal(F16.execute(a, b, c, metadata=metadata), whole)


def test_compress_takes_the_elements_that_are_not_zero_and_fills_up_with_the_first_zeros():
    A = np.zeros((16, 32), np.float16)
    A[0, :4] = 0, 3, 0, 5
    A[1, :4] = 0, 0, 0, 7
    A[2, :4] = 0, 0, -0.0, 0  # -0 is an element
    packed, indices = sparse.compress(F16.instruction, A.view(np.uint16))
    assert indices[:4, :2].tolist() == [[1, 3], [0, 3], [0, 2], [0, 1]]
    assert packed[:4, :2].tolist() == [[0x4200, 0x4500], [0, 0x4700], [0, 0x8000], [0, 0]]
    assert np.array_equal(sparse.expand(F16.instruction, packed, indices), A.view(np.uint16))


def test_pairs_of_4_bit_elements_move_together():
    A = np.zeros((16, 64), np.int8)
    A[0, [2, 7]] = 3, -1  # in the second pair and the fourth
    packed, indices = sparse.compress(PAIRS.instruction, A.view(np.uint8) & 15)
    assert indices[0, :4].tolist() == [2, 3, 6, 7]
    assert packed[0, :4].tolist() == [3, 0, 0, 15]


def test_of_tf32_one_of_two_is_kept():
    A = np.zeros((16, 8), np.float32)
    A[0, [1, 2]] = 2, 4
    packed, metadata = TF32.compress(A, selector=3)
    assert packed[0].tolist() == [2, 4, 0, 0]
    lane, nibble = (x[0] for x in (metadata_map(TF32.instruction, 3).lane, metadata_map(TF32.instruction, 3).nibble))
    assert [int(metadata[x]) >> 4 * int(y) & 15 for x, y in zip(lane, nibble, strict=True)] == [0b1110, 4, 4, 4]


@pytest.mark.parametrize(
    ("ins", "columns", "message"),
    [
        (
            F16,
            [4, 5, 7],
            "row 3, columns 4 to 7 of A have 3 that are not zero; .* keeps 2 of 4 elements: prune A first",
        ),
        (TF32, [6, 7], "row 3, columns 6 to 7 of A have 2 that are not zero; .* keeps 1 of 2 elements: prune A first"),
    ],
)
def test_a_matrix_with_too_many_elements_is_refused(ins, columns, message):
    A = np.zeros((2, 16, ins.instruction.k), np.float32).astype(np.float16 if ins is F16 else np.float32)
    A[1, 3, columns] = 1
    for call in (ins.compress, lambda x: ins(x, np.zeros((ins.instruction.k, 8), x.dtype))):
        with pytest.raises(FragmentMismatchError, match=message.replace("of A", r"of A of matrix \(1,\)")):
            call(A)
        with pytest.raises(FragmentMismatchError, match=message):
            call(A[1])


def test_three_pairs_of_four_are_refused():
    A = np.zeros((16, 64), np.uint8)
    A[2, [8, 11, 13]] = 1
    with pytest.raises(
        FragmentMismatchError, match=r"row 2, columns 8 to 15 .* 3 that .* keeps 2 of 4 pairs of columns"
    ):
        sparse.compress(PAIRS.instruction, A)


A_B_C = [np.zeros((4, 32), np.uint32)] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"needs metadata=, a uint32 register a lane .* ins\.compress\(A\)"),
        ({"metadata": np.zeros(32, np.uint64)}, r"metadata is uint64 of shape \(32,\)"),
        ({"metadata": np.zeros((32, 2), np.uint32)}, "takes uint32 of shape"),
        ({"metadata": np.zeros(32, np.uint32)}, "lane 0 has 0b0000 in bits 0 to 3, for row 0, columns 0 to 3 of A"),
        ({"metadata": np.full(32, 0x4444_4444, np.uint32), "selector": 2}, "selector of .* is .*; it must be 0 to 1"),
    ],
)
def test_metadata_that_is_missing_or_wrong_is_refused(options, message):
    with pytest.raises(FragmentMismatchError, match=message):
        F16.execute(*A_B_C, **options)


def test_warps_that_do_not_broadcast_are_refused():
    with pytest.raises(
        FragmentMismatchError, match=r"a \(2,\), b \(\), c \(\), metadata \(3,\); give each as many, or 1"
    ):
        F16.execute(np.zeros((4, 2, 32), np.uint32), *A_B_C[1:], metadata=np.full((3, 32), 0x4444_4444, np.uint32))


@pytest.mark.parametrize("options", [{"metadata": np.zeros(32, np.uint32)}, {"selector": 1}])
def test_a_dense_instruction_takes_no_metadata_and_no_selector(options):
    dense = we.instruction("m16n8k16.f32.f16.f16.f32")
    operands = [np.zeros((x, 32), np.uint32) for x in (4, 2, 4)]
    with pytest.raises(FragmentMismatchError, match="takes no metadata and no selector: its A is dense"):
        dense.execute(*operands, **options)
    with pytest.raises(UnsupportedInstructionError, match="takes a dense A: there is nothing to compress"):
        dense.compress(np.zeros((16, 16), np.float16))


def test_ordered_metadata_refuses_descending_places_and_plain_takes_them():
    plain = we.instruction("mma.sp.m16n8k32.f32.f16.f16.f32")
    descending = np.full(32, 0x1111_1111, np.uint32)  # places 1, 0
    operands = drawn(plain, 0, tiles=1)
    a, b, c = (x[:, 0] for x in registers(plain, operands)[:3])
    indices = np.tile([1, 0], 8) + np.repeat(np.arange(0, 32, 4), 2)
    d = plain.d.unpack_bits(plain.execute(a, b, c, metadata=descending))
    expected = element_by_element(plain.product, operands.a, operands.b, operands.c, np.tile(indices, (1, 16, 1)))
    assert np.array_equal(d, expected[0])
    with pytest.raises(FragmentMismatchError, match="has 0b0001 in bits 0 to 3"):
        ORDERED.execute(a, b, c, metadata=descending)


def test_a_packed_matrix_is_told_from_all_of_a():
    packed, B = np.zeros((16, 16), np.float16), np.zeros((32, 8), np.float16)
    with pytest.raises(FragmentMismatchError, match=r"which is packed; pass all of A, \(\.\.\., 16, 32\)"):
        F16(packed, B)
    with pytest.raises(FragmentMismatchError, match="which is packed"):
        F16.compress(packed)

# SPDX-License-Identifier: MIT
"""`tcgen05.mma` from operands in their memories to D in tensor memory: every kind, data path and option."""

import itertools

import numpy as np
import pytest

from tests.tcgen05.products import (
    A_AT,
    METADATA_AT,
    SCALE_A_AT,
    SCALE_B_AT,
    WAYS,
    TensorProduct,
    bound,
    memories,
    small_numbers,
    values,
    words,
)
from wmma_emu.arithmetic import dot_product_of
from wmma_emu.errors import (
    FragmentMismatchError,
    OutOfBoundsError,
    UnspecifiedBehaviourWarning,
    UnsupportedInstructionError,
    UnverifiedModelWarning,
)
from wmma_emu.formats import format_of
from wmma_emu.formats.codec import encode
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.instructions.tensor import TENSOR_KINDS, tensor_instruction
from wmma_emu.tcgen05 import (
    BoundTensorInstruction,
    InstructionDescriptor,
    SharedMemoryDescriptor,
    ZeroColumnMask,
    bound_tensor_instruction,
    cp,
    image_of,
    ld,
    mma,
)

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


def test_every_kind_and_data_path_is_among_the_ways():
    assert {x[0] for x in WAYS} == set(TENSOR_KINDS)
    layouts = {bound(k, m, 64, g, ws=w, sparse=s).data_path.layout for k, m, g, w, s in WAYS}
    assert layouts == set("ABCDEFG")


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize(("kind", "m", "group", "ws", "sparse"), WAYS)
def test_d_in_tensor_memory_is_the_product_of_the_matrices(kind, m, group, ws, sparse):
    product = TensorProduct(bound(kind, m, 64, group, ws=ws, sparse=sparse))
    ins = product.ins
    assert np.array_equal(values(to_bits(product.matrices(), ins.d.format), ins.d.format), product.want())
    ins.execute(product.tmem, 0, product.shared_a, product.shared_b, **product.options)
    assert np.array_equal(product.got(), product.want())
    ins.store(product.tmem, "a", A_AT, product.packed)
    ins.execute(product.tmem, 0, A_AT, product.shared_b, **product.options, enable_input_d=False)
    assert np.array_equal(product.got(), product.want(adds=False))


@pytest.mark.parametrize(
    ("kind", "m", "group", "sparse"), [("f16", 64, 1, False), ("i8", 64, 1, True), ("f16", 128, 2, True)]
)
def test_half_of_the_lanes_may_be_the_upper_one(kind, m, group, sparse):
    ins = bound(kind, m, 64, group, sparse=sparse)
    product, upper = TensorProduct(ins), 16 << 16
    ins.store(product.tmem, "a", upper | A_AT, product.packed)
    options = {}
    if sparse:
        ins.store(product.tmem, "metadata", upper | METADATA_AT, ins.compress(from_bits(product.a, ins.a.format))[1])
        options["metadata"] = upper | METADATA_AT
    before = words(product.tmem)
    ins.execute(product.tmem, upper, upper | A_AT, product.shared_b, **options, enable_input_d=False)
    found = to_bits(ins.load(product.tmem, upper), ins.d.format)
    assert np.array_equal(values(found, ins.d.format), product.want(adds=False))
    lower = np.arange(128) % 32 < 16
    for old, new in zip(before, words(product.tmem), strict=True):
        assert np.array_equal(old[lower], new[lower])  # D of the lower lanes stays
    with pytest.raises(FragmentMismatchError, match="same ones for A, D and metadata"):
        ins.execute(product.tmem, upper, A_AT, product.shared_b, **options, enable_input_d=False)


@pytest.mark.parametrize(
    ("kind", "swizzle"),
    [("f16", 0), ("f16", 32), ("f16", 64), ("f16", 128), ("i8", 128), ("f8f6f4", 64), ("tf32", "128B with 32B atoms")],
)
@pytest.mark.parametrize("group", [1, 2])
def test_operands_may_be_transposed_and_swizzled(kind, swizzle, group):
    ins = bound(kind, 128, 128, group)
    product, row = TensorProduct(ins), ins.instruction
    a, b = from_bits(product.a, row.a), from_bits(product.b, row.b)
    for operand, matrix, given in (("a", a, product.shared_b), ("b", b, product.shared_a)):
        there = ins.in_shared_memory(operand, matrix, swizzle=swizzle, transpose=True)
        said = ins.descriptor(**{f"transpose_{operand}": True})
        pair = (there, given) if operand == "a" else (given, there)
        ins.execute(product.tmem, 0, *pair, descriptor=said.encode(), enable_input_d=False)
        assert np.array_equal(product.got(), product.want(adds=False))
    if swizzle != "128B with 32B atoms":
        plain = ins.in_shared_memory("b", b, swizzle=32), ins.in_shared_memory("a", a, swizzle=32)
        ins.execute(product.tmem, 0, plain[1], plain[0], enable_input_d=False)
        assert np.array_equal(product.got(), product.want(adds=False))


@pytest.mark.parametrize("kind", ["f16", "tf32", "f8f6f4", "mxf8f6f4", "mxf4"])
def test_the_descriptor_negates_a_and_b(kind):
    product = TensorProduct(bound(kind, 128, 16))
    ins, b = product.ins, product.shared_b
    for a, negate_a, negate_b in itertools.product((product.shared_a, A_AT), (False, True), (False, True)):
        ins.store(product.tmem, "a", A_AT, product.packed)
        ins.store(product.tmem, "d", 0, from_bits(product.c, ins.d.format))
        said = ins.descriptor(negate_a=negate_a, negate_b=negate_b)
        ins.execute(product.tmem, 0, a, b, descriptor=said, **product.options)
        sign = -1 if negate_a != negate_b else 1
        assert np.array_equal(product.got(), sign * product.want(adds=False) + values(product.c, ins.d.format))


def test_integers_saturate_if_the_descriptor_has_the_option():
    a, b = np.full((64, 32), 255, np.uint8), np.full((32, 8), 127, np.int8)
    c = np.full((64, 8), 2**31 - 1, np.int32)
    for saturate in (False, True):
        row = tensor_instruction("i8", 64, 8, "s32", "u8", "s8", saturate=saturate)
        ins = bound_tensor_instruction(row, "sm_100")
        tmem = memories(ins)
        ins.store(tmem, "d", 0, c)
        said = InstructionDescriptor("i8", 64, 8, "s32", "u8", "s8", saturate=saturate)
        operands = ins.in_shared_memory("a", a), ins.in_shared_memory("b", b)
        ins.execute(tmem, 0, *operands, descriptor=said.encode())
        total = 2**31 - 1 + 32 * 255 * 127
        assert (ins.load(tmem, 0) == (2**31 - 1 if saturate else total - 2**32)).all()
        with pytest.raises(UnsupportedInstructionError, match="the descriptor is for"):
            ins.execute(tmem, 0, *operands, descriptor=InstructionDescriptor("i8", 64, 8, "s32", "u8", "s8",
                                                                             saturate=not saturate))  # fmt: skip


@pytest.mark.parametrize("kind", ["f16", "tf32"])
@pytest.mark.parametrize("exponent", [0, 1, 7, 15])
def test_d_is_scaled_before_it_is_added(kind, exponent):
    product = TensorProduct(bound(kind, 128, 8))
    product.ins.execute(product.tmem, 0, product.shared_a, product.shared_b, scale_input_d=exponent)
    added = values(product.c, "f32") * 2.0**-exponent
    given = from_bits(product.a, product.ins.a.format), from_bits(product.b, product.ins.b.format)
    assert np.array_equal(product.got(), product.ins(*given, added.astype(np.float32)))


@pytest.mark.parametrize(
    ("fmt", "pattern", "exponent", "result"),
    [
        ("f32", 0x3F800000, 15, 0x38000000), ("f32", 0x80000000, 9, 0x80000000), ("f32", 0x7F800000, 15, 0x7F800000),
        ("f32", 0xFF800000, 3, 0xFF800000), ("f32", 0x01000000, 2, 0x00400000), ("f32", 0x00800000, 15, 0x00000100),
        ("f32", 0x00000100, 8, 0x00000001), ("f16", 0x3C00, 15, 0x0200), ("f16", 0x8400, 10, 0x8001),
        ("f16", 0x7C00, 15, 0x7C00), ("f16", 0x0800, 1, 0x0400), ("f16", 0x0400, 1, 0x0200),
        ("f32", 0x00FFFFFF, 1, None), ("f32", 0x00000001, 1, None), ("f16", 0x0401, 1, None), ("f16", 0x3C01, 15, None),
    ],
)  # fmt: skip
def test_a_scaled_d_that_the_format_does_not_hold_is_refused(fmt, pattern, exponent, result):
    ins = bound_tensor_instruction(tensor_instruction("f16", 64, 8, fmt, "f16", "f16"), "sm_100")
    tmem = memories(ins)
    d = np.zeros((64, 8), format_of(fmt).storage)
    d[5, 3] = pattern
    ins.store(tmem, "d", 0, from_bits(d, fmt))
    nothing = ins.in_shared_memory("a", np.zeros((64, 16), np.float16)), image_of(np.zeros((8, 16), np.uint16), "f16")
    if result is None:
        before = words(tmem)
        with pytest.raises(UnsupportedInstructionError, match=r"D\[5, 3\].*is not representable in f.*not documented"):
            ins.execute(tmem, 0, *nothing, scale_input_d=exponent)
        assert np.array_equal(words(tmem), before)
        return
    ins.execute(tmem, 0, *nothing, scale_input_d=exponent)
    got = to_bits(ins.load(tmem, 0), fmt)
    d[5, 3] = result
    want = to_bits(ins(np.zeros((64, 16), np.float16), np.zeros((16, 8), np.float16), from_bits(d, fmt)), fmt)
    assert np.array_equal(got, want) and (got[5, 3] == result or result & 0x7FFFFFFF == 0)


@pytest.mark.parametrize(("m", "group", "n"), [(128, 1, 16), (64, 1, 16), (256, 2, 16), (128, 2, 32)])
def test_disabled_lanes_are_unchanged(m, group, n):
    product = TensorProduct(bound("f16", m, n, group))
    random = np.random.default_rng(3)
    mask = random.integers(0, 2**32, 4 * group, np.uint32)
    before = words(product.tmem)
    arguments = product.tmem, 0, product.shared_a, product.shared_b
    product.ins.execute(*arguments, disable_output_lane=mask)
    masked = words(product.tmem)
    product.ins.store(product.tmem, "d", 0, from_bits(product.c, "f32"))
    product.ins.execute(*arguments)
    lanes = np.unpackbits(mask.view(np.uint8), bitorder="little").astype(bool).reshape(group, 128)
    for cta, after in enumerate(words(product.tmem)):
        assert np.array_equal(masked[cta][lanes[cta]], before[cta][lanes[cta]])
        assert np.array_equal(masked[cta][~lanes[cta]], after[~lanes[cta]])
        assert not np.array_equal(masked[cta], after)


@pytest.mark.parametrize("m", [32, 64, 128])
def test_columns_of_zeros_and_shifts_of_b(m):
    ins = bound("tf32", m, 128, ws=True)
    product, random = TensorProduct(ins), np.random.default_rng(5)
    wide = encode(random.choice([-2.0, 1.0, 3.0], (8, 160)), format_of("tf32"))
    shared = ins.in_shared_memory("b", from_bits(wide, "tf32"), more_columns=32)
    mask = ZeroColumnMask(True, 5, 2, (1, 0, 1, 0), (0, 3, 1, 4), shift=13)
    said = ins.descriptor(max_shift=32)
    ins.execute(product.tmem, 0, product.shared_a, shared, descriptor=said, zero_column_mask=mask.encode())
    b = np.where(mask.columns(m, 128), 0, values(wide, "tf32")[:, 13:141])
    assert np.array_equal(product.got(), values(product.a, "tf32") @ b + values(product.c, "f32"))
    before = words(product.tmem)
    with pytest.raises(UnsupportedInstructionError, match="max_shift of at least that"):
        ins.execute(
            product.tmem, 0, product.shared_a, shared, descriptor=ins.descriptor(max_shift=8), zero_column_mask=mask
        )
    with pytest.raises(OutOfBoundsError):  # B ends after its n columns, and the shift reaches beyond
        ins.execute(product.tmem, 0, product.shared_a, product.shared_b, descriptor=said, zero_column_mask=mask)
    assert np.array_equal(words(product.tmem), before)


def test_scale_factor_ids_choose_bytes_of_the_same_words():
    ins = bound("mxf8f6f4", 128, 64)
    product, row = TensorProduct(ins), ins.instruction
    random = np.random.default_rng(11)
    several = [
        (random.integers(125, 130, (128, 1), np.uint8), random.integers(125, 130, (1, 64), np.uint8)) for _ in range(4)
    ]
    for i, (a, b) in enumerate(several):
        ins.store(product.tmem, "scale_a", SCALE_A_AT, a, scale_id=i)
        ins.store(product.tmem, "scale_b", SCALE_B_AT, b, scale_id=3 - i)
    for i, (a, b) in enumerate(several):
        said = ins.descriptor(scale_id_a=i, scale_id_b=3 - i)
        arguments = product.tmem, 0, product.shared_a, product.shared_b
        ins.execute(*arguments, descriptor=said, enable_input_d=False, **product.options)
        want = ins(from_bits(product.a, row.a), from_bits(product.b, row.b), scale_a=a, scale_b=b)
        assert np.array_equal(ins.load(product.tmem, 0), want)


@pytest.mark.parametrize("selector", [0, 1])
def test_the_sparsity_selector_chooses_one_of_two_columns(selector):
    product = TensorProduct(bound("f16", 128, 8, sparse=True))
    ins = product.ins
    nibbles = ins.compress(from_bits(product.a, ins.a.format))[1]
    ins.store(product.tmem, "metadata", METADATA_AT, np.full_like(nibbles, 0b0100), selector=1 - selector)
    ins.store(product.tmem, "metadata", METADATA_AT, nibbles, selector=selector)
    said = ins.descriptor(sparsity_selector=selector)
    ins.execute(product.tmem, 0, product.shared_a, product.shared_b, descriptor=said, metadata=METADATA_AT)
    assert np.array_equal(product.got(), product.want())


def test_a_whole_path_with_cp_and_ld():
    # Scales of 128 rows are 32 rows in shared memory of 16 bytes: row r holds the four scales of rows r, r + 32, ...
    ins = bound("mxf4nvf4", 128, 128)
    product = TensorProduct(ins)
    tmem = memories(ins)
    for where, scales in ((SCALE_A_AT, product.scale_a), (SCALE_B_AT, product.scale_b.T)):
        rows = np.ascontiguousarray(scales.reshape(4, 32, 4).swapaxes(0, 1)).reshape(32, 16)
        cp(tmem, where, rows.reshape(-1), SharedMemoryDescriptor(0, 16, 128), "tcgen05.cp.cta_group::1.32x128b.warpx4")
    said = ins.descriptor().encode()
    mnemonic = "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X"
    mma(mnemonic, tmem, 0, product.shared_a, product.shared_b, said, enable_input_d=False, **product.options)
    for warp in range(4):
        found = ld(tmem, warp << 21, "tcgen05.ld.32x32b.x128").view(np.float32)
        assert np.array_equal(found.T, product.want(adds=False)[32 * warp : 32 * warp + 32])


@pytest.mark.parametrize("saturate", [False, True])
def test_a_descriptor_as_ptx_gives_it_says_whether_integers_saturate(saturate):
    said = InstructionDescriptor("i8", 64, 8, "s32", "u8", "s8", saturate=saturate)
    ins = bound_tensor_instruction(said.instruction(), "sm_100")
    tmem = memories(ins)
    ins.store(tmem, "d", 0, np.full((64, 8), 2**31 - 1, np.int32))
    a = ins.in_shared_memory("a", np.full((64, 32), 255, np.uint8))
    b = ins.in_shared_memory("b", np.ones((32, 8), np.int8))
    mma("tcgen05.mma.cta_group::1.kind::i8", tmem, 0, a, b, said.encode())
    assert (ins.load(tmem, 0) == (2**31 - 1 if saturate else -(2**31) - 1 + 32 * 255)).all()


def test_a_descriptor_of_k_96_is_read_as_one():
    said = InstructionDescriptor("mxf4", 256, 64, "f32", "e2m1", "e2m1", scale="ue8m0", k=96)
    row = said.instruction(cta_group=2)
    assert row.k == 96 and row.scale_vec == 3
    pair = memories(bound_tensor_instruction(row, "sm_103"))
    a, b = (image_of(np.zeros((n, 96), np.uint8), "e2m1") for n in (128, 32))
    operands = ((a[0], a[0]), a[1]), ((b[0], b[0]), b[1])
    with pytest.raises(UnsupportedInstructionError, match="k = 96 in tensor memory is shown only in figures"):
        mma("tcgen05.mma.cta_group::2.kind::mxf4.block_scale.block32", pair, 0, *operands, said.encode(), arch="sm_103",
            enable_input_d=False, scale_a=64, scale_b=96)  # fmt: skip


def test_the_first_product_does_not_look_at_d():
    product = TensorProduct(bound("f16", 64, 8))
    tmem = memories(product.ins)
    arguments = tmem, 0, product.shared_a, product.shared_b
    product.ins.execute(*arguments, enable_input_d=False)  # no warning: warnings are errors here
    assert np.array_equal(product.ins.load(tmem, 0), product.want(adds=False))
    with pytest.warns(UnspecifiedBehaviourWarning, match="not all of their .* bits are initialised"):
        product.ins.execute(tmem, 64, *arguments[2:])


def test_a_result_of_16_bits_leaves_the_upper_halves_unwritten():
    row = tensor_instruction("f16", 64, 8, "f16", "f16", "f16")
    ins = bound_tensor_instruction(row, "sm_103")
    tmem = memories(ins)
    operands = (
        image_of(np.full((64, 16), 0x3C00, np.uint16), "f16"),
        image_of(np.full((8, 16), 0x4000, np.uint16), "f16"),
    )
    ins.execute(tmem, 0, *operands, enable_input_d=False)
    ins.execute(tmem, 0, *operands)
    assert ins.load(tmem, 0).dtype == np.float16 and (ins.load(tmem, 0) == 64).all()
    with pytest.warns(UnspecifiedBehaviourWarning):
        tmem.read(0, 0)


def test_instructions_and_operands_show_themselves():
    ins = bound("f16", 64, 8)
    assert "tcgen05.mma" in ins._repr_html_() and "in tensor memory" in ins.d._repr_html_()
    scaled = bound("mxf4", 128, 8)
    assert repr(scaled.scale_b) == f"<scale_b of {scaled.mnemonic} on sm_100: 2x8 ue8m0 in tensor memory>"
    for ask in (lambda: ins.machine, lambda: ins.schedule):
        with pytest.raises(UnsupportedInstructionError, match=r"machine code of tcgen05.* on sm_100 is not known"):
            ask()


def test_uninitialised_bytes_of_scales_warn():
    product = TensorProduct(bound("mxf8f6f4", 128, 8))
    ins = product.ins
    said = ins.descriptor(scale_id_a=1)
    with pytest.warns(
        UnspecifiedBehaviourWarning, match="not all of their 8 bits are initialised, the first at lane 0, column 300"
    ):
        ins.execute(product.tmem, 0, product.shared_a, product.shared_b, descriptor=said, **product.options)
    ins.store(product.tmem, "scale_a", SCALE_A_AT, product.scale_a, scale_id=1)
    ins.execute(product.tmem, 0, product.shared_a, product.shared_b, descriptor=said, enable_input_d=False,
                **product.options)  # fmt: skip
    assert np.array_equal(product.got(), product.want(adds=False))


def test_the_top_bit_of_a_ue4m3_scale_does_not_count():
    product = TensorProduct(bound("mxf4nvf4", 128, 8))
    ins = product.ins
    ins.store(product.tmem, "scale_a", SCALE_A_AT, product.scale_a | np.uint8(0x80))
    ins.store(product.tmem, "scale_b", SCALE_B_AT, product.scale_b | np.uint8(0x80))
    assert (product.tmem.words[0, SCALE_A_AT] & 0x80808080) == 0x80808080
    ins.execute(product.tmem, 0, product.shared_a, product.shared_b, **product.options)
    assert np.array_equal(product.got(), product.want())


@pytest.mark.filterwarnings("error::wmma_emu.errors.UnverifiedModelWarning")
def test_binding_integers_warns_of_inferred_positions():
    # For every other kind binding already warns, because the arithmetic has no recording.
    product = TensorProduct(bound("i8", 128, 16))
    product.ins.store(product.tmem, "a", A_AT, product.packed)
    product.ins.execute(product.tmem, 0, A_AT, product.shared_b)  # all of it documented
    folded = TensorProduct(bound("i8", 64, 64, ws=True))
    with pytest.warns(UnverifiedModelWarning, match="the position of A in tensor memory is inferred") as caught:
        folded.ins.store(folded.tmem, "a", A_AT, folded.packed)
    assert caught[0].filename == __file__
    with pytest.warns(UnverifiedModelWarning, match="the position of A in tensor memory is inferred"):
        folded.ins.execute(folded.tmem, 0, A_AT, folded.shared_b)
    with pytest.warns(UnverifiedModelWarning, match="the position of metadata in tensor memory is inferred"):
        sparse = TensorProduct(bound("i8", 128, 16, sparse=True))
    with pytest.warns(UnverifiedModelWarning, match="the position of metadata in tensor memory is inferred"):
        sparse.ins.execute(sparse.tmem, 0, sparse.shared_a, sparse.shared_b, **sparse.options)
    for kind in set(TENSOR_KINDS) - {"i8"}:
        with pytest.warns(UnverifiedModelWarning, match="the arithmetic is"):
            bound(kind, 128, 16)


def test_indices_of_metadata_are_the_places_of_packed_elements():
    product = TensorProduct(bound("tf32", 64, 8, sparse=True))
    ins = product.ins
    packed, nibbles = ins.compress(from_bits(product.a, "tf32"))
    found = np.take_along_axis(product.a, ins.indices(nibbles), -1)
    assert np.array_equal(found, to_bits(packed, "tf32"))
    for wrong in (nibbles[:32], np.full_like(nibbles, 0b0100)[..., :4], np.zeros_like(nibbles)):
        with pytest.raises(FragmentMismatchError):
            ins.indices(wrong)


def test_metadata_may_name_the_positions_of_a_pair_in_descending_order_once():
    product = TensorProduct(bound("f16", 128, 8, sparse=True))
    ins = product.ins
    ins.store(product.tmem, "metadata", METADATA_AT, np.full((128, 8), 0b0110))  # the manual lists 2 and then 1
    arguments = product.tmem, 0, product.shared_a, product.shared_b
    ins.execute(*arguments, metadata=METADATA_AT, enable_input_d=False)
    a = np.zeros((128, 32))
    a[:, 2::4], a[:, 1::4] = values(to_bits(product.packed, "bf16"), "bf16").reshape(128, 8, 2).transpose(2, 0, 1)
    assert np.array_equal(ins.load(product.tmem, 0), a @ values(product.b, "f16"))


def test_a_k_of_96_multiplies_matrices_and_is_refused_in_tensor_memory():
    row = tensor_instruction("mxf4", 256, 64, "f32", "e2m1", "e2m1", k=96, cta_group=2)
    ins = bound_tensor_instruction(row, "sm_103")
    random = np.random.default_rng(1)
    a, b = (small_numbers("e2m1", shape, random) for shape in ((256, 96), (96, 64)))
    scales = {"scale_a": np.full((256, 3), 127, np.uint8), "scale_b": np.full((3, 64), 128, np.uint8)}
    d = ins(from_bits(a, "e2m1"), from_bits(b, "e2m1"), **scales)
    assert np.array_equal(d, 2 * values(a, "e2m1") @ values(b, "e2m1"))
    with pytest.raises(UnsupportedInstructionError, match="shown only in figures"):
        ins.store(memories(ins), "scale_a", 0, scales["scale_a"])


def test_leading_axes_of_matrices_broadcast():
    ins = bound("f16", 64, 8)
    random = np.random.default_rng(2)
    a, b = small_numbers("bf16", (3, 1, 64, 16), random), small_numbers("f16", (2, 16, 8), random)
    d = ins(from_bits(a, "bf16"), from_bits(b, "f16"))
    assert d.shape == (3, 2, 64, 8) and np.array_equal(d, values(a, "bf16") @ values(b, "f16"))
    with pytest.raises(FragmentMismatchError, match="do not broadcast"):
        ins(from_bits(a, "bf16"), np.zeros((2, 2, 16, 8), np.float16))
    with pytest.raises(FragmentMismatchError, match="takes no scale_a"):
        ins(from_bits(a, "bf16"), from_bits(b, "f16"), scale_a=np.zeros((64, 1), np.uint8))
    with pytest.raises(FragmentMismatchError, match="needs scale_a= and scale_b="):
        bound("mxf4", 128, 8)(np.zeros((128, 64), np.uint8), np.zeros((64, 8), np.uint8))


@pytest.mark.parametrize("engine", ["reference", "numpy"])
def test_engines_agree(engine):
    product = TensorProduct(bound("mxf8f6f4", 128, 8))
    arguments = product.tmem, 0, product.shared_a, product.shared_b
    product.ins.execute(*arguments, **product.options, engine=engine)
    assert np.array_equal(product.got(), product.want())


@pytest.mark.filterwarnings("default::wmma_emu.errors.UnverifiedModelWarning")
def test_binding_warns_that_nothing_was_recorded():
    with pytest.warns(UnverifiedModelWarning, match=r"tcgen05\.mma.*no recording"):
        ins = bound("f16", 64, 8)
    assert isinstance(ins, BoundTensorInstruction) and ins.model.status in ("literature", "inferred")
    assert repr(ins.b) == f"<B of {ins.mnemonic} on sm_100: 16x8 f16 in shared memory>"


def test_alternatives_of_the_table_of_models_are_bound_by_name():
    row = tensor_instruction("mxf4nvf4", 128, 8, "f32", "e2m1", "e2m1", scale="ue4m3")
    ins = bound_tensor_instruction(row, "sm_100", model="F=34")
    assert ins.model.fraction_bits == 34 and ins.product == dot_product_of(row, "sm_100", model="F=34")

# SPDX-License-Identifier: MIT
"""Products with block scales, and of elements in bytes: registers, matrices, exact sums; and what is refused."""

import functools
import warnings

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.arithmetic import dot_product_of, reference
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats import decode, format_of
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.instructions import INSTRUCTIONS, lookup
from wmma_emu.layouts import granularity_of
from wmma_emu.warp import BoundScale, bound_instruction
from wmma_emu.warp.sparse import compress

ROWS = [row for row in INSTRUCTIONS.values() if row.is_block_scaled or "kind::f8f6f4" in row.modifiers]
SCALED = [row for row in ROWS if row.is_block_scaled]
pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


@functools.cache
def bound(row, arch="sm_120"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", we.UnverifiedModelWarning)
        row = lookup(row, arch) if isinstance(row, str) else row
        return bound_instruction(row, we.instructions.arch_of(arch))


MXF8 = "m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0"
MXF4 = "m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
NVF4 = "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
SPARSE = "mma.sp::ordered_metadata.m16n8k128.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"


def drawn(ins, seed=0, *batch):
    """Patterns: A with the zeros that it needs, B, C, and keywords of both scales."""
    row, rng = ins.instruction, np.random.default_rng(seed)
    a, b = (
        rng.integers(0, 1 << x.format.bits, (*batch, *shape), np.uint8)
        for x, shape in ((ins.a, (row.m, row.k)), (ins.b, (row.k, row.n)))
    )
    if row.is_sparse:
        places = granularity_of(row)
        cells = a.reshape(*batch, row.m, -1, places.chunk // places.width, places.width)
        order = rng.permuted(np.broadcast_to(np.arange(4), cells.shape[:-1]), axis=-1)
        cells[order < 2] = 0
    c = rng.normal(size=(*batch, row.m, row.n)).astype(np.float16 if row.c == "f16" else np.float32)
    scales = {}
    if row.is_block_scaled:
        low, high = (120, 135) if row.scale == "ue8m0" else (0x28, 0x48)
        scales = {
            x.name: rng.integers(low, high, (*batch, *x.matrix_shape), np.uint8) for x in (ins.scale_a, ins.scale_b)
        }
    return a, b, c.view(ins.c.format.storage), scales


def registers_of(ins, a, b, c, scales, selectors):
    """Registers of everything, with keywords; bits that are not read hold anything."""
    rng = np.random.default_rng(1)
    keywords = {}
    if ins.instruction.is_sparse:
        packed, keywords["metadata"] = ins.compress(from_bits(a, ins.a.format))
        a = to_bits(packed, ins.a.format)
    given = [ins.a.pack_bits(a), ins.b.pack_bits(b), ins.c.pack_bits(c)]
    for i, x in enumerate((ins.a, ins.b)):
        read = x.pack_bits(np.full((*a.shape[:-2], *x.matrix_shape), x.format.mask, x.format.storage))
        given[i] |= rng.integers(0, 2**32, given[i].shape, np.uint32) & ~read
    for x in (ins.scale_a, ins.scale_b) if scales else ():
        byte, thread = selectors[f"byte_id_{x.operand}"], selectors[f"thread_id_{x.operand}"]
        read = x.pack_bits(np.full(x.matrix_shape, 0xFF, np.uint8), byte, thread)
        words = x.pack_bits(scales[x.name], byte, thread)
        keywords[x.name] = words | rng.integers(0, 2**32, words.shape, np.uint32) & ~read
    return given, keywords | (selectors if scales else {})


def last_selectors(ins):
    if ins.scale_a is None:
        return {}
    return {
        f"{name}_{x.operand}": values[-1]
        for x in (ins.scale_a, ins.scale_b)
        for name, values in zip(("byte_id", "thread_id"), x.selectors, strict=True)
    }


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_registers_with_anything_in_bits_that_are_not_read_give_the_bits_of_matrices(row):
    ins = bound(row)
    a, b, c, scales = drawn(ins)
    registers, keywords = registers_of(ins, a, b, c, scales, last_selectors(ins))
    d = ins.d.unpack_bits(ins.execute(*registers, **keywords))
    given = (from_bits(x, fmt) for x, fmt in ((a, ins.a.format), (b, ins.b.format), (c, ins.c.format)))
    D = to_bits(ins(*given, **scales), ins.d.format)
    assert np.array_equal(d, D)
    assert len(np.unique(D)) > 1


def exact(row, a, b, scales):
    """A and B as numbers, times their scales, column by column of A and row by row of B."""
    x, y = decode(a, format_of(row.a)), decode(b, format_of(row.b))
    if scales:
        of_k = np.arange(row.k) * row.scale_vec // row.k
        x = x * decode(scales["scale_a"], format_of(row.scale))[..., of_k]
        y = y * decode(scales["scale_b"], format_of(row.scale))[..., of_k, :]
    return x @ y


@pytest.mark.parametrize("row", [row for row in ROWS if row.d == "f32"], ids=str)
def test_exact_sums_match_sums_of_scaled_numbers(row):
    ins, rng = bound(row), np.random.default_rng(2)
    a, b, c, scales = drawn(ins, 2)
    ones = {"e4m3": 0x38, "e5m2": 0x3C, "e3m2": 0xC, "e2m3": 0x8, "e2m1": 0x2}
    a = np.where(a != 0, ones[row.a], 0).astype(np.uint8)  # ones and zeros: every sum of scaled ones is exact
    b = np.where(b % 3 != 0, ones[row.b], 0).astype(np.uint8)
    if scales:
        one = 127 if row.scale == "ue8m0" else 0x38
        step = 1 if row.scale == "ue8m0" else 8  # powers of two
        scales = {name: (one + step * rng.integers(-2, 3, x.shape)).astype(np.uint8) for name, x in scales.items()}
    c = np.zeros_like(c)
    D = ins(from_bits(a, ins.a.format), from_bits(b, ins.b.format), from_bits(c, ins.c.format), **scales)
    expected = exact(row, a, b, scales)
    assert np.array_equal(D, expected) and len(np.unique(expected)) > 4


@pytest.mark.parametrize("name", [MXF8, MXF4, NVF4, SPARSE])
def test_every_element_is_one_dot_product_of_the_reference(name):
    ins = bound(name)
    row, product = ins.instruction, ins.product
    a, b, c, scales = drawn(ins, 3)
    registers, keywords = registers_of(ins, a, b, c, scales, last_selectors(ins))
    d = ins.d.unpack_bits(ins.execute(*registers, **keywords))
    packed, k = compress(row, a) if row.is_sparse else (a, np.tile(np.arange(row.k), (16, 1)))
    for i, j in ((0, 0), (3, 5), (9, 1), (15, 7)):
        expected = reference.dot(
            product, packed[i].tolist(), b[k[i], j].tolist(), int(c[i, j]),
            scale_a=scales["scale_a"][i].tolist(), scale_b=scales["scale_b"][:, j].tolist(),
        )  # fmt: skip
        assert d[i, j] == expected


@pytest.mark.parametrize("name", [MXF8, MXF4, NVF4, SPARSE])
def test_engines_and_batches_agree(name):
    ins = bound(name)
    a, b, c, scales = drawn(ins, 4, 3)
    registers, keywords = registers_of(ins, a, b, c, scales, last_selectors(ins))
    d = ins.execute(*registers, **keywords)
    for engine in ("reference", "numpy"):
        assert np.array_equal(ins.execute(*registers, engine=engine, **keywords), d)
    for i in range(3):
        lonely = {x: v[i] if isinstance(v, np.ndarray) else v for x, v in keywords.items()}
        assert np.array_equal(ins.execute(*(x[:, i] for x in registers), **lonely), d[:, i])
    first = {x: v[:1] if isinstance(v, np.ndarray) else v for x, v in keywords.items()}
    mixed = ins.execute(*(x[:, :1] for x in registers), **first | {"scale_a": keywords["scale_a"]})
    assert mixed.shape == d.shape and np.array_equal(mixed[:, 0], d[:, 0])


@pytest.mark.parametrize("name", [MXF8, MXF8.replace("e2m1", "e4m3"), MXF4, "m16n8k32.kind::f8f6f4.f32.e2m1.e2m1.f32"])
def test_many_warps_in_compiled_code_have_their_scales_and_their_bytes(name):
    """With enough warps, compiled code reads registers itself, but not for elements with scales or padding."""
    ins = bound(name)
    a, b, c, scales = drawn(ins, 13, 9)
    registers, keywords = registers_of(ins, a, b, c, scales, last_selectors(ins))
    d = ins.execute(*registers, engine="reference", **keywords)
    assert np.array_equal(ins.execute(*registers, engine="native", **keywords), d)
    assert len(np.unique(d)) > 9


def test_elements_of_bytes_have_no_other_bits():
    ins = bound("m16n8k32.kind::f8f6f4.f32.e2m1.e3m2.f32")
    for operand, bad in ((ins.a, 0x10), (ins.b, 0x40)):
        elements = np.zeros((operand.num_elements, 32), np.uint8)
        elements[3, 5] = bad
        with pytest.raises(FragmentMismatchError, match="elements have bits set outside the"):
            operand.pack_elements(elements)


def test_scales_alone_make_a_batch():
    ins = bound(MXF4)
    a, b, c, _ = drawn(ins, 5)
    A, B, C = (from_bits(x, f.format) for x, f in ((a, ins.a), (b, ins.b), (c, ins.c)))
    many = drawn(ins, 6, 4)[3]
    D = ins(A, B, C, **many)
    assert D.shape == (4, 16, 8)
    assert ins(A, B, **many).shape == (4, 16, 8)
    for i in range(4):
        assert np.array_equal(D[i], ins(A, B, C, scale_a=many["scale_a"][i], scale_b=many["scale_b"][i]))


@pytest.mark.parametrize("name", [MXF8, MXF4, NVF4])
def test_a_scale_that_is_nan_makes_nan_of_its_row_or_column(name):
    ins = bound(name)
    a, b, c, scales = drawn(ins, 7)
    a, b = (np.where(x == ins.a.format.mask, 0, x).astype(np.uint8) for x in (a, b))
    if name == MXF8:
        a &= 0x77  # no NaN in A
    A, B, C = (from_bits(x, f.format) for x, f in ((a, ins.a), (b, ins.b), (c, ins.c)))
    clean = ins(A, B, C, **scales)
    assert not np.isnan(clean).any()
    for pattern in (0xFF,) if ins.instruction.scale == "ue8m0" else (0x7F, 0xFF):
        for side, where in (("scale_a", np.s_[3, -1]), ("scale_b", np.s_[0, 5])):
            bad = {x: v.copy() for x, v in scales.items()}
            bad[side][where] = pattern
            D = ins(A, B, C, **bad)
            nan = np.zeros((16, 8), bool)
            nan[3 if side == "scale_a" else slice(None), slice(None) if side == "scale_a" else 5] = True
            assert np.array_equal(np.isnan(D), nan)
            assert (D.view(np.uint32)[nan] == 0x7FFF_FFFF).all()
            assert np.array_equal(D[~nan], clean[~nan])


def test_the_top_bit_of_ue4m3_stays_in_the_registers_and_changes_nothing():
    ins = bound(NVF4)
    a, b, c, scales = drawn(ins, 8)
    A, B, C = (from_bits(x, f.format) for x, f in ((a, ins.a), (b, ins.b), (c, ins.c)))
    signed = {x: v | np.uint8(0x80) for x, v in scales.items()}
    assert np.array_equal(ins(A, B, C, **scales), ins(A, B, C, **signed))
    registers = ins.scale_a.pack(signed["scale_a"])
    assert np.array_equal(ins.scale_a.unpack(registers), signed["scale_a"])
    floats = {x: v.view(ml_dtypes.float8_e4m3fn) for x, v in scales.items()}
    assert np.array_equal(ins(A, B, C, **floats), ins(A, B, C, **scales))
    with pytest.raises(FragmentMismatchError, match="scale_a holds negative e4m3 numbers"):
        ins(A, B, C, **floats | {"scale_a": signed["scale_a"].view(ml_dtypes.float8_e4m3fn)})


def test_scales_come_in_the_dtype_of_their_format_or_as_patterns():
    ins = bound(MXF4)
    a, b, c, scales = drawn(ins, 9)
    A, B, C = (from_bits(x, f.format) for x, f in ((a, ins.a), (b, ins.b), (c, ins.c)))
    powers = {x: v.view(ml_dtypes.float8_e8m0fnu) for x, v in scales.items()}
    assert np.array_equal(ins(A, B, C, **powers), ins(A, B, C, **scales))
    back = ins.scale_b.unpack(ins.scale_b.pack(powers["scale_b"], 2, 3), 2, 3)
    assert back.dtype == powers["scale_b"].dtype and np.array_equal(back.view(np.uint8), scales["scale_b"])


@pytest.mark.parametrize("name", [MXF8, MXF4, NVF4, "m16n8k32.kind::f8f6f4.f32.e4m3.e2m1.f32"])
def test_packed_matrices_of_e2m1_are_two_a_byte_whatever_holds_them_in_registers(name):
    ins = bound(name)
    a, b, _, scales = drawn(ins, 10)
    A, B = from_bits(a, ins.a.format), from_bits(b, ins.b.format)
    packed = b[::2] | b[1::2] << 4
    assert np.array_equal(ins(A, packed, b_format="e2m1", **scales), ins(A, B, **scales), equal_nan=True)
    with pytest.raises(FragmentMismatchError, match="b_format='e3m2' was given, but B of this instruction is e2m1"):
        ins(A, packed, b_format="e3m2", **scales)


def test_every_pattern_of_an_element_goes_through_its_byte():
    for name in ("e2m1", "e3m2", "e2m3", "e4m3"):
        ins = bound(f"m16n8k32.kind::f8f6f4.f32.{name}.e2m1.f32")
        bits = np.resize(np.arange(1 << ins.a.format.bits, dtype=np.uint8), (16, 32))
        words = ins.a.pack_bits(bits)
        shift, inside = (2, 0x3C) if name == "e2m1" else (0, ins.a.format.mask)
        lane, register, bit, _ = ins.a.layout.locate(1, 3)[0]
        assert words[register, lane] >> bit & 0xFF == int(bits[1, 3]) << shift
        assert (words & ~np.uint32(inside * 0x0101_0101) == 0).all()
        assert np.array_equal(ins.a.unpack_bits(words | ~np.uint32(inside * 0x0101_0101)), bits)


@pytest.mark.parametrize(("name", "unpacked", "shift"), [("e2m1", "b4x16_p64", 2), ("e3m2", "b6x16_p32", 0)])
def test_ldmatrix_brings_narrow_elements_to_the_bytes_that_mma_reads(name, unpacked, shift):
    a = bound(f"m16n8k32.kind::f8f6f4.f32.{name}.e4m3.f32").a
    bits = np.random.default_rng(12).integers(0, 1 << a.format.bits, (16, 32), np.uint8)
    memory = np.zeros((2, 16, 16), np.uint8)  # halves of k, rows, bytes: sixteen elements, packed, then padding
    for half, row in np.ndindex(2, 16):
        number = sum(int(x) << a.format.bits * i for i, x in enumerate(bits[row, 16 * half : 16 * half + 16]))
        memory[half, row] = np.frombuffer(number.to_bytes(16, "little"), np.uint8)
    words = we.warp.ldmatrix(memory, np.arange(32) * 16, f"ldmatrix.m8n16.x4.b8x16.{unpacked}", arch="sm_120")
    assert np.array_equal(words << np.uint32(shift), a.pack_bits(bits))


A, B = np.zeros((16, 64), ml_dtypes.float4_e2m1fn), np.zeros((64, 8), ml_dtypes.float4_e2m1fn)
SA, SB = np.full((16, 2), 127, np.uint8), np.full((2, 8), 127, np.uint8)


@pytest.mark.parametrize(
    ("scales", "message"),
    [
        ({}, r"needs scale_a= and scale_b=, block scales of ue8m0: matrices of \(16, 2\) for A and \(2, 8\) for B"),
        ({"scale_a": SA}, "needs scale_b="),
        ({"scale_a": SA.T, "scale_b": SB}, r"scale_a has shape \(2, 16\).*transpose: pass scale_a\.swapaxes\(-1, -2\)"),
        ({"scale_a": SA[:, :1], "scale_b": SB}, r"takes \(\.\.\., 16, 2\); each row of A has one scale for 32 k"),
        ({"scale_a": SA, "scale_b": SB[:1]}, "each column of B has one scale for 32 k"),
        ({"scale_a": SA.astype(np.float32), "scale_b": SB}, "scale_a is an array of float32.*ue8m0"),
        ({"scale_a": np.stack([SA] * 3), "scale_b": np.stack([SB] * 2)}, r"scale_a \(3,\), scale_b \(2,\)"),
        ({"scale_a": SA, "scale_b": [127]}, "scale_b is a Python list"),
    ],
)
def test_scales_that_are_missing_or_wrong_are_refused(scales, message):
    with pytest.raises(FragmentMismatchError, match=message):
        bound(MXF4)(A, B, **scales)


WORDS = np.full(32, 0x7F7F_7F7F, np.uint32)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs scale_a= and scale_b="),
        ({"scale_a": WORDS, "scale_b": WORDS, "byte_id_a": 1}, r"byte-id-a of .* is 1; it must be 0 or 2"),
        ({"scale_a": WORDS, "scale_b": WORDS, "thread_id_a": 2}, r"thread-id-a of .* is 2; it must be 0 or 1"),
        (
            {"scale_a": WORDS, "scale_b": WORDS, "thread_id_b": "0"},
            r"thread-id-b of .* is '0'; it must be 0, 1, 2 or "
            r"3",
        ),
        ({"scale_a": WORDS.view(np.int32), "scale_b": WORDS}, r"scale_a are int32 .*\.view\(np\.uint32\)"),
        ({"scale_a": WORDS[:31], "scale_b": WORDS}, "lanes come last, one register each"),
        ({"scale_a": SA, "scale_b": WORDS}, r"the matrix of scales: ins\.scale_a\.pack\(scales\) gives its registers"),
        ({"scale_a": np.stack([WORDS] * 2), "scale_b": np.stack([WORDS] * 3)}, r"scale_a \(2,\), scale_b \(3,\)"),
        ({"scale_a": WORDS, "scale_b": WORDS, "metadata": WORDS}, "takes no metadata"),
    ],
)
def test_registers_of_scales_and_selectors_that_are_wrong_are_refused(options, message):
    given = [np.zeros((x, 32), np.uint32) for x in (4, 2, 4)]
    with pytest.raises(FragmentMismatchError, match=message):
        bound(MXF4).execute(*given, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"scale_a": WORDS}, "takes no scale_a: it has no block scales"),
     ({"scale_a": WORDS, "scale_b": WORDS}, "takes no scale_a and no scale_b"),
     ({"byte_id_b": 1}, "takes no byte-id and no thread-id"),
     ({"thread_id_a": 0.0}, "takes no byte-id and no thread-id"),
     ({"byte_id_a": "0"}, "takes no byte-id and no thread-id")],
)  # fmt: skip
def test_other_instructions_take_no_scales(options, message):
    ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
    assert ins.scale_a is None and ins.scale_b is None
    given = [np.zeros((x, 32), np.uint32) for x in (4, 2, 4)]
    with pytest.raises(FragmentMismatchError, match=message):
        ins.execute(*given, **options)
    wgmma = we.instruction("wgmma.m64n8k16.f32.f16.f16", arch="sm_90")
    with pytest.raises(FragmentMismatchError, match=message):
        wgmma.execute(np.zeros((64, 16), np.float16), np.zeros((16, 8), np.float16), None, scale_d=0, **options)
    if "scale_a" in options:
        with pytest.raises(FragmentMismatchError, match=message):
            ins(np.zeros((16, 16), np.float16), np.zeros((16, 8), np.float16), **options)


def test_another_model_keeps_the_scales():
    ins = bound(MXF4)
    a, b, c, scales = drawn(ins, 11)
    given = [from_bits(x, f.format) for x, f in ((a, ins.a), (b, ins.b), (c, ins.c))]
    again = ins.with_model(ins.model)
    assert again.scale_a == ins.scale_a == BoundScale(ins.instruction, "a", "sm_120")
    assert np.array_equal(again(*given, **scales), ins(*given, **scales))
    assert ins.scale_a.name == "scale_a" and str(ins.scale_a.format) == "ue8m0"


def test_models_that_sources_disagree_about_are_chosen_by_name():
    row = lookup(MXF4, "sm_120")
    named = bound_instruction(row, we.instructions.arch_of("sm_120"), None, "F=34")
    assert named.model.fraction_bits == 34 and "model='F=34'" in repr(named)
    assert named.product == dot_product_of(row, "sm_120", None, "F=34")
    with pytest.raises(UnsupportedInstructionError, match="F=34"):
        bound_instruction(row, we.instructions.arch_of("sm_120"), None, "F=99")

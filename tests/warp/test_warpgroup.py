# SPDX-License-Identifier: MIT
"""`wgmma`: registers of four warps, operands in shared memory, options, sparse A, and what is refused."""

import numpy as np
import pytest

from tools.wgmma_probe_cases import cases
from wmma_emu.errors import (
    AlignmentError,
    FragmentMismatchError,
    OutOfBoundsError,
    ShapeError,
    UnsupportedInstructionError,
    WmmaEmuError,
)
from wmma_emu.formats.dtypes import dtype_of, from_bits
from wmma_emu.instructions import INSTRUCTIONS, arch_of, lookup
from wmma_emu.layouts import pack_metadata
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.warp.instruction import BoundInstruction
from wmma_emu.warp.sparse import expand
from wmma_emu.warp.warpgroup import BoundWarpgroupInstruction, SharedOperand, bound_instruction

CHIP = arch_of("sm_90")
ROWS = [row for row in INSTRUCTIONS.values() if row.is_warpgroup]
SMALL = [row for row in ROWS if row.n in (8, 24, 32) and "satfinite" not in row.modifiers]
NARROW = [row for row in SMALL if row.n == 8]
DENSE = [row for row in NARROW if not row.is_sparse]


def bind(mnemonic):
    return bound_instruction(lookup(mnemonic, "sm_90"), CHIP)


F16 = bind("wgmma.m64n8k16.f32.f16.f16")
S8 = bind("wgmma.m64n8k32.s32.s8.u8")
SPARSE = bind("wgmma.sp.m64n8k32.f32.f16.f16")


def random_bits(fmt, shape, seed):
    words = np.random.default_rng(seed).integers(0, 2**32, shape, np.uint32)
    return (words & np.uint32(fmt.mask)).astype(fmt.storage)


def small_numbers(fmt, shape, seed):
    """Numbers whose products and sums every accumulator holds: patterns of -1, 0, 1, or of 0, 1."""
    chosen = np.random.default_rng(seed).integers(-1 if fmt.signed and fmt.bits > 1 else 0, 2, shape)
    return (chosen.astype(bool) if fmt.bits == 1 else chosen.astype(dtype_of(fmt))), chosen


def random_metadata(row, batch, seed):
    """Indices of a legal sparse A: two of four, or one of two."""
    rng = np.random.default_rng(seed)
    chunk, kept = (2, 1) if row.a == "tf32" else (4, 2)
    places = np.sort(rng.permuted(np.tile(np.arange(chunk), (*batch, row.m, row.k // chunk, 1)), axis=-1)[..., :kept])
    k = places + chunk * np.arange(row.k // chunk)[:, None]
    return k.reshape(*batch, row.m, row.terms)


@pytest.mark.parametrize("row", SMALL, ids=str)
def test_lanes_hold_what_the_manual_draws(row):
    ins = bound_instruction(row, CHIP)
    C = random_bits(ins.c.format, (64, row.n), 1)
    registers = ins.c.pack_bits(C)
    assert registers.shape == (row.registers("c"), 4, 32)
    each = 32 // ins.c.format.bits
    for register, warp, lane in np.ndindex(registers.shape):
        word = 0
        for part in range(each):
            i = register * each + part
            line = 16 * warp + lane // 4 + 8 * (i >> 1 & 1)
            word |= int(C[line, 8 * (i >> 2) + 2 * (lane % 4) + (i & 1)]) << (ins.c.format.bits * part)
        assert registers[register, warp, lane] == word
    assert np.array_equal(ins.c.unpack_bits(registers), C)


@pytest.mark.parametrize("row", SMALL, ids=str)
def test_products_of_small_numbers_are_exact_wherever_the_operands_are(row):
    ins = bound_instruction(row, CHIP)
    A, a_numbers = small_numbers(ins.a.format, (64, row.terms), 2)
    B, b_numbers = small_numbers(ins.b.format, (row.k, row.n), 3)
    C, c_numbers = small_numbers(ins.c.format, (64, row.n), 4)
    options = {}
    if row.is_sparse:
        indices = random_metadata(row, (), 5)
        options = {"metadata": pack_metadata(row, indices)}
        a_numbers = expand(row, a_numbers, indices)
    expected = a_numbers @ b_numbers + c_numbers
    swizzles = (0, 128) if row.is_sparse else (0, 32, 64, 128)
    bs = [B, *(ins.in_shared_memory("b", B, swizzle=x) for x in swizzles)]
    if ins.a.format.bits == 16:
        bs += [ins.in_shared_memory("b", B, swizzle=x, transpose=True) for x in (0, 32, 64, 128)]
    as_ = [A, ins.a.pack(A), ins.in_shared_memory("a", A), ins.in_shared_memory("a", A, swizzle=64)]
    c = ins.c.pack(C)
    for a, b in [(as_[1], b) for b in bs] + [(a, bs[2]) for a in as_]:
        d = ins.execute(a, b, c, **options)
        assert d.shape == (row.registers("d"), 4, 32)
        assert np.array_equal(ins.d.unpack(d).astype(np.float64), expected)


@pytest.mark.parametrize("row", DENSE, ids=str)
def test_both_engines_and_the_call_on_matrices_agree_on_random_bits(row):
    ins = bound_instruction(row, CHIP)
    A = random_bits(ins.a.format, (64, row.k), 6)
    B = random_bits(ins.b.format, (row.k, row.n), 7)
    C = random_bits(ins.c.format, (64, row.n), 8)
    matrices = [from_bits(x, fmt) for x, fmt in ((A, ins.a.format), (B, ins.b.format), (C, ins.c.format))]
    d = ins.execute(ins.a.pack_bits(A), matrices[1], ins.c.pack_bits(C))
    assert np.array_equal(ins.execute(ins.a.pack_bits(A), matrices[1], ins.c.pack_bits(C), engine="reference"), d)
    assert np.array_equal(ins.d.pack(ins(*matrices)), d)


@pytest.mark.parametrize("row", NARROW, ids=str)
def test_without_c_its_bits_are_not_looked_at(row):
    ins = bound_instruction(row, CHIP)
    A, B = random_bits(ins.a.format, (64, row.terms), 9), random_bits(ins.b.format, (row.k, row.n), 10)
    a, b = ins.a.pack_bits(A), from_bits(B, ins.b.format)
    options = {"metadata": pack_metadata(row, random_metadata(row, (), 11))} if row.is_sparse else {}
    nothing = ins.execute(a, b, None, scale_d=0, **options)
    anything = random_bits(ins.c.format, (64, row.n), 12) | ins.c.format.storage.type(0x7C00)
    assert np.array_equal(ins.execute(a, b, ins.c.pack_bits(anything), scale_d=0, **options), nothing)
    zeros = ins.c.pack_bits(np.zeros((64, row.n), ins.c.format.storage))
    assert np.array_equal(ins.execute(a, b, zeros, **options), nothing)


@pytest.mark.parametrize("row", [row for row in NARROW if row.d != "s32"], ids=str)
def test_negation_flips_the_sign_of_every_element(row):
    ins = bound_instruction(row, CHIP)
    A, B = random_bits(ins.a.format, (64, row.terms), 13), random_bits(ins.b.format, (row.k, row.n), 14)
    c = ins.c.pack_bits(random_bits(ins.c.format, (64, row.n), 15))
    a_sign = A.dtype.type(1 << (ins.a.format.bits - 1))
    minus_a, minus_b = A ^ a_sign, B ^ B.dtype.type(1 << (ins.b.format.bits - 1))
    options = {"metadata": pack_metadata(row, random_metadata(row, (), 16))} if row.is_sparse else {}

    def run(a, b, **negate):
        return ins.execute(ins.a.pack_bits(a), from_bits(b, ins.b.format), c, **options, **negate)

    assert np.array_equal(run(A, B, negate_a=True), run(minus_a, B))
    assert np.array_equal(run(A, B, negate_b=True), run(A, minus_b))
    assert np.array_equal(run(A, B, negate_a=True, negate_b=True), run(minus_a, minus_b))
    assert not np.array_equal(run(A, B, negate_a=True), run(A, B))
    shared = ins.in_shared_memory("a", from_bits(A, ins.a.format))
    assert np.array_equal(ins.execute(shared, from_bits(B, ins.b.format), c, negate_a=True, **options), run(minus_a, B))


def test_batches_of_registers_matrices_and_memory_broadcast_as_in_numpy():
    A, B, C = (random_bits(F16.a.format, s, 17) for s in ((5, 64, 16), (3, 1, 16, 8), (2, 1, 1, 64, 8)))
    C = C.astype(np.uint32) << 16
    a, c = F16.a.pack_bits(A), F16.c.pack_bits(C)
    assert a.shape == (4, 5, 4, 32)
    memory = F16.in_shared_memory("b", B, swizzle=128, transpose=True)
    assert memory.memory.shape[:-1] == (3, 1)
    d = F16.execute(a, memory, c)
    assert d.shape == (4, 2, 3, 5, 4, 32)
    for i, j, m in np.ndindex(2, 3, 5):
        one = F16.execute(a[:, m], B[j, 0], c[:, i, 0, 0])
        assert np.array_equal(d[:, i, j, m], one)
    assert F16.execute(a[:, :0], B[0, 0], c[:, 0, 0]).shape == (4, 0, 4, 32)


def test_sparse_metadata_is_a_register_a_lane_of_four_warps_and_broadcasts():
    row = SPARSE.instruction
    A, B = random_bits(SPARSE.a.format, (64, 16), 18), random_bits(SPARSE.b.format, (32, 8), 19)
    indices = random_metadata(row, (3,), 20)
    for selector in (0, 1):
        metadata = pack_metadata(row, indices, selector)
        assert metadata.shape == (3, 4, 32)
        d = SPARSE.execute(SPARSE.a.pack_bits(A), B, None, scale_d=0, metadata=metadata, selector=selector)
        for i in range(3):
            one = SPARSE.execute(A, B, None, scale_d=0, metadata=metadata[i], selector=selector)
            assert np.array_equal(d[:, i], one)


def test_a_sparse_call_on_matrices_takes_all_of_a():
    indices = random_metadata(SPARSE.instruction, (), 21)
    packed = np.arange(1, 1025, dtype=np.float16).reshape(64, 16)
    A = expand(SPARSE.instruction, packed, indices)
    B = np.eye(32, 8, dtype=np.float16)
    assert np.array_equal(SPARSE(A, B), A[:, :8].astype(np.float32))
    compressed, metadata = SPARSE.compress(A)
    assert np.array_equal(SPARSE.d.unpack(SPARSE.execute(compressed, B, None, scale_d=0, metadata=metadata)), A[:, :8])


def test_memory_is_read_when_the_instruction_is_executed():
    shared = F16.in_shared_memory("b", np.ones((16, 8), np.float16))
    A = np.ones((64, 16), np.float16)
    assert (F16.d.unpack(F16.execute(A, shared, None, scale_d=0)) == 16).all()
    shared.memory[:] = 0
    assert (F16.d.unpack(F16.execute(A, shared, None, scale_d=0)) == 0).all()


def test_operands_are_not_written_to():
    A, B = np.ones((64, 16), np.float16), np.ones((16, 8), np.float16)
    a, c = F16.a.pack(A), F16.c.pack(np.ones((64, 8), np.float32))
    shared = F16.in_shared_memory("b", B)
    before = [x.copy() for x in (a, shared.memory, c)]
    F16.execute(a, shared, c, scale_d=0, negate_a=True, negate_b=True)
    assert all(np.array_equal(x, y) for x, y in zip(before, (a, shared.memory, c), strict=True))


def test_binding_a_row_makes_what_executes_it():
    assert isinstance(F16, BoundWarpgroupInstruction)
    warp = bind("m16n8k16.f32.f16.f16.f32")
    assert type(warp) is BoundInstruction
    with pytest.raises(UnsupportedInstructionError, match="executed by one warp"):
        BoundWarpgroupInstruction(warp.instruction, CHIP)


def test_elements_of_lanes_are_multiplied_with_a_b_that_is_a_matrix():
    row = F16.instruction
    a = random_bits(row.format("a"), (3, *row.matrix_shape("a")), seed=1)
    b = random_bits(row.format("b"), row.matrix_shape("b"), seed=2)
    c = random_bits(row.format("c"), row.matrix_shape("c"), seed=3)
    d = F16.execute_elements(F16.a.layout.gather(a), b, F16.c.layout.gather(c))
    assert np.array_equal(F16.d.pack_elements(d), F16.execute(F16.a.pack_bits(a), b, F16.c.pack_bits(c)))
    with pytest.raises(ShapeError, match=r"do not broadcast: a \(3,\), b \(2,\), c \(\)"):
        F16.execute_elements(F16.a.layout.gather(a), np.stack([b, b]), F16.c.layout.gather(c))


def test_b_has_a_format_and_a_shape_but_no_registers():
    assert repr(F16.b) == f"<B of {F16.mnemonic} on sm_90: 16x8 f16 in shared memory>"
    assert (F16.b.matrix_shape, F16.b.format.name, F16.b.num_registers) == ((16, 8), "f16", 0)
    for refused in (
        lambda: F16.b.pack(np.ones((16, 8), np.float16)),
        lambda: F16.b.unpack(np.zeros((4, 4, 32), np.uint32)),
        lambda: F16.b.layout,
    ):
        with pytest.raises(UnsupportedInstructionError, match=r"from shared memory.*in_shared_memory\(\)"):
            refused()


def test_registers_of_another_shape_are_refused_with_the_legal_one():
    legal = r"takes uint32 of shape \(4, \*batch, 4, 32\)"
    B = np.ones((16, 8), np.float16)
    c = np.zeros((4, 4, 32), np.uint32)
    for wrong in (np.zeros((4, 32), np.uint32), np.zeros((4, 2, 32), np.uint32), np.zeros((2, 4, 32), np.uint32)):
        with pytest.raises(FragmentMismatchError, match=legal):
            F16.execute(c, B, wrong)
    with pytest.raises(FragmentMismatchError, match=legal):
        F16.execute(c[:2], B, c)
    with pytest.raises(FragmentMismatchError, match=r"view\(np\.uint32\)"):
        F16.execute(c, B, c.view(np.float32))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    (
        ({"c": None}, FragmentMismatchError, "c is None: .* unless scale_d is 0"),
        ({"scale_d": 2}, UnsupportedInstructionError, "scale_d is 1, or 0"),
        ({"scale_d": 0.0}, UnsupportedInstructionError, "scale_d is 1, or 0"),
        ({"negate_a": -1}, UnsupportedInstructionError, "negate_a is True or False, not -1"),
        ({"a": np.ones((16, 64), np.float16)}, FragmentMismatchError, "A has shape .* looks like the transpose"),
        ({"b": np.ones((8, 16), np.float16)}, FragmentMismatchError, "B has shape .* looks like the transpose"),
        ({"b": np.ones((16, 8), np.float32)}, FragmentMismatchError, "float32.*f16"),
        ({"a": np.ones((3, 64, 16), np.float16), "b": np.ones((2, 16, 8), np.float16)}, FragmentMismatchError,
         r"do not broadcast: a \(3,\), b \(2,\), c \(\)"),
        ({"metadata": np.zeros((4, 32), np.uint32)}, FragmentMismatchError, "takes no metadata"),
        ({"selector": 1}, FragmentMismatchError, "takes no metadata and no selector"),
        ({"engine": "fast"}, UnsupportedInstructionError, "no engine 'fast'"),
    ),
)  # fmt: skip
def test_wrong_uses_are_refused(change, error, text):
    legal = {
        "a": np.ones((64, 16), np.float16),
        "b": np.ones((16, 8), np.float16),
        "c": np.zeros((4, 4, 32), np.uint32),
    }
    with pytest.raises(error, match=text):
        F16.execute(**(legal | change))


def test_integers_are_neither_negated_nor_transposed():
    A, B = np.ones((64, 32), np.int8), np.ones((32, 8), np.uint8)
    for option in ({"negate_a": True}, {"negate_b": True}):
        with pytest.raises(UnsupportedInstructionError, match="for floating point"):
            S8.execute(A, B, None, scale_d=0, **option)
    with pytest.raises(UnsupportedInstructionError, match="elements must have 16 bits"):
        S8.in_shared_memory("b", B, transpose=True)
    plain = S8.in_shared_memory("b", B)
    with pytest.raises(UnsupportedInstructionError, match="elements must have 16 bits"):
        S8.execute(A, SharedOperand(plain.memory, plain.descriptor, transpose=True), None, scale_d=0)


def test_shared_memory_that_a_descriptor_leaves_is_refused():
    A = np.ones((64, 16), np.float16)
    shared = F16.in_shared_memory("b", np.ones((16, 8), np.float16))
    with pytest.raises(OutOfBoundsError, match=r"address 240, .* 240 bytes"):
        F16.execute(A, SharedOperand(shared.memory[:240], shared.descriptor), None, scale_d=0)
    moved = MatrixDescriptor(112, 16, 1024, 128).encode()
    with pytest.raises(AlignmentError, match="112 bytes into a line"):
        F16.execute(A, SharedOperand(np.zeros(4096, np.uint8), moved), None, scale_d=0)


def test_a_sparse_instruction_needs_metadata():
    with pytest.raises(FragmentMismatchError, match="needs metadata="):
        SPARSE.execute(np.ones((64, 16), np.float16), np.ones((32, 8), np.float16), None, scale_d=0)


@pytest.mark.parametrize(
    ("memory", "descriptor", "transpose"),
    (
        (np.zeros(256, np.int8), 0, False),
        (np.zeros((), np.uint8), 0, False),
        ([0] * 256, 0, False),
        (np.zeros(256, np.uint8), -1, False),
        (np.zeros(256, np.uint8), 1 << 14, False),
        (np.zeros(256, np.uint8), 0.0, False),
        (np.zeros(256, np.uint8), 0, "mn"),
    ),
)
def test_a_shared_operand_is_bytes_a_descriptor_and_a_flag(memory, descriptor, transpose):
    with pytest.raises(WmmaEmuError):
        SharedOperand(memory, descriptor, transpose)


def test_a_shared_operand_takes_a_descriptor_as_fields_or_as_a_word():
    fields = MatrixDescriptor(0, 128, 256, 0)
    memory = np.zeros(2048, np.uint8)
    assert SharedOperand(memory, fields).descriptor == SharedOperand(memory, fields.encode()).descriptor
    assert SharedOperand(memory, fields).descriptor == fields.encode()
    assert "leading=128" in repr(SharedOperand(memory, fields, transpose=True))


def test_c_and_d_cannot_be_in_shared_memory():
    with pytest.raises(UnsupportedInstructionError, match="only a and b"):
        F16.in_shared_memory("c", np.zeros((64, 8), np.float32))


@pytest.mark.thorough
def test_the_probes_for_a_gpu_find_every_address_where_the_emulator_reads():
    seen = set()
    for case in cases((24,)):
        row = case.ins.instruction
        kind = (row.family, row.a, case.operand, case.shared.transpose, case.shared.descriptor >> 62)
        if row.a == "b1" or case.where is None or kind in seen:
            continue
        seen.add(kind)
        found = case.locate(case.observe(lambda ins, **given: ins.execute(**given)))
        assert np.array_equal(found, case.where), case.name
    families, formats, operands, _, swizzles = map(set, zip(*seen, strict=True))
    assert families == {"wgmma", "wgmma.sp"} and operands == {"a", "b"} and swizzles == {0, 1, 2, 3}
    assert formats == {"bf16", "e4m3", "e5m2", "f16", "s8", "tf32", "u8"}

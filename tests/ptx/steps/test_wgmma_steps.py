# SPDX-License-Identifier: MIT
"""wgmma: operands in shared memory and registers, asynchronous results, and findings."""

import numpy as np
import pytest

from tests.ptx.memory.single_wave import meet
from tests.ptx.steps.by_hand import ByHand
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import INSTRUCTIONS, arch_of, lookup
from wmma_emu.layouts import pack_metadata
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.metadata import granularity_of
from wmma_emu.ptx.asynchrony import LATE, Asynchrony
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.program.program import ModuleProgram
from wmma_emu.warp import bound_instruction

ROWS = {
    name: row
    for name, row in INSTRUCTIONS.items()
    if row.is_warpgroup and row.n in (8, 24, 96, 256) and not (row.n == 256 and row.c == "f16")
}
F16 = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16"
ACCUMULATORS = "{" + ", ".join(f"%f{i}" for i in range(1, 9)) + "}"
COMMIT, WAIT = "wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned"


def vector(prefix, count, first=1):
    return "{" + ", ".join(f"{prefix}{i}" for i in range(first, first + count)) + "}"


def put(machine, operand, at, block=slice(None)):
    """Store a matrix at an address of shared memory, a multiple of 1024; return its descriptor."""
    fields = MatrixDescriptor.decode(operand.descriptor)
    machine.memory.bytes[block, at : at + operand.memory.shape[-1]] = operand.memory
    moved = MatrixDescriptor(fields.start + at, fields.leading, fields.stride, fields.swizzle, fields.base_offset)
    return moved.encode()


def patterns(row, operand, rng):
    """Return a matrix of ordinary numbers."""
    fmt = row.format(operand)
    bits = rng.integers(0, 1 << fmt.bits, row.matrix_shape(operand), dtype=np.uint64).astype(fmt.storage)
    if fmt.bits == 1:
        return bits.astype(bool)
    return bits & fmt.storage.type(0x3BFF_3BFF & fmt.mask) if fmt.is_float else bits


def arguments(row, scale="1", registers=False, trans=(0, 0), negate=(1, 1), meta=""):
    words = [meta] if meta else []
    words.append(scale)
    if row.format("a").is_float:
        words += [str(x) for x in negate]
    if row.format("a").bits == 16:
        words += [str(x) for x in (trans[1:] if registers else trans)]
    return ", ".join(words)


def metadata_of(row, rng):
    places = granularity_of(row)
    choices = np.array(list(places.nibbles.values()))
    chunks = row.k // places.chunk
    picked = choices[rng.integers(0, len(choices), (row.m, chunks))]
    return pack_metadata(row, (picked + np.arange(chunks)[:, None] * places.chunk).reshape(row.m, row.terms), 0)


def accumulators(machine, row, rng):
    """Set C in the registers; return it for each warpgroup."""
    matrix = bound_instruction(row, arch_of("sm_90"))
    fmt = row.format("c")
    bits = rng.integers(0, 1 << 30, (row.m, row.n), dtype=np.uint64).astype(fmt.storage)
    if fmt.is_float:
        bits &= fmt.storage.type(0x3BFF_3BFF & fmt.mask)
    registers = matrix.c.pack_bits(bits)
    for i, value in enumerate(registers):
        machine.set(f"%r{1 + i}", value[None])
    return matrix, registers


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("name", ROWS)
def test_each_entry_with_operands_in_shared_memory(name):
    row = ROWS[name]
    rng = np.random.default_rng(row.n)
    machine = ByHand(1, 4, size=1 << 16)
    matrix, c = accumulators(machine, row, rng)
    a = matrix.in_shared_memory("a", patterns(row, "a", rng))
    b = matrix.in_shared_memory("b", patterns(row, "b", rng), swizzle=32)
    machine.set("%rd1", put(machine, a, 0))
    machine.set("%rd2", put(machine, b, 1 << 14))
    options, meta = {}, ""
    if row.is_sparse:
        options["metadata"], meta = metadata_of(row, rng), "%r150, 0"
        machine.set("%r150", options["metadata"][None])
    count = row.registers("d")
    machine.run(f"{name} {vector('%r', count)}, %rd1, %rd2, {arguments(row, meta=meta)}")
    machine.run(COMMIT)
    machine.run(f"{WAIT} 0")
    assert machine.found == []
    expected = matrix.execute(a, b, c, engine="numpy", **options)
    for i in range(count):
        assert np.array_equal(machine.get(f"%r{1 + i}")[0], expected[i])


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("trans", [(0, 0), (1, 1), (0, 1)], ids=str)
@pytest.mark.parametrize("negate", [(1, 1), (-1, 1), (-1, -1)], ids=str)
def test_swizzles_transposition_and_signs(swizzle, trans, negate):
    name = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
    row = INSTRUCTIONS[name]
    rng = np.random.default_rng(swizzle)
    machine = ByHand(1, 4, size=1 << 16)
    matrix, c = accumulators(machine, row, rng)
    a = matrix.in_shared_memory("a", patterns(row, "a", rng), swizzle=swizzle, transpose=bool(trans[0]))
    b = matrix.in_shared_memory("b", patterns(row, "b", rng), swizzle=swizzle, transpose=bool(trans[1]))
    machine.set("%rd1", put(machine, a, 0))
    machine.set("%rd2", put(machine, b, 1 << 14))
    machine.run(f"{name} {vector('%r', 32)}, %rd1, %rd2, {arguments(row, trans=trans, negate=negate)}")
    machine.run(COMMIT)
    machine.run(f"{WAIT} 0")
    signs = {"negate_a": negate[0] < 0, "negate_b": negate[1] < 0}
    expected = matrix.execute(a, b, c, engine="numpy", **signs)
    assert all(np.array_equal(machine.get(f"%r{1 + i}")[0], expected[i]) for i in range(32))
    assert machine.found == []


@pytest.fixture
def two_groups():
    """Return two blocks of two warpgroups, with A in registers and a separate B for each."""
    machine = ByHand(2, 8, size=1 << 14)
    row = INSTRUCTIONS[F16]
    rng = np.random.default_rng(9)
    matrix = bound_instruction(row, arch_of("sm_90"))
    a = np.stack([[matrix.a.pack_bits(patterns(row, "a", rng)) for _ in range(2)] for _ in range(2)])
    for i in range(4):
        machine.set(f"%r{i + 1}", a[:, :, i].reshape(2, 8, 32))
    descriptors, b = np.zeros((2, 2), np.uint64), {}
    for g, q in np.ndindex(2, 2):
        b[g, q] = matrix.in_shared_memory("b", patterns(row, "b", rng), swizzle=32)
        descriptors[g, q] = put(machine, b[g, q], 1024 * (1 + g + 2 * q), g)
    machine.set("%rd1", np.repeat(descriptors, 4, axis=1)[..., None])
    for i in range(8):
        machine.set(f"%f{i + 1}", 0)
    expected = {(g, q): matrix.execute(a[g, q], b[g, q], None, scale_d=0, engine="numpy") for g, q in np.ndindex(2, 2)}
    return machine, matrix, a, b, expected


def test_each_warpgroup_multiplies_its_own_matrices(two_groups):
    machine, _, _, _, expected = two_groups
    machine.run(f"{F16} {ACCUMULATORS}, {vector('%r', 4)}, %rd1, 1, 1, 1, 0")
    machine.run(COMMIT)
    machine.run(f"{WAIT} 0")
    for (g, q), d in expected.items():
        assert all(np.array_equal(machine.get(f"%f{i + 1}")[g, 4 * q : 4 * q + 4], d[i]) for i in range(8))
    assert machine.found == []
    assert machine.state.watched.isdisjoint(machine.registers[f"%f{i}"].index for i in range(1, 9))


def test_results_arrive_at_the_wait_and_the_next_product_sees_them_before(two_groups):
    machine, matrix, a, b, expected = two_groups
    machine.memory.asynchrony = LATE
    multiply = f"{F16} {ACCUMULATORS}, {vector('%r', 4)}, %rd1, 1, 1, 1, 0"
    machine.run(multiply)
    machine.run(COMMIT)
    machine.run(f"{WAIT} 1")
    assert not machine.get("%f1").any()
    machine.run(multiply)
    machine.run(COMMIT)
    machine.run(f"{WAIT} 1")
    for (g, q), d in expected.items():  # the second product has not been computed
        assert np.array_equal(machine.get("%f1")[g, 4 * q : 4 * q + 4], d[0])
    machine.run(f"{WAIT} 0")
    for (g, q), d in expected.items():
        twice = matrix.execute(a[g, q], b[g, q], d, engine="numpy")
        assert all(np.array_equal(machine.get(f"%f{i + 1}")[g, 4 * q : 4 * q + 4], twice[i]) for i in range(8))
    assert machine.found == []


def test_results_are_there_at_once_by_default(two_groups):
    machine, _, _, _, expected = two_groups
    machine.run(f"{F16} {ACCUMULATORS}, {vector('%r', 4)}, %rd1, 1, 1, 1, 0")
    for (g, q), d in expected.items():
        assert all(np.array_equal(machine.get(f"%f{i + 1}")[g, 4 * q : 4 * q + 4], d[i]) for i in range(8))


def test_a_late_product_reads_shared_memory_and_registers_at_the_wait(two_groups):
    machine, *_ = two_groups
    machine.memory.asynchrony = LATE
    machine.run(f"{F16} {ACCUMULATORS}, {vector('%r', 4)}, %rd1, 1, 1, 1, 0")
    machine.run(COMMIT)
    machine.memory.bytes[:] = 0
    for i in range(8):
        machine.set(f"%f{i + 1}", 0x40400000)
    machine.run(f"{WAIT} 0")
    assert set(machine.get("%f1").ravel().tolist()) == {0x40400000}


def test_a_product_at_once_computes_the_late_ones_before_it(two_groups):
    machine, matrix, a, b, expected = two_groups
    machine.line = 5
    machine.memory.asynchrony = Asynchrony(is_late=True, lines=frozenset({6}))
    multiply = f"{F16} {ACCUMULATORS}, {vector('%r', 4)}, %rd1, 1, 1, 1, 0"
    machine.run(multiply)
    assert not machine.get("%f1").any()
    machine.run(multiply)
    for (g, q), d in expected.items():
        twice = matrix.execute(a[g, q], b[g, q], d, engine="numpy")
        assert np.array_equal(machine.get("%f1")[g, 4 * q : 4 * q + 4], twice[0])


def test_an_uncommitted_product_is_not_waited_for(two_groups):
    machine, *_ = two_groups
    machine.memory.asynchrony = LATE
    machine.run(f"{F16} {ACCUMULATORS}, {vector('%r', 4)}, %rd1, 1, 1, 1, 0")
    machine.run(f"{WAIT} 0")
    assert not machine.get("%f1").any()
    machine.run(COMMIT)
    machine.run(f"{WAIT} 0")
    assert machine.get("%f1").any()


def test_groups_complete_in_order(two_groups):
    machine, _, _, _, expected = two_groups
    machine.memory.asynchrony = LATE
    for i in range(1, 9):
        machine.set(f"%f{10 + i}", 0)
    other = "{" + ", ".join(f"%f{10 + i}" for i in range(1, 9)) + "}"
    for targets in (ACCUMULATORS, other):
        machine.run(f"{F16} {targets}, {vector('%r', 4)}, %rd1, 1, 1, 1, 0")
        machine.run(COMMIT)
    machine.run(f"{WAIT} 1")
    assert np.array_equal(machine.get("%f1")[1, 4:], expected[1, 1][0])
    assert not machine.get("%f11").any()
    machine.run(f"{WAIT} 0")
    assert np.array_equal(machine.get("%f11")[1, 4:], expected[1, 1][0])


def test_use_before_the_wait_is_found(two_groups):
    machine, *_ = two_groups
    machine.run(f"{F16} {ACCUMULATORS}, {vector('%r', 4)}, %rd1, 1, 1, 1, 0")
    register = machine.registers["%f3"]
    reader = machine.parse("add.f32 %f9, %f3, %f3")
    machine.state.require_defined(reader, register, None, "the result")
    assert machine.found == ["missing wait"]
    assert machine.messages == ["%f3 is used before wgmma.wait_group has waited for the wgmma that writes it"]
    machine.run(COMMIT)
    machine.run(f"{WAIT} 0")
    machine.state.require_defined(machine.parse("add.f32 %f9, %f3, %f3"), register, None, "the result")
    assert next(iter(machine.findings)).count == 2 * 8 * 32


def test_one_warpgroup_may_run_ahead_of_another(two_groups):
    machine, _, _, _, expected = two_groups
    machine.memory.asynchrony = LATE
    first = np.zeros((2, 8, 32), bool)
    first[:, :4] = True
    multiply = f"{F16} {ACCUMULATORS}, {vector('%r', 4)}, %rd1, 1, 1, 1, 0"
    machine.run(multiply, first)
    machine.run(COMMIT, first)
    machine.run(multiply, ~first)
    machine.run(COMMIT, ~first)
    machine.run(f"{WAIT} 0", first)
    for g in range(2):
        assert np.array_equal(machine.get("%f1")[g, :4], expected[g, 0][0])
        assert not machine.get("%f1")[g, 4:].any()
    reader = machine.parse("add.f32 %f9, %f3, %f3")
    machine.state.require_defined(reader, machine.registers["%f3"], first, "the result")
    assert machine.found == []
    machine.run(f"{WAIT} 0", ~first)
    for g in range(2):
        assert np.array_equal(machine.get("%f1")[g, 4:], expected[g, 1][0])


def test_without_scale_d_the_accumulators_may_be_undefined(two_groups):
    machine, _, _, _, expected = two_groups
    targets = "{" + ", ".join(f"%f{20 + i}" for i in range(1, 9)) + "}"
    machine.set("%p1", np.repeat([False, True], 4)[:, None])
    machine.run(f"{F16} {targets}, {vector('%r', 4)}, %rd1, 0, 1, 1, 0")
    machine.run(f"{F16} {targets}, {vector('%r', 4)}, %rd1, 0, 1, 1, 0")
    assert machine.found == []
    machine.run(f"{F16} {targets}, {vector('%r', 4)}, %rd1, %p1, 1, 1, 0")  # the sum under way is defined
    machine.run(COMMIT)
    machine.run(f"{WAIT} 0")
    assert machine.found == []
    assert np.array_equal(machine.get("%f21")[0, :4], expected[0, 0][0])
    assert not np.array_equal(machine.get("%f21")[0, 4:], expected[0, 1][0])
    fresh = "{" + ", ".join(f"%f{40 + i}" for i in range(1, 9)) + "}"
    machine.run(f"{F16} {fresh}, {vector('%r', 4)}, %rd1, %p1, 1, 1, 0")
    assert machine.found == []
    machine.run(COMMIT)
    machine.run(f"{WAIT} 0")
    assert not machine.undefined("%f41")[0, :4].any()
    assert (machine.undefined("%f41")[0, 4:] == 0xFFFF_FFFF).all()


def test_an_illegal_descriptor_is_found_and_leaves_c():
    machine = ByHand(1, 8)
    for i in range(1, 9):
        machine.set(f"%f{i}", 0x3F800000)
    for i in range(1, 5):
        machine.set(f"%r{i}", 0x3C003C00)
    machine.memory.bytes[:] = 0x3C
    machine.set("%rd1", np.repeat(np.array([0, 1 << 15], np.uint64), 4)[:, None])
    machine.run(f"{F16} {ACCUMULATORS}, {vector('%r', 4)}, %rd1, 1, 1, 1, 0")
    machine.run(COMMIT)
    machine.run(f"{WAIT} 0")
    assert machine.found == ["illegal operand"]
    assert (
        "descriptor of B is illegal: the matrix descriptor 0x0000000000008000 has reserved bits" in machine.messages[0]
    )
    assert next(iter(machine.findings)).thread == (128, 0, 0)
    assert (machine.get("%f1")[0, 4:] == 0x3F800000).all()
    assert (machine.get("%f1")[0, :4] != 0x3F800000).all()


def test_a_descriptor_beyond_shared_memory_is_found():
    machine = ByHand(1, 4, size=1024)
    for i in range(1, 5):
        machine.set(f"%r{i}", 0)
    machine.set("%rd1", MatrixDescriptor(768, 128, 256).encode())
    machine.run(f"{F16} {ACCUMULATORS}, {vector('%r', 4)}, %rd1, 0, 1, 1, 0")
    assert machine.found == ["out of bounds"]


def test_a_descriptor_that_differs_within_a_warpgroup_is_found():
    machine = ByHand(1, 4)
    for i in range(1, 5):
        machine.set(f"%r{i}", 0)
    descriptors = np.full((4, 32), MatrixDescriptor(0, 128, 256).encode(), np.uint64)
    descriptors[2, 7] += 1
    machine.set("%rd1", descriptors)
    machine.run(f"{F16} {ACCUMULATORS}, {vector('%r', 4)}, %rd1, 0, 1, 1, 0")
    assert machine.found == ["illegal operand"]
    assert "lane 7 differs from that of the warpgroup's first thread" in machine.messages[0]


def test_an_uninitialised_column_of_b_in_shared_memory_makes_a_column_of_d_undefined():
    machine = ByHand(1, 4)
    machine.memory.written[0, 100] = False
    for i in range(1, 5):
        machine.set(f"%r{i}", 0)
    machine.set("%rd1", MatrixDescriptor(0, 128, 256).encode())
    machine.run(f"{F16} {ACCUMULATORS}, {vector('%r', 4)}, %rd1, 0, 1, 1, 0")
    machine.run(COMMIT)
    machine.run(f"{WAIT} 0")
    assert machine.found == []
    lost = [machine.undefined(f"%f{i}") for i in range(1, 9)]
    matrix = bound_instruction(lookup(F16, "sm_90"), arch_of("sm_90")).d
    columns = matrix.unpack_bits(np.stack([np.zeros((4, 32), np.uint32) if x is None else x[0] for x in lost]))
    assert np.flatnonzero(columns.any(axis=0)).tolist() == [6]
    assert (columns[:, 6] == 0xFFFF_FFFF).all()


def test_each_thread_reads_16_bytes():
    machine = ByHand(1, 4)
    machine.set("%rd1", MatrixDescriptor(0, 128, 256).encode())
    machine.run(f"{F16} {ACCUMULATORS}, %rd1, %rd1, 0, 1, 1, 0, 0")
    assert machine.memory.calls == [("shared", 4, 4)] * 2


def test_illegal_metadata_is_found_and_leaves_c():
    name = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"
    machine = ByHand(1, 8, size=1 << 14)
    row = INSTRUCTIONS[name]
    metadata = np.full((8, 32), 0x4444_4444, np.uint32)
    metadata[6, 8] = 0
    machine.set("%r150", metadata)
    for i in range(1, 5):
        machine.set(f"%f{i}", 0x3F800000)
    machine.memory.bytes[:] = 0x3C
    machine.set("%rd1", MatrixDescriptor(0, 128, 256).encode())
    machine.run(f"{name} {vector('%f', 4)}, %rd1, %rd1, {arguments(row, meta='%r150, 0')}")
    machine.run(COMMIT)
    machine.run(f"{WAIT} 0")
    assert machine.found == ["illegal metadata"]
    assert (machine.get("%f1")[0, 4:] == 0x3F800000).all()
    assert (machine.get("%f1")[0, :4] != 0x3F800000).all()


@pytest.mark.parametrize(
    ("text", "arch", "message"),
    [
        (f"{F16} {ACCUMULATORS}, %rd1, %rd2, 1, 1, 1, 0, 0", "sm_80", "wgmma exists on sm_90"),
        (f"{F16} {ACCUMULATORS}, %rd1, %rd2, 1, 1, 1, 0", "sm_90", "expects 8 operands, not 7"),
        (f"{F16} {ACCUMULATORS}, %rd1, %rd2, 1, 2, 1, 0, 0", "sm_90", "imm-scale of .* has to be 1 or -1, not 2"),
        (f"{F16} {ACCUMULATORS}, %rd1, %rd2, 1, 1, 1, 0, -1", "sm_90", "imm-trans of .* has to be 0 or 1, not -1"),
        ("wgmma.wait_all.sync.aligned", "sm_90", "Nearest: wgmma"),
        ("wgmma.wait_group.sync.aligned %r1", "sm_90", "has to be an integer constant"),
    ],
)
def test_an_illegal_instruction_is_refused(text, arch, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        ByHand(arch=arch).bind(text)


def test_the_fence_is_accepted():
    machine = ByHand(1, 4)
    machine.run("wgmma.fence.sync.aligned")
    assert machine.found == []


def with_memory(machine, shared_bytes):
    """Give a machine a real, initialised memory; return a function that stores to shared memory."""
    module = ModuleProgram({}, "sm_90", "8.0", b"", b"", (), (), (), ())
    state = machine.state
    state.memory = WaveMemory(
        machine.program, GlobalMemory(module), b"", state.threads, shared_bytes, machine.findings, state.causality
    )

    def store(address, warp):
        active = np.zeros(state.shape, bool)
        active[0, warp, 0] = True
        where, zero = np.full((1, 1, 1), address, np.uint64), np.zeros((1, 1, 1, 1), np.uint16)
        machine.line += 1
        state.memory.store(machine.parse("st.shared.u16 [%rd1], %h1"), "shared", where, zero, active)

    everything = np.arange(shared_bytes // 4, dtype=np.uint64).reshape(-1, 1, 1, 1) * np.uint64(4)
    zeros, one = np.zeros((1, 1, 1, 1), np.uint32), np.zeros(state.shape, bool)
    one[0, 0, 0] = True
    state.memory.store(machine.parse("st.shared.u32 [%rd1], %r1"), "shared", everything, zeros, one)
    return store


def all_meet(machine):
    """Execute a barrier of all warps."""
    meet(machine.state.causality, np.array([0]), np.ones((1, machine.warps), bool))


def test_a_store_to_a_tile_that_a_product_may_still_read_is_found():
    machine = ByHand(1, 8)
    store = with_memory(machine, 4096)
    for i in range(1, 5):
        machine.set(f"%r{i}", 0)
    descriptors = [MatrixDescriptor(at, 128, 256).encode() for at in (0, 1024)]
    machine.set("%rd1", np.repeat(np.array(descriptors, np.uint64), 4)[:, None])
    all_meet(machine)
    machine.run(f"{F16} {ACCUMULATORS}, {vector('%r', 4)}, %rd1, 0, 1, 1, 0")
    machine.run(COMMIT)
    all_meet(machine)
    store(512, 7)  # past the first B, which has 512 bytes
    assert machine.found == []
    store(510, 7)
    assert machine.found == ["missing wait"]
    assert "no wgmma.wait_group has waited for it" in machine.messages[0]
    first = np.zeros((1, 8, 32), bool)
    first[:, :4] = True
    machine.run(f"{WAIT} 0", first)
    all_meet(machine)
    store(0, 7)
    assert len(machine.found) == 1
    store(1024, 0)
    assert machine.found == ["missing wait"] * 2
    machine.run(f"{WAIT} 0", ~first)
    all_meet(machine)
    store(1024, 0)
    assert machine.found == ["missing wait"] * 2
    assert machine.state.memory.shared_shadow.held == 0


@pytest.mark.parametrize("left", [1 << 31, 1 << 63])
def test_wait_group_of_more_groups_than_exist_waits_for_none(left):
    machine = ByHand(1, 4)
    machine.run(COMMIT)
    machine.run(f"{WAIT} {left}")
    assert machine.found == []

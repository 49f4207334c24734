# SPDX-License-Identifier: MIT
"""mma and mma.sp: every entry of the instruction table on registers of many warps, and findings."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.steps.by_hand import ByHand
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import INSTRUCTIONS, arch_of
from wmma_emu.layouts import pack_metadata
from wmma_emu.layouts.metadata import granularity_of
from wmma_emu.warp import bound_instruction

ROWS = {
    name: row
    for name, row in INSTRUCTIONS.items()
    if row.family == "mma.sync" or (row.is_sparse and not row.is_warpgroup)
}
MXF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def vector(prefix, first, count):
    return "{" + ", ".join(f"{prefix}{i}" for i in range(first, first + count)) + "}"


def given(machine, row, shape, seed=0):
    """Return registers of A, B and C with ordinary numbers, set in the machine from %r10, %r20 and %r30 upwards."""
    matrix = bound_instruction(row, machine.arch)
    rng = np.random.default_rng(seed)
    found = {}
    for first, name in ((10, "a"), (20, "b"), (30, "c")):
        dtype = getattr(matrix, name).register_dtype
        bits = rng.integers(0, 1 << 62, (row.registers(name), *shape), dtype=np.uint64).astype(dtype)
        bits &= dtype.type(0x3BFF_3BFF_3BFF_3BFF & (2 ** (8 * dtype.itemsize) - 1))
        found[name] = bits
        for i, value in enumerate(bits):
            machine.set(f"{'%rd' if dtype.itemsize == 8 else '%r'}{first + i}", value)
    return matrix, found


def text_of(name, row, more=""):
    prefix = {x: "%rd" if row.format(x).bits == 64 else "%r" for x in "abcd"}
    first = {"d": 40, "a": 10, "b": 20, "c": 30}
    operands = ", ".join(vector(prefix[x], first[x], row.registers(x)) for x in "dabc")
    return f"{name} {operands}{more}"


def scales_of(machine, row, matrix, shape, seed=0, selectors=(0, 0, 0, 0)):
    """Set scales near one in registers %r2 and %r3, with arbitrary other bytes and lanes; return them as keywords and
    PTX."""
    rng = np.random.default_rng(seed)
    keywords = dict(zip(("byte_id_a", "thread_id_a", "byte_id_b", "thread_id_b"), selectors, strict=True))
    for name, bound, (byte, thread) in (
        ("%r2", matrix.scale_a, selectors[:2]), ("%r3", matrix.scale_b, selectors[2:])
    ):  # fmt: skip
        one = 127 if row.scale == "ue8m0" else 0x38
        bits = rng.integers(one - 3, one + 4, (*shape[:-1], *bound.matrix_shape), dtype=np.uint8)
        unread = bound.pack_bits(np.full_like(bits, 0xFF), byte, thread) ^ np.uint32(0xFFFF_FFFF)
        words = bound.pack_bits(bits, byte, thread) | unread
        keywords[bound.name] = words
        machine.set(name, words)
    a, b = (", ".join(map(str, x)) for x in (selectors[:2], selectors[2:]))
    return keywords, f", %r2, {{{a}}}, {{%r3}}, {{{b}}}"


def metadata_of(row, shape, selector, seed=0):
    """Return random legal metadata."""
    rng = np.random.default_rng(seed)
    places = granularity_of(row)
    choices = np.array(list(places.nibbles.values()))
    chunks = row.k // places.chunk
    picked = choices[rng.integers(0, len(choices), (*shape[:-1], row.m, chunks))]
    indices = (picked + np.arange(chunks)[:, None] * places.chunk).reshape(*shape[:-1], row.m, row.terms)
    return pack_metadata(row, indices, selector)


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
@pytest.mark.parametrize("name", ROWS)
def test_each_entry_gives_the_products_of_the_instruction(name):
    row = ROWS[name]
    arch = "sm_90" if "sm_90" in row.archs else row.archs[-1]
    machine = ByHand(1, 3, arch=arch)
    matrix, registers = given(machine, row, (1, 3, 32))
    more, options = "", {}
    if row.is_sparse:
        options["metadata"] = metadata_of(row, (1, 3, 32), 0)
        machine.set("%r1", options["metadata"])
        more = ", %r1, 0"
    if row.is_block_scaled:
        last = [matrix.scale_a.selectors, matrix.scale_b.selectors]
        chosen = [values[-1] for selectors in last for values in selectors]
        scales, text = scales_of(machine, row, matrix, (1, 3, 32), selectors=chosen)
        options |= scales
        more += text
    machine.run(text_of(name, row, more))
    expected = matrix.execute(*registers.values(), engine="numpy", **options)
    prefix = "%rd" if row.format("d").bits == 64 else "%r"
    for i, value in enumerate(expected):
        assert np.array_equal(machine.get(f"{prefix}{40 + i}"), value)
    assert machine.found == []


@pytest.mark.parametrize("engine", ["numpy", "auto", "reference"])
def test_inactive_warps_keep_their_registers(engine):
    machine = ByHand(4, 3, engine=engine)
    matrix, registers = given(machine, ROWS[F16], (4, 3, 32))
    active = np.zeros((4, 3, 32), bool)
    active[1, 2] = active[3, 0] = True
    machine.set("%r40", 5)
    machine.run(text_of(F16, ROWS[F16]), active)
    expected = matrix.execute(*registers.values(), engine="numpy")
    for g, w in np.ndindex(4, 3):
        assert np.array_equal(machine.get("%r40")[g, w], expected[0, g, w] if active[g, w, 0] else np.full(32, 5))
    assert np.array_equal(machine.get("%r43")[1, 2], expected[3, 1, 2])


def test_the_native_engine_rounds_as_numpy_does():
    pytest.importorskip("llvmlite")
    name = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64.rz"
    machine = ByHand(1, 2, engine="native")
    matrix, registers = given(machine, ROWS[name], (1, 2, 32))
    machine.run(text_of(name, ROWS[name]))
    assert np.array_equal(machine.get("%rd40"), matrix.execute(*registers.values(), engine="numpy")[0])


def test_registers_that_all_warps_share_stay_narrow():
    machine = ByHand(4, 3)
    matrix, registers = given(machine, ROWS[F16], (1, 1, 32))
    machine.run(text_of(F16, ROWS[F16]))
    assert machine.state.read(machine.registers["%r40"], "b32").shape == (1, 1, 32)
    assert np.array_equal(machine.get("%r41")[3, 2], matrix.execute(*registers.values())[1, 0, 0])


def test_an_undefined_column_of_b_makes_a_column_of_d_undefined():
    machine = ByHand()
    given(machine, ROWS[F16], (1, 1, 32))
    uninitialised = (np.arange(32) == 6).reshape(1, 1, 32)  # lane 6 holds rows 4 and 5 of column 1
    machine.state.write(machine.registers["%r98"], np.zeros((1, 1, 1), np.uint32), ~uninitialised)
    machine.run(text_of(F16, ROWS[F16]).replace("%r21", "%r98"))
    assert machine.found == []
    row = ROWS[F16]
    matrix = bound_instruction(row, machine.arch).d
    lost = [machine.undefined(f"%r{40 + i}") for i in range(matrix.num_registers)]
    columns = matrix.unpack_bits(np.stack([np.zeros(32, np.uint32) if x is None else x[0, 0] for x in lost]))
    assert (columns[:, 1] == matrix.format.mask).all()
    assert not np.delete(columns, 1, axis=1).any()


def test_a_model_without_a_recording_is_a_caveat_of_the_step_and_not_a_warning():
    row = ROWS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    assert ByHand(arch="sm_120").bind(text_of(row.mnemonic, row)).not_bit_exact.startswith(row.mnemonic)
    assert ByHand(arch="sm_90").bind(text_of(row.mnemonic, row)).not_bit_exact is None


@pytest.mark.parametrize("selector", range(4))
def test_the_selector_chooses_the_lanes_whose_metadata_are_read(selector):
    machine = ByHand(1, 2)
    row = ROWS[SPARSE]
    matrix, registers = given(machine, row, (1, 2, 32))
    metadata = metadata_of(row, (1, 2, 32), selector)
    read = np.arange(32) % 4 == selector
    register = machine.registers["%r1"]
    machine.state.write(register, np.where(read, metadata, 0), read.reshape(1, 1, 32))  # others: uninitialised
    machine.run(text_of(SPARSE, row, f", %r1, {selector}"))
    expected = matrix.execute(*registers.values(), metadata=metadata, selector=selector)
    assert all(np.array_equal(machine.get(f"%r{40 + i}"), expected[i]) for i in range(4))
    assert machine.found == []


def test_illegal_metadata_is_found_and_leaves_c_to_that_warp():
    machine = ByHand(1, 2)
    row = ROWS[SPARSE]
    matrix, registers = given(machine, row, (1, 2, 32))
    metadata = metadata_of(row, (1, 2, 32), 0)
    metadata[0, 1, 4] = 0
    machine.set("%r1", metadata)
    machine.run(text_of(SPARSE, row, ", %r1, 0"))
    assert machine.found == ["illegal metadata"]
    assert "metadata of lane 4 has 0b0000 in bits 0 to 3" in machine.messages[0]
    assert next(iter(machine.findings)).thread[0] // 32 == 1
    metadata[0, 1, 4] = 0x4444_4444
    expected = matrix.execute(*registers.values(), metadata=metadata)
    assert np.array_equal(machine.get("%r40")[0, 0], expected[0, 0, 0])
    assert np.array_equal(machine.get("%r40")[0, 1], registers["c"][0, 0, 1])


@pytest.mark.parametrize(
    ("text", "arch", "message"),
    [
        ("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.f32.e2m1.e2m1.f32 {%r1}", "sm_120", "block_scale"),
        (text_of(MXF4, ROWS[MXF4]), "sm_120", "expects 8 operands, not 4"),
        (text_of(MXF4, ROWS[MXF4], ", %r2, {1, 0}, %r3, {0, 0}"), "sm_120", "byte-id-a of .* is 1; it must be 0 or 2"),
        (text_of(MXF4, ROWS[MXF4], ", %r2, {0, 0}, %r3, {0, 4}"), "sm_120", "thread-id-b of .* is 4; it must be 0, 1"),
        (text_of(MXF4, ROWS[MXF4], ", %r2, {0}, %r3, {0, 0}"), "sm_120", "expects a vector of 2 registers"),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%r1}, {%r1}, {%r1}, {%r1}", "sm_80", "sm_89"),
        (f"{F16} {{%r1, %r2, %r3, %r4}}, {{%r1}}, {{%r1, %r2}}, {{%r1, %r2, %r3, %r4}}", "sm_80", "of 4 registers"),
        (f"{F16} {{%r1, %r2, %r3, %r4}}, {{%r1}}", "sm_80", "expects 4 operands, not 2"),
        (text_of(SPARSE, ROWS[SPARSE], ", %r1, 4"), "sm_80", "0 to 3"),
        (text_of(SPARSE, ROWS[SPARSE], ", %r1, %r2"), "sm_80", "has to be an integer constant"),
    ],
)  # fmt: skip
def test_an_illegal_instruction_is_refused(text, arch, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        ByHand(arch=arch_of(arch).name).bind(text)


SELECTORS = [(0, 1, 2, 3), (2, 0, 0, 0), (2, 1, 2, 2)]


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
@pytest.mark.parametrize("kind", ["constants", "registers"])
@pytest.mark.parametrize("selectors", SELECTORS, ids=str)
def test_selectors_choose_the_scales_as_constants_and_as_registers(kind, selectors):
    row = ROWS[MXF4]
    machine = ByHand(2, 3, arch="sm_120")
    matrix, registers = given(machine, row, (2, 3, 32))
    scales, more = scales_of(machine, row, matrix, (2, 3, 32), selectors=selectors)
    if kind == "registers":  # as compilers leave them
        for i, value in enumerate(selectors):
            machine.set(f"%h{i + 1}", np.uint16(value))
        more = ", {%r2}, {%h1, %h2}, %r3, {%h3, %h4}"
    machine.run(text_of(MXF4, row, more))
    expected = matrix.execute(*registers.values(), **scales)
    assert all(np.array_equal(machine.get(f"%r{40 + i}"), expected[i]) for i in range(4))
    assert machine.found == []


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
def test_every_warp_has_its_own_selectors_and_illegal_ones_are_found():
    row = ROWS[MXF4]
    machine = ByHand(1, 4, arch="sm_120")
    matrix, registers = given(machine, row, (1, 4, 32))
    byte = np.repeat(np.array([0, 2, 1, 2], np.uint16), 32).reshape(1, 4, 32).copy()
    byte[0, 3, 7] = 0
    machine.set("%h1", byte)
    rng = np.random.default_rng(0)
    words = rng.integers(0x7C7C_7C7C, 0x8282_8282, (2, 1, 4, 32), dtype=np.uint32)
    machine.set("%r2", words[0])
    machine.set("%r3", words[1])
    machine.run(text_of(MXF4, row, ", %r2, {%h1, 1}, %r3, {0, 2}"))
    assert machine.found == ["illegal operand"]
    assert "byte-id-a is 0, 1, 2; it has to be 0 or 2, the same in all lanes" in machine.messages[0]
    expected = [
        matrix.execute(
            *(x[:, 0, w] for x in registers.values()),
            scale_a=words[0, 0, w], scale_b=words[1, 0, w], byte_id_a=chosen, thread_id_a=1, thread_id_b=2,
        )
        for w, chosen in ((0, 0), (1, 2))
    ]  # fmt: skip
    for i in range(4):
        found = machine.get(f"%r{40 + i}")
        assert np.array_equal(found[0, :2], [expected[0][i], expected[1][i]])
        assert np.array_equal(found[0, 2:], registers["c"][i, 0, 2:])


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
def test_uninitialised_scales_are_found_only_in_the_lanes_that_are_read():
    row = ROWS[MXF4]
    machine = ByHand(arch="sm_120")
    matrix, _ = given(machine, row, (1, 1, 32))
    scales_of(machine, row, matrix, (1, 1, 32))
    upper = np.arange(32).reshape(1, 1, 32) % 4 > 1
    machine.state.write(machine.registers["%r8"], np.full((1, 1, 1), 0x7F7F, np.uint32), upper)
    text = text_of(MXF4, row, ", %r8, {0, 1}, %r3, {0, 0}")
    machine.run(text)
    assert machine.found == []
    machine.run(text.replace("{0, 1}", "{0, 0}"))
    assert machine.found == ["uninitialised"] and "the scales of A" in machine.messages[0]


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
def test_a_thread_id_of_four_or_more_is_found_and_its_warp_keeps_c():
    row = ROWS[MXF4]
    machine = ByHand(1, 2, arch="sm_120")
    _, registers = given(machine, row, (1, 2, 32))
    machine.set("%h1", np.repeat(np.array([1, 65535], np.uint16), 32).reshape(1, 2, 32))
    for name in ("%r2", "%r3"):
        machine.set(name, np.full((1, 2, 32), 0x7F7F_7F7F, np.uint32))
    machine.run(text_of(MXF4, row, ", %r2, {0, %h1}, %r3, {0, 2}"))
    assert machine.found == ["illegal operand"]
    c = list(registers.values())[2]
    for i in range(4):
        d = np.broadcast_to(machine.get(f"%r{40 + i}"), (1, 2, 32))
        assert np.array_equal(d[0, 1], np.broadcast_to(c[i], (1, 2, 32))[0, 1])
        assert not np.array_equal(d[0, 0], np.broadcast_to(c[i], (1, 2, 32))[0, 0])


SPARSE_KERNEL = """.version 9.0 .target sm_80 .address_size 64
.visible .entry k(.param .u64 o) { .reg .b32 %r<6>; .reg .f32 %f<5>; .reg .b64 %d; ld.param.u64 %d, [o];
mov.b32 %r1, 0x3C003C00; mov.b32 %r2, 0x44444444; mov.f32 %f1, 0f00000000;
mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r1}, {%r1, %r1}, {%f1, %f1, %f1, %f1},
METADATA, 0x0; st.global.f32 [%d], %f1; ret; }"""


@pytest.mark.parametrize("metadata", ["%r2", "{%r2}"])
def test_metadata_may_be_a_vector_of_one_register(metadata):
    out = np.zeros(1, np.float32)
    we.ptx.Module(SPARSE_KERNEL.replace("METADATA", metadata))["k"][1, 32](out, checks=())
    assert out.view(np.uint32).tolist() == [0x41000000]


@pytest.mark.parametrize("metadata", ["{%r2, %r1}", "{5}", "5"])
def test_metadata_is_one_register(metadata):
    with pytest.raises(UnsupportedInstructionError, match="expects a register"):
        we.ptx.Module(SPARSE_KERNEL.replace("METADATA", metadata))["k"][1, 32](np.zeros(1, np.float32))

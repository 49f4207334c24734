# SPDX-License-Identifier: MIT
"""wmma.load, wmma.store and wmma.mma: tiles in memory, fragments of every shape and type, and products."""

import numpy as np
import pytest

from tests.ptx.steps.by_hand import ByHand
from tests.ptx.texts_of_kernels import launch, put
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.formats import format_of
from wmma_emu.formats.packing import pack_words
from wmma_emu.instructions import INSTRUCTIONS, arch_of
from wmma_emu.layouts import fragment_layout
from wmma_emu.layouts.wmma_table import FRAGMENTS
from wmma_emu.warp import bound_instruction

LOADS = [
    (letter, order, row.shape, row.format)
    for row in FRAGMENTS.values()
    for letter in {"matrix_a": "a", "matrix_b": "b", "accumulator": "c"}[row.use]
    for order in (row.stored if letter != "c" else ("row", "col"))
]
LOADS = list(dict.fromkeys(LOADS))


def tile_of(memory, layout, order, stride, start):
    """Return the elements of a tile, read one by one from bytes."""
    bits = layout.element_bits
    row, col = np.indices((layout.rows, layout.cols))
    place = (row * stride + col if order == "row" else col * stride + row) * bits + 8 * start
    flat = np.unpackbits(memory, bitorder="little")
    weights = np.uint64(1) << np.arange(bits, dtype=np.uint64)
    return (flat[place[..., None] + np.arange(bits)].astype(np.uint64) * weights).sum(-1, dtype=np.uint64)


def vector(prefix, first, count):
    return "{" + ", ".join(f"{prefix}{i}" for i in range(first, first + count)) + "}"


def layout_of(letter, shape, kind, order, arch="sm_90"):
    use = {"a": "matrix_a", "b": "matrix_b"}.get(letter, "accumulator")
    m, n, k = (int(x) for x in shape[1:].replace("n", " ").replace("k", " ").split())
    return fragment_layout(use, m, n, k, kind, None if letter in "cd" else order, arch)


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize(("letter", "order", "shape", "kind"), LOADS, ids=[".".join(x) for x in LOADS])
def test_a_load_follows_the_layout_and_a_store_is_its_inverse(letter, order, shape, kind):
    machine = ByHand(2, 2)
    layout = layout_of(letter, shape, kind, order)
    memory = machine.memory.bytes
    memory[:] = np.random.default_rng(1).integers(0, 256, memory.shape)
    before = memory.copy()
    extent = layout.cols if order == "row" else layout.rows
    stride = extent + {8: 16}.get(layout.element_bits, max(128 // layout.element_bits, 32))
    starts = np.array([[0, 64], [128, 4096]])
    machine.set("%rd1", np.repeat(starts[..., None], 32, axis=-1))
    wide = layout.register_bits == 64
    registers = vector("%rd" if wide else "%r", 10, layout.num_registers)
    machine.run(f"wmma.load.{letter}.sync.aligned.{order}.{shape}.shared.{kind} {registers}, [%rd1], {stride}")
    assert machine.found == []
    for g, w in np.ndindex(2, 2):
        tile = tile_of(memory[g], layout, order, stride, starts[g, w])
        fmt = format_of(kind)
        expected = pack_words(layout.gather(tile.astype(fmt.storage)), fmt)
        for i, value in enumerate(expected):
            assert np.array_equal(machine.get(f"{'%rd' if wide else '%r'}{10 + i}")[g, w], value)
    if letter != "c":
        return
    memory[:] = 0
    machine.set("%r1", stride)
    machine.run(f"wmma.store.d.sync.aligned.{order}.{shape}.shared.{kind} [%rd1], {registers}, %r1")
    for g, w in np.ndindex(2, 2):
        assert np.array_equal(
            tile_of(memory[g], layout, order, stride, starts[g, w]),
            tile_of(before[g], layout, order, stride, starts[g, w]),
        )
    outside = memory[0].copy()
    for w in range(2):
        lines = layout.rows if order == "row" else layout.cols
        size = layout.element_bits // 8
        for line in range(lines):
            at = starts[0, w] + line * stride * size
            outside[at : at + extent * size] = 0
    assert not outside.any()


def test_without_a_stride_the_tile_is_contiguous():
    machine = ByHand()
    memory = machine.memory.bytes
    memory[:] = np.random.default_rng(1).integers(0, 256, memory.shape)
    machine.set("%rd1", 32)
    machine.run(f"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {vector('%r', 10, 8)}, [%rd1]")
    machine.run(f"wmma.load.a.sync.aligned.row.m16n16k16.f16 {vector('%r', 20, 8)}, [%rd1], 16")
    assert all(np.array_equal(machine.get(f"%r{10 + i}"), machine.get(f"%r{20 + i}")) for i in range(8))
    assert [space for space, *_ in machine.memory.calls] == ["global", ""]


def test_a_tile_is_loaded_in_chunks_of_16_bytes_one_for_each_lane():
    machine = ByHand()
    machine.set("%rd1", 0)
    machine.run(f"wmma.load.b.sync.aligned.row.m16n16k16.shared.f16 {vector('%r', 10, 8)}, [%rd1], 16")
    assert machine.memory.calls == [("shared", 4, 4)]


def test_a_misaligned_pointer_is_found_and_the_load_still_works():
    machine = ByHand()
    memory = machine.memory.bytes
    memory[:] = np.random.default_rng(1).integers(0, 256, memory.shape)
    machine.set("%rd1", 2)
    machine.run(f"wmma.load.a.sync.aligned.col.m16n16k16.shared.f16 {vector('%r', 10, 8)}, [%rd1], 16")
    assert machine.found == ["misaligned"]
    assert "32 bytes" in machine.messages[0]
    layout = layout_of("a", "m16n16k16", "f16", "col")
    expected = pack_words(layout.gather(tile_of(memory[0], layout, "col", 16, 2).astype(np.uint16)), format_of("f16"))
    assert all(np.array_equal(machine.get(f"%r{10 + i}")[0, 0], expected[i]) for i in range(8))
    machine.run(f"wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%rd1+4096], {vector('%r', 10, 4)}, 16")
    assert machine.found == ["misaligned"] * 2
    layout = layout_of("c", "m16n16k16", "f16", "row")
    stored = layout.gather(tile_of(memory[0], layout, "row", 16, 4098).astype(np.uint16))
    assert np.array_equal(pack_words(stored, format_of("f16")), expected[:4])


@pytest.mark.parametrize("stride", [20, 8, 0], ids=str)
def test_an_illegal_stride_is_found(stride):
    machine = ByHand()
    machine.set("%rd1", 0)
    machine.set("%r1", stride)
    machine.run(f"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {vector('%r', 10, 8)}, [%rd1], %r1")
    assert machine.found == ["illegal operand"]
    assert "8 elements" in machine.messages[0]
    assert "16 elements of a row" in machine.messages[0]


def test_pointers_that_differ_within_a_warp_are_found_and_lane_0_decides():
    machine = ByHand(1, 2)
    memory = machine.memory.bytes
    memory[:] = np.random.default_rng(1).integers(0, 256, memory.shape)
    pointers = np.zeros((2, 32), int)
    pointers[1, 5:] = 512
    machine.set("%rd1", pointers)
    machine.run(f"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {vector('%r', 10, 8)}, [%rd1], 16")
    assert machine.found == ["illegal operand"]
    assert "lane 5" in machine.messages[0]
    assert next(iter(machine.findings)).thread == (37, 0, 0)
    assert np.array_equal(machine.get("%r10")[0, 0], machine.get("%r10")[0, 1])


def test_warps_may_have_different_strides():
    machine = ByHand(1, 2)
    memory = machine.memory.bytes
    memory[:] = np.random.default_rng(1).integers(0, 256, memory.shape)
    machine.set("%rd1", 0)
    machine.set("%r1", np.array([[16], [24]]))
    machine.run(f"wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {vector('%f', 10, 8)}, [%rd1], %r1")
    layout = layout_of("c", "m16n16k16", "f32", None)
    for w, stride in enumerate((16, 24)):
        expected = layout.gather(tile_of(memory[0], layout, "row", stride, 0).astype(np.uint32))
        assert all(np.array_equal(machine.get(f"%f{10 + i}")[0, w], expected[i]) for i in range(8))


def test_pointers_of_inactive_warps_are_not_checked():
    machine = ByHand(1, 2)
    machine.set("%rd1", np.array([[0], [2**40 + 1]]))
    machine.set("%r10", 7)
    active = np.zeros((1, 2, 32), bool)
    active[0, 0] = True
    machine.run(f"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {vector('%r', 10, 8)}, [%rd1], 16", active)
    assert machine.found == []
    assert (machine.get("%r10")[0, 1] == 7).all()
    assert (machine.get("%r10")[0, 0] == 0).all()


def test_uninitialised_memory_is_undefined_in_the_lanes_that_load_it():
    machine = ByHand()
    machine.memory.written[0, 34] = False  # element (1, 1) of 16 x 16 f16
    machine.set("%rd1", 0)
    machine.run(f"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {vector('%r', 10, 8)}, [%rd1], 16")
    undefined = machine.undefined("%r10")[0, 0]
    assert np.flatnonzero(undefined).tolist() == [4]
    assert hex(undefined[4]) == "0xff0000"
    assert machine.undefined("%r11") is None


MULTIPLICATIONS = [
    row.mnemonic
    for row in INSTRUCTIONS.values()
    if row.family == "wmma.mma" and (row.a_layout, row.b_layout) in (("row", "col"), ("col", "row"))
]


@pytest.mark.parametrize("mnemonic", MULTIPLICATIONS)
def test_products_match_the_instruction_on_the_same_registers(mnemonic):
    machine = ByHand(1, 2)
    row = INSTRUCTIONS[mnemonic]
    matrix = bound_instruction(row, arch_of("sm_90"))
    rng = np.random.default_rng(2)
    given = {}
    for first, name in zip((10, 20, 30), "abc", strict=True):
        operand = getattr(matrix, name)
        dtype = operand.register_dtype
        bits = rng.integers(0, 1 << 62, (operand.num_registers, 1, 2, 32)).astype(dtype)
        bits &= dtype.type(0x3BFF_3BFF_3BFF_3BFF & (2 ** (8 * dtype.itemsize) - 1))
        given[name] = bits
        for i, value in enumerate(bits):
            machine.set(f"{'%rd' if dtype.itemsize == 8 else '%r'}{first + i}", value)
    names = {x: "%rd" if row.format(x).bits == 64 else "%r" for x in "abcd"}
    d, a, b, c = (vector(names[x], at, row.registers(x)) for x, at in (("d", 40), ("a", 10), ("b", 20), ("c", 30)))
    machine.run(f"{mnemonic} {d}, {a}, {b}, {c}")
    expected = matrix.execute(given["a"], given["b"], given["c"], engine="numpy")
    for i, value in enumerate(expected):
        assert np.array_equal(machine.get(f"{names['d']}{40 + i}"), value)
    assert machine.found == []


def test_an_illegal_opcode_is_refused_with_the_nearest_legal_one():
    with pytest.raises(UnsupportedInstructionError, match=r"wmma\.load\.a\.sync\.aligned\.row\.m16n16k16\.global\.f16"):
        ByHand().bind("wmma.load.a.sync.aligned.row.m16n16k32.global.f16 {%r1}, [%rd1]")
    with pytest.raises(UnsupportedInstructionError, match=r"expected wmma\.load, wmma\.store or wmma\.mma"):
        ByHand().bind("wmma.fill.sync %r1")
    with pytest.raises(UnsupportedInstructionError, match="expects a vector of 8 registers"):
        ByHand().bind("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1}, [%rd1]")


EMPTY = """.reg .f32 %f<9>; .shared .align 32 .b8 tile[2048]; mov.u32 %r4, 16; shr.u32 %r5, %r0, 5;
    shl.b32 %r6, %r5, 10; mov.u32 %r7, tile; add.u32 %r7, %r7, %r6; cvt.u64.u32 %rd4, %r6; add.s64 %rd5, %rd1, %rd4;"""
STORE = "wmma.store.d.sync.aligned.row.m16n16k16.{}.f32 [{}], {{%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}}, %r4;"


def test_an_accumulator_that_was_never_filled_is_found_where_it_is_stored():
    d = np.zeros(512, np.float32)
    for pointer in ("%rd1", "%rd5"):
        report = launch(EMPTY + STORE.format("global", pointer) + "ret;", d, block=64, grid=2)
        assert [(x.kind, x.count) for x in report.findings if x.kind != "race of equal bytes"] == [
            ("uninitialised", 128)
        ]
    shared = EMPTY + STORE.format("shared", "%r7") + "bar.sync 0; shl.b32 %r8, %r0, 2; mov.u32 %r9, tile; "
    shared += "add.u32 %r9, %r9, %r8; ld.shared.u32 %r10, [%r9];"
    assert not launch(shared + "ret;", d, block=64).findings
    report = launch(shared + put("%r10") + "ret;", d, block=64)
    assert [(x.kind, x.count) for x in report.findings] == [("uninitialised", 64)]


def test_generic_tiles_may_be_in_different_state_spaces_for_each_warp():
    body = """shl.b32 %r8, %r0, 4; mov.u32 %r9, tile; add.u32 %r9, %r9, %r8; add.s64 %rd6, %rd1, %rd0;
        add.s64 %rd6, %rd6, %rd0; add.s64 %rd6, %rd6, %rd0; add.s64 %rd6, %rd6, %rd0;
        ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%rd6]; st.shared.v4.f32 [%r9], {%f1,%f2,%f3,%f4}; bar.sync 0;
        cvt.u64.u32 %rd7, %r9; mov.u64 %rd8, tile; cvta.shared.u64 %rd8, %rd8; setp.eq.u32 %p1, %r5, 0;
        selp.b64 %rd9, %rd1, %rd8, %p1; wmma.load.c.sync.aligned.row.m16n16k16.f32
        {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, [%rd9], %r4; add.s64 %rd5, %rd2, %rd4;"""
    c, d = np.random.default_rng(2).standard_normal(256).astype(np.float32), np.zeros((2, 256), np.float32)
    assert not launch(EMPTY + body + STORE.format("global", "%rd5") + "ret;", c, d, block=64).findings
    assert (d == c).all()


@pytest.mark.parametrize(("kinds", "legal", "refused"), [("f32.f16", "0", "1.0"), ("f16.f32", "1.0", "0")])
def test_literal_numbers_as_c_have_the_type_of_c_and_not_the_type_of_d(kinds, legal, refused):
    d, c = ({"f32": 8, "f16": 4}[kind] for kind in kinds.split("."))

    def run(number):
        numbers = "{" + ", ".join([number] * c) + "}"
        operands = f"{vector('%r', 0, d)}, {vector('%r', 10, 8)}, {vector('%r', 20, 8)}, {numbers}"
        launch(f"wmma.mma.sync.aligned.row.col.m16n16k16.{kinds} {operands};\nret;", np.zeros(1, np.uint32))

    run(legal)
    with pytest.raises(UnsupportedInstructionError, match=r"wmma\.mma\.sync"):
        run(refused)

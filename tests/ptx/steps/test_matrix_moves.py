# SPDX-License-Identifier: MIT
"""ldmatrix, stmatrix and movmatrix in every form, compared with the functions of the same name."""

import numpy as np
import pytest

from tests.ptx.steps.by_hand import ByHand
from tests.ptx.texts_of_kernels import launch, numbers, put
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.warp import ldmatrix, movmatrix
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES

FORMS = {name: row for name, row in MATRIX_MOVES.items() if row.family == "ldmatrix"}
STORES = {name: row for name, row in MATRIX_MOVES.items() if row.family == "stmatrix"}


def vector(count):
    return "{" + ", ".join(f"%r{10 + i}" for i in range(count)) + "}"


def filled(machine):
    machine.memory.bytes[:] = np.random.default_rng(5).integers(0, 256, machine.memory.bytes.shape)
    return machine.memory.bytes


@pytest.mark.parametrize("name", FORMS)
def test_each_form_of_ldmatrix(name):
    row = FORMS[name]
    machine = ByHand(2, 3, arch=row.archs[-1])
    memory = filled(machine)
    addresses = np.random.default_rng(6).integers(0, memory.shape[1] // 16, (2, 3, 32)) * 16
    addresses[..., row.num_addresses :] = 2**40 + 3  # garbage in lanes that give no row
    machine.set("%rd1", addresses)
    machine.run(f"{name} {vector(row.num_registers)}, [%rd1]")
    assert machine.found == []
    for g in range(2):
        expected = ldmatrix(memory[g], np.where(addresses[g] < 2**40, addresses[g], 0), name, arch=row.archs[-1])
        for i, value in enumerate(expected):
            assert np.array_equal(machine.get(f"%r{10 + i}")[g], value)


@pytest.mark.parametrize("name", STORES)
def test_each_form_of_stmatrix_is_the_inverse_of_the_load(name):
    row = STORES[name]
    machine = ByHand(2, 3, arch=row.archs[-1])
    rng = np.random.default_rng(7)
    registers = rng.integers(0, 1 << 32, (row.num_registers, 2, 3, 32), dtype=np.uint32)
    for i, value in enumerate(registers):
        machine.set(f"%r{10 + i}", value)
    addresses = np.full((2, 3, 32), 2**40 + 1)
    rows = rng.permuted(np.broadcast_to(np.arange(3 * row.num_addresses), (2, 3 * row.num_addresses)), axis=1)
    addresses[..., : row.num_addresses] = 16 * rows.reshape(2, 3, -1)
    machine.set("%rd1", addresses)
    machine.run(f"{name} [%rd1], {vector(row.num_registers)}")
    assert machine.found == []
    row_of, column_of = row.places
    for g, w, m in np.ndindex(2, 3, row.count):
        for r, e, lane in np.ndindex(row_of.shape):
            bits = 32 // row_of.shape[1]
            value = int(registers[m * row.registers + r, g, w, lane]) >> (bits * e) & (1 << bits) - 1
            at = int(addresses[g, w, m * row.rows + row_of[r, e, lane]]) + column_of[r, e, lane] * bits // 8
            assert int.from_bytes(machine.memory.bytes[g, at : at + bits // 8].tobytes(), "little") == value
    assert not machine.memory.bytes[:, 16 * 3 * row.num_addresses :].any()


def test_movmatrix():
    machine = ByHand(2, 3)
    words = np.random.default_rng(8).integers(0, 1 << 32, (2, 3, 32), dtype=np.uint32)
    machine.set("%r1", words)
    machine.run("movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1")
    assert np.array_equal(machine.get("%r2"), movmatrix(words[None])[0])


def test_an_offset_is_added_to_the_address():
    machine = ByHand()
    filled(machine)
    machine.set("%r1", np.arange(32) * 16)
    machine.run("ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%r10, %r11, %r12, %r13}, [%r1+64]")
    expected = ldmatrix(machine.memory.bytes[0], np.arange(32) * 16 + 64, "ldmatrix.sync.aligned.m8n8.x4.shared.b16")
    assert np.array_equal(machine.get("%r13")[0, 0], expected[3])
    assert machine.memory.calls == [("shared::cta", 4, 4)]


def test_misaligned_rows_are_found_and_read_as_zeros():
    machine = ByHand()
    machine.memory.bytes[:] = 1
    machine.set("%rd1", np.where(np.arange(32) == 3, 8, 0))
    machine.run("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%rd1]")
    assert machine.found == ["misaligned"]
    assert machine.get("%r10")[0, 0, 8:17].tolist() == [0x01010101] * 4 + [0] * 4 + [0x01010101]


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_uninitialised_memory_is_undefined_in_the_destination_registers(trans):
    machine = ByHand()
    machine.memory.written[0, 20] = False
    machine.set("%rd1", np.arange(32) * 16)
    machine.run(f"ldmatrix.sync.aligned.m8n8.x2{trans}.shared.b16 {{%r10, %r11}}, [%rd1]")
    undefined = machine.undefined("%r10")[0, 0]
    lanes = [8] if trans else [5]  # byte 20 is the low byte of half 2 of row 1
    assert np.flatnonzero(undefined).tolist() == lanes
    assert [hex(x) for x in undefined[lanes]] == (["0xff0000"] if trans else ["0xff"])
    assert machine.undefined("%r11") is None


def test_warps_that_do_not_execute_keep_their_registers():
    machine = ByHand(1, 2)
    filled(machine)
    machine.set("%rd1", np.arange(32) * 16)
    for name in ("%r10", "%r11", "%r12", "%r13"):
        machine.set(name, 7)
    active = np.zeros((1, 2, 32), bool)
    active[0, 1] = True
    machine.run("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%rd1]", active)
    assert (machine.get("%r12")[0, 0] == 7).all()
    expected = ldmatrix(machine.memory.bytes[0], np.arange(32) * 16, "ldmatrix.sync.aligned.m8n8.x4.shared.b16")
    assert np.array_equal(machine.get("%r12")[0, 1], expected[2])


@pytest.mark.parametrize(
    ("text", "arch", "message"),
    [
        ("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%rd1], {%r1, %r2, %r3, %r4}", "sm_80", "first chip .* is sm_90"),
        ("ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r1}, [%rd1]", "sm_90", "comes as .x1, .x2, .x4"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2}, [%rd1]", "sm_90", "expects a vector of 4 registers"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {3}, [%rd1]", "sm_90", "expects registers as its results"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, {%r2}", "sm_90", "expects an address"),
    ],
)
def test_spellings_that_do_not_exist_are_refused(text, arch, message):
    machine = ByHand(arch=arch)
    with pytest.raises(UnsupportedInstructionError, match=message):
        machine.run(text)


def test_undefined_registers_are_stored_as_undefined_memory():
    body = """.shared .align 16 .b8 tile[1024]; shl.b32 %r5, %r0, 4; mov.u32 %r6, tile; and.b32 %r7, %r5, 496;
        shr.u32 %r8, %r0, 5; shl.b32 %r8, %r8, 9; add.u32 %r6, %r6, %r7; add.u32 %r6, %r6, %r8;
        stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r6], {%r20, %r21, %r22, %r23}; bar.sync 0;
        ld.shared.u32 %r9, [%r6];"""
    assert not launch(body + "ret;", block=64).findings
    report = launch(body + put("%r9") + "ret;", numbers(64), block=64)
    assert [(x.kind, x.count) for x in report.findings] == [("uninitialised", 64)]

# SPDX-License-Identifier: MIT
"""Loads and stores of all spaces: bits, narrow values, masks, and accesses that are wrong."""

import numpy as np
import pytest

from tests.ptx.memory.single_wave import SingleWave, one
from tests.ptx.texts_of_kernels import launch, put
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.program.program import Symbol

RANDOM = np.random.default_rng(1)
SHARED, LOCAL = 0x1_7E00_0000_0000, 0x1_7D00_0000_0000


@pytest.mark.parametrize(("size", "count"), [(s, n) for s in (1, 2, 4, 8) for n in (1, 2, 4, 8) if s * n <= 32])
def test_loads_and_stores_of_every_width_keep_every_bit(size, count):
    x = RANDOM.integers(0, 256, 2 * 2 * 32 * size * count, dtype=np.uint8)
    x[: size * count] = 0xFF  # a NaN with a payload, where these are floats
    y = np.zeros_like(x)
    wave = SingleWave(blocks=2, warps=2, arrays={"x": x, "y": y})
    offsets = (np.arange(128, dtype=np.uint64) * np.uint64(size * count)).reshape(2, 2, 32)
    values, undefined = wave.load("global", offsets + np.uint64(wave.address["x"]), size, count)
    assert values.shape == (count, 2, 2, 32)
    assert undefined is None
    assert np.moveaxis(values, 0, -1).tobytes() == x.tobytes()
    wave.store("global", offsets + np.uint64(wave.address["y"]), values)
    wave.heap.copy_back()
    assert y.tobytes() == x.tobytes()
    assert not wave.found


def test_a_signalling_nan_is_not_made_quiet():
    x = np.array([0x7F800001, 0xFF80_0001, 0x7FF00001, 0xFFF0_0001], np.uint32)
    wave = SingleWave(arrays={"x": x, "y": np.zeros_like(x)})
    values, _ = wave.load("global", one(wave.address["x"]), 4, 4)
    assert values.ravel().tolist() == x.tolist()


def test_a_value_that_all_threads_read_stays_narrow():
    wave = SingleWave(blocks=3, warps=2, arrays={"x": np.arange(4, dtype=np.uint32)})
    assert wave.load("global", one(wave.address["x"] + 4))[0].shape == (1, 1, 1, 1)


def test_each_block_has_separate_shared_memory():
    wave = SingleWave(blocks=3, shared_bytes=16)
    values = np.array([5, 6, 7], np.uint32).reshape(1, 3, 1, 1)
    wave.store("shared", one(8), values)
    loaded, _ = wave.load("shared", one(8))
    assert loaded.shape == (1, 3, 1, 1)
    assert loaded.ravel().tolist() == [5, 6, 7]


def test_each_thread_has_separate_local_memory():
    wave = SingleWave(blocks=2, warps=2, local_bytes=16)
    values = np.arange(128, dtype=np.uint64).reshape(1, 2, 2, 32)
    wave.store("local", one(8), values)
    assert (wave.load("local", one(8), 8)[0] == values).all()


def test_parameters_are_read_as_they_were_laid_out():
    wave = SingleWave(parameters=bytes(range(24)))
    assert wave.memory.parameter(8, 4, 2).ravel().tolist() == [0x0B0A0908, 0x0F0E0D0C]
    assert wave.load("param", one(16), 8)[0].item() == 0x1716151413121110
    assert wave.memory.parameter(20, 8, 1) is None


def test_several_addresses_of_a_thread_are_read_together():
    x = np.arange(256, dtype=np.uint32)
    wave = SingleWave(arrays={"x": x})
    rows = (np.arange(8, dtype=np.uint64) * np.uint64(128)).reshape(8, 1, 1, 1)
    addresses = wave.lanes(4, wave.address["x"]) + rows
    values, _ = wave.load("global", addresses)
    assert values.shape == (1, 8, 1, 1, 32)
    assert values.ravel().tolist() == x.tolist()


@pytest.mark.parametrize("space", ["global", "shared", "local"])
def test_threads_that_are_not_active_do_nothing(space):
    x = np.zeros(64, np.uint32)
    wave = SingleWave(shared_bytes=256, local_bytes=8, arrays={"x": x})
    base = wave.address["x"] if space == "global" else 0
    addresses = one(4) if space == "local" else wave.lanes(4, base)
    active = (np.arange(32) % 3 == 0).reshape(1, 1, 32)
    wild = np.where(active, addresses, np.uint64(0x123))
    wave.store(space, wild, np.arange(100, 132, dtype=np.uint32).reshape(1, 1, 1, 32), active)
    values, _ = wave.load(space, wild, active=active)
    assert np.broadcast_to(values, (1, 1, 1, 32))[0][active].tolist() == list(range(100, 132, 3))
    assert not wave.found


@pytest.mark.parametrize(("dtype", "count", "stays"), [(np.uint8, 1, 0), (np.uint32, 1, 0), (np.uint64, 1, 16),
                                                       (np.uint32, 2, 16), (np.uint32, 4, 24)])  # fmt: skip
def test_if_lanes_write_to_one_address_the_lowest_lane_of_the_last_pass_remains(dtype, count, stays):
    """As recorded on an NVIDIA H200, driver 580.159.04, 2026-11-23: passes are of 128 bytes."""
    x = np.zeros(count, dtype)
    wave = SingleWave(arrays={"x": x})
    lanes = np.broadcast_to(np.arange(32, dtype=dtype).reshape(1, 1, 1, 32), (count, 1, 1, 32))
    wave.store("global", one(wave.address["x"]), lanes, None)
    wave.heap.copy_back()
    assert x.tolist() == [stays] * count


def test_if_warps_write_to_one_address_the_last_warp_remains():
    x = np.zeros(1, np.uint32)
    wave = SingleWave(warps=2, arrays={"x": x})
    wave.store("global", one(wave.address["x"]), np.arange(64, dtype=np.uint32).reshape(1, 1, 2, 32),
                (np.arange(64) < 50).reshape(1, 2, 32))  # fmt: skip
    wave.heap.copy_back()
    assert x.tolist() == [32]


def test_generic_addresses_find_their_space():
    x = np.arange(32, dtype=np.uint32)
    wave = SingleWave(shared_bytes=128, local_bytes=8, arrays={"x": x})
    wave.store("shared", wave.lanes(), np.arange(100, 132, dtype=np.uint32).reshape(1, 1, 1, 32))
    wave.store("local", one(4), np.arange(200, 232, dtype=np.uint32).reshape(1, 1, 1, 32))
    lane = np.arange(32).reshape(1, 1, 32)
    addresses = np.where(
        lane < 10, wave.lanes(4, wave.address["x"]), np.where(lane < 20, wave.lanes(4, SHARED), np.uint64(LOCAL + 4))
    )
    values, _ = wave.load("", addresses)
    assert values.ravel().tolist() == [*range(10), *range(110, 120), *range(220, 232)]
    wave.store("", addresses, values + np.uint32(1))
    wave.heap.copy_back()
    assert x.tolist() == [*range(1, 11), *range(10, 32)]
    shared = wave.load("shared", wave.lanes())[0].ravel()
    assert shared.tolist() == [*range(100, 110), *range(111, 121), *range(120, 132)]
    assert wave.load("local", one(4))[0].ravel()[20:].tolist() == list(range(221, 233))
    assert not wave.found


def test_the_message_of_an_access_past_an_array_names_thread_array_and_distance():
    x = np.arange(60, dtype=np.float32)
    wave = SingleWave(blocks=2, warps=1, arrays={"x": x})
    addresses = np.stack([wave.lanes(4, wave.address["x"])[0], wave.lanes(4, wave.address["x"] + 128)[0]])
    values, _ = wave.load("global", addresses, line=7)
    assert values.ravel().view(np.float32)[:60].tolist() == x.tolist()
    assert not values.ravel()[60:].any()
    (finding,) = wave.found
    assert (finding.kind, finding.line, finding.count) == ("out of bounds", 7, 4)
    assert finding.block == (1, 0, 0)
    assert finding.thread == (28, 0, 0)
    assert finding.address == wave.address["x"] + 240
    assert finding.message == (
        f"reads 4 bytes at {finding.address:#x} of global memory (x + 240): just past the end of x (240 bytes at "
        f"{wave.address['x']:#x})"
    )


def test_an_access_across_the_end_of_an_array_is_skipped_entirely():
    x = np.zeros(7, np.uint32)
    wave = SingleWave(arrays={"x": x})
    wave.store("global", one(wave.address["x"] + 16), np.ones((4, 1, 1, 1), np.uint32))
    wave.heap.copy_back()
    assert not x.any()
    assert "its last 4 bytes lie past the end of x" in wave.found[0].message


@pytest.mark.parametrize(
    ("address", "words"),
    [
        pytest.param(0, "a null pointer", id="null"),
        pytest.param(0x40, "a null pointer, or an offset from one", id="near null"),
        pytest.param(SHARED + 8, "a generic address of shared memory", id="shared window"),
        pytest.param(1 << 63, "bytes past the end of x", id="far"),
        pytest.param((1 << 64) - 4, "bytes past the end of x", id="last"),
    ],
)
def test_messages_distinguish_kinds_of_wild_addresses(address, words):
    wave = SingleWave(shared_bytes=64, arrays={"x": np.zeros(4, np.uint32)})
    assert wave.load("global", one(address))[0].item() == 0
    assert words in wave.found[0].message


def test_the_message_of_an_access_before_an_array_says_before():
    wave = SingleWave(arrays={"x": np.zeros(4, np.uint32)})
    wave.load("global", one(wave.address["x"] - 8))
    assert "8 bytes before the beginning of x (16 bytes" in wave.found[0].message


@pytest.mark.parametrize("space", ["global", "shared", "local"])
def test_a_misaligned_access_is_found_and_skipped(space):
    wave = SingleWave(shared_bytes=64, local_bytes=64, arrays={"x": np.arange(1, 17, dtype=np.uint32)})
    base = wave.address["x"] if space == "global" else 0
    wave.store(space, one(base), np.full((4, 1, 1, 1), 9, np.uint32))
    values, _ = wave.load(space, one(base + 8), 4, 4, line=9)
    assert not values.any()
    (finding,) = wave.found
    assert (finding.kind, finding.line) == ("misaligned", 9)
    assert "has to be a multiple of 16 and is 8 bytes past one" in finding.message


def test_an_access_may_need_less_alignment_than_its_size():
    x = np.arange(16, dtype=np.uint16)
    wave = SingleWave(arrays={"x": x})
    values, _ = wave.load("global", one(wave.address["x"] + 4), 2, 8, alignment=4)
    assert values.ravel().tolist() == list(range(2, 10))
    assert not wave.found


def test_shared_memory_ends_where_the_block_ends():
    wave = SingleWave(blocks=2, shared_bytes=40, dynamic=8)
    wave.store("shared", one(44), np.ones((1, 1, 1, 1), np.uint32))
    wave.store("shared", one(48), np.ones((1, 1, 1, 1), np.uint32), line=4)
    assert "but the block has only 48 bytes: just past its end" in wave.found[0].message
    assert wave.memory.dynamic_shared_bytes == 8
    wave.load("shared", one((1 << 32) - 16), line=6)
    assert "16 bytes before its beginning" in wave.found[1].message


def test_threads_beyond_the_block_do_not_count():
    x = np.arange(40, dtype=np.uint32)
    wave = SingleWave(warps=2, threads_of_block=40, arrays={"x": x})
    values, _ = wave.load("global", wave.lanes(4, wave.address["x"]))
    assert values.ravel()[:40].tolist() == x.tolist()
    assert not wave.found


@pytest.mark.parametrize("ordering", ["weak", "acquire"])
def test_generic_addresses_of_several_rows_may_be_in_different_spaces_in_each_warp(ordering):
    x = np.arange(64, dtype=np.uint32)
    wave = SingleWave(warps=2, shared_bytes=256, arrays={"x": x})
    wave.store("shared", wave.lanes(), 100 + np.arange(64, dtype=np.uint32).reshape(1, 1, 2, 32))
    wave.barrier()
    base = np.array([SHARED, wave.address["x"]], np.uint64).reshape(1, 2, 1)
    rows = np.array([0, 128], np.uint64).reshape(2, 1, 1, 1)
    lanes = np.arange(0, 128, 4, dtype=np.uint64)
    values, _ = wave.load("", base + rows + lanes, ordering=ordering)
    assert values.shape == (1, 2, 1, 2, 32)
    assert values[0, :, 0, 0].ravel().tolist() == list(range(100, 164))
    assert values[0, :, 0, 1].ravel().tolist() == list(range(64))
    wave.barrier()
    wave.store("", base + rows + lanes, values + np.uint32(1), ordering=ordering)
    wave.heap.copy_back()
    assert x.tolist() == list(range(1, 65))
    assert not wave.found


def test_a_wrong_row_of_a_generic_address_is_reported_with_its_space():
    wave = SingleWave(warps=2, shared_bytes=128, arrays={"x": np.arange(64, dtype=np.uint32)})
    wave.store("shared", one(0), np.ones((32, 1, 1, 1), np.uint32), alignment=4, active=wave.lanes(1) == 0)
    wave.barrier()
    base = np.array([SHARED, wave.address["x"]], np.uint64).reshape(1, 2, 1)
    rows = np.array([0, 128], np.uint64).reshape(2, 1, 1, 1)
    wave.load("", base + rows + np.arange(0, 128, 4, dtype=np.uint64), line=7)
    (finding,) = wave.found
    assert (finding.kind, finding.line, finding.thread, finding.count) == ("out of bounds", 7, (0, 0, 0), 32)
    assert finding.address == 128


@pytest.mark.parametrize("space", ["shared", "local", "global"])
def test_a_stored_value_may_be_equal_in_all_threads_and_undefined_in_some(space):
    wave = SingleWave(warps=2, shared_bytes=256, local_bytes=16, arrays={"x": np.zeros(64, np.uint32)})
    where = one(wave.address["x"] if space == "global" else 0)
    undefined = np.zeros((1, 1, 2, 32), bool)
    undefined[..., 1, :28] = True
    lost = Undefined(np.where(undefined, np.uint32(0xFFFF_FFFF), np.uint32(0)), np.zeros((1, 1, 1), np.uint64))
    wave.store(space, where, np.zeros((1, 1, 1, 1), np.uint32), undefined=lost, line=3)
    _, lost = wave.load(space, where)
    reported = [(f.kind, f.line, f.count) for f in wave.found if not f.kind.startswith("race")]
    assert reported == ([("uninitialised", 3, 28)] if space == "global" else [])
    if space == "local":
        assert ((lost.bits == 0xFFFF_FFFF) == undefined).all()
    elif space == "shared":
        assert (lost.bits == 0xFFFF_FFFF).all()  # the value of the first lane of the last warp remains


def test_parameters_are_read_only():
    wave = SingleWave(parameters=bytes(range(16)))
    wave.store("param", one(8), np.ones((1, 1, 1, 1), np.uint32), line=3)
    wave.store("", one(0x1_7C00_0000_0008), np.ones((1, 1, 1, 1), np.uint32), line=4)
    assert wave.load("param", one(8))[0].item() == 0x0B0A0908
    assert [(f.kind, f.line, f.count) for f in wave.found] == [("read-only", 3, 32), ("read-only", 4, 32)]
    wave.load("param", one(16), line=5)
    wave.store("param", one(14), np.ones((1, 1, 1, 1), np.uint32), line=6)
    assert wave.kinds()[2:] == ["out of bounds", "out of bounds"]


APART = (Symbol("shared", 0, "one", 40), Symbol("shared", 256, "two", 8), Symbol("shared", 512, "rest", 0))


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (36, ""),
        (40, "just past the end of one (40 bytes at 0x0)"),
        (38, "its last 2 bytes lie past the end of one"),
        (252, "212 bytes past the end of one"),
        (260, ""),
        (264, "just past the end of two (8 bytes at 0x100)"),
        (508, "244 bytes past the end of two"),
        (524, ""),
        (528, "just past the end of rest (16 bytes, dynamic, at 0x200)"),
        (1 << 31, "it is not an address of this space"),
    ],
)
@pytest.mark.parametrize("masked", [False, True])
def test_an_overrun_of_a_shared_variable_does_not_reach_the_next(address, words, masked):
    wave = SingleWave(warps=2, blocks=2, symbols=APART, shared_span=512, dynamic=16)
    active = np.ones(wave.shape, bool)
    active[:, 0] = not masked
    wave.store("shared", one(address), np.full((2, 1, 1, 1), 0x0101, np.uint16), active, alignment=2)
    bounds = [f for f in wave.found if f.kind != "race of equal bytes"]
    assert [f.kind for f in bounds] == ["out of bounds"] * bool(words)
    assert not words or words in bounds[0].message
    assert wave.memory.shared.flat.any() == (not words)


def test_threads_may_access_different_shared_variables_at_once():
    wave = SingleWave(blocks=2, symbols=APART, shared_span=512, dynamic=16)
    where = np.where(np.arange(32) < 10, np.arange(32) * 4, 504 + (np.arange(32) - 8) * 4)
    used = ((where < 40) | ((where >= 512) & (where < 528))).reshape(1, 1, 32)
    values = np.arange(64, dtype=np.uint32).reshape(1, 2, 1, 32)
    wave.store("shared", where.reshape(1, 1, 32), values, used)
    assert not wave.found
    loaded, _ = wave.load("shared", where.reshape(1, 1, 32), active=used)
    assert (loaded == values)[:, np.broadcast_to(used, (2, 1, 32))].all()
    wave.load("shared", where.reshape(1, 1, 32), line=9)
    assert [(f.kind, f.line, f.count) for f in wave.found] == [("out of bounds", 9, 2 * int((~used).sum()))]


def test_at_most_eight_loads_of_uninitialised_values_are_named_at_one_store():
    loads = "".join(f"setp.eq.u32 %p1, %r0, {i};\n@%p1 ld.shared.u32 %r5, [tile+{4 * i}];\n" for i in range(10))
    body = f".shared .align 4 .b8 tile[64];\nmov.u32 %r5, 0;\n{loads}{put('%r5')}ret;"
    findings = launch(body, np.zeros(32, np.uint32)).findings
    assert [x.kind for x in findings] == ["uninitialised"] * 8

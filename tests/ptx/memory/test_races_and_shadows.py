# SPDX-License-Identifier: MIT
"""Races and uninitialised bytes of shared memory, access by access."""

import numpy as np
import pytest

from tests.ptx.memory.single_wave import SingleWave, meet, one, warp_mask
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.findings import Place, plain_text
from wmma_emu.ptx.program.program import Symbol

ONES = np.ones((1, 1, 1, 1), np.uint32)
TILE = Symbol("shared", 32, "tile", 1024)


def wave_of(warps: int = 2, blocks: int = 1) -> SingleWave:
    return SingleWave(blocks=blocks, warps=warps, shared_bytes=2048, local_bytes=64, symbols=(TILE,))


def meet_lanes(wave: SingleWave) -> None:
    """What __syncwarp() does, of all lanes of all warps."""
    wave.causality.meet_lanes(None, np.full((1, 1, 1), 0xFFFFFFFF, np.uint32), np.ones(wave.shape, bool))


def only(wave: SingleWave, warp: int):
    return warp_mask(wave.shape, warp)


@pytest.mark.parametrize("space", ["shared", "local"])
def test_uninitialised_bytes_are_read_without_a_finding_and_have_an_origin(space):
    wave = wave_of(1)
    values, undefined = wave.load(space, one(40), line=3)
    assert not values.any()
    assert (undefined.bits == 0xFFFF_FFFF).all()
    assert not wave.found
    origin = wave.memory.reporter.origin(int(undefined.origin.flat[0]))
    tile = " (tile + 8)" if space == "shared" else ""
    said = f"4 bytes at 0x28 of {space} memory{tile}, which was never written; it is loaded at line 3"
    assert plain_text(origin) == said


def test_padding_is_undefined_byte_by_byte():
    wave = wave_of(1)
    wave.store("shared", one(40), np.ones((1, 1, 1, 1), np.uint8))
    meet_lanes(wave)
    wave.store("local", one(0), np.ones((1, 1, 1, 1), np.uint32))
    assert wave.load("shared", one(40))[1].bits.ravel().tolist() == [0xFFFF_FF00]
    _, undefined = wave.load("local", one(0), 8, 2)
    assert undefined.bits.ravel().tolist() == [0xFFFF_FFFF_0000_0000] * 32 + [0xFFFF_FFFF_FFFF_FFFF] * 32
    assert not wave.found


def lost_in(mask, bits=0xFFFF_FFFF):
    return Undefined(np.where(mask, np.uint32(bits), np.uint32(0)), np.zeros((1, 1, 1), np.uint64))


def test_an_undefined_value_stays_undefined_in_memory():
    wave = wave_of(1)
    mask = (np.arange(32) < 3).reshape(1, 1, 1, 32)
    wave.store("shared", wave.lanes(), ONES, undefined=lost_in(mask, 0x10))
    _, undefined = wave.load("shared", wave.lanes())
    assert (undefined.bits == np.where(mask, 0x10, 0)).all()
    wave.store("shared", wave.lanes(), ONES)
    assert wave.load("shared", wave.lanes())[1] is None
    assert not wave.found


def test_an_undefined_value_in_global_memory_is_a_finding():
    x = np.zeros(32, np.uint32)
    wave = SingleWave(arrays={"x": x})
    mask = (np.arange(32) == 5).reshape(1, 1, 1, 32)
    wave.store("global", wave.lanes(4, wave.address["x"]), ONES, undefined=lost_in(mask))
    (finding,) = wave.found
    assert (finding.kind, finding.thread, finding.count) == ("uninitialised", (5, 0, 0), 1)


def test_a_read_of_what_another_warp_wrote_needs_a_barrier():
    wave = wave_of()
    wave.store("shared", wave.lanes(), np.arange(64, dtype=np.uint32).reshape(1, 1, 2, 32), line=10)
    wave.load("shared", wave.lanes())
    assert not wave.found
    wave.load("shared", wave.lanes() ^ np.uint64(128), line=12)
    (finding,) = wave.found
    assert (finding.kind, finding.line, finding.count) == ("race", 12, 64)
    assert finding.message == (
        "warp 0 reads 4 bytes at 0x80 of shared memory (tile + 96), which holds 0x00000020; warp 1 wrote there (line "
        "10, st.shared), and no barrier is between the two, such as __syncthreads()"
    )
    assert (finding.others, finding.remedy) == ((Place(10),), "warps")


def test_a_barrier_orders_write_and_read_and_write():
    wave = wave_of()
    for line in (1, 4):
        wave.store("shared", wave.lanes(), ONES, line=line)
        wave.barrier()
        wave.load("shared", wave.lanes() ^ np.uint64(128), line=line + 1)
        wave.barrier()
    assert not wave.found


def test_a_write_after_another_warps_read_needs_a_barrier():
    wave = wave_of()
    wave.store("shared", wave.lanes(), ONES)
    wave.barrier()
    wave.load("shared", wave.lanes() ^ np.uint64(128), line=5)
    wave.store("shared", wave.lanes(), ONES, line=6)
    (finding,) = wave.found
    assert (finding.kind, finding.line) == ("race", 6)
    assert "warp 0 writes 4 bytes" in finding.message and "warp 1 read there (line 5, ld.shared)" in finding.message


def test_two_warps_that_write_one_value_to_one_address_are_reported():
    wave = wave_of()
    wave.store("shared", one(64), ONES, line=8)
    assert wave.kinds() == ["race of equal bytes"]
    assert "; warp 1 writes the same value there in the same instruction" in wave.found[0].message
    wave.store("shared", one(64), ONES, only(wave, 1), line=9)
    wave.load("shared", one(64), active=only(wave, 0), line=10)
    assert [(f.kind, f.line) for f in wave.found[1:]] == [("race of equal bytes", 9), ("race", 10)]


def test_two_warps_that_write_to_one_address_one_after_the_other_race():
    wave = wave_of()
    wave.store("shared", one(64), ONES, only(wave, 0), line=8)
    wave.store("shared", one(64), 2 * ONES, only(wave, 1), line=9)
    (finding,) = wave.found
    assert (finding.kind, finding.line, finding.thread) == ("race", 9, (32, 0, 0))
    assert "warp 0 wrote there (line 8, st.shared)" in finding.message


def test_lanes_of_a_warp_are_reported_if_they_write_different_values_to_one_address():
    wave = wave_of(1)
    wave.store("shared", one(64), ONES)
    assert not wave.found
    meet_lanes(wave)
    wave.store("shared", one(64), np.arange(32, dtype=np.uint32).reshape(1, 1, 1, 32), line=7)
    assert wave.load("shared", one(64))[0].item() == 0
    assert [(f.kind, f.line, f.count) for f in wave.found[:1]] == [("lanes store to one place", 7, 32)]


def test_a_read_of_what_another_lane_wrote_needs_a_syncwarp():
    wave = wave_of(1)
    for line in (3, 5):
        wave.store("shared", wave.lanes(), ONES, line=line)
        if line == 3:
            meet_lanes(wave)
        wave.load("shared", wave.lanes() ^ np.uint64(4), line=line + 1)
        meet_lanes(wave)
    (finding,) = wave.found
    assert (finding.kind, finding.line, finding.count) == ("race within a warp", 6, 32)
    assert "lane 0 of warp 0 reads 4 bytes" in finding.message
    assert "lane 1 wrote there (line 5, st.shared), and no __syncwarp() is between the two" in finding.message


def test_writes_to_adjacent_bytes_are_not_a_race():
    wave = wave_of()
    wave.store("shared", wave.lanes(1), np.ones((1, 1, 1, 1), np.uint8))
    one_byte = np.ones((1, 1, 1, 1), np.uint8)
    wave.store("shared", one(512), one_byte, only(wave, 0))
    wave.store("shared", one(513), one_byte, only(wave, 1))
    assert not wave.found
    wave.store("shared", one(513), 2 * one_byte, only(wave, 0))
    assert wave.kinds() == ["race"]


def test_records_of_larger_accesses_survive_smaller_accesses():
    wave = wave_of()
    wave.store("shared", one(64), np.ones((4, 1, 1, 1), np.uint32), only(wave, 0), line=4)
    wave.load("shared", one(70), 1, active=only(wave, 1), line=5)
    assert [(f.kind, f.line) for f in wave.found] == [("race", 5)]


def test_blocks_do_not_race_with_each_other():
    wave = wave_of(blocks=3)
    wave.store("shared", one(64), ONES, only(wave, 0) & (np.arange(3) == 0).reshape(3, 1, 1))
    wave.store("shared", one(64), ONES, only(wave, 1) & (np.arange(3) == 1).reshape(3, 1, 1))
    assert not wave.found


def test_warps_that_synchronise_without_the_others_are_ordered():
    wave = wave_of(3)
    wave.store("shared", one(64), ONES, only(wave, 0))
    meet(wave.causality, np.array([0]), np.array([[True, True, False]]))
    wave.load("shared", one(64), active=only(wave, 1), line=4)
    assert not wave.found
    wave.load("shared", one(64), active=only(wave, 2), line=5)
    assert [(f.kind, f.line) for f in wave.found] == [("race", 5)]


def test_a_reader_that_is_unordered_with_a_later_writer_is_not_forgotten():
    wave = wave_of(3)
    wave.store("shared", one(64), ONES, only(wave, 2))
    wave.barrier()
    wave.load("shared", one(64), active=only(wave, 0), line=4)
    for _ in range(3):
        meet(wave.causality, np.array([0]), np.array([[False, True, True]]))
        wave.load("shared", one(64), active=only(wave, 1), line=5)
    meet(wave.causality, np.array([0]), np.array([[False, True, True]]))
    wave.store("shared", one(64), ONES, only(wave, 2), line=6)
    (finding,) = wave.found
    assert "warp 0 read there (line 4, ld.shared)" in finding.message


def test_volatile_accesses_order_nothing_at_other_addresses():
    wave = wave_of()
    wave.store("shared", one(64), ONES, only(wave, 0))
    wave.store("shared", one(128), ONES, only(wave, 0), ordering="volatile")
    wave.load("shared", one(128), active=only(wave, 1), ordering="volatile", line=7)
    wave.load("shared", one(64), active=only(wave, 1), line=8)
    assert [(f.kind, f.line) for f in wave.found] == [("race", 7), ("race", 8)]


def test_a_thousand_reads_between_barriers_are_remembered():
    wave = wave_of()
    wave.store("shared", wave.lanes(), ONES)
    wave.barrier()
    for _ in range(400):
        wave.load("shared", wave.lanes())
    wave.store("shared", wave.lanes() ^ np.uint64(128), ONES, line=9)
    assert [(f.kind, f.line) for f in wave.found] == [("race", 9)]


@pytest.mark.parametrize("again", [0, 1, 2])
def test_a_write_races_with_all_reading_warps_however_often_its_own_warp_read_after_them(again):
    wave = wave_of(3)
    wave.store("shared", one(0), ONES, active=only(wave, 0))
    wave.barrier()
    for warp in (1, 2):
        wave.load("shared", one(0), active=only(wave, warp), line=5)
    for _ in range(again):
        wave.load("shared", one(0), active=only(wave, 0), line=6)
    wave.store("shared", one(0), ONES, active=only(wave, 0) & (np.arange(32) == 0), line=9)
    (finding,) = [x for x in wave.found if x.line == 9]
    assert (finding.kind, [other.line for other in finding.others]) == ("race", [5])


def test_the_other_side_of_a_race_is_what_that_thread_did_where_all_warps_read_one_word():
    wave = wave_of(2)
    wave.store("shared", one(0), ONES, active=only(wave, 0))
    wave.barrier()
    wave.load("shared", one(0), line=5)
    wave.load("shared", one(0), active=only(wave, 0), line=6)
    wave.store("shared", one(0), ONES, active=only(wave, 0) & (np.arange(32) == 0), line=9)
    (finding,) = [x for x in wave.found if x.line == 9 and x.kind == "race"]
    assert [other.line for other in finding.others] == [5]

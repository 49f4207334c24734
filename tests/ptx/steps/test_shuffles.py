# SPDX-License-Identifier: MIT
"""shfl: the lane that is read, the predicate, and findings."""

import numpy as np
import pytest

from tests.ptx.steps.by_hand import ByHand
from tests.ptx.texts_of_kernels import launch, numbers, put
from wmma_emu.errors import UnsupportedInstructionError


def read_by_the_manual(mode, lane, b, c):
    """Return the source lane and the predicate of one lane, as in the manual's pseudocode."""
    bval, cval, segmask = b & 31, c & 31, c >> 8 & 31
    max_lane = lane & segmask | cval & ~segmask & 31
    min_lane = lane & segmask
    if mode == "up":
        j = lane - bval
        inside = j >= max_lane
    elif mode == "down":
        j = lane + bval
        inside = j <= max_lane
    elif mode == "bfly":
        j = lane ^ bval
        inside = j <= max_lane
    else:
        j = min_lane | bval & ~segmask & 31
        inside = j <= max_lane
    return (j if inside else lane), inside


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_every_distance_and_every_size_of_segments(mode):
    machine = ByHand()
    machine.set("%r1", np.arange(32) + 100)
    for c in (0, 31, 0x1F00, 0x1F1F, *(((32 - width) << 8) | end for width in (2, 4, 8, 16) for end in (0, 31))):
        for b in (0, 1, 2, 3, 7, 8, 15, 16, 30, 31, 33, 0xFFFF_FFFF):
            machine.run(f"shfl.sync.{mode}.b32 %r2|%p1, %r1, {b}, {c}, 0xffffffff")
            expected = [read_by_the_manual(mode, lane, b, c) for lane in range(32)]
            assert machine.get("%r2")[0, 0].tolist() == [100 + lane for lane, _ in expected]
            assert machine.get("%p1")[0, 0].tolist() == [inside for _, inside in expected]
    assert machine.found == []


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_lane_and_clamp_may_differ_between_lanes(mode):
    machine = ByHand(3, 2)
    rng = np.random.default_rng(3)
    value, b, c = (rng.integers(0, 1 << 32, (3, 2, 32), dtype=np.uint32) for _ in range(3))
    for name, bits in (("%r1", value), ("%r2", b), ("%r3", c)):
        machine.set(name, bits)
    machine.run(f"shfl.sync.{mode}.b32 %r4|%p1, %r1, %r2, %r3, -1")
    for g, w, lane in np.ndindex(3, 2, 32):
        source, inside = read_by_the_manual(mode, lane, int(b[g, w, lane]), int(c[g, w, lane]))
        assert machine.get("%r4")[g, w, lane] == value[g, w, source]
        assert machine.get("%p1")[g, w, lane] == inside


def test_a_value_common_to_all_lanes_stays_narrow():
    machine = ByHand(2, 3)
    machine.set("%r1", 7)
    machine.run("shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1")
    assert machine.state.read(machine.registers["%r2"], "b32").shape == (1, 1, 1)


def test_inactive_lanes_keep_their_registers():
    machine = ByHand()
    machine.set("%r1", np.arange(32))
    machine.set("%r2", 99)
    machine.run("shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0xffff", (np.arange(32) < 16).reshape(1, 1, 32))
    assert machine.get("%r2")[0, 0].tolist() == [lane ^ 1 for lane in range(16)] + [99] * 16
    assert machine.found == []


def test_a_lane_outside_its_membermask_is_found():
    machine = ByHand(2, 2)
    machine.set("%r1", np.arange(32))
    machine.run("shfl.sync.idx.b32 %r2, %r1, 0, 31, 0x0000ffff")
    assert machine.found == ["illegal operand"]
    assert machine.messages == [
        "lane 16 executes this instruction, but its membermask, 0x0000ffff, does not include it"
    ]
    assert next(iter(machine.findings)).thread == (16, 0, 0)


def undefined_lanes(machine, name="%r2"):
    mask = machine.undefined(name)
    return [] if mask is None else np.flatnonzero(mask[0, 0]).tolist()


def test_a_value_read_from_a_lane_outside_the_mask_is_undefined():
    machine = ByHand()
    machine.set("%r1", np.arange(32))
    machine.set("%r2", 0)
    machine.run("shfl.sync.down.b32 %r2, %r1, 8, 31, 0xffff", (np.arange(32) < 16).reshape(1, 1, 32))
    assert machine.get("%r2")[0, 0, :8].tolist() == list(range(8, 16))
    assert undefined_lanes(machine) == list(range(8, 16))
    assert machine.found == []


def test_a_value_read_from_an_exited_lane_is_undefined():
    machine = ByHand()
    machine.set("%r1", np.arange(32))
    machine.state.live[0, 0, 31] = False
    machine.run("shfl.sync.down.b32 %r2, %r1, 1, 31, 0xffffffff", machine.state.live)
    assert undefined_lanes(machine) == [30]
    assert machine.found == []


SCAN = """setp.lt.u32 %p1, %r0, 20; vote.sync.ballot.b32 %r2, %p1, 0xffffffff; add.u32 %r3, %r0, 1; @!%p1 bra END;
    shfl.sync.down.b32 %r4, %r3, 4, 31, %r2; add.u32 %r5, %r0, 4; setp.lt.u32 %p2, %r5, {limit};
    @%p2 add.u32 %r3, %r3, %r4; END: """


def test_an_undefined_value_that_is_discarded_is_not_a_finding():
    out = numbers()
    assert not launch(SCAN.format(limit=20) + put("%r3") + "ret;", out).findings
    assert out.tolist() == [2 * i + 6 if i < 16 else i + 1 for i in range(32)]


def test_an_undefined_value_is_found_where_it_is_used():
    report = launch(SCAN.format(limit=22) + put("%r3") + "ret;", numbers())
    assert [(x.kind, x.count, x.thread) for x in report.findings] == [("uninitialised", 2, (16, 0, 0))]
    assert "st.global.u32" in report.findings[0].text


def test_two_groups_of_a_warp_shuffle_by_their_own_masks():
    machine = ByHand()
    machine.set("%r1", np.arange(32))
    machine.set("%r3", np.where(np.arange(32) < 16, 0x0000FFFF, 0xFFFF0000))
    machine.run("shfl.sync.bfly.b32 %r2, %r1, 8, 31, %r3")
    assert machine.get("%r2")[0, 0].tolist() == [lane ^ 8 for lane in range(32)]
    assert machine.found == []
    machine.set("%r3", np.where(np.arange(32) < 16, 0x0001FFFF, 0xFFFF0000))
    machine.run("shfl.sync.bfly.b32 %r2, %r1, 8, 31, %r3")
    assert machine.messages == [
        "lane 0 has the membermask 0x0001ffff, but a lane in it gives a different one: "
        "both must give the same membermask"
    ]


def test_without_sync_the_active_lanes_participate():
    machine = ByHand()
    machine.set("%r1", np.arange(32))
    machine.set("%r2", 50)
    machine.run("shfl.up.b32 %r2|%p1, %r1, 1, 0", (np.arange(32) >= 4).reshape(1, 1, 32))
    assert machine.get("%r2")[0, 0, 3:6].tolist() == [50, 3, 4]
    assert undefined_lanes(machine) == [4]
    assert machine.found == []


def test_an_uninitialised_value_stays_undefined_in_the_lane_that_reads_it():
    machine = ByHand()
    register = machine.registers["%r1"]
    machine.state.write(register, np.zeros((1, 1, 1), np.uint32), (np.arange(32) != 5).reshape(1, 1, 32))
    machine.run("shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1")
    assert undefined_lanes(machine) == [4]
    assert machine.found == []
    machine.run("shfl.sync.idx.b32 %r2, %r1, %r9, 31, -1")
    assert machine.found == ["uninitialised"]


def test_a_result_may_be_omitted():
    machine = ByHand()
    machine.set("%r1", np.arange(32))
    machine.run("shfl.sync.bfly.b32 _|%p1, %r1, 1, 31, -1")
    assert machine.get("%p1").all()


@pytest.mark.parametrize("text", ["shfl.sync.bfly.b64 %r1, %r2, 1, 31, -1", "shfl.sync.xor.b32 %r1, %r2, 1, 31, -1"])
def test_spellings_that_do_not_exist_are_refused(text):
    with pytest.raises(UnsupportedInstructionError, match=r"Nearest: shfl\.sync\."):
        ByHand().bind(text)


def test_too_few_operands_are_refused():
    with pytest.raises(UnsupportedInstructionError, match="expects 5 operands, not 4"):
        ByHand().bind("shfl.sync.bfly.b32 %r1, %r2, 1, 31")

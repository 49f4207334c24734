# SPDX-License-Identifier: MIT
"""vote, match, redux, elect and activemask, compared with results computed lane by lane."""

import numpy as np
import pytest

from tests.ptx.steps.by_hand import ByHand
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.definedness.undefined import Undefined

RNG = np.random.default_rng(4)
MASKS = [0xFFFF_FFFF, 0x0000_FFFF, 0x8000_0001, 0xFFFF_FFFE, 0x0000_0010]


def lanes_of(mask):
    return (mask >> np.arange(32) & 1) != 0


def word(lanes):
    return sum(1 << int(i) for i in np.flatnonzero(lanes))


@pytest.mark.parametrize("mask", MASKS, ids=hex)
@pytest.mark.parametrize("density", [0.0, 0.5, 1.0], ids=str)
def test_votes(mask, density):
    machine = ByHand(2, 2)
    yes = RNG.random((2, 2, 32)) < density
    machine.set("%p1", yes)
    active = np.broadcast_to(lanes_of(mask), (2, 2, 32))
    for mode, name in (("all", "%p2"), ("any", "%p3"), ("uni", "%p4")):
        machine.run(f"vote.sync.{mode}.pred {name}, %p1, {mask}", active)
    machine.run(f"vote.sync.ballot.b32 %r1, %p1, {mask}", active)
    machine.run(f"vote.sync.any.pred %p5, !%p1, {mask}", active)
    for g, w in np.ndindex(2, 2):
        mine = yes[g, w][active[g, w]]
        for name, expected in (
            ("%p2", mine.all()), ("%p3", mine.any()), ("%p4", mine.all() or not mine.any()),
            ("%p5", not mine.all()), ("%r1", word(yes[g, w] & active[g, w])),
        ):  # fmt: skip
            assert (machine.get(name)[g, w][active[g, w]] == expected).all(), name
    assert machine.found == []


def test_votes_of_a_predicate_common_to_all_lanes():
    machine = ByHand(2, 2)
    machine.set("%p1", np.array([True, False]).reshape(2, 1, 1))
    machine.run("vote.sync.ballot.b32 %r1, %p1, -1")
    assert machine.get("%r1")[:, 0, 0].tolist() == [0xFFFF_FFFF, 0]
    machine.run("vote.ballot.b32 %r1, %p1", np.broadcast_to(np.arange(32) < 3, (2, 2, 32)))
    assert machine.get("%r1")[:, 0, 0].tolist() == [7, 0]


def test_lanes_that_have_exited_do_not_vote():
    machine = ByHand()
    machine.state.live[0, 0, 20:] = False
    machine.set("%p1", np.arange(32) < 20)
    machine.run("vote.sync.all.pred %p2, %p1, -1", machine.state.live)
    machine.run("vote.sync.ballot.b32 %r1, %p1, -1", None)
    assert machine.get("%p2")[0, 0, :20].all()
    assert machine.get("%r1")[0, 0, 0] == (1 << 20) - 1
    assert machine.found == []


@pytest.mark.parametrize("mask", MASKS, ids=hex)
@pytest.mark.parametrize(("kind", "register"), [("b32", "%r"), ("b64", "%rd")])
def test_matches(mask, kind, register):
    machine = ByHand(2, 2)
    values = RNG.integers(0, 3, (2, 2, 32)).astype(np.uint64) << np.uint64(40 if kind == "b64" else 20)
    values[1, 1] = 9
    machine.set(f"{register}1", values)
    active = np.broadcast_to(lanes_of(mask), (2, 2, 32))
    machine.run(f"match.any.sync.{kind} %r10, {register}1, {mask}", active)
    machine.run(f"match.all.sync.{kind} %r11|%p1, {register}1, {mask}", active)
    for g, w, lane in np.ndindex(2, 2, 32):
        if active[g, w, lane]:
            same = (values[g, w] == values[g, w, lane]) & active[g, w]
            assert machine.get("%r10")[g, w, lane] == word(same)
            agreed = word(same) == mask
            assert machine.get("%r11")[g, w, lane] == (mask if agreed else 0)
            assert machine.get("%p1")[g, w, lane] == agreed


@pytest.mark.parametrize("mask", MASKS, ids=hex)
def test_reductions_of_integers(mask):
    machine = ByHand(2, 2)
    values = RNG.integers(0, 1 << 32, (2, 2, 32), dtype=np.uint32)
    machine.set("%r1", values)
    active = np.broadcast_to(lanes_of(mask), (2, 2, 32))
    python = {
        "add": lambda x: sum(x), "min": min, "max": max,
        "and": lambda x: np.bitwise_and.reduce(x), "or": lambda x: np.bitwise_or.reduce(x),
        "xor": lambda x: np.bitwise_xor.reduce(x),
    }  # fmt: skip
    for operation, reduce in python.items():
        for kind in ("b32",) if operation in ("and", "or", "xor") else ("u32", "s32"):
            machine.run(f"redux.sync.{operation}.{kind} %r2, %r1, {mask}", active)
            for g, w in np.ndindex(2, 2):
                mine = values[g, w][active[g, w]]
                mine = mine.view(np.int32) if kind == "s32" else mine
                expected = int(reduce([int(x) for x in mine])) % (1 << 32)
                assert (machine.get("%r2")[g, w][active[g, w]] == expected).all(), operation
    assert machine.found == []


def test_groups_of_a_warp_reduce_and_vote_by_their_own_masks():
    machine = ByHand()
    low = np.arange(32) % 3 == 0
    masks = np.where(low, word(low), word(~low))
    machine.set("%r1", np.arange(32))
    machine.set("%r2", masks)
    machine.set("%p1", np.arange(32) < 8)
    machine.run("redux.sync.add.u32 %r3, %r1, %r2")
    machine.run("vote.sync.ballot.b32 %r4, %p1, %r2")
    machine.run("match.any.sync.b32 %r5, 7, %r2")
    sums = np.where(low, np.arange(32)[low].sum(), np.arange(32)[~low].sum())
    assert machine.get("%r3")[0, 0].tolist() == sums.tolist()
    assert machine.get("%r4")[0, 0].tolist() == (masks & 0xFF).tolist()
    assert machine.get("%r5")[0, 0].tolist() == masks.tolist()
    assert machine.found == []


@pytest.mark.parametrize(
    ("opcode", "numbers", "expected"),
    [
        ("redux.sync.min.f32", [1.0, -0.0, 0.0, 3.0], -0.0),
        ("redux.sync.min.f32", [-np.inf, 2.0], -np.inf),
        ("redux.sync.max.f32", [-1.0, -0.0, 0.0, np.nan], 0.0),
        ("redux.sync.max.abs.f32", [-5.0, 4.0, np.nan], 5.0),
        ("redux.sync.min.abs.f32", [-5.0, -0.0, np.inf], 0.0),
    ],
)
def test_reductions_of_floats(opcode, numbers, expected):
    machine = ByHand(arch="sm_100")
    machine.set("%r1", np.resize(np.array(numbers, np.float32), 32).view(np.uint32))
    machine.run(f"{opcode} %r2, %r1, -1")
    assert machine.get("%r2")[0, 0, 0] == np.float32(expected).view(np.uint32)


def test_nan_in_reductions_of_floats():
    machine = ByHand(arch="sm_100")
    values = np.ones(32, np.float32)
    values[3] = -np.nan
    machine.set("%r1", values.view(np.uint32))
    machine.run("redux.sync.max.NaN.f32 %r2, %r1, -1")
    machine.run("redux.sync.max.NaN.f32 %r3, %r1, 0xf0", np.broadcast_to(lanes_of(0xF0), (1, 1, 32)))
    machine.run("redux.sync.min.f32 %r4, %r1, 8", np.broadcast_to(lanes_of(8), (1, 1, 32)))
    found = [int(machine.get(name)[0, 0, lane]) for name, lane in (("%r2", 0), ("%r3", 4), ("%r4", 3))]
    assert found == [0x7FFF_FFFF, 0x3F80_0000, 0x7FFF_FFFF]


def test_the_lowest_lane_is_elected():
    machine = ByHand(1, 2)
    active = np.ones((1, 2, 32), bool)
    active[0, 1, :5] = False
    machine.run("elect.sync %r1|%p1, 0xffffffff", active)
    assert machine.get("%r1")[0, :, 31].tolist() == [0, 5]
    assert [np.flatnonzero(machine.get("%p1")[0, w]).tolist() for w in range(2)] == [[0], [5]]
    machine.run("elect.sync _|%p2, 0xfff00000", np.broadcast_to(lanes_of(0xFFF0_0000), (1, 2, 32)))
    assert np.flatnonzero(machine.get("%p2")[0, 0]).tolist() == [20]


def test_the_active_mask_contains_the_executing_lanes():
    machine = ByHand(1, 2)
    machine.run("activemask.b32 %r1", np.broadcast_to(lanes_of(0x0FF0), (1, 2, 32)))
    assert machine.get("%r1")[0, 0, 4] == 0x0FF0
    machine.state.live[0, 0, 7:] = False
    machine.run("activemask.b32 %r1")
    assert machine.get("%r1")[0, :, 0].tolist() == [0x7F, 0xFFFF_FFFF]


@pytest.mark.parametrize(
    ("mode", "value", "expected"),
    [
        ("any.pred", False, 1), ("any.pred", True, 0), ("all.pred", True, 1), ("all.pred", False, 0),
        ("uni.pred", True, 1), ("uni.pred", np.arange(32) < 9, 0), ("ballot.b32", True, 1 << 5),
    ],
)  # fmt: skip
def test_a_vote_is_undefined_if_an_uninitialised_lane_decides_it(mode, value, expected):
    machine = ByHand()
    written = (np.arange(32) != 5).reshape(1, 1, 32)
    machine.state.write(machine.registers["%p2"], np.broadcast_to(value, (1, 1, 32)), written)
    result = "%r1" if "ballot" in mode else "%p1"
    machine.set(result, 0)
    machine.run(f"vote.sync.{mode} {result}, %p2, -1")
    assert machine.found == []
    lost = machine.undefined(result)
    assert expected == (0 if lost is None else int(lost[0, 0, 0]))


@pytest.mark.parametrize(
    ("operation", "expected"),
    [("and.b32", 0x0F), ("or.b32", 0xF0), ("xor.b32", 0xFF), ("add.u32", 0xFFFF_FFFF), ("max.u32", 0xFFFF_FFFF)],
)
def test_a_reduction_is_undefined_in_the_bits_that_an_uninitialised_lane_decides(operation, expected):
    machine = ByHand()
    values = np.where(np.arange(32) == 3, 0xF0, 0xFF)
    machine.set("%r1", np.where(np.arange(32) == 3, values, 0x0F if operation == "or.b32" else values))
    if operation == "and.b32":
        machine.set("%r1", np.where(np.arange(32) == 3, 0, 0x0F))
    where = (np.arange(32) == 7).reshape(1, 1, 32)
    bits = np.where(where, np.uint32(0xFF), np.uint32(0))
    uninitialised = Undefined(bits, np.zeros((1, 1, 1), np.uint64))
    value = np.where(where, np.uint32(0), machine.get("%r1"))
    value = np.full((1, 1, 32), 0x0F, np.uint32)
    machine.state.write(machine.registers["%r1"], value, None, uninitialised)
    machine.set("%r2", 0)
    machine.run(f"redux.sync.{operation} %r2, %r1, -1")
    assert int(machine.undefined("%r2")[0, 0, 0]) == expected
    assert machine.found == []


@pytest.mark.parametrize(("operation", "others", "expected"), [
    ("and.b32", 0xFF, 0x0F), ("and.b32", 0x35, 0x05), ("or.b32", 0x00, 0x0F), ("or.b32", 0x35, 0x0A),
])  # fmt: skip
def test_bits_of_a_reduction_are_undefined_where_the_other_lanes_do_not_decide(operation, others, expected):
    machine = ByHand()
    where = (np.arange(32) == 7).reshape(1, 1, 32)
    bits = np.where(where, np.uint32(0x0F), np.uint32(0))
    value = np.where(where, np.uint32(0xFF if operation == "and.b32" else 0), np.uint32(others))
    machine.state.write(machine.registers["%r1"], value, None, Undefined(bits, np.zeros((1, 1, 1), np.uint64)))
    machine.set("%r2", 0)
    machine.run(f"redux.sync.{operation} %r2, %r1, -1")
    assert int(machine.undefined("%r2")[0, 0, 0]) == expected


def test_match_is_undefined_between_lanes_whose_values_may_be_equal():
    machine = ByHand()
    where = (np.arange(32) == 7).reshape(1, 1, 32)
    bits = np.where(where, np.uint32(1), np.uint32(0))
    values = np.arange(32, dtype=np.uint32).reshape(1, 1, 32)
    machine.state.write(machine.registers["%r1"], values, None, Undefined(bits, np.zeros((1, 1, 1), np.uint64)))
    machine.set("%r2", 0)
    machine.run("match.any.sync.b32 %r2, %r1, -1")
    lost = machine.undefined("%r2")[0, 0]
    assert {lane: int(x) for lane, x in enumerate(lost) if x} == {6: 1 << 7, 7: 1 << 6}
    machine.run("match.all.sync.b32 %r2|%p1, %r1, -1")  # others differ for certain
    assert machine.undefined("%p1") is None


@pytest.mark.parametrize(
    ("text", "arch", "message"),
    [
        ("redux.sync.add.s32 %r1, %r2, -1", "sm_75", "sm_75 .* has no redux"),
        ("redux.sync.max.f32 %r1, %r2, -1", "sm_90", "chips that support it are sm_100"),
        ("elect.sync %r1|%p1, -1", "sm_80", "the first chip that supports it is sm_90"),
        ("redux.sync.and.u32 %r1, %r2, -1", "sm_90", "Nearest: redux.sync.and.b32"),
        ("vote.sync.some.pred %p1, %p2, -1", "sm_90", "Nearest: vote.sync"),
        ("match.some.sync.b32 %r1, %r2, -1", "sm_90", "Nearest: match"),
    ],
)
def test_an_instruction_that_the_chip_lacks_is_refused(text, arch, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        ByHand(arch=arch).bind(text)

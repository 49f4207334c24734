# SPDX-License-Identifier: MIT
"""cp.async and mbarrier: when data arrives, which threads may use it, and the finding if it is used too early."""

import numpy as np
import pytest

from tests.ptx.memory.single_wave import SingleWave, warp_mask
from tests.ptx.steps.memory_states import Stepper
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.asynchrony import EAGER, LATE

LANES = np.arange(64, dtype=np.uint64).reshape(1, 2, 32)


def stepper(warps: int = 2, blocks: int = 1) -> Stepper:
    x = np.arange(1024, dtype=np.uint32)
    made = Stepper(SingleWave(blocks=blocks, warps=warps, shared_bytes=4096, arrays={"x": x}))
    lanes = np.arange(warps * 32, dtype=np.uint64).reshape(1, warps, 32)
    made.set("rd0", lanes * 16 + made.chunk.address["x"])
    made.set("r0", lanes * 16)
    return made


def words(made: Stepper, register: str = "r1") -> list[int]:
    return made.get(register).ravel().tolist()


@pytest.mark.parametrize("asynchrony", [EAGER, LATE])
@pytest.mark.parametrize(("kind", "size"), [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)])
def test_data_has_arrived_after_the_wait(kind, size, asynchrony):
    made = stepper()
    made.chunk.memory.asynchrony = asynchrony
    made.do(f"cp.async.{kind}.shared.global", "[r0]", "[rd0]", size)
    assert made.chunk.memory.shared.flat.any() == (asynchrony is EAGER)
    made.do("cp.async.commit_group")
    made.do("cp.async.wait_group", 0)
    made.do("ld.shared.b32", "r1", "[r0]")
    assert words(made) == list(range(0, 256, 4))
    assert not made.kinds()
    assert made.chunk.memory.shared.flat[:16].view(np.uint32).tolist()[: size // 4] == list(range(size // 4))
    assert not made.chunk.memory.shared.flat[size:16].any()


def test_a_read_before_the_wait_names_the_copy_and_the_missing_wait():
    made = stepper()
    made.do("cp.async.cg.shared.global", "[r0]", "[rd0]", 16, line=3)
    made.do("ld.shared.b32", "r1", "[r0]", line=4)
    made.do("cp.async.commit_group", line=5)
    made.do("ld.shared.b32", "r1", "[r0]", line=6)
    first, second = made.chunk.found[0], made.chunk.found[-1]
    assert (first.kind, first.line) == ("missing wait", 4)
    said = "cp.async.cg.shared.global of line 3 is still writing: no cp.async.commit_group and no wait follow"
    assert said in first.message
    assert (second.kind, second.line) == ("missing wait", 6) or ("missing wait", 6) in made.kinds()


def test_wait_group_completes_the_oldest_groups_first():
    made = stepper(1)
    for stage in range(3):
        made.do("cp.async.cg.shared.global", f"[r0+{stage * 1024}]", f"[rd0+{stage * 1024}]", 16, line=stage + 1)
        made.do("cp.async.commit_group")
    made.do("cp.async.wait_group", 2)
    made.do("ld.shared.b32", "r1", "[r0]")
    assert words(made) == list(range(0, 128, 4))
    assert not made.kinds()
    made.do("ld.shared.b32", "r1", "[r0+1024]", line=9)
    assert ("missing wait", 9) in made.kinds()
    assert "of line 2 is still writing: cp.async.wait_group 2 leaves its group pending" in made.chunk.found[0].message
    made.do("cp.async.wait_group", 0)
    made.do("ld.shared.b32", "r1", "[r0+2048]", line=12)
    assert words(made) == list(range(512, 640, 4))
    assert ("missing wait", 12) not in made.kinds()


def test_wait_all_needs_no_group():
    made = stepper()
    made.do("cp.async.ca.shared.global.L2::128B", "[r0]", "[rd0]", 4)
    made.do("cp.async.wait_all")
    made.do("ld.shared.b32", "r1", "[r0]")
    assert not made.kinds()


def test_data_copied_by_another_warp_needs_a_barrier_after_the_wait():
    made = stepper()
    made.set("r2", (LANES ^ 32) * 16)
    made.do("cp.async.cg.shared.global", "[r0]", "[rd0]", 16, line=3)
    made.do("cp.async.wait_all")
    made.do("ld.shared.b32", "r1", "[r2]", line=5)
    assert made.kinds() == [("race", 5)]
    said = "wrote 16 bytes at 0x200 of shared memory (line 3, cp.async.cg.shared.global)"
    assert said in made.chunk.found[0].message
    made.chunk.barrier()
    made.do("ld.shared.b32", "r1", "[r2]", line=7)
    assert made.kinds() == [("race", 5)]


def test_a_copy_over_data_that_another_warp_still_reads_is_a_race():
    made = stepper()
    made.set("r2", (LANES ^ 32) * 16)
    made.do("cp.async.cg.shared.global", "[r0]", "[rd0]", 16)
    made.do("cp.async.wait_all")
    made.chunk.barrier()
    made.do("ld.shared.b32", "r1", "[r2]", line=5)
    made.do("cp.async.cg.shared.global", "[r0]", "[rd0]", 16, line=6)
    made.chunk.barrier()
    made.do("cp.async.wait_all")
    assert made.kinds() == [("race", 6)]


def test_a_store_to_bytes_of_a_pending_copy_is_found():
    made = stepper()
    made.do("cp.async.cg.shared.global", "[r0]", "[rd0]", 16)
    made.do("st.shared.b32", "[r0+12]", 1, line=4)
    assert made.kinds() == [("missing wait", 4)]


@pytest.mark.parametrize("read", [0, 1, 5, 8, 16])
def test_bytes_beyond_the_source_size_are_zeros(read):
    made = stepper()
    made.set("r3", read)
    made.set("r1", 0xFFFFFFFF)
    made.do("cp.async.cg.shared.global", "[r0]", "[rd0]", 16, "r3")
    made.do("cp.async.wait_all")
    source = made.chunk.arrays["x"].view(np.uint8)[:16].copy()
    source[read:] = 0
    assert (made.chunk.memory.shared.flat[:16] == source).all()
    made.do("ld.shared.v4.b32", "{r4,r5,r6,r7}", "[r0]")
    assert not made.kinds()


def test_a_source_size_of_zero_reads_no_memory():
    made = stepper()
    lanes = np.arange(64).reshape(1, 2, 32)
    made.set("rd1", np.where(lanes < 40, made.chunk.address["x"], 8))
    made.set("r3", np.where(lanes < 40, 16, 0))
    made.set("p0", lanes >= 40)
    made.do("cp.async.cg.shared.global", "[r0]", "[rd1]", 16, "r3")
    made.do("cp.async.wait_all")
    made.do("cp.async.cg.shared.global", "[r0+2048]", "[rd1]", 16, "p0")
    made.do("cp.async.wait_all")
    made.do("ld.shared.b32", "r1", "[r0+4]")
    made.do("ld.shared.b32", "r2", "[r0+2052]")
    assert words(made) == words(made, "r2") == [1] * 40 + [0] * 24
    assert not made.kinds()
    made.set("r3", 17)
    made.do("cp.async.cg.shared.global", "[r0]", "[rd0]", 16, "r3", line=7)
    assert ("illegal operand", 7) in made.kinds()


def test_a_wait_covers_only_the_threads_own_copies():
    made = stepper()
    low = warp_mask(made.state.shape, 0)
    made.do("cp.async.cg.shared.global", "[r0]", "[rd0]", 16)
    made.do("cp.async.commit_group", active=low)
    made.do("cp.async.wait_group", 0)
    made.do("ld.shared.b32", "r1", "[r0]", active=low)
    assert not made.kinds()
    made.do("ld.shared.b32", "r1", "[r0]", active=~low, line=6)
    assert made.kinds() == [("missing wait", 6)]


def test_a_copy_out_of_bounds_is_left_out():
    made = stepper()
    made.set("rd1", 16)
    made.do("cp.async.cg.shared.global", "[r0]", "[rd1]", 16, line=2)
    made.do("cp.async.cg.shared.global", "[r0+4000]", "[rd0]", 16, line=3)
    made.do("cp.async.cg.shared.global", "[r0+8]", "[rd0]", 16, line=4)
    made.do("cp.async.wait_all")
    assert [k for k in made.kinds() if k[1] in (2, 3, 4)][:2] == [("out of bounds", 2), ("out of bounds", 3)]
    assert ("misaligned", 4) in made.kinds()


def test_a_store_to_the_source_of_copies_that_were_all_out_of_bounds_is_not_early():
    made = stepper(1)
    made.do("cp.async.cg.shared.global", "[r0+4096]", "[rd0]", 16, line=2)
    made.do("st.global.b32", "[rd0]", "r0", line=3)
    assert {line for _, line in made.kinds()} == {2}


@pytest.mark.parametrize(
    ("opcode", "operands", "words"),
    [
        ("cp.async.cg.shared.global", ("[r0]", "[rd0]", 8), "copies 16 bytes; 8 is not a legal size"),
        ("cp.async.ca.shared.global", ("[r0]", "[rd0]", "r1"), "expects an integer constant"),
        ("cp.async.ca.global.shared", ("[rd0]", "[r0]", 4), "expected cp.async.ca.shared.global"),
        ("cp.reduce.async", ("[r0]",), "cp.async"),
    ],
)
def test_copies_that_are_not_modelled_are_refused(opcode, operands, words):
    with pytest.raises(UnsupportedInstructionError, match=rf"line 1: {opcode}.*{words}"):
        stepper().build(opcode, *operands)


@pytest.mark.parametrize("pending", [(1 << 31) - 1, 1 << 31, 1 << 40])
def test_wait_group_of_more_groups_than_exist_waits_for_none(pending):
    made = stepper()
    made.do("cp.async.cg.shared.global", "[r0]", "[rd0]", 16)
    made.do("cp.async.commit_group")
    made.do("cp.async.wait_group", pending)
    made.do("ld.shared.b32", "r1", "[r0]", line=6)
    assert made.kinds() == [("missing wait", 6)]


def test_a_negative_number_of_groups_is_refused():
    with pytest.raises(UnsupportedInstructionError, match="from 0 upwards, not"):
        stepper().build("cp.async.wait_group", -1)

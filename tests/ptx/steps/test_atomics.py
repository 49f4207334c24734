# SPDX-License-Identifier: MIT
"""atom and red: the final contents of memory, and the value returned to each thread."""

import numpy as np
import pytest

from tests.ptx.memory.single_wave import SingleWave
from tests.ptx.steps.memory_states import Stepper
from wmma_emu.errors import UnsupportedInstructionError

RANDOM = np.random.default_rng(3)


def one_by_one(op: str, bits: int, signed: bool, memory: dict[int, int], places, values, compares) -> list[int]:
    """Return the values returned to the threads if they execute one after another, in integers."""
    top = 1 << bits

    def number(x: int) -> int:
        return x - top if signed and x >= top >> 1 else x

    found = []
    for place, x, compare in zip(places, values, compares, strict=True):
        old = memory[place]
        found.append(old)
        memory[place] = {
            "add": lambda o, v, c: o + v, "and": lambda o, v, c: o & v, "or": lambda o, v, c: o | v,
            "xor": lambda o, v, c: o ^ v, "exch": lambda o, v, c: v, "cas": lambda o, v, c: v if o == c else o,
            "min": lambda o, v, c: min(o, v, key=number), "max": lambda o, v, c: max(o, v, key=number),
            "inc": lambda o, v, c: 0 if o >= v else o + 1, "dec": lambda o, v, c: v if o == 0 or o > v else o - 1,
        }[op](old, x, compare) % top  # fmt: skip
    return found


CASES = [
    (op, kind)
    for op, kinds in {
        "add": ("u32", "s32", "u64"), "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"),
        "exch": ("b32", "b64"), "cas": ("b16", "b32", "b64"), "min": ("u32", "s32", "u64", "s64"),
        "max": ("u32", "s32", "u64", "s64"), "inc": ("u32",), "dec": ("u32",),
    }.items()
    for kind in kinds
]  # fmt: skip


@pytest.mark.parametrize(("op", "kind"), CASES)
@pytest.mark.parametrize("spread", [1, 5, 1000])
@pytest.mark.parametrize("space", ["global", "shared"])
def test_threads_with_the_same_address_execute_in_order(op, kind, spread, space):
    bits = int(kind[1:])
    dtype = np.dtype(f"u{bits // 8}")
    data = RANDOM.integers(0, 1 << min(bits, 62), 128, dtype=np.uint64).astype(dtype)
    if op in ("inc", "dec", "cas"):
        data = (data % dtype.type(4)).astype(dtype)
    made = Stepper(SingleWave(warps=2, arrays={"x": data.copy()}, shared_bytes=1024))
    base = made.chunk.address["x"]
    if space == "shared":
        made.chunk.memory.shared.flat[:] = 0
        made.chunk.memory.shared.flat[: data.nbytes] = data.view(np.uint8)
        made.chunk.memory.shared_shadow.write(np.arange(0, 1024, 8), 8, 1, 8)
        base = 0
    places = RANDOM.permutation(128)[:64] if spread == 1000 else RANDOM.integers(0, spread, 64)
    values = RANDOM.integers(0, 1 << min(bits, 62), 64, dtype=np.uint64).astype(dtype)
    compares = (values % dtype.type(4)).astype(dtype)
    if op in ("inc", "dec", "cas"):
        values = (values % dtype.type(5)).astype(dtype)
    register = {16: "h", 32: "r", 64: "rd"}[bits]
    made.set("rd0", (places * (bits // 8) + base).astype(np.uint64).reshape(1, 2, 32))
    made.set(f"{register}1", values.reshape(1, 2, 32))
    made.set(f"{register}2", compares.reshape(1, 2, 32))
    active = RANDOM.random((1, 2, 32)) < 0.9
    operands = [f"{register}2", f"{register}1"] if op == "cas" else [f"{register}1"]
    made.do(f"atom.relaxed.gpu.{space}.{op}.{kind}", f"{register}0", "[rd0]", *operands, active=active)
    memory = dict(enumerate(data.tolist()))
    chosen = active.ravel()
    found = one_by_one(
        op, bits, kind[0] == "s", memory, places[chosen].tolist(), values[chosen].tolist(), compares[chosen].tolist()
    )
    assert made.get(f"{register}0")[active].tolist() == found
    left = made.chunk.memory.shared.flat[: data.nbytes].view(dtype)
    if space == "global":
        made.chunk.heap.copy_back()
        left = made.chunk.arrays["x"]
    assert left.tolist() == list(memory.values())
    assert not made.kinds()


def add_floats(kind: str, start, values, space: str = "global") -> int:
    dtype = {"f32": np.uint32, "f64": np.uint64, "f16": np.uint16, "bf16": np.uint16, "f16x2": np.uint32}[kind]
    made = Stepper(SingleWave(arrays={"x": np.array([start], dtype)}, shared_bytes=16))
    made.set("rd0", made.chunk.address["x"] if space == "global" else 0)
    if space == "shared":
        made.chunk.store("shared", 0 * np.zeros((1, 1, 1), np.uint64), np.full((1, 1, 1, 1), start, dtype))
    register = {2: "h", 4: "r", 8: "rd"}[np.dtype(dtype).itemsize]
    made.set(f"{register}1", np.resize(np.array(values, dtype), 32))
    active = (np.arange(32) < len(values)).reshape(1, 1, 32)
    made.do(f"red.{space}.add{'.noftz' if '16' in kind else ''}.{kind}", "[rd0]", f"{register}1", active=active)
    made.chunk.heap.copy_back()
    left = made.chunk.arrays["x"] if space == "global" else made.chunk.memory.shared.flat[:8].view(dtype)
    return int(left[0])


def test_floating_point_sums_round_after_each_thread():
    values = RANDOM.standard_normal(32).astype(np.float32)
    expected = np.float32(1)
    for x in values:
        expected = np.float32(expected + x)
    assert add_floats("f32", 0x3F800000, values.view(np.uint32)) == int(expected.view(np.uint32))


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("special", [None, 0x7FC12345, 0x00000001, 0x7F800000])
def test_a_sum_of_many_threads_equals_the_sequential_sum(space, special):
    values = RANDOM.integers(0x3F000000, 0x40000000, 32, dtype=np.uint32)
    if special is not None:
        values[20] = special
    one_after_another = 0x3F800000
    for x in values.tolist():
        one_after_another = add_floats("f32", one_after_another, [x], space)
    assert add_floats("f32", 0x3F800000, values, space) == one_after_another


@pytest.mark.parametrize(
    ("space", "old", "x", "new"),
    [
        ("global", 0, 0x7FF0000000000001, 0x7FF0000000000001),
        ("global", 0x7FF0000000000001, 0xFFF8000012345678, 0xFFF8000012345678),
        ("global", 0x7FF0000000000001, 0x3FF0000000000000, 0x7FF0000000000001),
        ("global", 0x7FF0000000000000, 0xFFF0000000000000, 0xFFF8000000000000),
        ("shared", 0, 0x7FF0000000000001, 0x7FF8000000000001),
        ("shared", 0x7FF8000000000000, 0xFFF8000012345678, 0x7FF8000000000000),
        ("shared", 0x7FF0000000000001, 0x7FF8000000000000, 0x7FF8000000000001),
    ],
)
def test_nans_of_f64_sums_match_the_gpu(space, old, x, new):
    assert add_floats("f64", old, [x], space) == new


def test_sums_of_other_formats():
    assert add_floats("f64", 0x3FF0000000000000, [0x3CA0000000000000, 0x3CA0000000000000]) == 0x3FF0000000000000
    assert add_floats("f16", 0x3C00, [0x1000, 0x1400]) == 0x3C01
    assert add_floats("bf16", 0x3F80, [0x3C00, 0x3B80]) == 0x3F82
    assert add_floats("f16x2", 0x3C000001, [0x3C000001]) == 0x40000002


def test_subnormal_numbers_are_flushed_in_global_memory_and_not_in_shared():
    assert add_floats("f32", 0x00000001, [0x80000000, 0x00000003], "global") == 0
    assert add_floats("f32", 0x00000001, [0x00000003], "shared") == 4
    assert add_floats("f32", 0x00800000, [0x80800001], "global") == 0x80000000


def test_a_seed_changes_the_order_of_the_threads():
    found = []
    for order in (None, np.random.default_rng(5), np.random.default_rng(5)):
        made = Stepper(SingleWave(arrays={"x": np.zeros(1, np.uint32)}), order)
        made.set("rd0", made.chunk.address["x"])
        made.do("atom.global.add.u32", "r0", "[rd0]", 1)
        found.append(made.get("r0").ravel().tolist())
    assert found[0] == list(range(32))
    assert found[1] == found[2] != found[0]
    assert sorted(found[1]) == found[0]


def test_atomics_do_not_race_with_each_other_but_with_plain_accesses():
    made = Stepper(SingleWave(warps=2, shared_bytes=64))
    made.set("rd0", 0)
    made.set("r0", 0)
    first = np.zeros((1, 2, 32), bool)
    first[0, 0] = True
    made.do("st.shared.b32", "[rd0]", "r0", active=first)
    made.chunk.barrier()
    made.do("red.shared.add.u32", "[rd0]", 1)
    made.do("red.shared.add.u32", "[rd0]", 1)
    assert not made.kinds()
    made.do("ld.shared.b32", "r1", "[rd0]", line=8)
    assert made.kinds() == [("race", 8)]
    made.chunk.barrier()
    made.do("ld.shared.b32", "r1", "[rd0]", line=9)
    assert (made.get("r1") == 128).all()
    assert made.kinds() == [("race", 8)]


def test_atomics_on_generic_addresses():
    made = Stepper(SingleWave(arrays={"x": np.zeros(32, np.uint32)}, shared_bytes=64))
    made.set("rd1", 0)
    made.do("st.shared.b32", "[rd1]", 0)
    lane = np.arange(32)
    made.set("rd0", np.where(lane < 16, made.chunk.address["x"], 0x1_7E00_0000_0000).astype(np.uint64))
    made.do("atom.add.u32", "r0", "[rd0]", 2)
    assert made.get("r0").ravel().tolist() == [*range(0, 32, 2), *range(0, 32, 2)]


def test_vectors_are_processed_element_by_element():
    made = Stepper(SingleWave(arrays={"x": np.zeros(2, np.uint32)}))
    made.set("rd0", made.chunk.address["x"])
    made.set("r0", 0x3F800000)
    made.set("r1", 0x40000000)
    made.do("red.relaxed.gpu.global.add.v2.f32", "[rd0]", "{r0,r1}")
    made.chunk.heap.copy_back()
    assert made.chunk.arrays["x"].view(np.float32).tolist() == [32, 64]


def test_an_atomic_out_of_bounds_is_left_out():
    made = Stepper(SingleWave(arrays={"x": np.zeros(2, np.uint32)}))
    made.set("rd0", (np.arange(32) * 4 + made.chunk.address["x"]).astype(np.uint64))
    made.do("red.global.add.u32", "[rd0]", 3, line=6)
    made.chunk.heap.copy_back()
    assert made.chunk.arrays["x"].tolist() == [3, 3]
    assert made.kinds() == [("out of bounds", 6)]


@pytest.mark.parametrize(
    "opcode",
    [
        "atom.global.add.b32",
        "atom.global.sub.u32",
        "red.global.exch.b32",
        "atom.global.cas.b128",
        "atom.global.min.f32",
    ],
)
def test_operations_that_do_not_exist_are_refused(opcode):
    made = Stepper(SingleWave())
    with pytest.raises(UnsupportedInstructionError, match=f"line 1: {opcode}"):
        made.build(opcode, *(("r0",) if opcode.startswith("atom") else ()), "[rd0]", "r1")

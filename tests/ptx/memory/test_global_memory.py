# SPDX-License-Identifier: MIT
"""Global memory: addresses of arrays and variables, bounds, and what is copied back."""

import numpy as np
import pytest

from tests.ptx.memory.single_wave import EMPTY_MODULE, SingleWave, module_of, one
from tests.ptx.texts_of_kernels import launch
from wmma_emu.errors import FragmentMismatchError, LaunchLimitError, WmmaEmuError
from wmma_emu.ptx.memory.access_messages import outside_of_heap
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.variables import ModuleMemory
from wmma_emu.ptx.program.program import Symbol


def test_arrays_begin_at_multiples_of_256_with_gaps_between_them():
    heap = GlobalMemory(EMPTY_MODULE)
    x, y = np.zeros(3, np.uint8), np.zeros(1000, np.float64)
    a, b = heap.map(x, "x"), heap.map(y, "y")
    assert a % 256 == b % 256 == 0
    assert b - (a + x.nbytes) >= 256
    assert a >= 0x1_7F00_0000_0000


def test_arrays_that_overlap_keep_their_relative_positions():
    whole = np.arange(100, dtype=np.int32)
    views = {"tail": whole[60:], "head": whole[:10], "whole": whole, "middle": whole[5:70]}
    heap = GlobalMemory(EMPTY_MODULE)
    heap.expect(views.values())
    address = {name: heap.map(x, name) for name, x in views.items()}
    assert [address[x] - address["whole"] for x in views] == [240, 0, 0, 20]
    assert address["whole"] % 256 == 0


def test_chains_of_overlapping_arrays_are_mapped_together():
    whole = np.arange(30, dtype=np.int32)
    views = {"last": whole[18:], "first": whole[:10], "middle": whole[9:19]}
    wave = SingleWave(arrays=views)
    assert wave.address["last"] - wave.address["first"] == 72
    assert wave.load("global", one(wave.address["first"] + 4 * 29))[0].item() == 29
    assert not wave.found


@pytest.mark.parametrize("owner", [np.zeros(1024, np.uint8), bytearray(1024)], ids=["array", "bytearray"])
def test_slices_that_do_not_overlap_have_gaps_and_keep_the_alignment_in_their_buffer(owner):
    heap = GlobalMemory(EMPTY_MODULE)
    views = [np.frombuffer(owner, np.uint8, 100, 100 * k) for k in range(10)]
    views = [owner[100 * k : 100 * k + 100] for k in range(10)] if isinstance(owner, np.ndarray) else views
    heap.expect(views)
    addresses = [heap.map(x, f"x{k}") for k, x in enumerate(views)]
    assert [x % 256 for x in addresses] == [100 * k % 256 for k in range(10)]
    assert min(np.diff(addresses)) >= 256 + 100


def test_an_overrun_of_a_slice_does_not_reach_the_next():
    a, b = np.arange(8, dtype=np.uint32).reshape(2, 4)
    wave = SingleWave(arrays={"a": a, "b": b})
    wave.store("global", one(wave.address["a"] + 16), np.full((1, 1, 1, 1), 9, np.uint32), line=3)
    wave.heap.copy_back()
    assert b.tolist() == [4, 5, 6, 7]
    (finding,) = wave.found
    assert (finding.kind, finding.line) == ("out of bounds", 3)
    assert "just past the end of a (16 bytes" in finding.message
    values, _ = wave.load("global", one(wave.address["a"] + 8), count=4, line=5)
    assert not values.any()
    assert wave.kinds() == ["out of bounds"] * 2


def test_a_vector_may_end_where_the_last_of_several_overlapping_arrays_ends():
    whole = np.arange(4, dtype=np.uint32)
    low, high = whole[:3], whole[2:]
    low.flags.writeable = False
    wave = SingleWave(arrays={"low": low, "high": high})
    values, _ = wave.load("global", one(wave.address["low"]), count=4)
    assert values.reshape(-1).tolist() == [0, 1, 2, 3] and not wave.found


def test_overlapping_arrays_are_one_range_however_they_are_divided():
    whole = np.arange(16, dtype=np.uint32)
    wave = SingleWave(arrays={"low": whole[:6], "high": whole[4:]})
    values, _ = wave.load("global", one(wave.address["low"] + 16), count=4)
    assert values.ravel().tolist() == [4, 5, 6, 7]
    assert not wave.found


@pytest.mark.parametrize(
    ("offset", "size", "said"),
    [
        (0, 16, "its last 8 bytes lie past the end of x"),
        (8, 8, "just past the end of x"),
        (16, 8, "8 bytes past the end of x"),
        (-8, 8, "8 bytes before the beginning of x"),
        (-8, 16, "its first 8 bytes lie before the beginning of x"),
    ],
)
def test_an_access_that_misses_an_array_says_by_how_many_bytes(offset, size, said):
    wave = SingleWave(arrays={"x": np.zeros(2, np.uint32)})
    address = wave.address["x"] + offset
    assert said in "".join(map(str, outside_of_heap(wave.heap, address, size, False)))


def test_an_overlap_that_was_not_announced_is_refused():
    whole = np.arange(16, dtype=np.uint32)
    heap = GlobalMemory(EMPTY_MODULE)
    heap.map(whole[:6], "low")
    with pytest.raises(FragmentMismatchError, match=r"high overlaps .*expect"):
        heap.map(whole[4:], "high")


@pytest.mark.parametrize("order", ["C", "F"])
def test_bytes_are_copied_back_in_memory_order(order):
    x = np.zeros((2, 3), np.uint16, order=order)
    wave = SingleWave(arrays={"x": x})
    wave.store("global", wave.lanes(2, wave.address["x"]), np.arange(32, dtype=np.uint16).reshape(1, 1, 1, 32),
                wave.lanes(1) < 6)  # fmt: skip
    assert not x.any()
    wave.heap.copy_back()
    assert x.ravel(order="K").tolist() == [0, 1, 2, 3, 4, 5]


def test_only_written_ranges_are_copied_back():
    x, y = np.zeros(4, np.uint32), np.zeros(4, np.uint32)
    wave = SingleWave(arrays={"x": x, "y": y})
    wave.store("global", one(wave.address["x"]), np.full((1, 1, 1, 1), 7, np.uint32))
    y[:] = 9  # a change by the user
    wave.heap.copy_back()
    assert x.tolist() == [7, 0, 0, 0]
    assert y.tolist() == [9] * 4


def test_a_write_to_a_read_only_array_is_found_and_skipped():
    x = np.zeros(4, np.uint32)
    x.flags.writeable = False
    wave = SingleWave(arrays={"x": x})
    wave.store("global", one(wave.address["x"] + 4), np.ones((1, 1, 1, 1), np.uint32), line=3)
    wave.heap.copy_back()
    assert x.tolist() == [0, 0, 0, 0]
    (finding,) = wave.found
    assert (finding.kind, finding.line, finding.count) == ("read-only", 3, 32)
    assert finding.message == (
        f"writes 4 bytes at {wave.address['x'] + 4:#x} of global memory (x + 4), which is in x, which is read-only"
    )


def test_bytes_of_a_writeable_view_may_be_written():
    x = np.zeros(8, np.uint32)
    frozen = x[:]
    frozen.flags.writeable = False
    wave = SingleWave(arrays={"frozen": frozen, "part": x[2:4]})
    wave.store("global", one(wave.address["frozen"] + 8), np.full((1, 1, 1, 1), 5, np.uint32))
    wave.store("global", one(wave.address["frozen"]), np.full((1, 1, 1, 1), 6, np.uint32))
    wave.heap.copy_back()
    assert x.tolist() == [0, 0, 5, 0, 0, 0, 0, 0]
    assert wave.kinds() == ["read-only"]


def test_an_array_without_elements_has_an_address_and_no_bytes():
    wave = SingleWave(arrays={"empty": np.zeros((0, 4), np.float32)})
    wave.load("global", one(wave.address["empty"]))
    assert "just past the end of empty (0 bytes" in wave.found[0].message


@pytest.mark.parametrize(
    ("array", "fix"),
    [
        pytest.param(np.eye(4)[:, ::2], "np.ascontiguousarray(x)", id="gaps"),
        pytest.param(np.arange(3)[::-1], "np.ascontiguousarray(x)", id="backwards"),
        pytest.param(np.array([None, 1]), "Python objects", id="objects"),
        pytest.param(np.zeros(2, ">f4"), "newbyteorder", id="byte order"),
        pytest.param([1, 2], "np.asarray", id="list"),
        pytest.param(np.ma.zeros(3), "x.data", id="masked"),
    ],
)
def test_arrays_that_are_not_contiguous_plain_bytes_are_refused_with_the_fix(array, fix):
    with pytest.raises(FragmentMismatchError) as error:
        GlobalMemory(EMPTY_MODULE).map(array, "x")
    assert fix in str(error.value)


def test_arrays_beyond_the_limit_are_refused():
    heap = GlobalMemory(EMPTY_MODULE, limit=1 << 20)
    heap.map(np.zeros(1 << 19, np.uint8), "x")
    with pytest.raises(LaunchLimitError, match="y"):
        heap.map(np.zeros(1 << 19, np.uint8), "y")


def test_a_terabyte_of_shared_memory_is_refused_before_it_is_allocated():
    with pytest.raises(LaunchLimitError, match="limit of this launch"):
        SingleWave(shared_bytes=1 << 40)


def test_no_array_is_mapped_after_the_launch_began():
    wave = SingleWave()
    with pytest.raises(WmmaEmuError, match="map all arrays first"):
        wave.heap.map(np.zeros(1), "late")


COUNTER, TABLE, POINTER = Symbol("global", 0, "counter", 4), Symbol("const", 0, "table", 8), Symbol("global", 8, "p", 8)


def test_variables_keep_their_values_from_launch_to_launch():
    module = module_of((7).to_bytes(4, "little"), [COUNTER])
    variables = ModuleMemory(module)
    for expected in (7, 8):
        heap = GlobalMemory(module, variables)
        wave = SingleWave(module=module)
        wave.heap = heap
        address = heap.address_of(COUNTER)
        at = address - 0x1_7F00_0000_0000
        assert heap.buffer[at] == expected
        heap.buffer[at] += 1
        heap.copy_back()
    assert variables.read("counter").view(np.uint32).tolist() == [9]


def test_an_initialiser_contains_the_address_of_a_variable():
    module = module_of(
        bytes(16), [COUNTER, POINTER], (3).to_bytes(8, "little"), [TABLE], global_relocations=[(8, TABLE, 4, True)]
    )
    wave = SingleWave(module=module)
    values, _ = wave.load("global", one(wave.memory.address_of(POINTER)), size=8)
    assert values.item() == wave.heap.address_of(TABLE) + 4


@pytest.mark.parametrize(("is_generic", "space"), [(True, ""), (True, "const"), (False, "const")])
def test_the_address_of_a_constant_in_an_initialiser_is_in_constant_space_or_generic(is_generic, space):
    module = module_of(
        bytes(16), [COUNTER, POINTER], (3 << 32).to_bytes(8, "little"), [TABLE],
        global_relocations=[(8, TABLE, 4, is_generic)],
    )  # fmt: skip
    wave = SingleWave(module=module)
    values, _ = wave.load("global", one(wave.memory.address_of(POINTER)), size=8)
    assert (values.item() < 1 << 32) == (not is_generic)
    assert wave.load(space, values[0])[0].item() == 3
    assert not wave.found


def test_a_constant_is_read_and_not_written():
    module = module_of(const_bytes=(3).to_bytes(8, "little"), const_symbols=[TABLE])
    wave = SingleWave(module=module)
    assert wave.memory.address_of(TABLE) < 1 << 32
    assert wave.load("const", one(wave.memory.address_of(TABLE)), size=8)[0].item() == 3
    wave.store("", one(wave.heap.address_of(TABLE)), np.zeros((1, 1, 1, 1), np.uint32))
    assert wave.kinds() == ["read-only"]
    assert "(table + 0), which is in table, which is read-only" in wave.found[0].message


def test_an_overrun_of_a_variable_does_not_reach_the_next():
    module = module_of(bytes(16), [COUNTER, POINTER])
    wave = SingleWave(module=module)
    wave.load("global", one(wave.memory.address_of(COUNTER) + 4))
    assert "just past the end of counter (4 bytes" in wave.found[0].message


def test_an_access_one_row_too_far_is_found_and_does_not_affect_other_rows():
    d, x = np.zeros((2, 32), np.uint32)
    report = launch("add.s64 %rd3, %rd1, %rd0; st.global.u32 [%rd3+64], %r0; ret;", d, x)
    assert [(f.kind, f.count) for f in report.findings] == [("out of bounds", 16)]
    assert d.tolist() == [0] * 16 + list(range(16))
    assert not x.any()


def test_arguments_may_overlap_partly():
    whole = np.arange(48, dtype=np.uint32)
    report = launch("add.s64 %rd3, %rd2, %rd0; st.global.u32 [%rd3], %r0; ret;", whole[:32], whole[16:])
    assert not report.findings
    assert whole.tolist() == [*range(16), *range(32)]

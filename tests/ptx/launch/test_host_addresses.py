# SPDX-License-Identifier: MIT
"""Arrays at their addresses on the host: pointers in data, the arrays that they reach, and the findings."""

import threading
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import entry
from wmma_emu.errors import (
    AlignmentError,
    ArgumentError,
    ArgumentValueError,
    FragmentMismatchError,
    KernelFindingsError,
    LaunchLimitError,
    OptionError,
)
from wmma_emu.ptx import Module, empty, raw
from wmma_emu.ptx.launch.emulated_gpu import EmulatedGpu

TEXTS = Path(__file__).parent / "pointers"
POINTERS = Module((TEXTS / "pointers.ptx").read_text(), arch="sm_80", addresses="host", findings="report")
NODE = np.dtype([("value", "<i4"), ("next", "<u8")], align=True)

KEEP = entry(
    ".param .u64 x, .param .u64 out",
    ".reg .b64 %a<2>; ld.param.u64 %a0, [x]; ld.param.u64 %a1, [out]; st.global.u64 [%a1], %a0; ret;",
)
"""*out = the address of x."""


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def table(*rows) -> np.ndarray:
    """Return the addresses of arrays, and numbers as they are."""
    return np.array([x if isinstance(x, int) else address(x) for x in rows], np.uint64)


def numbers(count: int, first: int = 0) -> np.ndarray:
    return np.arange(first, first + count, dtype=np.int32)


def add_one(arrays, reachable=None, threads: int = 32, **options):
    """Let a block of threads add 1 to the numbers at each address."""
    rows = table(*arrays)
    kept = [x for x in arrays if isinstance(x, np.ndarray)] if reachable is None else reachable
    return POINTERS["add_one"][len(rows), threads](rows, reachable=kept, **options)


# Addresses and results


@pytest.mark.parametrize("view", [
    lambda x: x, lambda x: x[3:], lambda x: x[:0], lambda x: raw(x[::-1]), lambda x: raw(x[:, 1:]), lambda x: raw(x.T),
], ids=["whole", "a slice", "none", "backwards", "columns", "transposed"])  # fmt: skip
def test_a_pointer_is_the_address_of_its_array_on_the_host(view):
    given, out = view(np.zeros((8, 6), np.float32)), np.zeros(1, np.uint64)
    Module(KEEP)["k"][1, 1](given, out, addresses="host")
    assert int(out[0]) == address(given.array if isinstance(given, we.ptx.Raw) else given)


def test_arrays_of_a_table_are_updated_in_place():
    arrays = [numbers(32, 100 * i) for i in range(5)]
    assert not add_one(arrays).findings
    assert [x.tolist() for x in arrays] == [list(range(100 * i + 1, 100 * i + 33)) for i in range(5)]


@pytest.mark.thorough
def test_a_grouped_gemm_has_the_bits_of_its_products_and_no_findings():
    rng = np.random.default_rng(5)
    sizes = np.array([[16, 16, 16], [20, 9, 40], [1, 33, 17], [0, 8, 8], [32, 16, 0]], np.int32)
    a, b = ([rng.standard_normal((x[i], x[j])).astype(np.float16) for x in sizes] for i, j in ((0, 2), (2, 1)))
    d = [empty((m, n), np.float32) for m, n, _ in sizes]
    tables = np.array([[address(x) for x in group] for group in zip(a, b, d, strict=True)], np.uint64)
    text = (TEXTS / "grouped_gemm.ptx").read_text()
    report = Module(text, arch="sm_80")["grouped_gemm"][3, 32, 1024](
        tables, sizes, len(sizes), None, None, addresses="host", reachable=[*a, *b, *d], schedules=3, findings="raise"
    )
    assert not report.findings
    for x, y, found in zip(a, b, d, strict=True):
        if found.size and x.size:
            more = -x.shape[1] % 16
            wide, high = np.pad(x, ((0, 0), (0, more))), np.pad(y, ((0, more), (0, 0)))
            expected = we.gemm(wide, high, instr="m16n8k16.f32.f16.f16.f32", arch="sm_80")
            assert np.array_equal(np.asarray(found).view(np.uint32), expected.view(np.uint32))
    assert not np.asarray(d[4]).any()


def test_pages_of_keys_are_found_through_a_table_of_blocks():
    rng = np.random.default_rng(7)
    pages = [rng.integers(-9, 10, (4, 32)).astype(np.float32) for _ in range(9)]
    blocks = rng.permutation(9)[:8].reshape(2, 4).astype(np.int32)
    queries = rng.integers(-9, 10, (2, 32)).astype(np.float32)
    scores = empty((2, 16), np.float32)
    report = POINTERS["paged_scores"][(4, 2), 128](table(*pages), blocks, queries, scores, 4, reachable=pages)
    keys = np.array(pages)[blocks].reshape(2, 16, 32)
    assert not report.findings and np.array_equal(scores, np.einsum("sd,std->st", queries, keys))


def chain(*lengths: int) -> list[np.ndarray]:
    """Return nodes in several arrays, numbered 1, 2, ..., each with the address of the next; the last has none."""
    arrays = [np.zeros(n, NODE) for n in lengths]
    places = [address(x) + NODE.itemsize * i for x in arrays for i in range(len(x))]
    links = iter([*places[1:], 0])
    value = iter(range(1, len(places) + 1))
    for x in arrays:
        for i in range(len(x)):
            x[i] = next(value), next(links)
    return arrays


def test_a_list_is_followed_from_array_to_array():
    first, *others = chain(3, 1, 4)
    total = np.zeros(1, np.int32)
    assert not POINTERS["sum_list"][1, 1](first, total, reachable=others).findings
    assert total[0] == 36


def test_a_kernel_stores_addresses_that_the_host_can_use():
    head, nodes = np.zeros(1, np.uint64), chain(1, 1, 1)
    for node in nodes:
        POINTERS["push"][1, 1](head, node)
    assert head[0] == address(nodes[2])
    assert [int(x["next"][0]) for x in nodes] == [0, address(nodes[0]), address(nodes[1])]


def test_an_address_in_a_variable_of_the_module_is_valid_in_the_next_launch():
    text = entry(
        ".param .u64 out",
        ".reg .b64 %a<2>; .reg .b32 %r; ld.param.u64 %a0, [out]; ld.global.u64 %a1, [place]; ld.global.u32 %r, [%a1];"
        "st.global.u32 [%a0], %r; ret;",
        before=".visible .global .align 8 .u64 place;",
    )
    module, x, out = Module(text, addresses="host", findings="raise"), numbers(4, 70), np.zeros(1, np.int32)
    module.variable("place", np.uint64)[0] = address(x) + 8
    for _ in range(2):
        module["k"][1, 1](out, reachable=[x])
        assert out[0] == 72
    with pytest.raises(KernelFindingsError, match="out of bounds"):
        module["k"][1, 1](out)


@pytest.mark.parametrize("seed", range(4))
def test_views_of_a_few_buffers_in_any_order_are_the_bytes_of_their_buffers(seed):
    rng = np.random.default_rng(seed)
    buffers = [numbers(int(n)) for n in rng.integers(40, 300, 5)]
    expected = [x.copy() for x in buffers]
    views, rows = [], []
    for _ in range(20):
        i = int(rng.integers(5))
        begin = int(rng.integers(len(buffers[i]) - 32))
        views.append(buffers[i][begin : begin + 32 + int(rng.integers(len(buffers[i]) - begin - 31))])
        rows.append(address(views[-1]))
        expected[i][begin : begin + 32] += 1
    text = entry(
        ".param .u64 arrays",
        """.reg .b64 %a<4>; .reg .b32 %r<3>; ld.param.u64 %a0, [arrays]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x;
        mul.wide.u32 %a1, %r0, 8; add.s64 %a0, %a0, %a1; ld.global.u64 %a2, [%a0]; mul.wide.u32 %a3, %r1, 4;
        add.s64 %a2, %a2, %a3; red.global.add.u32 [%a2], 1; ret;""",
    )
    order = rng.permutation(20)
    report = Module(text)["k"][20, 32](table(*rows), addresses="host", reachable=[views[i] for i in order])
    assert not report.findings
    assert all(np.array_equal(x, y) for x, y in zip(buffers, expected, strict=True))


def test_arrays_that_touch_are_accessed_together_as_on_a_gpu():
    whole = np.zeros(16, np.float32)
    begin = -address(whole) % 16 // 4
    left, right = whole[begin : begin + 2], whole[begin + 2 : begin + 4]
    right[:] = 5, 6
    target = empty(4, np.float32)
    report = POINTERS["copy_vectors"][1, 1](table(left), table(target), reachable=[left, right, target])
    assert not report.findings and np.asarray(target).tolist() == [0, 0, 5, 6]


def test_launches_of_several_threads_that_reach_an_array_follow_each_other():
    x = numbers(32)
    threads = [threading.Thread(target=add_one, args=([x],)) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert x.tolist() == list(range(6, 38))


def test_the_emulated_gpu_of_tests_takes_the_option_too():
    gpu, x = EmulatedGpu(arch="sm_80", addresses="host"), numbers(32)
    gpu.ptx((TEXTS / "pointers.ptx").read_text())["add_one"][1, 32](table(x), reachable=[x])
    assert x[0] == 1


# Findings


def test_an_array_that_was_not_passed_is_out_of_bounds_with_the_remedy():
    x, y = numbers(32), numbers(32)
    report = add_one([x, y], reachable=[x])
    assert [f.kind for f in report.findings] == ["out of bounds"] * 2
    assert all("pass that to the launch: reachable=[...]" in f.message for f in report.findings)
    assert x[0] == 1 and y[0] == 0


def test_a_freed_array_is_out_of_bounds():
    x = np.zeros(1 << 20, np.int32)
    rows = table(x)
    del x
    (read, write) = POINTERS["add_one"][1, 32](rows).findings
    assert read.kind == write.kind == "out of bounds" and f"{int(rows[0]):#x}" in read.message


@pytest.mark.parametrize(("shift", "count", "said"), [
    (4, 1, "x[32] (4 bytes): just past the end of x, which has 32 elements"),
    (-4, 1, "x[-1] (4 bytes): 4 bytes before the beginning of x"),
    (128, 32, "x[32] (4 bytes): just past the end of x"),
    (160, 32, "x[40] (4 bytes): 32 bytes past the end of x, which has 32 elements. If it belongs to another array"),
])  # fmt: skip
def test_an_address_past_an_array_names_the_array_and_the_element(shift, count, said):
    x = np.zeros(96, np.int32)[32:64]  # nothing else is within 128 bytes
    report = add_one([address(x) + shift], reachable={"x": x})
    assert [f.kind for f in report.findings] == ["out of bounds"] * 2
    assert report.findings[0].count == count and f"reads {said}" in report.findings[0].message


@pytest.mark.parametrize("where", [0, 8, 1 << 16, 1 << 47, 1 << 48, 1 << 62, 1 << 63, 2**64 - 128, 2**64 - 64])
def test_addresses_far_from_everything_are_out_of_bounds(where):
    x = numbers(32)
    report = add_one([x, where])
    assert {f.kind for f in report.findings} == {"out of bounds"} and x[31] == 32


@pytest.mark.parametrize("where", [0x1_7E00_0000_0000, 0x1_7D00_0000_0000, 0x1_7C00_0000_0000, 0x1_7F00_0001_0000])
def test_the_addresses_of_other_spaces_and_of_the_emulator_are_out_of_bounds(where):
    text = (TEXTS / "pointers.ptx").read_text()
    x = numbers(32)
    with pytest.raises(KernelFindingsError, match="out of bounds"):
        Module(text, arch="sm_80", findings="raise")["add_one"][2, 32](table(x, where), addresses="host", reachable=[x])
    assert x.tolist() == list(range(32))


def test_a_read_only_array_is_not_written():
    x = numbers(32)
    x.flags.writeable = False
    (finding,) = add_one([x]).findings
    assert finding.kind == "read-only" and "reachable[0]" in finding.message and x[0] == 0


def test_bytes_that_also_a_writeable_array_covers_are_written():
    x = numbers(32)
    y = x[:]
    y.flags.writeable = False
    assert not add_one([y], reachable=[y, x]).findings and x[0] == 1


def test_blocks_that_meet_in_an_array_of_a_table_race():
    x = numbers(40)
    (finding,) = add_one([x, x[8:]], reachable={"x": x}).findings
    assert finding.kind == "race" and "x[8]" in finding.message


def test_races_are_found_among_many_arrays_and_only_there():
    arrays = [numbers(32, i) for i in range(70)]
    assert not add_one(arrays).findings
    (finding,) = add_one([*arrays, arrays[40]], reachable=arrays).findings
    assert finding.kind == "race" and "reachable[40][0]" in finding.message
    assert [int(x[0]) - i for i, x in enumerate(arrays)] == [2] * 70  # both blocks add to the same old value


def test_elements_that_were_never_written_are_found_through_a_table():
    x = empty(32, np.int32)
    x[:20] = 1
    (finding,) = add_one([x], reachable={"x": x}).findings
    assert (finding.kind, finding.count) == ("uninitialised", 12)
    assert "depends on x[20] (4 bytes), which was never written" in finding.message


def test_a_result_that_a_kernel_wrote_through_a_table_counts_as_written():
    x, y = numbers(4).astype(np.float32), empty(4, np.float32)
    POINTERS["copy_vectors"][1, 1](table(x), table(y), reachable=[x, y])
    assert not POINTERS["copy_vectors"][1, 1](table(y), table(x), reachable=[x, y]).findings


def test_a_copy_in_flight_may_still_read_bytes_that_are_overwritten():
    text = entry(
        ".param .u64 places",
        """.reg .b64 %a<3>; .reg .b32 %r; .shared .align 16 .b8 tile[16]; ld.param.u64 %a0, [places];
        ld.global.u64 %a1, [%a0]; mov.u32 %r, tile; cp.async.ca.shared.global [%r], [%a1], 16; mov.b64 %a2, 7;
        st.global.u64 [%a1+8], %a2; cp.async.wait_all; ret;""",
    )
    x = empty(4, np.float32)
    x[:] = 1
    report = Module(text)["k"][1, 1](table(x), addresses="host", reachable={"x": x}, findings="report")
    assert [f.kind for f in report.findings] == ["missing wait"] and "x[2..3]" in report.findings[0].message


def test_a_refused_launch_changes_no_array_that_it_reaches():
    x, y = numbers(32), numbers(32)
    with pytest.raises(KernelFindingsError):
        add_one([x, y, address(y) + 10**6], reachable=[x, y], findings="raise")
    assert x.tolist() == y.tolist() == list(range(32))


def test_a_launch_that_is_explained_reaches_copies_at_the_same_addresses():
    x, y = numbers(40), numbers(32)
    (finding,) = add_one([y, x, x[8:]], reachable={"y": y, "x": x}).findings
    x[:], y[:] = -1, -1
    story = finding.explain()
    assert story.is_replayed and "x[8]" in str(story)
    assert (x == -1).all() and (y == -1).all()


def test_without_the_option_the_finding_says_how_addresses_of_the_host_become_legal():
    x = numbers(32)
    kernel = POINTERS["add_one"]
    read, _ = kernel[1, 32](table(x), addresses="emulator").findings
    assert read.kind == "out of bounds"
    assert "not an address of this launch. If it is the address of an array on the host, launch with" in read.message
    assert 'addresses="host"' in read.message and "reachable=[...]" in read.message
    own = np.zeros(33, np.uint64)
    own[0] = address(own)
    read, _ = kernel[1, 32](own, addresses="emulator").findings
    assert 'the address on the host of argument 0; to use such addresses, launch with addresses="host"' in read.message
    assert x[0] == 0 and own[1] == 0


# Alignment


def test_arrays_of_empty_are_aligned_as_by_cuda_malloc():
    assert [address(empty(n, np.uint8)) % 256 for n in (1, 100, 5000, 1 << 20)] == [0] * 4


def test_a_misaligned_array_of_the_host_is_explained():
    x, y = empty(9, np.float32), empty(4, np.float32)
    x[:] = 0
    (finding, *_) = POINTERS["copy_vectors"][1, 1](table(x[1:]), table(y), reachable=[x[1:], y]).findings
    assert finding.kind == "misaligned"
    assert "on the host the array itself is 4 bytes past one, and cudaMalloc would give" in finding.message
    assert "wmma_emu.ptx.empty" in finding.message


def test_an_array_that_is_less_aligned_than_promised_is_refused():
    text, x = entry(".param .u64 .ptr .global .align 128 p"), empty(64, np.float32)
    Module(text)["k"][1, 1](x, addresses="host")
    with pytest.raises(AlignmentError, match=r"starts 64 bytes after .* into an array of wmma_emu\.ptx\.empty"):
        Module(text)["k"][1, 1](x[16:], addresses="host")


# Options


@pytest.mark.parametrize(("options", "error", "said"), [
    ({"addresses": "device"}, OptionError, "addresses='device' is not one of 'emulator' and 'host'"),
    ({"addresses": "emulator", "reachable": [numbers(1)]}, OptionError, 'pass addresses="host" too'),
    ({"reachable": numbers(3)}, OptionError, r"not a list of arrays, nor a dict .* reachable=\[x\]"),
    ({"reachable": {0: numbers(3)}}, OptionError, "the name of an array is a str"),
    ({"reachable": [[1, 2]]}, ArgumentError, r"reachable\[0\] is \[1, 2\] of type list, but only NumPy arrays"),
    ({"reachable": {"w": np.array([None])}}, ArgumentError, r"reachable\['w'\] is an array of Python objects"),
    ({"reachable": {"w": np.zeros((4, 4))[:, 1:]}}, ArgumentValueError, r"'w'\] is a view that is not .*\.raw"),
    ({"reachable": {"w": np.array(["a"])}}, ArgumentError, r"reachable\['w'\] is an array of text"),
])  # fmt: skip
def test_wrong_options_are_refused_and_change_nothing(options, error, said):
    x = numbers(32)
    with pytest.raises(error, match=said):
        POINTERS["add_one"][1, 32](table(x), **options)
    assert x[0] == 0


def test_raw_bytes_and_arrays_without_elements_can_be_reachable():
    x = np.zeros((4, 32), np.int32)
    none = np.zeros(0, np.int32)
    assert not add_one([x], reachable=[raw(x.T), none, x[1], x[1]]).findings
    assert x[0].all() and not x[1:].any()


def test_the_memory_of_reachable_arrays_counts_towards_the_limit():
    x = numbers(1 << 12)
    with pytest.raises(LaunchLimitError, match="the launch, with its arrays,"):
        add_one([x], max_bytes=1 << 13)


def test_a_shape_or_type_that_does_not_fit_is_refused_before_the_launch():
    x = numbers(32)
    with pytest.raises(FragmentMismatchError, match="not contiguous"):
        POINTERS["add_one"][1, 32](np.zeros((4, 2), np.uint64)[:, 0], reachable=[x])
    assert x[0] == 0

# SPDX-License-Identifier: MIT
"""suld, sust and sured in kernels: the array that they read and leave, and accesses outside of it."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_kernels import launch, numbers, put
from wmma_emu.errors import UnsupportedInstructionError


def grid(dtype=np.uint32):
    return np.arange(1, 13, dtype=dtype).reshape(3, 4)


def run(body, surface, *arrays, block=1, **options):
    return launch(body + "ret;", surface, *arrays, block=block, **options)


def loaded(line, surface, x, y=0, threads=1):
    """Run a load into %r2 at constant coordinates; return what it gives."""
    out = numbers(threads)
    body = f"mov.u32 %r6, {x};\nmov.u32 %r7, {y};\n{line}\nadd.s64 %rd31, %rd2, %rd0;\nst.global.u32 [%rd31], %r2;\n"
    report = run(body, surface, out, block=threads)
    return report, int(out[0])


def test_a_load_counts_bytes_along_x_and_elements_along_y():
    report, word = loaded("suld.b.2d.b32.trap %r2, [%rd1, {%r6, %r7}];", we.ptx.surface(grid()), 8, 1)
    assert word == 7 and not report.findings and not report.not_bit_exact


def test_a_load_of_a_byte_is_extended_with_zeros():
    array = np.array([0x80, 0xFF], np.uint8)
    assert loaded("suld.b.1d.b8.trap %r2, [%rd1, {%r6}];", we.ptx.surface(array), 1)[1] == 0xFF


def test_a_vector_takes_consecutive_elements():
    surface = we.ptx.surface(grid())
    line = "suld.b.2d.v4.b32.trap {%r3, %r4, %r5, %r2}, [%rd1, {%r6, %r7}];"
    assert loaded(line, surface, 0, 2)[1] == 12
    assert loaded("suld.b.2d.v2.b16.trap {%rs1, %rs2}, [%rd1, {%r6, %r7}];\ncvt.u32.u16 %r2, %rs1;".replace(
        "suld", ".reg .b16 %rs<3>;\nsuld"), surface, 4, 1)[1] == 6  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "x", "y", "expected"),
    [("clamp", 16, 1, 8), ("clamp", -4, 5, 9), ("clamp", 400, -3, 4), ("zero", 16, 1, 0), ("zero", 0, 3, 0),
     ("zero", 12, 2, 12)],
)  # fmt: skip
def test_loads_outside_of_a_surface_are_clamped_or_zero(mode, x, y, expected):
    line = f"mov.u32 %r2, 99;\nsuld.b.2d.b32.{mode} %r2, [%rd1, {{%r6, %r7}}];"
    report, word = loaded(line, we.ptx.surface(grid()), x, y)
    assert word == expected and not report.findings


@pytest.mark.parametrize(("x", "y"), [(16, 0), (-4, 0), (0, 3), (0, -1)])
def test_a_trapping_access_outside_of_a_surface_is_out_of_bounds(x, y):
    array = grid()
    report, word = loaded("suld.b.2d.b32.trap %r2, [%rd1, {%r6, %r7}];", we.ptx.surface(array), x, y)
    assert [x.kind for x in report.findings] == ["out of bounds"] and word == 0
    body = f"mov.u32 %r6, {x};\nmov.u32 %r7, {y};\nsust.b.2d.b32.trap [%rd1, {{%r6, %r7}}], 77;\n"
    (finding,) = run(body, we.ptx.surface(array)).findings
    assert "are not in surface(4 x 3 texels of 1 uint32), whose rows have 16 bytes" in finding.message
    assert np.array_equal(array, grid())


def test_a_coordinate_that_is_not_a_multiple_of_the_access_is_misaligned():
    report, _ = loaded("suld.b.2d.b32.zero %r2, [%rd1, {%r6, %r7}];", we.ptx.surface(grid()), 2, 1)
    assert [x.kind for x in report.findings] == ["misaligned"]


def test_stores_reach_the_array_when_the_launch_ends():
    array = grid()
    body = "shl.b32 %r6, %r0, 2;\nsust.b.2d.b32.trap [%rd1, {%r6, 1}], %r0;\n"
    assert not run(body, we.ptx.surface(array), block=4).findings
    assert array.tolist() == [[1, 2, 3, 4], [0, 1, 2, 3], [9, 10, 11, 12]]


def test_stores_outside_are_dropped_or_go_to_the_nearest_element():
    array = grid()
    run("sust.b.2d.b32.zero [%rd1, {16, 1}], 77;\nsust.b.2d.b32.clamp [%rd1, {400, 7}], 88;\n", we.ptx.surface(array))
    assert array.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 88]]


def test_layers_and_planes_are_chosen_by_their_coordinate():
    array = np.zeros((2, 3, 4), np.uint16)
    body = ".reg .b16 %rs<3>;\nmov.u16 %rs1, 7;\n"
    run(body + "sust.b.a2d.b16.trap [%rd1, {1, 6, 2, 2}], %rs1;\n", we.ptx.surface(array, layers=True))
    assert array[1, 2, 3] == 7 and array.sum() == 7
    run(body + "sust.b.3d.b16.trap [%rd1, {2, 1, 0, 0}], %rs1;\n", we.ptx.surface(array))
    assert array[0, 1, 1] == 7 and array.sum() == 14


def test_a_formatted_store_counts_texels_and_ignores_the_channels_that_they_lack():
    array = np.zeros((2, 4, 2), np.float32)
    body = "mov.b32 %r2, 0x3F800000;\nmov.b32 %r3, 0x40000000;\n"
    line = "sust.p.2d.v4.b32.trap [%rd1, {3, 1}], {%r2, %r3, %r2, %r2};\n"
    assert not run(body + line, we.ptx.surface(array, channels=2)).findings
    assert array[1, 3].tolist() == [1, 2] and array.sum() == 3
    halves = np.zeros((2, 4), np.float16)
    with pytest.raises(UnsupportedInstructionError, match="how a GPU rounds to float16 is not known"):
        run(body + line, we.ptx.surface(halves))
    assert not halves.any()


def test_a_formatted_store_saturates_to_the_integers_of_the_texels():
    body = "mov.b32 %r2, 0x80;\nmov.b32 %r3, 0xFFFFFF00;\n"
    line = "sust.p.2d.v4.b32.trap [%rd1, {3, 1}], {%r2, %r3, %r2, %r2};\n"
    stored = {}
    for dtype in (np.int8, np.uint8, np.int16, np.uint16):
        array = np.zeros((2, 4, 2), dtype)
        assert not run(body + line, we.ptx.surface(array, channels=2)).findings
        stored[dtype.__name__] = array[1, 3].tolist()
        assert not array[0].any() and not array[1, :3].any()
    assert stored == {"int8": [127, -128], "uint8": [128, 255], "int16": [128, -256], "uint16": [128, 65535]}


def test_a_formatted_store_of_an_uninitialised_value_is_reported():
    array = np.zeros((2, 4), np.uint8)
    report = run("sust.p.2d.v4.b32.trap [%rd1, {3, 1}], {%r2, %r2, %r2, %r2};\n", we.ptx.surface(array))
    assert [x.kind for x in report.findings] == ["uninitialised"]


def test_atomic_operations_on_a_surface_add_all_threads():
    array = grid()
    assert not run("sured.b.add.2d.u32.trap [%rd1, {4, 2}], %r0;\n", we.ptx.surface(array), block=32).findings
    assert array[2, 1] == 10 + 31 * 32 // 2
    signed = np.array([5, -5], np.int32)
    run("sured.p.min.1d.b32.trap [%rd1, {1}], -9;\nsured.p.max.1d.b32.zero [%rd1, {2}], 9;\n", we.ptx.surface(signed))
    assert signed.tolist() == [5, -9]


def test_a_texture_of_the_same_array_reads_what_an_earlier_launch_stored():
    array, out = np.zeros(4, np.uint32), numbers()
    run("sust.b.1d.b32.trap [%rd1, {8}], 42;\n", we.ptx.surface(array))
    body = "tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%rd1, {2}];\n" + put("%r2", "%rd2")
    assert not run(body, we.ptx.texture(array), out).findings
    assert out[0] == 42


def test_stores_of_different_values_to_one_element_race():
    report = run("sust.b.1d.b32.trap [%rd1, {0}], %r0;\n", we.ptx.surface(numbers(4)), block=64)
    assert {x.kind for x in report.findings} == {"race"}


def test_a_read_only_array_is_not_written():
    array = grid()
    array.flags.writeable = False
    report = run("sust.b.2d.b32.trap [%rd1, {0, 0}], 5;\n", we.ptx.surface(array))
    assert [x.kind for x in report.findings] == ["read-only"]


def test_a_texture_is_not_a_surface():
    report, _ = loaded("suld.b.2d.b32.trap %r2, [%rd1, {%r6, %r7}];", we.ptx.texture(grid()), 0)
    (finding,) = report.findings
    assert finding.kind == "illegal operand" and "but that of a texture: pass wmma_emu.ptx.surface" in finding.message


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("suld.b.2d.b32 %r2, [%rd1, {%r6, %r7}];", "needs .b or .p, a type"),
        ("suld.b.2d.v4.b64.trap {%rd3,%rd4,%rd5,%rd6}, [%rd1, {%r6, %r7}];", "accesses 32 bytes; at most 16"),
        ("suld.b.2d.v2.b32.trap %r2, [%rd1, {%r6, %r7}];", "has a vector of 1 registers; its modifiers require 2"),
        ("suld.b.3d.b32.trap %r2, [%rd1, {%r6, %r7, %r7}];", "has 3 coordinates; .3d needs 4"),
        ("suld.b.2d.s32.trap %r2, [%rd1, {%r6, %r7}];", "modifiers that do not exist"),
        ("sured.b.xor.2d.b32.trap [%rd1, {%r6, %r7}], %r2;", "needs .add, .min, .max, .and or .or"),
        ("sured.b.and.2d.u32.trap [%rd1, {%r6, %r7}], %r2;", "and does not support .u32"),
    ],
)
def test_an_access_that_does_not_exist_is_refused(line, why):
    with pytest.raises(UnsupportedInstructionError, match=why):
        run(line + "\n", we.ptx.surface(grid()))

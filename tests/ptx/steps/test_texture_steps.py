# SPDX-License-Identifier: MIT
"""tex, tld4 and the queries in kernels: registers, handles, threads, and what is refused."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_kernels import HEADER, launch
from wmma_emu.errors import ArgumentError, OptionError, UnsupportedInstructionError

NAMES = "{%r2, %r3, %r4, %r5}"
FLOATS = ".reg .f32 %f<8>;\n"


def fetched(body, texture, threads=32, words=4, **options):
    """Run a body that leaves its results in %r2 to %r5, and return them of each thread."""
    out = np.zeros((threads, 4), np.uint32)
    store = "mul.wide.u32 %rd0, %r0, 16;\nadd.s64 %rd31, %rd2, %rd0;\nst.global.v4.u32 [%rd31], {%r2, %r3, %r4, %r5};"
    report = launch(FLOATS + body + store + "ret;", texture, out, block=threads, **options)
    return report, out[:, :words]


def at(*coordinates):
    """Put constants, f32, into %f1, %f2, ..."""
    words = np.array(coordinates, np.float32).view(np.uint32)
    return "".join(f"mov.f32 %f{i + 1}, 0f{x:08X};\n" for i, x in enumerate(words))


RAMP = np.arange(8, dtype=np.float32) * 10


def test_each_thread_fetches_at_its_own_coordinate():
    body = f"cvt.rn.f32.u32 %f1, %r0;\ntex.1d.v4.f32.f32 {NAMES}, [%rd1, {{%f1}}];\n"
    report, out = fetched(body, we.ptx.texture(RAMP))
    assert not report.findings and not report.not_bit_exact
    assert out[:9, 0].view(np.float32).tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 70]
    assert out[0, 1:].tolist() == [0, 0, 0]  # the channels that the texture lacks


def test_integers_are_fetched_as_they_are():
    array = np.array([[-1, 2], [3, -128]], np.int8)
    body = at(1.5, 1.5) + f"tex.2d.v4.s32.f32 {NAMES}, [%rd1, {{%f1, %f2}}];\n"
    assert fetched(body, we.ptx.texture(array), 1)[1].tolist() == [[0xFFFFFF80, 0, 0, 0]]


def test_channels_go_to_registers_in_order_and_a_sink_takes_none():
    array = np.arange(8, dtype=np.uint8).reshape(2, 4)
    body = at(1.0) + "mov.b32 %r3, 99;\ntex.1d.v4.u32.f32 {%r2, _, %r4, %r5}, [%rd1, %f1];\n"
    assert fetched(body, we.ptx.texture(array, channels=4), 1)[1].tolist() == [[4, 99, 6, 7]]


def test_a_filtered_fetch_is_the_weighted_sum():
    body = at(1.75) + f"tex.1d.v4.f32.f32 {NAMES}, [%rd1, {{%f1}}];\n"
    report, out = fetched(body, we.ptx.texture(RAMP, filter="linear"), 1)
    assert out[0, 0].view(np.float32) == 12.5  # 3/4 of 10 and 1/4 of 20
    assert not report.not_bit_exact


def test_a_filtered_fetch_by_a_normalised_coordinate_is_the_same_sum():
    body = at(0.25) + f"tex.1d.v4.f32.f32 {NAMES}, [%rd1, {{%f1}}];\n"
    report, out = fetched(body, we.ptx.texture(RAMP, filter="linear", coordinates="normalised"), 1)
    assert out[0, 0].view(np.float32) == 15
    assert not report.not_bit_exact


def test_filtering_along_three_axes_is_reported_as_not_proved():
    body = at(0.75) + f"tex.3d.v4.f32.f32 {NAMES}, [%rd1, {{%f1, %f1, %f1, %f1}}];\n"
    report, _ = fetched(body, we.ptx.texture(np.ones((2, 2, 2), np.float32), filter="linear"), 1)
    (caveat,) = report.not_bit_exact
    assert caveat.opcode == "tex.3d.v4.f32.f32" and caveat.reason.startswith("filtering along three axes")


def test_a_kernel_is_explained_with_the_condition_of_its_caveat():
    text = HEADER + (
        ".visible .entry k(.param .u64 t) { .reg .b64 %d; .reg .f32 %f<5>; ld.param.u64 %d, [t]; mov.f32 %f1, 0f0;\n"
        "tex.3d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d, {%f1, %f1, %f1, %f1}]; ret; }"
    ).replace("0f0;", "0f00000000;")
    (caveat,) = we.ptx.Module(text)["k"].compiled.not_bit_exact
    assert caveat.reason.startswith("depends on the textures")


def test_layers_come_first():
    array = np.arange(24, dtype=np.float32).reshape(3, 2, 4)
    body = at(1.0, 1.0) + f"mov.u32 %r6, 2;\ntex.a2d.v4.f32.f32 {NAMES}, [%rd1, {{%r6, %f1, %f2, %f2}}];\n"
    assert fetched(body, we.ptx.texture(array, layers=True), 1)[1][0, 0].view(np.float32) == 2 * 8 + 4 + 1
    one = f"mov.u32 %r6, 1;\ntex.a1d.v4.f32.f32 {NAMES}, [%rd1, {{%r6, %f1}}];\n"
    assert fetched(at(3.0) + one, we.ptx.texture(array[0], layers=True), 1)[1][0, 0].view(np.float32) == 7


def test_three_axes_have_a_fourth_coordinate_without_effect():
    array = np.arange(24, dtype=np.uint16).reshape(2, 3, 4)
    body = at(3, 2, 1, 77) + f"tex.3d.v4.u32.f32 {NAMES}, [%rd1, {{%f1, %f2, %f3, %f4}}];\n"
    assert fetched(body, we.ptx.texture(array), 1)[1][0, 0] == 23


def test_integers_outside_of_linear_memory_give_zero():
    body = f"sub.s32 %r6, %r0, 1;\ntex.1d.v4.f32.s32 {NAMES}, [%rd1, {{%r6}}];\n"
    report, out = fetched(body, we.ptx.texture(RAMP + 1, linear=True), 10)
    assert not report.findings and not report.not_bit_exact
    assert out[:, 0].view(np.float32).tolist() == [0, 1, 11, 21, 31, 41, 51, 61, 71, 0]


def test_a_level_or_a_gradient_changes_nothing_without_mipmaps():
    for level, more in (("level", ", %f3"), ("grad", ", {%f3, %f3}, {%f3, %f3}")):
        body = at(2.0, 0.0, 5.0) + f"tex.{level}.2d.v4.f32.f32 {NAMES}, [%rd1, {{%f1, %f2}}]{more};\n"
        assert fetched(body, we.ptx.texture(RAMP[None]), 1)[1][0, 0].view(np.float32) == 20


def test_a_gather_returns_one_channel_of_four_texels():
    array = np.arange(16, dtype=np.float32).reshape(2, 4, 2)
    body = at(2.0, 1.0) + f"tld4.g.2d.v4.f32.f32 {NAMES}, [%rd1, {{%f1, %f2}}];\n"
    report, out = fetched(body, we.ptx.texture(array, channels=2), 1)
    assert out.view(np.float32).tolist() == [[11, 13, 5, 3]]  # (1, 1), (2, 1), (2, 0), (1, 0) of channel 1
    assert not report.not_bit_exact
    body = at(0.5, 0.5) + f"tld4.g.2d.v4.f32.f32 {NAMES}, [%rd1, {{%f1, %f2}}];\n"
    report, again = fetched(body, we.ptx.texture(array, channels=2, coordinates="normalised"), 1)
    assert again.tolist() == out.tolist() and not report.not_bit_exact


def test_the_predicate_of_residence_is_true():
    body = at(1.0) + f"tex.1d.v4.f32.f32 {NAMES}|%p1, [%rd1, {{%f1}}];\n@!%p1 mov.u32 %r2, 7;\n"
    assert fetched(body, we.ptx.texture(RAMP), 1)[1][0, 0].view(np.float32) == 10


def test_only_the_threads_of_the_guard_fetch():
    body = at(1.0) + f"mov.u32 %r2, 5;\nsetp.eq.u32 %p1, %r0, 3;\n@%p1 tex.1d.v4.f32.f32 {NAMES}, [%rd1, {{%f1}}];\n"
    out = fetched(body, we.ptx.texture(RAMP), 5)[1]
    assert out[:, 0].tolist() == [5, 5, 5, 0x41200000, 5]


def test_threads_may_have_different_textures():
    text = (
        FLOATS + "and.b32 %r6, %r0, 1;\nmul.wide.u32 %rd5, %r6, 8;\nadd.s64 %rd5, %rd1, %rd5;\n"
        "ld.global.u64 %rd6, [%rd5];\n" + at(2.0) + f"tex.1d.v4.f32.f32 {NAMES}, [%rd6, {{%f1}}];\n"
        "add.s64 %rd31, %rd2, %rd0;\nst.global.u32 [%rd31], %r2;\nret;"
    )
    one, other = we.ptx.texture(RAMP), we.ptx.texture(-RAMP)
    handles, out = np.array([one.handle, other.handle], np.uint64), np.zeros(32, np.float32)
    report = launch(text, handles, out, objects=[one, other])
    assert not report.findings and out[:4].tolist() == [20, -20, 20, -20]


def test_a_texture_reference_holds_the_handle_that_the_host_writes():
    text = HEADER + (
        ".global .texref t;\n.visible .entry k(.param .u64 out) { .reg .b64 %d; .reg .f32 %f<5>;\n"
        "ld.param.u64 %d, [out]; mov.f32 %f1, 0f40400000;\ntex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f1}];\n"
        "st.global.f32 [%d], %f1; ret; }"
    )
    module, out, texture = we.ptx.Module(text), np.zeros(1, np.float32), we.ptx.texture(RAMP)
    report = module["k"][1, 1](out, findings="report")
    assert [x.kind for x in report.findings] == ["illegal operand"] and out[0] == 0
    module.variable("t", np.uint64)[:] = texture.handle
    assert not module["k"][1, 1](out, objects=(texture,)).findings
    assert out[0] == 30


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (7, "0x7 is not the handle of a texture of this launch: pass wmma_emu.ptx.texture"),
        (we.ptx.surface(RAMP.copy()), "but that of a surface"),
        (np.zeros(4, np.float32), "is not the handle of a texture"),
    ],
)
def test_a_number_that_is_not_a_texture_is_an_error(given, why):
    body = at(1.0) + f"tex.1d.v4.f32.f32 {NAMES}, [%rd1, {{%f1}}];\n"
    report, out = fetched(body, given, 1)
    (finding,) = report.findings
    assert finding.kind == "illegal operand" and finding.severity == "error" and why in finding.message
    assert not out.any()


@pytest.mark.parametrize(
    ("array", "options", "opcode", "why"),
    [
        (RAMP, {}, "2d.v4.f32", "for 2 axes without layers, the object has 8 texels"),
        (RAMP[None], {"layers": True}, "2d.v4.f32", "the object has 8 texels of 1 float32, 1 layers"),
        (np.zeros((1, 8), np.uint8), {}, "2d.v4.f32", "gives .u32: the value is undefined"),
        (np.zeros((1, 8), np.uint8), {"read": "normalised"}, "2d.v4.u32", "gives .f32"),
        (np.zeros((1, 8), np.int16), {}, "2d.v4.u32", "gives .s32"),
    ],
)
def test_a_texture_of_another_shape_or_type_is_an_error(array, options, opcode, why):
    body = at(1.0, 0.0) + f"tex.{opcode}.f32 {NAMES}, [%rd1, {{%f1, %f2}}];\n"
    (finding,) = fetched(body, we.ptx.texture(array, **options), 1)[0].findings
    assert finding.kind == "illegal operand" and why in finding.message


def test_linear_memory_is_read_by_integers_only():
    body = at(1.0) + f"tex.1d.v4.f32.f32 {NAMES}, [%rd1, {{%f1}}];\n"
    (finding,) = fetched(body, we.ptx.texture(RAMP, linear=True), 1)[0].findings
    assert "only tex1Dfetch reads" in finding.message


def test_a_texel_that_was_never_written_is_uninitialised_where_it_is_used():
    array = we.ptx.empty(8, np.float32)
    array[:4] = 1
    body = f"cvt.rn.f32.u32 %f1, %r0;\ntex.1d.v4.f32.f32 {NAMES}, [%rd1, {{%f1}}];\n"
    report, _ = fetched(body, we.ptx.texture(array), 8)
    assert {x.kind for x in report.findings} == {"uninitialised"}
    report, _ = fetched(body, we.ptx.texture(array), 4)
    assert not report.findings


def test_a_launch_with_findings_is_explained_with_its_textures():
    array = we.ptx.empty(8, np.float32)
    body = f"cvt.rn.f32.u32 %f1, %r0;\ntex.1d.v4.f32.f32 {NAMES}, [%rd1, {{%f1}}];\n"
    (finding,) = fetched(body, we.ptx.texture(array), 8)[0].findings
    assert "The launch was run again for this, and reproduced the finding." in str(finding.explain())


def test_queries_return_the_sizes():
    array = np.zeros((3, 4, 5), np.float32)
    body = "".join(f"txq.{x}.b32 %r{i + 2}, [%rd1];\n" for i, x in enumerate(("width", "height", "depth")))
    body += "istypep.texref %p1, %rd1;\nistypep.surfref %p2, %rd1;\nselp.u32 %r5, 1, 0, %p1;\n@%p2 mov.u32 %r5, 9;\n"
    assert fetched(body, we.ptx.texture(array), 1)[1].tolist() == [[5, 4, 3, 1]]
    layers = "txq.array_size.b32 %r2, [%rd1];\n"
    assert fetched(layers, we.ptx.texture(array, layers=True), 1)[1][0, 0] == 3
    findings = fetched(layers, we.ptx.texture(array), 1)[0].findings
    assert ["has no array_size" in x.message for x in findings if x.kind == "illegal operand"] == [True]
    assert fetched("suq.width.b32 %r2, [%rd1];\n", we.ptx.surface(array), 1)[1][0, 0] == 5


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("tex.cube.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2,%f3,%f3}];", "reads a cube map, which is not"),
        ("tex.2dms.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1,%r2,%r3,%r3}];", "a multi-sample texture"),
        ("tex.2d.v2.f16x2.f32 {%r1,%r2}, [%rd1, {%f1,%f2}];", "whose rounding is not documented"),
        ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}], {%r1,%r2};", "offsets and depth comparisons"),
        ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2,%f3}];", "has 3 coordinates; .2d needs 2"),
        ("tex.2d.v4.f32.f32 {%f1,%f2,%f3}, [%rd1, {%f1,%f2}];", "expects a vector of 4 registers"),
        ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1,%rd2}];", "64 bits; expected .f32"),
        ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%r1, {%f1,%f2}];", "a 64-bit register"),
        ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, %rd2, {%f1,%f2}];", "names a sampler"),
        ("tld4.r.3d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2,%f3,%f3}];", "textures of two axes"),
        ("txq.filter_mode.b32 %r1, [%rd1];", "no document of CUDA defines"),
        ("tex.2d.v4.u32.u32 {%r1,%r2,%r3,%r4}, [%rd1, {%r1,%r2}];", "modifiers that do not exist"),
        ("tex.level.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}], [%rd1];", "expects a register or a number"),
        ("tex.level.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}], {%f1,%f2};", "a level of detail, 1 of type"),
        ("tex.level.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}], %rd1;", "64 bits; expected .f32"),
        ("tex.grad.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}], {%f1}, {%f2};", "derivatives in a vector, 2 of"),
        ("txq.width.global.b32 %r1, [%rd1];", "modifiers that do not exist"),
        ("txq.width %r1, [%rd1];", "lacks a modifier"),
        ("suq.width.b32 %r1, [%rd1, {%r1}];", "an object without coordinates"),
    ],
)
def test_what_is_not_modelled_is_refused_with_its_reason(line, why):
    with pytest.raises(UnsupportedInstructionError, match=why):
        fetched(line + "\n", we.ptx.texture(RAMP), 1)


def test_an_object_goes_where_a_64_bit_integer_goes():
    kernel = we.ptx.Module(HEADER + ".visible .entry k(.param .u32 n) { ret; }")["k"]
    with pytest.raises(ArgumentError, match="objects are passed as 64-bit integers"):
        kernel[1, 1](we.ptx.texture(RAMP))
    with pytest.raises(OptionError, match="are not textures and surfaces"):
        kernel[1, 1](3, objects=[RAMP])


def test_a_struct_holds_the_handle_of_a_texture():
    text = HEADER + (
        ".visible .entry k(.param .align 8 .b8 s[16], .param .u64 out) { .reg .b64 %d<3>; .reg .f32 %f<5>;\n"
        "ld.param.u64 %d1, [s]; ld.param.f32 %f1, [s+8]; ld.param.u64 %d2, [out];\n"
        "tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f1}]; st.global.f32 [%d2], %f1; ret; }"
    )
    out = np.zeros(1, np.float32)
    filtered = we.ptx.texture(RAMP, filter="linear", coordinates="normalised")
    report = we.ptx.Module(text)["k"][1, 1](we.ptx.Struct(filtered, np.float32(0.3125)), out)
    assert out[0] == 20 and not report.not_bit_exact

# SPDX-License-Identifier: MIT
"""The rules of tensor maps: the 128 bytes, the boxes and windows, what a launch is given, and the waits."""

import numpy as np
import pytest

from tests.ptx.tensor_maps.copy_kernels import DUMPED, FIRST, store_kernel
from wmma_emu.errors import (
    ArgumentError,
    ArgumentValueError,
    KernelFindingsError,
    OptionError,
    UnsupportedInstructionError,
)
from wmma_emu.ptx import Im2col, Module, Struct, TensorMap, tensor_map
from wmma_emu.ptx.program.written import written_by
from wmma_emu.ptx.tensor_maps.boxes import box_bytes, chunks_of, row_pitch, swizzled
from wmma_emu.ptx.tensor_maps.encoding import TensorMapFields

X = np.arange(16 * 128, dtype=np.uint16).reshape(16, 128).view(np.float16)

KERNEL = """.version 8.3
.target sm_90a
.address_size 64
.shared .align 128 .b8 box[1024];
.shared .align 8 .b64 bar;
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) {
.reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %w;
mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x;
setp.eq.u32 %p, %r1, 0;
@%p mbarrier.init.shared::cta.b64 [bar], 1;
bar.sync 0;
@!%p bra WAIT;
mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], BYTES;
mov.u32 %r2, 0; mov.u32 %r3, ROW;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [box], [%rd1, {%r2, %r3}], [bar];
WAIT:
TRY
mad.wide.u32 %rd4, %r1, 4, %rd2; shl.b32 %r4, %r1, 2; mov.u32 %r5, box; add.u32 %r5, %r5, %r4;
ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd4], %r6;
ret; }
"""
TRY = "mbarrier.try_wait.parity.shared::cta.b64 %w, [bar], 0; @!%w bra WAIT;"


def launched(box, *, sent=128, row=3, wait=TRY, **options):
    text = KERNEL.replace("BYTES", str(sent)).replace("ROW", str(row)).replace("TRY", wait)
    out = np.zeros(32, np.uint32)
    Module(text, arch="sm_90a")["k"][1, 32](tensor_map(X, box, **options), out, findings="raise")
    return out.view(np.uint16).reshape(-1, box[1])


def test_a_load_copies_the_box_at_its_coordinates():
    assert np.array_equal(launched((1, 64)), X.view(np.uint16)[3:4, :64])
    assert np.array_equal(launched((2, 32), row=14), X.view(np.uint16)[14:16, :32])


def test_elements_outside_of_the_tensor_are_the_fill():
    found = launched((2, 32), row=15)
    assert np.array_equal(found[0], X.view(np.uint16)[15, :32])
    assert not found[1].any()
    assert set(launched((2, 32), row=15, fill="nan")[1].tolist()) == {0x7FF7}


def test_element_strides_skip_rows():
    found = launched((4, 32), row=0, element_strides=(2, 1))
    assert np.array_equal(found, X.view(np.uint16)[:4:2, :32])


def test_a_thread_that_does_not_wait_is_an_error():
    with pytest.raises(KernelFindingsError, match="the phase of its mbarrier has not completed") as caught:
        launched((1, 64), wait="", sent=144)
    assert "mbarrier.try_wait in a loop" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (Struct(bytes(128)), "all its bytes are 0, since no map was written there"),
        (Struct(b"\xff" * 128), "the element type 15 of tf32 of the tensor map does not exist"),
        (tensor_map(np.zeros((2, 4, 64), np.float16), (1, 1, 64)), "it has 3 dimensions, the instruction 2"),
        (
            tensor_map(np.zeros((2, 4, 4, 64), np.float16), im2col=Im2col((0, 0), (0, 0), 64, 4)),
            "it has 4 dimensions, the instruction 2",
        ),
        (tensor_map(np.zeros((2, 4, 64), np.float16), (1, 1, 8), interleave="16B"), "it has 3 dimensions"),
    ],
)  # fmt: skip
def test_a_map_that_does_not_fit_the_instruction_is_an_error_before_the_deadlock(given, text):
    module = Module(KERNEL.replace("BYTES", "128").replace("ROW", "0").replace("TRY", TRY), arch="sm_90a")
    report = module["k"][1, 32](given, np.zeros(32, np.uint32), findings="report")
    assert [x.kind for x in report.findings] == ["illegal operand", "deadlock"]
    assert text in report.findings[0].message
    assert not report.completed


def test_a_barrier_that_expects_more_bytes_than_the_box_has_never_completes():
    with pytest.raises(KernelFindingsError, match="deadlock") as caught:
        launched((1, 64), sent=144)
    (found,) = caught.value.report.findings
    assert found.kind == "deadlock"
    assert "lacks 0 of 1 arrivals and 16 bytes: 144 bytes are expected " in found.message


TWO_WARPS = """.version 8.3
.target sm_90a
.address_size 64
.shared .align 128 .b8 box[256];
.shared .align 8 .b64 bar[2];
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 more) {
.reg .pred %p, %w; .reg .b32 %r<12>; .reg .b64 %rd<4>;
mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; ld.param.u64 %rd2, [out]; ld.param.u32 %r9, [more];
mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; and.b32 %r2, %r0, 31; setp.eq.u32 %p, %r2, 0;
mov.u32 %r3, box; mad.lo.u32 %r3, %r1, 128, %r3; mov.u32 %r4, bar; mad.lo.u32 %r4, %r1, 8, %r4;
@%p mbarrier.init.shared::cta.b64 [%r4], 1;
bar.sync 0;
@!%p bra WAIT;
mad.lo.u32 %r5, %r1, %r9, 128; mov.u32 %r6, 0;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], %r5;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd1, {%r6, %r1}], [%r4];
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %w, [%r4], 0;
AGAIN
mad.wide.u32 %rd2, %r0, 4, %rd2; mad.lo.u32 %r3, %r2, 4, %r3; ld.shared.u32 %r7, [%r3]; st.global.u32 [%rd2], %r7;
ret; }
"""


def test_each_warp_waits_for_its_own_copy():
    given, out = tensor_map(X, (1, 64)), np.zeros(64, np.uint32)
    Module(TWO_WARPS.replace("AGAIN", "@!%w bra WAIT;"), arch="sm_90a")["k"][1, 64](given, out, 0, findings="raise")
    assert np.array_equal(out.view(np.uint16).reshape(2, 64), X.view(np.uint16)[:2, :64])
    too_many = 16
    report = Module(TWO_WARPS.replace("AGAIN", ""), arch="sm_90a")["k"][1, 64](given, out, too_many, findings="report")
    assert [(x.kind, x.count) for x in report.findings] == [("missing wait", 32), ("transaction bytes", 1)]


STORE = """.version 8.3
.target sm_90a
.address_size 64
.shared .align 128 .b8 box[128];
.visible .entry k(.param .align 64 .b8 map[128]) {
.reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<4>;
mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; mov.u32 %r1, %tid.x; setp.eq.u32 %p, %r1, 0;
shl.b32 %r2, %r1, 2; mov.u32 %r3, box; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], 0x00020001;
fence.proxy.async.shared::cta; bar.sync 0; mov.u32 %r4, 0; mov.u32 %r5, 1;
@%p cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r4, %r5}], [box];
@%p cp.async.bulk.commit_group;
WAIT
bar.sync 0; st.shared.u32 [%r3], 0; ret; }
"""


def stored(wait):
    out = np.zeros((4, 64), np.uint16)
    given = tensor_map(out, (1, 64))
    Module(STORE.replace("WAIT", wait), arch="sm_90a")["k"][1, 32](given, findings="raise")
    return out


def test_a_store_writes_the_box():
    found = stored("@%p cp.async.bulk.wait_group.read 0;")
    assert np.array_equal(found[1], np.tile([1, 2], 32))
    assert not found[[0, 2, 3]].any()


def test_the_tensor_of_a_store_is_known_to_be_written_before_the_launch():
    module = Module(STORE.replace("WAIT", ""), arch="sm_90a")
    assert written_by(module.program.kernels["k"]).parameters == {0}
    module = Module(KERNEL.replace("BYTES", "128").replace("ROW", "0").replace("TRY", TRY), arch="sm_90a")
    assert written_by(module.program.kernels["k"]).parameters == {128}


def test_the_source_of_a_store_that_is_written_before_the_wait_is_an_error():
    with pytest.raises(KernelFindingsError, match=r"may still read: no cp\.async\.bulk\.wait_group") as caught:
        stored("")
    assert "cp.async.bulk.wait_group.read" in str(caught.value)


LOAD = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (f"{LOAD} [box], [%rd1, {{%r4, %r4}}];", "expects 3 operands, not 2"),
        (f"{LOAD}.L2::cache_hint [box], [%rd1, {{%r4, %r4}}], [box];", "expects 4 operands, not 3"),
        (f"{LOAD} [box], [%rd1, {{%r4}}], [box];", r"has 1 coordinates; \.2d needs 2"),
        (f"{LOAD} [box], [%rd1, {{%rd2, %rd2}}], [box];", "coordinate|type|32"),
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [box];", "expects 3 operands, not 2"),
        ("cp.async.bulk.tensor.2d;", "expects 2 operands, not 0"),
        ("cp.async.bulk.tensor.global.shared::cta.bulk_group [%rd1, {%r4}], [box];", r"\.1d, \.2d, \.3d, \.4d, \.5d"),
        ("tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%rd1], 9;", "expects a constant from 0 to 4"),
        ("tensormap.replace.tile.global_address.global.b1024.b32 [%rd1], %rd1;", "modifiers"),
    ],
)
def test_a_statement_with_wrong_operands_is_refused(statement, text):
    module = Module(STORE.replace("WAIT", statement), arch="sm_90a")
    with pytest.raises(UnsupportedInstructionError, match=text):
        module["k"][1, 32](tensor_map(X, (1, 64)))


def test_a_row_in_shared_memory_has_the_span_of_its_swizzle():
    fields = [tensor_map(X, (8, 16), swizzle=x).map for x in ("none", "32B", "64B", "128B")]
    assert [row_pitch(x) for x in fields] == [32, 32, 64, 128]
    assert {box_bytes(x) for x in fields} == {256}


def test_a_swizzle_exchanges_chunks_of_16_bytes_by_the_address_bits_above_them():
    chunks = np.arange(0, 1024, 16)
    for number, bits in enumerate((0, 1, 2, 3)):
        found = swizzled(chunks, number)
        assert sorted(found.tolist()) == chunks.tolist()
        assert [x // 16 % 8 for x in found[::8].tolist()] == [i % (1 << bits) for i in range(8)]


def test_an_im2col_copy_moves_through_the_window_and_then_to_the_next_image():
    images = np.zeros((2, 3, 4, 8), np.float16)
    fields = tensor_map(images, im2col=Im2col((-1, -1), (-1, -1), channels=8, pixels=14)).map
    found = chunks_of(fields, np.array([0, -1, -1, 0]), np.array([1, 1]))
    assert found.inside.tolist() == [16] * 14
    assert (found.offsets // 16).tolist() == [*range(12), 12, 13]


def test_the_bytes_of_a_map_that_was_made_elsewhere_are_taken_with_an_array():
    given = tensor_map(X, (8, 64), swizzle="128B").pack(lambda array: 0xABCDE0)
    assert TensorMap(given, X).map == TensorMapFields.decode(given)
    with pytest.raises(ArgumentValueError, match="a tensor map has 128 bytes, not 64"):
        TensorMap(given[:64], X)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"box": (8, 12)}, "a row of the box has 24 bytes; it needs a multiple of 16"),
        ({"box": (257, 64)}, "the box has 257 elements in a dimension; it needs 1 to 256"),
        ({"box": (8, 64), "swizzle": "64B"}, "a row of 128 bytes does not fit the swizzle 64B, which needs at most 64"),
        ({"box": (8, 64), "element_strides": (9, 1)}, "an element stride is 9; it must be 1 to 8"),
        ({"box": (8, 64), "element_strides": (1,)}, "element_strides has 1 numbers for 2 axes"),
        ({"box": (8,)}, "the box has 1 dimensions, and the tensor 2"),
        ({"box": (8, 64), "dtype": "f32"}, "f32 has 4 bytes, the array's elements 2"),
        ({"box": (8, 64), "dtype": "u16", "fill": "nan"}, "the fill nan needs a floating-point type, not u16"),
    ],
)  # fmt: skip
def test_a_rule_that_a_map_breaks_is_named(options, text):
    with pytest.raises(ArgumentValueError, match=text):
        tensor_map(X, **options)


@pytest.mark.parametrize(
    "options", [{"box": (8.0, 64)}, {"box": 8}, {"box": "ab"}, {"box": (8, 64), "element_strides": (1.5, 1)}]
)
def test_sizes_must_be_integers_of_python_or_numpy(options):
    with pytest.raises(ArgumentError, match="is not a sequence of integers, one for each axis"):
        tensor_map(X, **options)
    assert tensor_map(X, (np.int64(8), np.uint8(64))).map == tensor_map(X, (8, 64)).map


ACCEPTED = """add.u32 min.u32 max.u32 inc.u32 dec.u32 add.s32 min.s32 max.s32 and.b32 or.b32 xor.b32 add.u64 min.u64
max.u64 min.s64 max.s64 and.b64 or.b64 xor.b64 min.f16 max.f16 add.noftz.f16 min.bf16 max.bf16 add.noftz.bf16 add.f32
add.f64"""
"""The reductions without a map that ptxas 13.0 accepts for sm_90a, of eight operations and ten types, with and
without ``.noftz`` for sums. PTX ISA 9.4 adds ``add.noftz.f32``."""

REDUCE = """.version 8.3
.target sm_90a
.address_size 64
.shared .align 128 .b8 box[16];
.visible .entry k(.param .u64 p) {
.reg .b64 %rd<2>; .reg .b32 %r<2>; ld.param.u64 %rd1, [p]; mov.u32 %r1, 16;
cp.reduce.async.bulk.global.shared::cta.bulk_group.WHAT [%rd1], [box], %r1; ret; }
"""


def test_the_reductions_are_those_that_the_assembler_accepts():
    types = ("u32", "s32", "b32", "u64", "s64", "b64", "f16", "bf16", "f32", "f64")
    operations = ("add", "min", "max", "inc", "dec", "and", "or", "xor", "add.noftz")
    accepted = set()
    for what in (f"{operation}.{kind}" for operation in operations for kind in types):
        kernel = Module(REDUCE.replace("WHAT", what), arch="sm_90a")["k"]
        try:
            kernel[1, 1](np.zeros(4, np.uint32), findings="report")
        except UnsupportedInstructionError:
            continue
        accepted.add(what)
    assert accepted - {"add.noftz.f32"} == set(ACCEPTED.split())


@pytest.mark.parametrize(
    ("operation", "dtype"), [("inc", "f32"), ("and", "f32"), ("add", "tf32"), ("add", "f32.ftz"), ("min", "f32")]
)
def test_a_reduction_that_the_elements_of_a_map_do_not_have_is_an_error(operation, dtype):
    found = np.ones(256, np.float32)
    kernel = Module(store_kernel(1, operation), arch="sm_90a")["k"]
    memory = np.ones(64 + DUMPED, np.uint8)
    report = kernel[1, 32, FIRST + DUMPED](
        tensor_map(found, (256,), dtype=dtype), memory, 0, 0, *[0] * 8, findings="report"
    )
    assert [x.kind for x in report.findings] == ["illegal operand"]
    assert f"elements of {dtype}, which .{operation} does not reduce" in report.findings[0].message
    assert (found == 1).all()


def test_other_wrong_arguments_are_explained():
    module = Module(STORE.replace("WAIT", ""), arch="sm_90a")
    with pytest.raises(ArgumentError, match=r"or wmma_emu\.ptx\.tensor_map\(array, box\)"):
        module["k"][1, 32](X)
    with pytest.raises(ArgumentValueError, match="a stride has 2 bytes; it needs a multiple of 16"):
        tensor_map(np.zeros((4, 1), np.float16), (1, 8))
    with pytest.raises(ArgumentValueError, match="the last axis of the array must be contiguous"):
        tensor_map(X.T, (8, 8))
    with pytest.raises(ArgumentError, match="either a box or an im2col window"):
        tensor_map(X)
    with pytest.raises(OptionError, match="swizzle='128' is not one of none, 32B, 64B, 128B"):
        tensor_map(X, (8, 64), swizzle="128")
    with pytest.raises(OptionError, match="a tensor map has no elements of 'fp16'"):
        tensor_map(X, (8, 64), dtype="fp16")
    with pytest.raises(ArgumentError, match="needs a NumPy array of 1 to 5 axes"):
        tensor_map([1, 2], (1,))

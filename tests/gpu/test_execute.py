# SPDX-License-Identifier: MIT
"""Launches: how work is split and passed to a GPU, with the emulator instead of a GPU."""

import sys

import numpy as np
import pytest

import wmma_emu as we
import wmma_emu.gpu
from tests.gpu.emulated_gpu import EmulatedGpu
from wmma_emu.layouts import pack_metadata
from wmma_emu.testing import generators
from wmma_emu.warp import SharedOperand

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
F64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"


@pytest.fixture
def emulated(monkeypatch):
    def of(mnemonic):
        gpu = EmulatedGpu(we.instruction(mnemonic, arch="sm_90"))
        monkeypatch.setattr(sys.modules["wmma_emu.gpu.execute"], "open_gpu", lambda: gpu)
        return gpu

    return of


def draw(ins, *batches):
    generator = np.random.Generator(np.random.Philox(7))
    return [
        generator.integers(0, 2**32, (x.num_registers, *batch, 32), np.uint32).astype(x.register_dtype)
        for x, batch in zip((ins.a, ins.b, ins.c), batches, strict=True)
    ]


BATCHES = {
    "none": ((), (), ()),
    "equal": ((5,), (5,), (5,)),
    "every pair": ((3, 1), (1, 4), ()),
    "cross of three": ((2, 1, 1), (1, 3, 1), (1, 1, 4)),
    "inner axis": ((4,), (3, 1), (3, 4)),
    "a has one": ((1,), (6,), (2, 1)),
}


@pytest.mark.parametrize("batches", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("mnemonic", [F16, F64])
@pytest.mark.parametrize("max_bytes", [None, 20_000, 9_000])
def test_registers_broadcast_as_they_do_in_the_emulator_whatever_the_memory(emulated, mnemonic, batches, max_bytes):
    gpu = emulated(mnemonic)
    a, b, c = draw(gpu.ins, *batches)
    expected = gpu.ins.execute(a, b, c)
    result = we.gpu.execute(gpu.ins, a, b, c, max_bytes=max_bytes)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
    assert gpu.live == 0
    assert gpu.peak <= (max_bytes or 1 << 20)


def test_little_memory_means_more_launches_and_each_tile_of_a_kept_operand_travels_once(emulated):
    gpu = emulated(F16)
    a, b, c = draw(gpu.ins, (1,), (64,), (1,))
    we.gpu.execute(gpu.ins, a, b, c, max_bytes=16_384)
    assert len(gpu.launches) > 1
    assert sum(results for _, _, results in gpu.launches) == 64
    assert gpu.uploaded == a.nbytes + b.nbytes + c.nbytes + 3 * 4 * 64


def test_a_pool_is_not_expanded(emulated):
    gpu = emulated(F16)
    a, b, c = draw(gpu.ins, (16, 1), (1, 16), (1, 1))
    we.gpu.execute(gpu.ins, a, b, c)
    assert gpu.uploaded == a.nbytes + b.nbytes + c.nbytes + 3 * 4 * 256


def test_zero_warps_cause_no_launch(emulated):
    gpu = emulated(F16)
    a, b, c = draw(gpu.ins, (0,), (1,), ())
    assert we.gpu.execute(gpu.ins, a, b, c).shape == (4, 0, 32)
    assert gpu.launches == []


def test_memory_is_released_after_an_error(emulated):
    gpu = emulated(F16)
    gpu.fails = True
    with pytest.raises(RuntimeError, match="the launch failed"):
        we.gpu.execute(gpu.ins, *draw(gpu.ins, (2,), (2,), (2,)))
    assert gpu.live == 0 < gpu.peak


def test_views_and_reversed_axes_are_read_as_they_look(emulated):
    gpu = emulated(F16)
    a, b, c = draw(gpu.ins, (6,), (6,), (6,))
    a, b = a[:, ::-2], np.asfortranarray(b)[:, :3]
    np.testing.assert_array_equal(we.gpu.execute(gpu.ins, a, b, c[:, :3]), gpu.ins.execute(a, b, c[:, :3]))


def test_too_little_memory_for_one_result_is_refused(emulated):
    gpu = emulated(F16)
    with pytest.raises(we.UnsupportedInstructionError, match=r"max_bytes=100 is too small: one mma\.sync"):
        we.gpu.execute(gpu.ins, *draw(gpu.ins, (), (), ()), max_bytes=100)


def test_another_chip_than_the_gpu_is_refused(emulated):
    emulated(F16)
    ins = we.instruction(F16, arch="sm_80")
    with pytest.raises(we.UnsupportedInstructionError, match=r"bound to sm_80, but this GPU is sm_90.*arch='sm_90'"):
        we.gpu.execute(ins, *draw(ins, (), (), ()))


def test_an_instruction_that_the_chip_lacks_is_refused_with_the_first_suitable_chip(emulated):
    gpu = emulated(F16)
    name = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32"
    with pytest.raises(we.UnsupportedInstructionError, match="the first chip that supports it is sm_100"):
        we.gpu.execute(name, *draw(gpu.ins, (), (), ()))


@pytest.mark.thorough
def test_a_row_and_a_mnemonic_mean_the_chip_of_the_gpu(emulated):
    gpu = emulated(F16)
    operands = draw(gpu.ins, (2,), (), ())
    expected = gpu.ins.execute(*operands)
    np.testing.assert_array_equal(we.gpu.execute(gpu.ins.instruction, *operands), expected)
    np.testing.assert_array_equal(we.gpu.execute("m16n8k16.f32.f16.f16.f32", *operands), expected)


@pytest.mark.parametrize(
    "operand, change, message",
    [
        (0, lambda x: x[:3], r"registers of A: uint32 of shape \(3, 2, 32\); .* uint32 of shape \(4, \*warps, 32\)"),
        (1, lambda x: x.view(np.float32), "registers of B: float32"),
        (2, lambda x: np.moveaxis(x, -1, 0), r"registers of C: uint32 of shape \(32, 4, 2\)"),
        (0, lambda x: np.concatenate([x, x[:, :1]], 1), r"do not broadcast: a \(3,\), b \(2,\), c \(2,\)"),
    ],
    ids=["too few", "another dtype", "lanes first", "unlike batches"],
)
def test_registers_that_do_not_fit_are_refused(emulated, operand, change, message):
    gpu = emulated(F16)
    operands = draw(gpu.ins, (2,), (2,), (2,))
    operands[operand] = change(operands[operand])
    with pytest.raises(we.FragmentMismatchError, match=message):
        we.gpu.execute(gpu.ins, *operands)


@pytest.mark.parametrize("keywords", [{"metadata": np.zeros(32, np.uint32)}, {"selector": 1}], ids=str)
def test_what_sparse_instructions_take_is_refused_elsewhere(emulated, keywords):
    gpu = emulated(F16)
    with pytest.raises(we.FragmentMismatchError, match="takes no metadata and no selector"):
        we.gpu.execute(gpu.ins, *draw(gpu.ins, (), (), ()), **keywords)


@pytest.mark.parametrize("keywords", [{"scale_d": 0}, {"negate_a": True}, {"negate_b": True}], ids=str)
def test_what_wgmma_takes_is_refused_elsewhere(emulated, keywords):
    gpu = emulated(F16)
    with pytest.raises(we.UnsupportedInstructionError, match="options of wgmma"):
        we.gpu.execute(gpu.ins, *draw(gpu.ins, (), (), ()), **keywords)


@pytest.mark.parametrize("selector", [0, 1])
def test_metadata_broadcasts_like_the_registers(emulated, selector):
    gpu = emulated(SPARSE)
    row = gpu.ins.instruction
    drawn = generators.draw(row, "normal", 3, 4, 3, 1)
    a = gpu.ins.a.pack_bits(drawn.a)[:, :, None]
    b, c = gpu.ins.b.pack_bits(drawn.b), gpu.ins.c.pack_bits(drawn.c)
    metadata = pack_metadata(row, drawn.indices, selector)[:, None]
    expected = gpu.ins.execute(a, b, c, metadata=metadata, selector=selector)
    given = {"metadata": metadata, "selector": selector}
    for max_bytes in (None, 12_000):
        result = we.gpu.execute(gpu.ins, a, b, c, **given, max_bytes=max_bytes)
        np.testing.assert_array_equal(result, expected)


def test_a_sparse_instruction_asks_for_its_metadata(emulated):
    gpu = emulated(SPARSE)
    with pytest.raises(we.FragmentMismatchError, match="needs metadata="):
        we.gpu.execute(gpu.ins, *draw(gpu.ins, (), (), ()))


def test_a_selector_that_does_not_exist_is_refused(emulated):
    gpu = emulated(SPARSE)
    with pytest.raises(we.WmmaEmuError, match="selector"):
        we.gpu.execute(gpu.ins, *draw(gpu.ins, (), (), ()), metadata=np.zeros(32, np.uint32), selector=7)


WGMMA = {
    "f16": "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16",
    "e4m3": "wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e5m2",
    "s8": "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8",
    "sparse": "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.bf16.bf16",
}


def draw_warpgroup(gpu):
    """A in registers, B as matrices, C in registers, and metadata."""
    row = gpu.ins.instruction
    drawn = generators.draw(row, generators.generators_of(row)[0], 3, 3, 2, 1)
    keywords = {"metadata": pack_metadata(row, drawn.indices, 0)[:, None]} if row.is_sparse else {}
    return gpu.ins.a.pack_bits(drawn.a)[:, :, None], drawn.b, gpu.ins.c.pack_bits(drawn.c), keywords


@pytest.mark.parametrize("mnemonic", WGMMA.values(), ids=WGMMA)
@pytest.mark.parametrize("max_bytes", [None, 15_000])
def test_four_warps_take_b_and_perhaps_a_from_shared_memory(emulated, mnemonic, max_bytes):
    gpu = emulated(mnemonic)
    a, b, c, keywords = draw_warpgroup(gpu)
    expected = gpu.ins.execute(a, b, c, **keywords)
    matrix = gpu.ins.a.unpack_bits(a)
    for first in (a, matrix, gpu.ins.in_shared_memory("a", matrix)):
        result = we.gpu.execute(gpu.ins, first, b, c, **keywords, max_bytes=max_bytes)
        np.testing.assert_array_equal(result, expected)
    assert (len(gpu.launches) > 3) == (max_bytes is not None)
    assert gpu.live == 0 and gpu.peak <= (max_bytes or 1 << 20)


def test_four_warps_take_transposed_and_swizzled_operands(emulated):
    gpu = emulated(WGMMA["f16"])
    a, b, c, _ = draw_warpgroup(gpu)
    expected = gpu.ins.execute(a, b, c)
    matrix = gpu.ins.a.unpack_bits(a)
    for transpose_a, transpose_b in ((True, False), (False, True)):
        first = gpu.ins.in_shared_memory("a", matrix, swizzle=32, transpose=transpose_a)
        second = gpu.ins.in_shared_memory("b", b, transpose=transpose_b)
        np.testing.assert_array_equal(we.gpu.execute(gpu.ins, first, second, c), expected)


def test_options_of_wgmma_reach_the_kernel(emulated):
    gpu = emulated(WGMMA["f16"])
    a, b, c, _ = draw_warpgroup(gpu)
    for choice in ({"scale_d": 0}, {"negate_a": True}, {"negate_b": True, "scale_d": 0}):
        expected = gpu.ins.execute(a, b, c, **choice)
        np.testing.assert_array_equal(we.gpu.execute(gpu.ins, a, b, c, **choice), expected)
    np.testing.assert_array_equal(
        we.gpu.execute(gpu.ins, a, b, None, scale_d=0), gpu.ins.execute(a, b, None, scale_d=0)
    )


@pytest.mark.parametrize(
    "name, change, error, message",
    [
        ("f16", {"c": None}, we.FragmentMismatchError, "c is None"),
        ("f16", {"scale_d": 2}, we.UnsupportedInstructionError, "scale_d is 1, or 0"),
        ("s8", {"negate_b": True}, we.UnsupportedInstructionError, "negate_b is for floating point"),
        ("f16", {"b": np.zeros((16, 24), np.float16)}, we.FragmentMismatchError, r"takes \(\.\.\., 16, 16\)"),
        ("f16", {"b": SharedOperand(np.zeros(256, np.uint8), 0x1000080000)}, we.OutOfBoundsError, "is at address"),
        ("e4m3", {"b": SharedOperand(np.zeros(512, np.uint8), 0, True)}, we.UnsupportedInstructionError, "transpose B"),
    ],
    ids=["c is missing", "scale_d", "negated integers", "another shape", "out of bounds", "transposed bytes"],
)
def test_wrong_uses_of_wgmma_are_refused(emulated, name, change, error, message):
    gpu = emulated(WGMMA[name])
    a, b, c, _ = draw_warpgroup(gpu)
    operands = {"a": a, "b": b, "c": c} | {x: y for x, y in change.items() if x in "abc"}
    with pytest.raises(error, match=message):
        we.gpu.execute(gpu.ins, **operands, **{x: y for x, y in change.items() if x not in "abc"})


def outcome(execute, *arguments, **options):
    """What a call gives: registers, or its error's kind and words."""
    try:
        return execute(*arguments, **options).tolist()
    except Exception as error:
        return type(error), str(error)


OPTIONS = {
    "a word for negate_a": {"negate_a": "no"},
    "1 for negate_a": {"negate_a": 1},
    "numpy 0 for negate_a": {"negate_a": np.int8(0)},
    "numpy True for negate_b": {"negate_b": np.True_},
    "None for negate_b": {"negate_b": None},
    "1.0 for scale_d": {"scale_d": 1.0},
    "an array for scale_d": {"scale_d": np.array([1, 0])},
    "numpy True for scale_d": {"scale_d": np.True_},
    "False for scale_d": {"scale_d": False},
    "numpy 0 for scale_d": {"scale_d": np.int8(0)},
    "-1 for scale_d": {"scale_d": -1},
    "None for scale_d": {"scale_d": None},
    "a word for scale_d": {"scale_d": "1"},
    "a word for selector": {"selector": "0"},
    "9 for selector": {"selector": 9},
    "an array for selector": {"selector": np.array([0, 0])},
    "numpy 0 for selector": {"selector": np.uint8(0)},
    "a word for metadata": {"metadata": "0x4e"},
    "no metadata": {"metadata": None},
}


@pytest.mark.parametrize("mnemonic", WGMMA.values(), ids=WGMMA)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_options_are_taken_and_refused_as_in_the_emulator_and_in_the_same_words(emulated, mnemonic, options):
    gpu = emulated(mnemonic)
    if gpu.ins.instruction.is_sparse and options.get("metadata") is not None:
        pytest.skip("another check refuses these metadata")
    a, b, c, keywords = draw_warpgroup(gpu)
    expected = outcome(gpu.ins.execute, a, b, c, **keywords | options)
    assert outcome(we.gpu.execute, gpu.ins, a, b, c, **keywords | options) == expected
    assert isinstance(expected, list) or issubclass(expected[0], we.WmmaEmuError)


@pytest.mark.parametrize("mnemonic", [F16, SPARSE])
@pytest.mark.parametrize("selector", [0, 9])
def test_a_warp_that_lacks_metadata_or_has_another_selector_is_refused_in_the_same_words(emulated, mnemonic, selector):
    gpu = emulated(mnemonic)
    operands = draw(gpu.ins, (), (), ())
    for metadata in (None, np.full(32, 0x44444444, np.uint32)):
        options = {"metadata": metadata, "selector": selector}
        expected = outcome(gpu.ins.execute, *operands, **options)
        assert outcome(we.gpu.execute, gpu.ins, *operands, **options) == expected


@pytest.mark.parametrize(
    "name, given",
    [("max_bytes", "x"), ("max_bytes", 1e6), ("max_bytes", True), ("checked", 1)],
    ids=["a word", "a float", "a bool", "a number"],
)
def test_options_of_the_gpu_itself_are_checked(emulated, name, given):
    gpu = emulated(F16)
    with pytest.raises(we.UnsupportedInstructionError, match=f"{name} (is|must be) .*, not {given!r}"):
        we.gpu.execute(gpu.ins, *draw(gpu.ins, (), (), ()), **{name: given})


SCALED = {
    "dense": "mma.m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
    "sparse": "mma.sp::ordered_metadata.m16n8k64.kind::mxf8f6f4.block_scale.f32.e3m2.e2m1.f32.ue8m0",
}


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
@pytest.mark.parametrize("max_bytes", [None, 9_000])
@pytest.mark.parametrize("mnemonic", SCALED.values(), ids=SCALED)
def test_block_scales_travel_with_their_selectors(monkeypatch, mnemonic, max_bytes):
    ins = we.instruction(mnemonic, arch="sm_120")
    gpu = EmulatedGpu(ins)
    monkeypatch.setattr(sys.modules["wmma_emu.gpu.execute"], "open_gpu", lambda: gpu)
    a, b, c = draw(ins, (3, 1), (1, 5), ())
    generator = np.random.Generator(np.random.Philox(8))
    keywords = {
        "scale_a": generator.integers(0x7878_7878, 0x8787_8787, (3, 1, 32), np.uint32),
        "scale_b": generator.integers(0x7878_7878, 0x8787_8787, (5, 32), np.uint32),
        **{"byte_id_a": 2, "thread_id_a": 1, "byte_id_b": 0, "thread_id_b": 3},
    }
    if ins.instruction.is_sparse:
        keywords["metadata"] = np.full((3, 1, 32), 0xD8C4_9EE4, np.uint32)
    expected = ins.execute(a, b, c, **keywords)
    assert np.array_equal(we.gpu.execute(ins, a, b, c, max_bytes=max_bytes, **keywords), expected)
    with pytest.raises(we.FragmentMismatchError, match=r"byte-id-b of .* is "):
        we.gpu.execute(ins, a, b, c, **(keywords | {"byte_id_b": 5}))
    with pytest.raises(we.FragmentMismatchError, match="needs scale_b="):
        we.gpu.execute(ins, a, b, c, **(keywords | {"scale_b": None}))

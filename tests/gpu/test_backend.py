# SPDX-License-Identifier: MIT
"""Every instruction of the local GPU, on it and through the emulator, bit for bit.

`python -m pytest -m gpu tests/gpu/test_backend.py`; needs a driver and cuda-core.
"""

import numpy as np
import pytest

import wmma_emu as we
import wmma_emu.gpu
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.gpu.device import open_gpu
from wmma_emu.gpu.loaded import LoadedKernels
from wmma_emu.instructions import INSTRUCTIONS
from wmma_emu.layouts import pack_metadata
from wmma_emu.testing import generators

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning"),
]

SEED = 20261121
TILES = 3

ROWS = [row for row in INSTRUCTIONS.values() if not row.is_warpgroup or row.n in (8, 24, 128, 256)]


@pytest.fixture(scope="module")
def arch():
    if not we.gpu.available():
        pytest.skip("no GPU, or no cuda-core")
    return we.gpu.device().arch


def bind(row, arch):
    if arch not in row.archs:
        pytest.skip(f"{arch} has no {row.mnemonic}")
    return we.instruction(row.mnemonic, arch=arch)


def draw(ins, generator, tiles=TILES):
    """Operands as `execute` takes them, every tile of A with every tile of B; and metadata."""
    row = ins.instruction
    drawn = generators.draw(row, generator, SEED, tiles * row.products, tiles * row.products, tiles * row.products)
    a, b, c = drawn.a, drawn.b, drawn.c
    if row.products > 1:
        a, b, c = (x.reshape(tiles, row.products, *x.shape[1:]) for x in (a, b, c))
    keywords = {}
    if row.is_sparse:
        metadata = pack_metadata(row, drawn.indices, 0)
        keywords = {"metadata": metadata[:, None], "selector": 0}
    second = from_bits(b, row.format("b")) if row.is_warpgroup else ins.b.pack_bits(b)
    return ins.a.pack_bits(a)[:, :, None], second, ins.c.pack_bits(c), keywords


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.mnemonic)
def test_registers_equal_the_registers_of_the_gpu(row, arch):
    ins = bind(row, arch)
    for generator in generators.generators_of(row):
        a, b, c, keywords = draw(ins, generator)
        expected = ins.execute(a, b, c, **keywords)
        np.testing.assert_array_equal(we.gpu.execute(ins, a, b, c, **keywords), expected, err_msg=generator)


WGMMA = [row for row in ROWS if row.is_warpgroup and row.n == 24]


@pytest.mark.parametrize("row", WGMMA, ids=lambda row: row.mnemonic)
def test_a_in_shared_memory_gives_the_same_as_in_registers(row, arch):
    ins = bind(row, arch)
    a, b, c, keywords = draw(ins, generators.generators_of(row)[0])
    matrix = ins.a.unpack(a)
    by_registers = we.gpu.execute(ins, a, b, c, **keywords)
    np.testing.assert_array_equal(we.gpu.execute(ins, matrix, b, c, **keywords), by_registers)


@pytest.mark.parametrize("row", WGMMA, ids=lambda row: row.mnemonic)
def test_options_of_wgmma_mean_what_they_do_in_the_emulator(row, arch):
    ins = bind(row, arch)
    a, b, c, keywords = draw(ins, generators.generators_of(row)[0])
    choices = [{"scale_d": 0}]
    if row.format("a").is_float:
        choices += [{"negate_a": True}, {"negate_b": True}, {"negate_a": True, "negate_b": True, "scale_d": 0}]
    for choice in choices:
        expected = ins.execute(a, b, c, **keywords, **choice)
        np.testing.assert_array_equal(we.gpu.execute(ins, a, b, c, **keywords, **choice), expected, err_msg=str(choice))


def test_every_selector_reads_its_own_lanes(arch):
    ins = bind(INSTRUCTIONS["mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"], arch)
    drawn = generators.draw(ins.instruction, "normal", SEED, 4, 4, 4)
    a, b, c = ins.a.pack_bits(drawn.a), ins.b.pack_bits(drawn.b), ins.c.pack_bits(drawn.c)
    for selector in range(4):
        metadata = pack_metadata(ins.instruction, drawn.indices, selector)
        keywords = {"metadata": metadata, "selector": selector}
        np.testing.assert_array_equal(we.gpu.execute(ins, a, b, c, **keywords), ins.execute(a, b, c, **keywords))


def test_little_memory_changes_no_bit_and_kernels_take_time(arch):
    ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch=arch)
    drawn = generators.draw(ins.instruction, "normal", SEED, 50, 40, 1)
    a, b, c = ins.a.pack_bits(drawn.a)[:, :, None], ins.b.pack_bits(drawn.b), ins.c.pack_bits(drawn.c)
    before = open_gpu().kernel_seconds
    whole = we.gpu.execute(ins, a, b, c)
    assert open_gpu().kernel_seconds > before
    np.testing.assert_array_equal(we.gpu.execute(ins, a, b, c, max_bytes=100_000), whole)
    np.testing.assert_array_equal(whole, ins.execute(a, b, c))


def test_a_snippet_runs_for_every_element(arch):
    x = np.arange(1000, dtype=np.uint32).reshape(10, 100) * np.uint32(4_000_037)
    result = we.gpu.run_snippet("prmt.b32 %y, %x, %z, 0x0123;", {"x": x, "z": x}, {"y": np.uint32})
    np.testing.assert_array_equal(result["y"], x.byteswap())
    halves = we.gpu.run_snippet("cvt.u16.u32 %y, %x;", {"x": x}, {"y": np.uint16})
    np.testing.assert_array_equal(halves["y"], (x & 0xFFFF).astype(np.uint16))


def test_kernels_that_are_unloaded_are_loaded_again_when_they_are_needed(arch, monkeypatch):
    gpu = open_gpu()
    monkeypatch.setattr(gpu, "_kernels", LoadedKernels(we.gpu.availability.cuda_core(), gpu.target, most=3))
    x = np.arange(64, dtype=np.uint32)
    for number in [*range(8), *range(8)]:
        result = we.gpu.run_snippet(f"add.u32 %y, %x, {number};", {"x": x}, {"y": np.uint32})
        np.testing.assert_array_equal(result["y"], x + np.uint32(number))
    assert len(gpu._kernels) == 3


def test_a_snippet_has_separate_shared_memory_for_each_warp(arch):
    image = np.arange(3 * 512, dtype=np.uint16).astype(np.uint8).reshape(3, 512)
    offset = np.broadcast_to(np.arange(32, dtype=np.uint32) * 16, (3, 32))
    lines = [
        ".reg .b32 %place_of_row;",
        "add.u32 %place_of_row, %shared, %x;",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%y}, [%place_of_row];",
        "bar.warp.sync 0xffffffff;",
        "st.shared.u32 [%place_of_row], %x;",
    ]
    result = we.gpu.run_snippet(lines, {"x": offset}, {"y": np.uint32}, shared=image)
    np.testing.assert_array_equal(result["y"], image[:, :128].copy().view(np.uint32))
    expected = image.copy()
    expected.view(np.uint32)[:, ::4] = offset
    np.testing.assert_array_equal(result["shared"], expected)

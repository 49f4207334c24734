# SPDX-License-Identifier: MIT
"""Recording WMMA products: memory images, kernels, edits, the file; with the emulator instead of a GPU."""

import json
import re
import shutil

import numpy as np
import pytest

from tests.emulated_wmma import EmulatedGpu
from tools import record_wmma_products as tool
from tools import wmma_alignment, wmma_probes
from tools.cuda_driver import FILLS, compile_cubins
from tools.record_wmma_layouts import fragments
from tools.recordings import differences, load_arrays
from tools.wmma_products import GAP, Matrix, products
from wmma_emu.instructions import INSTRUCTIONS

ALL = products("sm_90")
BY_NAME = {x.mnemonic: x for x in ALL}
F16 = BY_NAME["wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("recording") / "products.npz"
    arrays = tool.record(ALL, 1, EmulatedGpu(ALL))
    tool.save(path, arrays, ALL, 1, arch="sm_90", fragments=[])
    return path


def test_a_chip_has_every_overload_the_saturating_ones_again_and_two_operations_of_bits():
    plain = [x for x in ALL if not x.is_saturating and not x.bit_operation]
    again = sorted(x.mnemonic.removesuffix(".satfinite") for x in ALL if x.is_saturating)
    assert again == sorted(x.mnemonic for x in plain if x.row.d == "s32")
    assert sorted(x.bit_operation for x in ALL if x.bit_operation) == ["AND", "XOR"]
    assert len({x.kernel for x in ALL}) == len(ALL)
    formats = {chip: {x.row.a for x in products(chip)} for chip in ("sm_70", "sm_72", "sm_75", "sm_80", "sm_90")}
    assert formats["sm_70"] == {"f16"} and formats["sm_72"] == {"f16", "s8", "u8"}
    assert formats["sm_75"] == formats["sm_72"] | {"s4", "u4", "b1"}
    assert formats["sm_80"] == formats["sm_90"] == formats["sm_75"] | {"bf16", "tf32", "f64"}


def test_all_orders_of_memory_and_strides_beyond_a_line_occur():
    assert len({tuple(matrix.stored for matrix in x.matrices) for x in ALL}) == 16
    for operand in range(4):
        matrices = [x.matrices[operand] for x in ALL]
        assert {x.ldm > x.line for x in matrices} == {True, False}
    for name in ("f16", "bf16", "tf32", "f64", "s8", "u8"):
        assert len({(x.c.stored, x.d.stored) for x in ALL if x.row.a == name}) == 4


def test_strides_are_legal():
    for product in ALL:
        for x in product.matrices:
            step = {4: 32, 1: 128}.get(x.format.bits, (8 if x.format.bits == 8 else 16) * 8 // x.format.bits)
            assert x.ldm % step == 0 and x.ldm >= x.line and x.nbytes % 256 == 0


def test_an_image_has_the_matrix_in_its_order_and_the_fill_between_lines():
    row = INSTRUCTIONS["wmma.mma.sync.aligned.row.col.m8n32k16.s32.s8.s8.s32"]
    matrix = Matrix(row, "b", "col", 1)
    assert (matrix.lines, matrix.line, matrix.ldm) == (32, 16, 24)
    values = np.arange(16 * 32, dtype=np.uint16).astype(np.uint8).reshape(1, 16, 32)
    image = matrix.image(values)
    assert image[0, : 2 * 24].tolist() == [*values[0, :, 0], *[GAP] * 8, *values[0, :, 1], *[GAP] * 8]
    np.testing.assert_array_equal(matrix.read(image), values)


def test_elements_smaller_than_a_byte_are_packed_the_first_lowest():
    row = INSTRUCTIONS["wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32"]
    matrix = Matrix(row, "b", "col", 1)
    values = np.zeros((1, 32, 8), np.uint8)
    values[0, :3, 0] = 1, 2, 15
    image = matrix.image(values)
    assert image[0, :18].tolist() == [0x21, 0x0F, *[0] * 14, GAP, GAP]
    bits = Matrix(INSTRUCTIONS["wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"], "a", "row", 0)
    ones = np.zeros((1, 8, 128), np.uint8)
    ones[0, 0, [0, 9]] = 1
    assert bits.image(ones)[0, :2].tolist() == [1, 2]


def test_a_kernel_loads_multiplies_and_stores_as_the_row_says():
    text = F16.source
    assert "wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;" in text
    assert "wmma::mma_sync(fd, fa, fb, fc);" in text
    assert "mma_sync(fd, fa, fb, fc, true);" in next(x for x in ALL if x.is_saturating).source
    xor = next(x for x in ALL if x.bit_operation == "XOR").source
    assert "bmma_sync(fd, fa, fb, fc, wmma::experimental::bmmaBitOpXOR, wmma::experimental::bmmaAcc" in xor


def test_every_product_and_probe_has_one_kernel():
    files = tool.sources(ALL)
    names = [x for text in files.values() for x in re.findall(r"(?:__global__ void|\.entry) (\w+)\(", text)]
    assert len(names) == len(set(names)) == len(ALL) + 1 + len(wmma_probes.EDITED) + len(wmma_probes.SATURATED)
    edited = wmma_probes.edited_source(F16)
    assert edited.index("load_matrix_sync(fc") < edited.index("apply(fa") < edited.index("wmma::mma_sync")
    assert f"void edited_{F16.kernel}(const unsigned* edits, const void* a" in edited


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_every_kernel_compiles(tmp_path):
    files = tool.sources(ALL) | {"alignment.cu": wmma_alignment.source(90)}
    assert all(x[:4] == b"\x7fELF" for x in compile_cubins(files, tmp_path, "sm_90a"))


def test_each_element_of_each_fragment_is_edited_once():
    listed = wmma_probes.edits(F16.row)
    assert [(x.operand, x.element) for x in listed[1:]] == [(o, i) for o, n in enumerate((16, 16, 8)) for i in range(n)]
    assert listed[0].operand > 2
    assert {x.adds for x in listed} == {True, False} and len({x.lane for x in listed}) > 10


def test_patterns_to_round_hold_ties_ends_infinities_and_payloads():
    patterns = wmma_probes.tf32_patterns()
    assert patterns.size == 4096 and patterns.dtype == np.uint32
    around_a_tie, ends = (
        (0x3F800FFF, 0x3F801000, 0x3F801001),
        (0, 0x1000, 0x7F7FEFFF, 0x7F7FF000, 0x7F800000, 0x7F800001),
    )
    assert {*around_a_tie, *ends, 0x80000000} <= set(patterns.tolist())
    nan = patterns[(patterns & 0x7FFFFFFF) > 0x7F800000]
    assert len(set(nan.tolist())) > 50


@pytest.mark.thorough
def test_a_recording_of_the_emulator_comes_back(file):
    cases = list(tool.read_products(file))
    assert [x.product.mnemonic for x in cases] == [x.mnemonic for x in ALL]
    first = cases[0]
    assert first.d.shape == (12, 16, 16) and first.d.dtype == np.uint32
    assert cases[-1].a.shape == (6, 8, 128)
    assert file.stat().st_size < 400_000


@pytest.mark.thorough
def test_the_tool_writes_the_file_and_its_source_and_compares(file, tmp_path, monkeypatch, capsys):
    class Device(EmulatedGpu):
        name, capability = "a GPU", 90

        def __init__(self):
            super().__init__(ALL)

        def load(self, cubin):
            pass

        def close(self):
            pass

    def compile_cubins(files, folder, target):
        assert target == "sm_90a" and list(files)[-1] == "alignment.cu"
        return [b""] * len(files)

    def start_process(cubin):
        return lambda loads: [f"{x} {wmma_alignment.EQUAL}" for x in loads]

    monkeypatch.setattr(tool, "Device", Device)
    monkeypatch.setattr(tool, "products", lambda arch: [F16, BY_NAME[wmma_probes.EDITED[-2]], ALL[-1]])
    monkeypatch.setattr(tool, "compile_cubins", compile_cubins)
    monkeypatch.setattr(tool, "versions", lambda: {"driver": "1", "cuda": "2"})
    monkeypatch.setattr(wmma_alignment, "start_process", start_process)
    out = tmp_path / "out" / "products.npz"
    assert tool.main(["--out", str(out)]) == 0
    assert tool.main(["--out", str(out), "--compare", str(out)]) == 0
    assert tool.main(["--out", str(out), "--compare", str(file)]) == 1
    assert re.match(r"\d+ arrays differ from .*/products.npz: ", capsys.readouterr().out.splitlines()[-1])
    arrays, metadata = load_arrays(out)
    assert arrays["alignment"].shape == (len(metadata["fragments"]), len(wmma_alignment.OFFSETS)) == (102, 5)
    assert json.loads((out.parent / "sources.json").read_text())["products.npz"]["gpu"] == "a GPU"


@pytest.mark.thorough
def test_what_layouts_do_not_change_is_stored_once(file):
    with np.load(file) as arrays:
        stored = [x for x in arrays.files if x.startswith("product|")]
    assert len(stored) < len(ALL) / 2


def test_inputs_that_changed_are_noticed(file, tmp_path):
    arrays, metadata = load_arrays(file)
    tool.save_arrays(tmp_path / "seed.npz", arrays, **(metadata | {"seed": 2}))
    with pytest.raises(ValueError, match="no longer those of the recording"):
        list(tool.read_products(tmp_path / "seed.npz"))
    tool.save_arrays(tmp_path / "version.npz", arrays, **(metadata | {"version": 0}))
    with pytest.raises(ValueError, match="version 0 of the inputs"):
        list(tool.read_products(tmp_path / "version.npz"))


def test_a_different_array_is_named(file, tmp_path):
    arrays, metadata = load_arrays(file)
    changed = arrays["float_to_tf32"].copy()
    changed[5] ^= 1
    tool.save_arrays(tmp_path / "other.npz", arrays | {"float_to_tf32": changed}, **metadata)
    assert differences(arrays, load_arrays(tmp_path / "other.npz")[0]) == ["float_to_tf32"]


def test_a_gap_that_is_written_is_an_error():
    gpu = EmulatedGpu(ALL)
    product = next(x for x in ALL if x.d.ldm > x.d.line)

    def careless(*arguments, **size):
        one, other = gpu.run_twice(*arguments, **size)
        itemsize = product.d.format.bits // 8
        one[0, product.d.line * itemsize] ^= 1
        return one, other

    assert product.record(gpu.run_twice, 1, FILLS).size
    with pytest.raises(ValueError, match="the gaps of D were written"):
        product.record(careless, 1, FILLS)


def test_a_rejected_load_ends_a_process_and_the_next_one_continues():
    keys = [x.key for x in fragments(90)]
    starts = []

    def start(loads):
        starts.append(len(loads))
        for load in loads:
            key, _, offset = load.partition("@")
            if key in (keys[1], keys[-1]) and int(offset) < 8:
                return
            yield f"{load} {wmma_alignment.EQUAL}"

    answers = wmma_alignment.record(90, start)
    refused = [1, 1, wmma_alignment.REFUSED, wmma_alignment.UNTRIED, wmma_alignment.UNTRIED]
    assert [answers[x].tolist() for x in (keys[0], keys[1], keys[-1])] == [[1] * 5, refused, refused]
    assert len(starts) == 3
    assert wmma_alignment.summary(answers) == (
        "loads of 102 fragments, by misalignment: 102 at 16, 102 at 8, 100 at 4, 100 at 2, 100 at 1 gave the same, "
        "0 something else"
    )


def test_a_load_off_the_alignment_is_compared_with_one_that_is_on_it():
    fragment = fragments(90)[0]

    def run(kernel, inputs, shape, dtype, offset):
        one, other = inputs
        assert kernel == fragment.kernel and np.array_equal(other[offset:], one)
        return np.full(shape, 1, dtype)

    assert wmma_alignment.load(fragment, 4, run) == wmma_alignment.EQUAL
    assert f"__global__ void {fragment.kernel}(" in wmma_alignment.source(90)

# SPDX-License-Identifier: MIT
"""The rules of execution on a GPU that can be shown without one, one fact each.

The kernels are text; a stand-in for the GPU reads in the text which instruction to execute.
"""

import re
import subprocess
import sys

import numpy as np
import pytest

import wmma_emu as we
import wmma_emu.gpu
from tests.gpu.emulated_gpu import EmulatedGpu
from wmma_emu.errors import OptionError
from wmma_emu.gpu.kernel_body import Immediates
from wmma_emu.gpu.ptx import kernel_name, module, target_of
from wmma_emu.gpu.snippet import snippet_module
from wmma_emu.instructions import lookup

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
ONES = 0x3C003C00  # two elements of f16


@pytest.fixture
def gpu(monkeypatch):
    """A stand-in that executes m16n8k16 of f16 on an H100."""
    found = EmulatedGpu(we.instruction(F16, arch="sm_90"))
    monkeypatch.setattr(sys.modules["wmma_emu.gpu.execute"], "open_gpu", lambda: found)
    return found


def registers(count, *batch, word=0):
    return np.full((count, *batch, 32), word, np.uint32)


def instruction_in(text):
    """Return the line of a kernel that has the matrix instruction, without its registers."""
    (line,) = re.findall(r"^  ((?:mma|mma\.sp|wgmma\.mma_async)\.sync\..*;)$", text, re.MULTILINE)
    return re.sub(r"\{(?:%[a-d]\d+(?:, )?)+\}", "{}", line)


def test_importing_the_package_imports_no_cuda():
    code = "import sys, wmma_emu.gpu; print(*[x for x in sys.modules if x.split('.')[0] == 'cuda'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_without_cuda_core_no_gpu_is_available_and_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda", None)
    assert not we.gpu.available()
    with pytest.raises(we.BackendUnavailableError, match="cuda-core is not installed; install the extra `gpu`"):
        we.gpu.device()


@pytest.mark.parametrize(("number", "target"), [(80, "sm_80"), (89, "sm_89"), (90, "sm_90a"), (120, "sm_120a")])
def test_a_kernel_is_assembled_for_its_chip_with_the_features_of_that_chip_alone(number, target):
    assert target_of(number) == target


def test_a_kernel_has_the_instruction_once_with_the_registers_of_a_lane():
    text = module(lookup(F16), "sm_80")
    assert f"  {F16} {{%d0, %d1, %d2, %d3}}, {{%a0, %a1, %a2, %a3}}, {{%b0, %b1}}, {{%c0, %c1, %c2, %c3}};\n" in text
    assert instruction_in(text) == f"{F16} {{}}, {{}}, {{}}, {{}};"


def test_a_kernel_is_named_after_its_instruction():
    assert kernel_name(lookup(F16)) == "mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32"
    assert ".visible .entry mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32(" in module(lookup(F16), "sm_80")


def test_a_sparse_instruction_names_its_metadata_and_the_selector():
    assert instruction_in(module(lookup(SPARSE), "sm_80", Immediates(selector=1))).endswith("{}, %metadata0, 0x1;")


def test_options_of_wgmma_are_immediates_in_the_text():
    negated = Immediates(negate_b=True, transpose_b=True)
    assert instruction_in(module(lookup(WGMMA), "sm_90a")).endswith("%b_descriptor, %scale_d, 1, 1, 0;")
    assert instruction_in(module(lookup(WGMMA), "sm_90a", negated)).endswith("%b_descriptor, %scale_d, 1, -1, 1;")


def test_a_result_has_the_same_registers_as_in_the_emulator(gpu):
    d = we.gpu.execute(gpu.ins, registers(4, word=ONES), registers(2, word=ONES), registers(4))
    assert d.shape == (4, 32)
    assert {hex(x) for x in d.reshape(-1)} == {"0x41800000"}  # 16.0: a row of 16 ones by a column of 16 ones


def test_matrices_are_packed_and_unpacked_as_in_a_call_of_the_instruction(gpu):
    A, B = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)
    D = we.gpu.multiply(gpu.ins, A, B, np.full((16, 8), 0.5, np.float32))
    assert D.shape == (16, 8) and (D == 16.5).all()


def test_warps_broadcast_and_a_shared_tile_is_stored_once(gpu):
    we.gpu.execute(gpu.ins, registers(4, 3, 1), registers(2, 1, 5), registers(4))
    assert [results for _, _, results in gpu.launches] == [15]
    # 3 tiles of A, 5 of B and 1 of C, in registers of 4 bytes for 32 lanes; and 3 tile numbers for each result.
    assert gpu.uploaded == 4 * 32 * (3 * 4 + 5 * 2 + 1 * 4) + 15 * 3 * 4


def test_little_memory_means_more_launches(gpu):
    we.gpu.execute(gpu.ins, registers(4, 64), registers(2, 1), registers(4, 1), max_bytes=16_384)
    assert len(gpu.launches) > 1 and sum(results for _, _, results in gpu.launches) == 64
    assert gpu.peak <= 16_384 and gpu.live == 0


def test_memory_for_less_than_one_result_is_refused(gpu):
    # D, A, B and C are 4, 4, 2 and 4 registers of 128 bytes, and each operand has a tile number of 4 bytes.
    with pytest.raises(OptionError, match=r"max_bytes=1000 is too small: one .* takes 1804 bytes"):
        we.gpu.execute(gpu.ins, registers(4), registers(2), registers(4), max_bytes=1000)


def test_no_warps_cause_no_launch(gpu):
    d = we.gpu.execute(gpu.ins, registers(4, 0), registers(2, 0), registers(4, 0))
    assert d.shape == (4, 0, 32) and gpu.launches == []


def test_an_instruction_bound_to_another_chip_is_refused(gpu):
    with pytest.raises(we.UnsupportedInstructionError, match="sm_80"):
        we.gpu.execute(we.instruction(F16, arch="sm_80"), registers(4), registers(2), registers(4))


def test_a_snippet_reads_inputs_and_stores_outputs_in_registers_of_their_names():
    text = snippet_module("neg.f32 %y, %x;", {"x": np.uint32}, {"y": np.uint32}, "sm_90a")
    assert "neg.f32 %y, %x;" in text and ".visible .entry snippet(" in text
    assert re.search(r"ld\.global\.[bu]32 %x, ", text) and re.search(r"st\.global\.[bu]32 .*, %y;", text)


def test_a_snippet_takes_bits_and_no_floats():
    with pytest.raises(we.FragmentMismatchError, match="x is float32; the registers of a snippet are bits"):
        we.gpu.run_snippet("neg.f32 %y, %x;", {"x": np.ones(32, np.float32)}, {"y": np.uint32})

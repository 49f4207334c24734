# SPDX-License-Identifier: MIT
import shutil
import subprocess
from pathlib import Path

import pytest

from wmma_emu.ptx.program.build import program_of

TEXTS = Path(__file__).parents[1] / "texts"

KERNELS = {
    "handwritten": {"everything": 38},
    "nvcc_calls": {"settings": 82, "prints": 43, "shared_both": 52, "chosen": 77},
    "nvcc_debug": {"halves": 44},
    "nvrtc_lineinfo": {"tile": 76, "inline_ptx": 16},
    "triton_matmul_wgmma": {"matmul": 329},
    "triton_softmax": {"softmax": 85},
}


def program(name):
    return program_of((TEXTS / f"{name}.ptx").read_text())


def test_every_sample_is_tested():
    assert sorted(x.stem for x in TEXTS.glob("*.ptx")) == sorted(KERNELS)
    assert sum(x.stat().st_size for x in TEXTS.glob("*.ptx")) < 100_000


@pytest.mark.parametrize("name", KERNELS)
def test_ptx_from_compilers_becomes_a_program(name):
    found = program(name)
    assert {x.name: len(x.instructions) for x in found.kernels.values()} == KERNELS[name]


@pytest.mark.parametrize("name", KERNELS)
def test_windows_line_ends_and_whitespace_have_no_effect(name):
    text = (TEXTS / f"{name}.ptx").read_text()
    expected = program_of(text)
    for other in (text.replace("\n", "\r\n"), text.replace("\t", "    "), text + "\0"):
        found = program_of(other)
        for kernel in expected.kernels.values():
            same = found.kernels[kernel.name]
            assert same.registers == kernel.registers
            assert [(x.opcode, x.operands, x.line) for x in same.instructions] == [
                (x.opcode, x.operands, x.line) for x in kernel.instructions
            ]


@pytest.mark.parametrize("name", KERNELS)
def test_ptxas_accepts_the_samples(name, tmp_path):
    if shutil.which("ptxas") is None:
        pytest.skip("needs ptxas of the CUDA toolkit")
    arch = "sm_90a" if "wgmma" in name else "sm_80"
    command = ["ptxas", f"-arch={arch}", str(TEXTS / f"{name}.ptx"), "-o", str(tmp_path / "x")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if "Unsupported .version" in run.stderr:
        pytest.skip("this ptxas is older than the compiler of the sample")
    assert run.returncode == 0, run.stderr


def test_debug_lines_name_the_source():
    found = program("nvrtc_lineinfo").kernels["tile"].instructions
    assert {x.source.file for x in found if x.source is not None} == {"tile.cu", "crt/mma.hpp"}
    product = next(x for x in found if x.mnemonic == "wmma" and x.modifiers[0] == "mma")
    assert str(product.source) == "tile.cu:8, inlined from crt/mma.hpp:626"


def test_structs_by_value_and_functions_of_the_driver_are_resolved():
    found = program("nvcc_calls")
    settings = found.kernels["settings"]
    assert [(x.type, x.bytes, x.offset) for x in settings.parameters] == [
        ("b8", 40, 0), ("u8", 1, 40), ("f64", 8, 48), ("u64", 8, 56),
    ]  # fmt: skip
    assert [x.name for x in found.const_symbols] == ["coefficients", "table"]
    assert found.const_bytes[16:] == b"".join(x.to_bytes(4, "little") for x in (1, 2, 0, 3, 4, 5))
    ((offset, counter, addend, is_generic),) = found.global_relocations
    assert (counter.name, addend, is_generic) == ("counter", 0, True)
    assert found.global_bytes[counter.offset : counter.offset + 4] == b"\7\0\0\0"
    assert offset != counter.offset
    called = [x.callee_name for x in found.kernels["prints"].instructions if x.mnemonic == "call"]
    assert called == ["vprintf", "__assertfail", "malloc", "free"]
    assert all(x.callee is None for x in found.kernels["prints"].instructions)


def test_dynamic_shared_memory_follows_static_shared_memory():
    found = program("nvcc_calls").kernels["shared_both"]
    assert (found.shared_bytes, found.dynamic_offset, found.max_block) == (144, 144, (256, 1, 1))


def test_a_kernel_of_triton_has_its_block_and_no_static_shared_memory():
    found = program("triton_matmul_wgmma").kernels["matmul"]
    assert (found.required_block, found.shared_bytes, found.dynamic_offset) == ((128, 1, 1), 0, 0)
    assert sum(x.opcode.startswith("wgmma.mma_async") for x in found.instructions) > 0


def test_registers_of_inline_ptx_are_separate():
    found = program("nvrtc_lineinfo").kernels["inline_ptx"]
    names = [x.name for x in found.registers]
    assert len(set(names)) == len(names)
    assert {"p", "p#2", "t0", "t"} <= set(names)

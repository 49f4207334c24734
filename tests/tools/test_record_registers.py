# SPDX-License-Identifier: MIT
"""Recording registers: the kernels, the file, and the comparison, with the emulator instead of a GPU."""

import re
import shutil

import numpy as np
import pytest

from tools import check_registers, recordings
from tools.cuda_driver import CudaError, compile_cubins, target_of
from tools.record_registers import GENERATORS, is_dense, kernel, kernel_name, record, sources
from wmma_emu.api import instruction
from wmma_emu.instructions import INSTRUCTIONS, instructions_of

F16 = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
F64 = INSTRUCTIONS["mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"]
S8 = INSTRUCTIONS["wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32.satfinite"]
S8_OTHER = INSTRUCTIONS["wmma.mma.sync.aligned.col.row.m16n16k16.s32.s8.s8.s32.satfinite"]
ROWS = (F16, F64, S8, S8_OTHER)


def emulate(name, inputs, shape, dtype, tiles, blocks):
    row = next(x for x in ROWS if kernel_name(x) == name)
    assert blocks == tiles
    d = instruction(row.mnemonic, arch="sm_90").execute(*inputs)
    assert d.shape == shape and d.dtype == dtype
    return d


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "registers.npz"
    results = record(ROWS, GENERATORS, seed=5, tiles=2, run=emulate)
    recordings.save_registers(path, results, GENERATORS, 5, 2, arch="sm_90")
    return path


def test_a_kernel_loads_every_register_executes_once_and_stores_every_register():
    text = kernel(F16)
    assert text.count("ld.global.b32") == 4 + 2 + 4
    assert text.count("st.global.b32") == 4
    assert ("  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, "
            "{%b0, %b1}, {%c0, %c1, %c2, %c3};\n") in text  # fmt: skip
    assert ".reg .b32 %a<4>;" in text and ".reg .f32 %d<4>;" in text
    assert kernel(F64).count("ld.global.b64") == 4
    assert "mul.wide.u32 %step, %tiles, 256;" in kernel(F64)


def test_every_instruction_of_a_chip_has_one_kernel():
    rows = [row for row in instructions_of("sm_90") if is_dense(row)]
    found = [x for text in sources(rows, "sm_90a").values() for x in re.findall(r"\.entry (\w+)\(", text)]
    assert sorted(found) == sorted(map(kernel_name, rows))
    assert len(set(found)) == len(rows)


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_every_kernel_assembles(tmp_path):
    files = sources([row for row in instructions_of("sm_90") if is_dense(row)], "sm_90a")
    try:
        cubins = compile_cubins(files, tmp_path, "sm_90a")
    except CudaError as error:
        if "Unsupported" in str(error) or "not defined for option" in str(error):
            pytest.skip("this nvcc is too old for PTX 9.0 and sm_90a")
        raise
    assert all(x[:4] == b"\x7fELF" for x in cubins)


def test_targets_have_their_own_features_since_hopper():
    assert [target_of(x) for x in (70, 89, 90, 120)] == ["sm_70", "sm_89", "sm_90a", "sm_120a"]


def test_a_recording_comes_back_generator_by_generator(file):
    cases = list(recordings.read_registers(file))
    assert {x.mnemonic for x in cases} == {x.mnemonic for x in ROWS}
    assert [x.generator for x in cases if x.mnemonic == S8.mnemonic] == ["normal", "limits", "raw"]
    assert all(x.d.shape[1:] == (2, 32) for x in cases)
    assert all(x.d.dtype == (np.uint64 if "f64" in x.mnemonic else np.uint32) for x in cases)


def test_equal_outputs_are_stored_once(file):
    with np.load(file) as arrays:
        assert f"{S8.mnemonic}|D" in arrays.files
        assert f"{S8_OTHER.mnemonic}|D" not in arrays.files
        assert arrays["same"].tolist() == [[f"{S8_OTHER.mnemonic}|D", f"{S8.mnemonic}|D"]]


def test_a_recording_of_the_emulator_equals_the_emulator(file, capsys):
    assert check_registers.main([str(file)]) == 0
    assert "0 registers, 0 elements differ, in 0 instructions" in capsys.readouterr().out


def test_one_flipped_bit_is_found_and_named(file, tmp_path, capsys):
    arrays, metadata = recordings.load_arrays(file)
    d = arrays[f"{F64.mnemonic}|D"].copy()
    d[1, 3, 17] ^= np.uint64(1)
    recordings.save_arrays(tmp_path / "other.npz", arrays | {f"{F64.mnemonic}|D": d}, **metadata)
    assert check_registers.main([str(tmp_path / "other.npz"), "--quiet"]) == 1
    printed = capsys.readouterr().out
    assert "wide, register 1, tile 1, lane 17" in printed
    assert "1 registers, 1 elements differ, in 1 instructions" in printed


def test_a_generator_that_changed_is_noticed(file, tmp_path):
    arrays, metadata = recordings.load_arrays(file)
    recordings.save_arrays(tmp_path / "seed.npz", arrays, **(metadata | {"seed": 6}))
    with pytest.raises(ValueError, match="no longer those of the recording"):
        list(recordings.read_registers(tmp_path / "seed.npz"))
    recordings.save_arrays(tmp_path / "version.npz", arrays, **(metadata | {"version": 0}))
    with pytest.raises(ValueError, match="version 0 of the inputs"):
        list(recordings.read_registers(tmp_path / "version.npz"))


def test_recordings_that_hold_their_inputs_are_read_too(file, tmp_path, capsys):
    sparse = instruction("mma.sp.m16n8k16.f16.f16.f16.f16")
    whole = {"A": np.full((3, 2, 32), 0x3C00_4000, np.uint32), "B": np.full((3, 2, 32), 0x4200_3C00, np.uint32),
             "C": np.zeros((3, 2, 32), np.uint32), "E": np.full((3, 32), 0x4E4E_4E4E, np.uint32)}  # fmt: skip
    registers = [whole[x].swapaxes(0, 1) for x in "ABC"]
    whole["D"] = sparse.execute(*registers, metadata=whole["E"], selector=1).swapaxes(0, 1)
    arrays = {f"sp.m16n8k16.row.col.f16.f16.f16.f16#sel1|raw|{x}": array for x, array in whole.items()}
    for x in recordings.read_registers(file):
        name = x.mnemonic.removeprefix("mma.sync.aligned.")
        arrays |= {f"{name}|{x.generator}|{y.upper()}": np.moveaxis(getattr(x, y), 0, 1) for y in "abcd"}
    np.savez(tmp_path / "whole.npz", **arrays)
    assert check_registers.main([str(tmp_path / "whole.npz"), "--engine", "reference", "--first-tiles", "1"]) == 0
    assert "5 instructions on sm_90, engine reference" in capsys.readouterr().out


def test_sources_are_added_in_the_folder_of_the_file(tmp_path):
    (tmp_path / "sources.json").write_text('{"other.npz": {"gpu": "x"}}')
    (tmp_path / "a.npz").write_bytes(b"abc")
    recordings.add_source(tmp_path / "a.npz", gpu="NVIDIA H200")
    text = (tmp_path / "sources.json").read_text()
    assert '"other.npz"' in text and '"gpu": "NVIDIA H200"' in text
    assert "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" in text

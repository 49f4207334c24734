# SPDX-License-Identifier: MIT
"""Recording the examples: inputs, launches, the file; with the Python kernels instead of a GPU."""

import importlib
import json
import shutil

import numpy as np
import pytest

import wmma_emu as we
from tools import record_examples as tool
from tools.cuda_driver import compile_cubins, three
from tools.recordings import load_arrays, save_arrays


def launch(kernel, inputs, shape, dtype, *scalars, blocks, threads):
    """Launch the Python kernel of that name over arrays in the order of the GPU's memory."""
    out = np.zeros(shape, dtype)
    memory = [x.reshape(-1) for x in inputs]
    getattr(importlib.import_module(f"examples.{kernel}"), kernel)[blocks, threads](*memory, out.reshape(-1), *scalars)
    return out


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("recording") / "examples.npz"
    tool.save(path, tool.record(tool.EXAMPLES, launch, 1), 1)
    return path


def test_every_kernel_has_its_two_files_and_a_launch():
    kernels = sorted(x.stem for x in tool.FOLDER.glob("*.cu"))
    assert sorted(x.name for x in tool.EXAMPLES) == kernels
    for x in tool.EXAMPLES:
        assert x.source.with_suffix(".py").exists()
        assert f'extern "C" __global__ void {x.name}(' in x.source.read_text(encoding="utf-8")


@pytest.mark.thorough
def test_a_recording_of_the_python_kernels_comes_back(file):
    recorded = tool.load(file)
    assert list(recorded) == [x.name for x in tool.EXAMPLES]
    (A, B), D = recorded["bounds_checked"]
    assert (A.shape, B.shape, D.shape, D.dtype) == ((40, 70), (70, 50), (40, 50), np.float32)
    product = we.gemm(A, B, instr="wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32")
    np.testing.assert_array_equal(D.view(np.uint32), product.view(np.uint32))
    assert file.stat().st_size < 300_000


@pytest.mark.thorough
def test_the_tool_writes_the_file_and_its_source_and_compares(file, tmp_path, monkeypatch):
    class ExampleDevice:
        name, capability = "a GPU", 90
        run = staticmethod(launch)

        def load(self, cubin):
            pass

        def close(self):
            pass

    monkeypatch.setattr(tool, "Device", ExampleDevice)
    monkeypatch.setattr(tool, "compile_cubins", lambda files, folder, target: [b""] * len(files))
    monkeypatch.setattr(tool, "versions", lambda: {"driver": "1", "cuda": "2"})
    out = tmp_path / "examples.npz"
    assert tool.main(["--out", str(out), "--compare", str(file)]) == 0
    assert tool.main(["--out", str(out), "--seed", "2", "--compare", str(file)]) == 1
    assert json.loads((tmp_path / "sources.json").read_text())["examples.npz"]["seed"] == 2


def test_inputs_that_changed_are_noticed(file, tmp_path):
    arrays, metadata = load_arrays(file)
    save_arrays(tmp_path / "seed.npz", arrays, **(metadata | {"seed": 2}))
    with pytest.raises(ValueError, match="the inputs of naive_wmma are no longer"):
        tool.load(tmp_path / "seed.npz")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of examples/ that may be changed."""
    copy = tmp_path / "examples"
    shutil.copytree(tool.FOLDER, copy)
    monkeypatch.setattr(tool, "FOLDER", copy)
    return copy


@pytest.mark.parametrize("name", [x.name for x in tool.EXAMPLES])
def test_a_kernel_that_changed_is_noticed(file, folder, name):
    source = folder / f"{name}.cu"
    source.write_text(source.read_text(encoding="utf-8").replace("+", "-", 1), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"{name}\.cu is no longer the file that was recorded; record again"):
        tool.load(file)


def test_line_endings_are_not_a_change(file, folder):
    for x in tool.EXAMPLES:
        x.source.write_bytes(x.source.read_bytes().replace(b"\n", b"\r\n"))
    assert len(tool.load(file)) == len(tool.EXAMPLES)


def test_a_file_that_does_not_name_its_kernels_is_refused(file, tmp_path):
    arrays, metadata = load_arrays(file)
    del metadata["sources"]
    save_arrays(tmp_path / "old.npz", arrays, **metadata)
    with pytest.raises(ValueError, match=r"naive_wmma\.cu is no longer the file that was recorded"):
        tool.load(tmp_path / "old.npz")


def test_inputs_are_the_same_everywhere():
    A, B = tool.inputs(tool.EXAMPLES[0], 1)
    assert A.dtype == B.dtype == np.float16
    assert [hex(x) for x in A.view(np.uint16)[0, :3]] == ["0xb5bd", "0x3865", "0x52b3"]
    assert np.abs(A).min() >= 2**-6 and np.abs(A).max() < 2**7


def test_a_launch_has_three_sizes():
    assert [three(x) for x in (5, (5,), (5, 6), (5, 6, 7))] == [(5, 1, 1), (5, 1, 1), (5, 6, 1), (5, 6, 7)]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("target", [75, 80, 90])
def test_every_kernel_compiles(tmp_path, target):
    asked = {x.source.name: x.source.read_text(encoding="utf-8") for x in tool.EXAMPLES if x.since <= target}
    assert all(x[:4] == b"\x7fELF" for x in compile_cubins(asked, tmp_path, f"sm_{target}"))

# SPDX-License-Identifier: MIT
"""Compiling without nvcc: which functions are taken, where headers are found; and, with cuda-core, the kernels."""

import argparse
import importlib.util

import pytest

from tools import nvrtc, record_wmma_layouts, wmma_alignment
from tools.cuda_driver import CudaError, compile_cubins, versions
from tools.record_wmma_products import sources
from tools.wmma_products import products

HAS_CUDA_CORE = importlib.util.find_spec("cuda") is not None and importlib.util.find_spec("cuda.core") is not None


def test_the_option_chooses_the_compiler():
    parser = argparse.ArgumentParser()
    nvrtc.add_option(parser)
    chosen = {
        x: nvrtc.chosen(parser.parse_args(x).compiler, compile_cubins, versions) for x in ((), ("--compiler=nvrtc",))
    }
    assert chosen == {(): (compile_cubins, versions), ("--compiler=nvrtc",): (nvrtc.compile_cubins, nvrtc.versions)}


def test_headers_of_the_toolkit_and_its_standard_library_are_found(tmp_path, monkeypatch):
    include = tmp_path / "include"
    (include / "cccl").mkdir(parents=True)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert include not in list(nvrtc._folders())[1:]
    (include / "mma.h").write_text("")
    assert nvrtc.include_paths() == [include, include / "cccl"]


def test_missing_headers_are_said(monkeypatch):
    monkeypatch.setattr(nvrtc, "_folders", lambda: iter(()))
    with pytest.raises(CudaError, match=r"no mma\.h: put the CUDA toolkit's bin folder on PATH"):
        nvrtc.include_paths()


@pytest.mark.skipif(HAS_CUDA_CORE, reason="cuda-core is installed")
def test_without_cuda_core_that_is_said():
    with pytest.raises(CudaError, match=r"pip install '\.\[gpu\]'"):
        nvrtc.compile_one("a.ptx", "", "sm_90a")


@pytest.mark.slow
@pytest.mark.skipif(not HAS_CUDA_CORE, reason="needs cuda-core")
def test_every_kernel_compiles(tmp_path):
    asked = record_wmma_layouts.fragments(90)
    head = record_wmma_layouts.INCLUDES + record_wmma_layouts._DUMP
    files = sources(products("sm_90")) | {"alignment.cu": wmma_alignment.source(90)}
    files["layouts.cu"] = head + "".join(x.source for x in asked)
    assert all(x[:4] == b"\x7fELF" for x in nvrtc.compile_cubins(files, tmp_path, "sm_90a"))

# SPDX-License-Identifier: MIT
"""The kernels of examples/: equal to `we.gemm` with their order of k, for any grid, and equal to their CUDA C++."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tools.record_examples import EXAMPLES, FOLDER, inputs
from wmma_emu import wmma

BY_NAME = {x.name: x for x in EXAMPLES}
HMMA = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
TF32 = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"


def module(name):
    return importlib.import_module(f"examples.{name}")


def launch(name):
    """What the Python example computes from the inputs of the recording."""
    call = getattr(module(name), "combine" if name == "lop3" else "multiply")
    return call(*inputs(BY_NAME[name], 1))


def expected(name):
    a, b, *c = inputs(BY_NAME[name], 1)
    match name:
        case "lop3":
            return a & b | c[0]
        case "mma_tf32":
            return we.gemm(a, b, c[0], instr=TF32)
        case "tf32_shared":
            return we.gemm(wmma.float_to_tf32(a), wmma.float_to_tf32(b), instr=TF32)
    return we.gemm(a, b, instr=HMMA)


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.parametrize("name", BY_NAME)
def test_a_kernel_gives_the_bits_of_gemm_with_its_order_of_k(name):
    D, wanted = launch(name), expected(name)
    assert D.dtype == wanted.dtype
    np.testing.assert_array_equal(D.view(np.uint32), wanted.view(np.uint32))


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("name", [x for x in BY_NAME if x != "lop3"])
def test_the_inputs_give_the_tensor_core_bits_to_cut(name):
    a, b, *c = (x.astype(np.float64) for x in inputs(BY_NAME[name], 1))
    correctly_rounded = (a @ b + sum(c)).astype(np.float32)
    assert (launch(name) != correctly_rounded).mean() > 0.2


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.parametrize("name", BY_NAME)
def test_blocks_past_the_end_return_without_a_trace(name):
    example = BY_NAME[name]
    memory = [np.ascontiguousarray(x).reshape(-1) for x in example.in_memory(*inputs(example, 1))]
    out = np.full(example.shape, -1).astype(example.output_dtype)
    blocks = tuple(x + 1 for x in example.blocks)
    getattr(module(name), name)[blocks, example.threads](*memory, out.reshape(-1), *example.scalars)
    np.testing.assert_array_equal(example.from_memory(out).view(np.uint32), launch(name).view(np.uint32))


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("name", BY_NAME)
def test_main_prints_a_checked_result(name, capsys):
    module(name).main()
    printed = capsys.readouterr().out
    assert printed.startswith(f"{name}: ") and re.search(r" 0 (elements )?differ\n$", printed)


def test_an_example_runs_from_a_checkout():
    command = [sys.executable, str(FOLDER / "lop3.py")]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(root)}, check=True)
    assert done.stdout == "lop3: 992 words, immLut 0xEA, 0 differ\n"


STEP = re.compile(r"wmma(?:::|\.)(\w+_sync|fill_fragment|fragment)\b|(syncthreads)|(if) |(for) |(return)\b|(lop3)\b")


def steps(kernel):
    """Loops, conditions, returns, barriers and calls of the WMMA API, in the order of the text."""
    return ["".join(x) for x in STEP.findall(kernel)]


@pytest.mark.parametrize("name", BY_NAME)
def test_both_languages_take_the_same_steps(name):
    cuda, python = (FOLDER.joinpath(f"{name}{end}").read_text(encoding="utf-8") for end in (".cu", ".py"))
    cuda = cuda.partition('extern "C"')[2].partition("\n}\n")[0]
    python = python.partition("@we.kernel")[2].partition("\n\n\n")[0]
    assert steps(cuda) == steps(python)
    assert {"if", "return"} <= {*steps(cuda)}

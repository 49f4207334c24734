# SPDX-License-Identifier: MIT
"""The kernels of examples/ptx/ give the bits that a Hopper GPU gave, from their PTX as it is, and nothing is wrong."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from examples.ptx.cases import CASES, SLOW
from examples.ptx.texts import CUDA, TEXTS, compiled
from tools.record_ptx_kernels import bits, kept, largest_error, load
from wmma_emu.errors import BackendUnavailableError

FILE = Path(__file__).parents[2] / "data" / "sm90_ptx_kernels.npz"

QUICK = [x for x in CASES if x not in SLOW]

pytestmark = pytest.mark.vectors


@cache
def recorded():
    return load(FILE)


@cache
def module(text):
    return we.ptx.Module(compiled(text), arch="sm_90", findings="report")


def launch(text, name, **options):
    """The report, and all arguments after a launch."""
    case = CASES[name]
    arguments = case.draw(recorded()[1])
    report = text[case.kernel][case.grid, case.block, case.shared](*arguments, **options)
    return report, arguments


def require_recorded(name, arguments):
    for i, stored in recorded()[0][name].items():
        found = kept(arguments[i])
        assert found.keys() == stored.keys()
        for end in sorted(found, reverse=True):  # "whole" and "rows" say more than "hash"
            np.testing.assert_array_equal(found[end], stored[end], err_msg=f"{name}, argument {i}, {end}")


@pytest.mark.parametrize("name", QUICK)
def test_a_kernel_gives_the_bits_of_the_gpu(name):
    report, arguments = launch(module(CASES[name].text), name)
    assert not report.findings, "\n".join(map(str, report.findings))
    assert report.completed
    require_recorded(name, arguments)


@pytest.mark.parametrize("name", SLOW)
def test_a_kernel_of_the_benchmark_gives_the_bits_of_the_gpu(name):
    pytest.importorskip("llvmlite")
    report, arguments = launch(module(CASES[name].text), name)
    assert not report.findings
    require_recorded(name, arguments)


@pytest.mark.parametrize("name", QUICK)
def test_the_recording_is_near_what_plain_numpy_expects(name):
    case, (stored, seed) = CASES[name], recorded()
    if not all("whole" in stored[name][i] for i in case.outputs):
        pytest.skip("of an output this large a hash and some rows are recorded")
    arguments = case.draw(seed)
    outputs = [stored[name][i]["whole"].view(arguments[i].dtype) for i in case.outputs]
    assert largest_error(case, arguments, outputs) <= case.bound
    assert any((bits(x) != bits(arguments[i])).any() for i, x in zip(case.outputs, outputs, strict=True))


@pytest.mark.thorough
@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("text", [x.name for x in CUDA])
def test_nvrtc_gives_kernels_of_the_same_bits(text):
    build = pytest.importorskip("tools.build_example_ptx")
    try:
        ptx = build.build(text)
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    fresh = we.ptx.Module(ptx, arch="sm_90", findings="report")
    for name in (x for x in QUICK if CASES[x].text == text):
        report, arguments = launch(fresh, name)
        assert not report.findings, "\n".join(map(str, report.findings))
        require_recorded(name, arguments)


@pytest.mark.thorough
@pytest.mark.parametrize("text", [x for x in TEXTS if x.startswith("triton")])
def test_triton_gives_kernels_of_the_same_bits(text):
    pytest.importorskip("triton")
    from tools.build_example_ptx import build

    fresh = build(text)
    if fresh == compiled(text):
        return  # launched above
    shared = int(fresh.split("\n", 1)[0].rsplit(" ", 1)[1])
    for name in (x for x in QUICK if CASES[x].text == text):
        case, arguments = CASES[name], CASES[name].draw(recorded()[1])
        report = we.ptx.Module(fresh, findings="report")[case.kernel][case.grid, case.block, shared](*arguments)
        assert not report.findings, "\n".join(map(str, report.findings))
        require_recorded(name, arguments)


SCHEDULED = ("pipelined_gemm", "block_wmma", "histogram", "turns", "last_block", "triton_flash_attention_wgmma")


@pytest.mark.parametrize("name", SCHEDULED)
def test_another_order_of_the_warps_gives_the_same_bits(name):
    report, arguments = launch(module(CASES[name].text), name, schedule=7)
    assert not report.findings
    require_recorded(name, arguments)


def test_every_case_is_recorded_and_every_text_has_a_case():
    assert recorded()[0].keys() == CASES.keys()
    assert {x.text for x in CASES.values()} == TEXTS.keys()


ABSOLUTE_PATH = re.compile(r"(?<![\w.*])/(?![/*])[\w.-]+/|\b[A-Za-z]:\\|site-packages")
"""A path from the root of a machine."""


@pytest.mark.parametrize(
    "path", ["/home/someone/a.cu", "/tmp/x/y.ptx", r"C:\Users\someone\a.cu", "lib/site-packages/triton"]
)
def test_a_path_of_a_machine_is_recognised(path):
    assert ABSOLUTE_PATH.search(f'.file 1 "{path}"')
    assert not ABSOLUTE_PATH.search('.file 1 "a.cu"\n// half of a/b; // see a.cu\n$L__BB0_1: /* x */')


def test_the_committed_ptx_has_no_paths_of_the_machine_that_compiled_it():
    for text in TEXTS:
        assert not ABSOLUTE_PATH.search(compiled(text)), text

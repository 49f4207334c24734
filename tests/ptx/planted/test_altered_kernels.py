# SPDX-License-Identifier: MIT
"""Real kernels without one line, or with a wrong launch: the fault is found."""

import re

import numpy as np
import pytest

import wmma_emu as we
from examples.ptx.cases import CASES
from examples.ptx.texts import compiled
from tests.ptx.planted.table import PLANTED
from wmma_emu.errors import LaunchLimitError

WITHOUT = [
    ("block_wmma", r"bar\.sync\s+0;", "race"),
    ("odd_even_sort", r"bar\.sync\s+0;", "race"),
    ("histogram", r"bar\.sync\s+0;", "race"),
    ("variables", r"bar\.sync\s+0;", "race"),
    ("microtile_tf32", r"bar\.sync\s+0;", "race"),
    ("last_block", r"bar\.sync\s+0;", "race"),
    ("pipelined_gemm", r"bar\.sync\s+0;", "race"),
    ("pipelined_gemm", r"cp\.async\.wait_group\s+1;", "missing wait"),
    ("pipelined_gemm", r"cp\.async\.commit_group;", "missing wait"),
    ("wgmma_f16", r"wgmma\.wait_group\.sync\.aligned 0;", "missing wait"),
    ("wgmma_f16", r"bar\.sync\s+0;", "race"),
    ("triton_f16", r"bar\.sync\s+0;", "race"),
    ("triton_f16", r"cp\.async\.wait_group\s+\d+;", "missing wait"),
    ("triton_flash_attention", r"cp\.async\.wait_group\s+\d+;", "missing wait"),
    ("triton_flash_attention", r"bar\.sync\s+0;", "race"),
    ("triton_flash_attention_wgmma", r"wgmma\.wait_group\.sync\.aligned\s+\d+;", "missing wait"),
]


def launch(text, case, arguments, **changes):
    module = we.ptx.Module(text, arch="sm_90", findings="report")
    given = {"grid": case.grid, "block": case.block, "shared": case.shared, **changes}
    return module[case.kernel][given["grid"], given["block"], given["shared"]](*arguments)


@pytest.mark.sweep(keep=1 / 8)
@pytest.mark.parametrize(("name", "line", "kind"), WITHOUT, ids=[f"{x[0]}-{i}" for i, x in enumerate(WITHOUT)])
def test_the_fault_of_a_kernel_without_one_line_is_found(name, line, kind):
    case = CASES[name]
    head, begin, body = compiled(case.text).partition(f".entry {case.kernel}(")
    text, count = re.subn(line, "", body)
    assert count
    report = launch(head + begin + text, case, case.draw(1))
    # A missing barrier may also cause races of lanes of one warp, and races of values that are not used.
    milder = {"race within a warp", "race of an unused value"} if kind == "race" else set()
    kinds = {x.kind for x in report.findings} - milder
    assert kind in kinds
    assert kinds <= {kind, "uninitialised"}  # data that has not arrived may also be uninitialised


def test_a_grid_that_is_too_large_for_a_triton_kernel_without_masks_is_found():
    case = CASES["triton_f16"]
    report = launch(compiled(case.text), case, case.draw(1), grid=(3, 1))
    assert {x.kind for x in report.findings} == {"out of bounds"}
    assert all(tuple(x.block) == (2, 0, 0) for x in report.findings)


def test_a_broken_promise_of_divisibility_is_found():
    case = CASES["triton_f16"]
    arguments = list(case.draw(1))
    M, _, K = arguments[3:6]
    arguments[0] = np.zeros((M, K + 1), np.float16)
    arguments[6] = K + 1  # rows whose size is not a multiple of sixteen bytes
    report = launch(compiled(case.text), case, arguments)
    assert {x.kind for x in report.findings} == {"misaligned"}
    assert all("cp.async" in x.text for x in report.findings)


def test_too_little_dynamic_shared_memory_is_found():
    case = CASES["pipelined_gemm"]
    report = launch(compiled(case.text), case, case.draw(1), shared=case.shared - 512)
    assert {x.kind for x in report.findings} == {"out of bounds"}


def test_a_matrix_that_is_too_small_is_found_and_nothing_else_is_written():
    case = CASES["naive_wmma"]
    arguments = list(case.draw(1))
    around = np.full(arguments[2].size + 64, 7, np.float32)
    arguments[2] = around[32:-64].reshape(-1)  # one row of D too few
    report = launch(compiled(case.text), case, arguments)
    assert {x.kind for x in report.findings} == {"out of bounds"}
    assert (around[:32] == 7).all() and (around[-64:] == 7).all()


def test_a_wait_for_a_flag_that_is_never_set_reaches_the_limit():
    bug = next(iter(x for x in PLANTED.values() if x.file == "barriers"))
    for fixed in (False, True):
        module = we.ptx.Module(bug.ptx(fixed), arch="sm_90", findings="report", max_steps=5000)
        flag, out = np.zeros(1, np.int32), np.zeros(32, np.int32)
        kernel = module["flag_that_nobody_sets"][1, 32]
        if fixed:
            assert not kernel(flag, out).findings and out.all()
        else:
            with pytest.raises(LaunchLimitError):
                kernel(flag, out)


@pytest.mark.parametrize(
    ("threads", "skipped"),
    [(64, "warps 0-1 skip"), (96, "warps 0-2 skip"), (160, "warp 4 skips"), (224, "warps 4-6 skip")],
)
def test_an_incomplete_warpgroup_is_found_and_computes_nothing(threads, skipped):
    case = CASES["wgmma_f16"]
    text = re.sub(r"\.maxntid \d+.*", "", compiled(case.text))
    # Threads beyond the warpgroup would write its tiles again, at the same time.
    text, count = re.subn(r"(mov\.u32\s+(%r\d+), %tid\.x;)", r"\1 and.b32 \2, \2, 127;", text)
    assert count
    arguments = case.draw(1)
    report = launch(text, case, arguments, block=threads)
    (finding,) = [x for x in report.findings if x.kind == "partial warp"]
    assert f"not a multiple of the warpgroup size, 4: {skipped} this instruction" in finding.message
    assert "wgmma.mma_async" in finding.text
    assert report.completed

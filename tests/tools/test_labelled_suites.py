# SPDX-License-Identifier: MIT
"""Labelled suites of other projects: sources and annotations are parsed, unexplained verdicts reported."""

import json

import pytest

import wmma_emu as we
from tools.labelled_suites import cav14, indigo
from tools.labelled_suites.__main__ import main
from tools.labelled_suites.annotations import Parameter, demanded, dimensions, kernels
from tools.labelled_suites.case import verdict
from tools.labelled_suites.page import write_page
from tools.labelled_suites.small_kernels import SMALL_KERNELS, found
from wmma_emu.errors import BackendUnavailableError

KERNEL = """//pass
//--blockDim=[16,4] --gridDim=2
__global__ void k(const float4* __restrict__ in, unsigned int n, int (*f)[3]) {
    __requires(n == 64);
    // __syncthreads();
#ifdef MUTATION
    __syncthreads();
#else
    __syncthreads();
#endif
}
__global__ void declared(int);
"""


@pytest.fixture
def nvrtc():
    try:
        we.ptx.Module.from_cuda('extern "C" __global__ void k() {}')
    except BackendUnavailableError as error:
        pytest.skip(str(error))


def test_arguments_are_made_from_signatures_and_annotations():
    assert [name for name, _ in kernels(KERNEL)] == ["k"]
    assert kernels(KERNEL)[0][1][:2] == [Parameter("float4", "in", True), Parameter("unsigned int", "n", False)]
    assert demanded(KERNEL) == {"n": "64"}
    assert dimensions(KERNEL, "blockDim") == [16, 4] and dimensions(KERNEL, "gridDim") == [2]


def test_barriers_in_comments_and_seeds_are_not_deleted(tmp_path):
    (tmp_path / "a.cu").write_text(KERNEL)
    cases = list(cav14.cases(tmp_path, ""))
    assert [x.variant for x in cases] == ["right", "seed", "seed -G", "mutant 0 line 9"]
    assert cases[-1].source.splitlines()[8].strip() == "(void)0;"
    assert cases[0].source.count("__syncthreads") == cases[-1].source.count("__syncthreads") + 1


def test_tags_choose_parts_of_lines(tmp_path):
    folder = tmp_path / "Generators/CUDA_sources"
    folder.mkdir(parents=True)
    (folder / "p.idg").write_text("a /*@raceBug@*/ b\n/*@int@*/ int /*@long@*/ long\nvoid serial_code()\n")
    cases = {x.program: x for x in indigo.cases(tmp_path, "")}
    assert set(cases) == {"p", "p_int", "p_raceBug", "p_raceBug_int"}
    assert cases["p_raceBug_int"].source == "b\nint\n" and cases["p_int"].source == "a\nint\n"
    assert cases["p_raceBug"].label == "raceBug" and not cases["p_int"].label


def _scor(folder, name, statement):
    sources = folder / "ScoR/microbenchmarks/src"
    sources.mkdir(parents=True, exist_ok=True)
    head = '#define NBLOCKS 2\n#define TPERBLK 1\nextern "C" __global__ void kmain(volatile unsigned* x)'
    (sources / name).write_text(f"{head} {{ {statement} }}\n")


@pytest.mark.thorough
def test_a_suite_is_launched_and_its_verdicts_are_kept(tmp_path, nvrtc):
    _scor(tmp_path, "race_a.cu", "*x = blockIdx.x;")
    _scor(tmp_path, "norace_b.cu", "atomicAdd((unsigned*)x, 1);")
    assert main(["run", "--sources", str(tmp_path), "--results", str(tmp_path / "out"), "--suite", "scor"]) == 0
    rows = [json.loads(x) for x in (tmp_path / "out/scor.jsonl").read_text().splitlines()]
    assert [(x["program"], x["verdict"]) for x in rows[::2]] == [("norace_b.cu", "silent"), ("race_a.cu", "error")]


@pytest.mark.thorough
def test_a_verdict_without_an_assessment_is_printed(tmp_path, capsys, nvrtc):
    base = {"variant": "-G", "label": "fail", "findings": [], "verdict": "silent"}
    for name in ("nvidia", "indigo", "scor", "gpuverify", "cav14"):
        rows = [base | {"suite": name, "program": "new/program"}] if name == "gpuverify" else []
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in rows))
    assert write_page(tmp_path, tmp_path / "page.md", "this one") == 1
    assert "new/program" in capsys.readouterr().out
    assert "| GPUVerify, -G | 1 | 0 of 1 | 0 | 1 |" in (tmp_path / "page.md").read_text()


@pytest.mark.thorough
@pytest.mark.parametrize("index", range(7))
def test_small_kernels_are_as_compute_sanitizer_says_or_for_a_reason(index, nvrtc):
    kernel = SMALL_KERNELS[index]
    said = {severity for severity, _ in found(kernel)}
    expected = {x.partition(",")[0].partition(":")[0] for x in (kernel.racecheck, kernel.synccheck)} - {"", "nothing"}
    assert said == ({"note"} if not expected else {"warning"} if index == 5 else expected)


def test_the_gravest_finding_is_the_verdict():
    assert verdict({"findings": [{"severity": "warning"}, {"severity": "error"}]}) == "error"
    assert verdict({"findings": [{"severity": "warning"}], "refused": "textures"}) == "refused"

# SPDX-License-Identifier: MIT
"""Programs with torch.compile: the code that Inductor generates for CUDA, on the emulated chip."""

import shutil

import pytest

import wmma_emu as we
from wmma_emu.errors import KernelFindingsError

torch = pytest.importorskip("torch", reason="torch is not installed; the extra is inductor")
pytest.importorskip("triton")

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore")]

TEMPLATES = {"max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON"}


@pytest.fixture(autouse=True, scope="module")
def caches(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield


@pytest.fixture
def session():
    with we.emulate("h100", findings="raise") as found:
        torch.manual_seed(0)
        yield found


def score(x, w):
    return torch.softmax(torch.nn.functional.gelu(x) * w, -1).square().sum(-1)


def notes(session, begin):
    return [x for x in session.report.notes if x.startswith(begin)]


def test_the_code_is_cudas_for_the_chip_and_its_results_and_gradients_are_near_eagers(session):
    from torch._inductor.utils import run_and_get_code

    x, w = torch.randn(8, 100, device="cuda", requires_grad=True), torch.rand(100, device="cuda")
    found, (code,) = run_and_get_code(torch.compile(score), x.detach(), w)
    assert "multi_processor_count=132, cc=90" in code
    assert "empty_strided_cuda(" in code
    assert "device='cuda:0'" in code
    assert torch.allclose(found, score(x, w), atol=1e-6)
    torch.compile(score)(x, w).sum().backward()
    (expected,) = torch.autograd.grad(score(x, w).sum(), x)
    assert torch.allclose(x.grad, expected, atol=1e-6)
    assert {y.kernel[:7] for y in session.launches} == {"triton_"}
    assert notes(session, "ATen") == []


@pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor needs g++ for the CPU")
def test_code_that_was_compiled_before_and_after_the_emulation_runs_without_it():
    compiled, x, w = torch.compile(score), torch.randn(8, 100), torch.rand(100)
    expected = score(x, w)
    assert torch.allclose(compiled(x, w), expected, atol=1e-6)
    with we.emulate("a100", findings="raise") as session:
        assert torch.allclose(compiled(x, w), expected, atol=1e-6)
        assert session.launches
        launches = len(session.launches)
    assert torch.allclose(compiled(x, w), expected, atol=1e-6)
    assert len(session.launches) == launches


def test_leaving_the_emulation_restores_pytorchs_compiler():
    import torch._inductor.compile_fx
    from torch._dynamo import device_interface
    from torch._inductor import config, output_code, select_algorithm
    from torch._inductor.runtime import triton_helpers, triton_heuristics
    from torch._subclasses import fake_tensor

    owners = (
        device_interface.CudaInterface, fake_tensor.FakeTensor, fake_tensor.FakeTensorMode, torch._C._dynamo.guards,
        torch._inductor.compile_fx, output_code, output_code.CompiledFxGraph, triton_helpers,
        triton_heuristics.CachingAutotuner, select_algorithm.AlgorithmSelectorCache,
    )  # fmt: skip

    def state():
        attributes = {(owner.__name__, name): x for owner in owners for name, x in vars(owner).items()}
        return attributes | fake_tensor._DISPATCH_META_HANDLERS | {"threads": config.compile_threads}

    def changed(before):
        after = state()
        counted = [("FakeTensorMode", "cache_hits"), ("FakeTensorMode", "cache_misses")]
        return [name for name in before if after.get(name) is not before[name] and name not in counted]

    before = state()
    with we.emulate("a100"):
        torch.compile(score)(torch.randn(8, 100), torch.rand(100))
        assert len(changed(before)) > len(owners)
    assert changed(before) == []


def test_products_are_noted_as_atens_or_become_templates_if_the_program_asks_for_them(session):
    a, b = torch.randn(32, 64, device="cuda").bfloat16(), torch.randn(64, 48, device="cuda").bfloat16()
    torch.compile(lambda a, b: a @ b)(a, b)
    assert len(notes(session, "ATen fallback: aten.mm")) == 1
    assert session.launches == []
    found = torch.compile(lambda a, b: (a @ b).relu(), options=TEMPLATES)(a, b)
    assert len(notes(session, "ATen")) == 1
    assert [x.kernel for x in session.launches] == ["triton_tem_fused_mm_relu_0"]
    assert notes(session, "Inductor measures no time: of several ways to compute mm")
    assert torch.allclose(found.float(), (a.float() @ b.float()).relu(), atol=0.1)


def test_a_graph_break_is_noted_with_its_line(session, capsys):
    def broken(x):
        y = x.sin()
        print("between the graphs")
        return y.cos()

    x = torch.randn(8, device="cuda")
    assert torch.allclose(torch.compile(broken)(x), broken(x))
    (note,) = notes(session, "graph break")
    assert note.startswith(f"graph break at test_programs.py:{broken.__code__.co_firstlineno + 2}: ")
    assert len(session.launches) == 2


def test_a_mistake_in_a_kernel_that_a_compiled_function_launches_is_found(session):
    from tests.ptx import triton_kernels

    @torch.compile
    def copied(x):
        out = torch.zeros(24, device="cuda")
        triton_kernels.copy[(1,)](x, out, 32)
        return out + 1

    with pytest.raises(KernelFindingsError, match="out of bounds"):
        copied(torch.randn(24, device="cuda"))


def test_host_code_in_a_compiled_function_sees_the_chip(session):
    @torch.compile
    def chosen(x):
        places = torch.arange(x.shape[0], device=x.device)
        return x * places if x.is_cuda and x.device.type == "cuda" else x

    x = torch.randn(5, device="cuda")
    assert torch.equal(chosen(x), x * torch.arange(5))


def test_dropout_is_the_functions_of_a_gpu_and_cuda_graphs_are_not_recorded(session):
    x = torch.ones(64, device="cuda", requires_grad=True)
    y = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.5), mode="reduce-overhead")(x)
    y.sum().backward()
    assert set(y.tolist()) == {0.0, 2.0}
    assert torch.equal(x.grad, y.detach())
    assert any("native_dropout" in launch.kernel for launch in session.launches)
    assert notes(session, "CUDA graphs are not recorded")

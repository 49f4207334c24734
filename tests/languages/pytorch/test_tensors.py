# SPDX-License-Identifier: MIT
"""PyTorch's tensors in Triton's launches, and PyTorch's answers about the emulated chip."""

import pytest

import wmma_emu as we
from wmma_emu.errors import KernelFindingsError

torch = pytest.importorskip("torch", reason="torch is not installed; it is in no extra of this project")

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")]


@pytest.fixture
def session():
    with we.emulate("a100", findings="raise") as found:
        yield found


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    from tests.ptx import triton_kernels

    return triton_kernels


def test_host_code_that_asks_for_cuda_gets_the_emulated_chip(session):
    x = torch.zeros(3, device="cuda")
    assert (torch.cuda.is_available(), x.is_cuda, torch.cuda.get_device_capability()) == (True, True, (8, 0))
    assert torch.cuda.get_device_properties(0).multi_processor_count == 108
    assert torch.cuda.get_device_name() == "NVIDIA A100 (emulated by wmma_emu)"
    assert (torch.cuda.current_device(), torch.cuda.device_count(), x.get_device()) == (0, 1, 0)
    with torch.cuda.device(0), torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.current_stream().synchronize()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    end.record()
    assert begin.elapsed_time(end) > 0


def test_each_answer_is_a_separate_object_as_torch_compile_requires(session):
    names = "synchronize set_device init empty_cache is_available memory_allocated current_stream device stream".split()
    assert len({id(getattr(torch.cuda, x)) for x in names}) == len(names)
    assert torch._C._cuda_getCurrentRawStream(0) == 0


def test_the_device_cuda_is_the_memory_of_the_host(session):
    device = torch.device("cuda", 0)
    x = torch.arange(4.0)
    made = [
        x.cuda(), x.to("cuda"), x.to(device, torch.float64), x.to(device="cuda:0"), torch.ones(2, device=device),
        torch.tensor([1], device="cuda"), torch.empty_like(x, device="cuda"), x.new_zeros(2, device=0),
        torch.randn(2, device="cuda", generator=torch.Generator(device="cuda").manual_seed(1)),
        torch.nn.Linear(2, 2).cuda().weight, torch.nn.Linear(2, 2, device="cuda").to("cuda").weight, x.pin_memory(),
    ]  # fmt: skip
    assert {y.device.type for y in made} == {"cpu"}
    assert made[0].data_ptr() == x.data_ptr()
    with torch.device("cuda"):
        assert torch.ones(2).device.type == "cpu"


def test_leaving_the_emulation_restores_pytorch():
    def state():
        return [vars(x).copy() for x in (torch.cuda, torch.cuda.nvtx, torch.Tensor)], torch.Generator

    before = state()
    with we.emulate("a100"):
        assert torch.cuda.is_available()
    assert state() == before
    assert torch.zeros(1).is_cuda is False


def test_elements_of_every_kind_keep_their_bits(session, kernels):
    for name in ("bfloat16", "float16", "float32", "float8_e5m2", "int64", "uint8", "bool"):
        dtype = getattr(torch, name)
        x = torch.arange(-8, 8).to(dtype)
        out = torch.zeros_like(x)
        kernels.copy[(1,)](x, out, 16)
        assert torch.equal(x.view(torch.uint8), out.view(torch.uint8))


def test_tensors_of_one_storage_share_its_bytes(session, kernels):
    x = torch.arange(40.0)
    kernels.copy[(1,)](x[1:17], x[20:36], 16)
    assert x[20:36].tolist() == list(range(1, 17))
    y = torch.arange(140.0)
    kernels.add_twice[(1,)](y[8:], y[8:], y[8:], 128, BLOCK=128)
    assert y[8:136].tolist() == [3 * i for i in range(8, 136)]


def test_a_view_reaches_its_storage_and_nothing_past_it(session, kernels):
    x, out = torch.arange(32, dtype=torch.int32).reshape(4, 8).t()[3:], torch.zeros(16, dtype=torch.int32)
    kernels.copy[(1,)](x, out, 16)
    assert out.tolist() == list(range(3, 19))
    with pytest.raises(KernelFindingsError, match="out of bounds"):
        kernels.copy[(1,)](x, torch.zeros(32, dtype=torch.int32), 32)


def test_a_tensor_with_another_type_is_the_same_memory(session, kernels):
    import triton
    import triton.language as tl

    x, out = torch.arange(16, dtype=torch.int8), torch.zeros(16, dtype=torch.int8)
    kernels.copy[(1,)](triton.reinterpret(x, tl.float8e5), triton.reinterpret(out, tl.float8e5), 16)
    assert torch.equal(x, out)


def test_descriptors_of_tensors(session, kernels):
    from triton.tools.tensor_descriptor import TensorDescriptor

    x, out = torch.randn(16, 16, device="cuda"), torch.zeros(16, 16, device="cuda")
    kernels.by_descriptor[(1,)](*(TensorDescriptor.from_tensor(a, [16, 16]) for a in (x, out)))
    assert torch.equal(out, 2 * x)


def test_gradients_pass_through_a_kernel(session, kernels):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = torch.empty_like(x)
            kernels.gluon_double[(1,)](x, out, N=128)
            return out

        @staticmethod
        def backward(ctx, given):
            out = torch.empty_like(given, device="cuda")
            kernels.gluon_double[(1,)](given.contiguous(), out, N=128)
            return out

    x = torch.ones(128, device="cuda", requires_grad=True)
    Double.apply(x).backward(torch.arange(128.0))
    assert x.grad.tolist() == [2 * i for i in range(128)]


def test_a_machine_with_one_gpu_has_no_second_device():
    calls = (
        lambda: torch.ones(3, device="cuda:1"), lambda: torch.ones(3).cuda(1), lambda: torch.zeros(3, device=1),
        lambda: torch.ones(3).to("cuda:2"), lambda: torch.cuda.set_device(1),
        lambda: torch.cuda.get_device_properties(1),
    )  # fmt: skip
    with we.emulate("h100"):
        for call in calls:
            with pytest.raises(RuntimeError, match="invalid device ordinal"):
                call()
        assert torch.ones(2).cuda(0).tolist() == torch.ones(2, device=0).tolist() == [1, 1]


def test_saved_tensors_are_loaded_to_the_device_and_streams_may_be_recorded(tmp_path):
    torch.save({"x": torch.arange(3)}, tmp_path / "x.pt")
    with we.emulate("h100"):
        x = torch.load(tmp_path / "x.pt", map_location="cuda")["x"]
        x.record_stream(torch.cuda.current_stream())
    assert x.tolist() == [0, 1, 2]

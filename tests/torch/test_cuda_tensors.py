# SPDX-License-Identifier: MIT
"""Products of tensors on a GPU: the bits of the same tensors on the host, computed by the engine ``cupy``."""

import sys
from contextlib import nullcontext

import numpy as np
import pytest

from tests.arithmetic.cuda_on_host import COMPILER
from tests.gpu import host_cupy

torch = pytest.importorskip("torch")

import wmma_emu as we  # noqa: E402
from wmma_emu.gemm import cupy_arrays  # noqa: E402
from wmma_emu.torch import attention, cuda_tensors  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


@pytest.fixture(params=[pytest.param("cuda", marks=pytest.mark.gpu), "cpu"])
def device(request, monkeypatch):
    """A GPU; and, where there is a C++ compiler, tensors of the host that are multiplied as if they were on a GPU."""
    if request.param == "cuda":
        pytest.importorskip("cupy")
        return "cuda"
    if COMPILER is None:
        pytest.skip("needs g++ or clang++")
    monkeypatch.setitem(sys.modules, "cupy", host_cupy)
    monkeypatch.setattr(cuda_tensors, "is_on_gpu", lambda tensor: True)
    monkeypatch.setattr(attention, "is_on_gpu", lambda tensor: True)
    monkeypatch.setattr(cuda_tensors, "_pytorch_stream", lambda tensor: nullcontext())
    monkeypatch.setattr(cuda_tensors, "_has_ex2", lambda cupy: False)
    return "cpu"


def bits(tensor) -> bytes:
    return tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()


def on_host(function, *tensors):
    with we.torch.emulate("h100", engine="numpy"):
        return function(*tensors)


def assert_same_bits(device, function, *tensors, products: int = 1) -> None:
    """Compare a function's result, and the gradients of its operands, with the host's."""
    expected_leaves = [x.clone().requires_grad_(x.dtype.itemsize > 1) for x in tensors]
    leaves = [x.to(device, copy=True).requires_grad_(x.dtype.itemsize > 1) for x in tensors]
    results = []
    for engine, given in (("numpy", expected_leaves), ("auto", leaves)):
        with we.torch.emulate("h100", engine=engine) as emulation:
            result = function(*given)
            if result.requires_grad:
                result.backward(torch.ones_like(result))
        results.append(result)
    assert {x.engine for x in emulation.log} == {"cupy"} and len(emulation.log) >= products
    assert results[1].device.type == device and results[1].dtype == results[0].dtype
    assert bits(results[1]) == bits(results[0])
    for x, y in zip(leaves, expected_leaves, strict=True):
        assert (x.grad is None) == (y.grad is None)
        assert x.grad is None or bits(x.grad) == bits(y.grad)


def drawn(*shape, dtype=torch.bfloat16, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


F = torch.nn.functional
CASES = {
    "mm": (lambda a, b: a @ b, [(5, 40), (40, 7)]),
    "addmm": (lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=3), [(5, 7), (5, 40), (40, 7)]),
    "bmm of transposed matrices": (lambda a, b: torch.bmm(a, b.mT), [(3, 5, 40), (3, 7, 40)]),
    "baddbmm": (lambda c, a, b: torch.baddbmm(c, a, b, beta=2), [(3, 5, 7), (3, 5, 40), (3, 40, 7)]),
    "linear": (F.linear, [(5, 40), (7, 40), (7,)]),
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1), [(2, 3, 6, 6), (4, 3, 3, 3)]),
    "attention": (F.scaled_dot_product_attention, [(1, 2, 20, 16)] * 3),
}  # fmt: skip


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("name", CASES)
def test_products_and_their_gradients_have_the_bits_of_the_host(device, name):
    function, shapes = CASES[name]
    assert_same_bits(device, function, *(drawn(*x, seed=i) for i, x in enumerate(shapes)))


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_other_dtypes_have_the_bits_of_the_host(device, dtype):
    assert_same_bits(device, torch.mm, drawn(5, 40, dtype=dtype), drawn(40, 7, dtype=dtype, seed=1))


def test_fp8_with_one_scale_for_each_matrix_has_the_bits_of_the_host(device):
    a, b = drawn(16, 64).to(torch.float8_e4m3fn), drawn(32, 64, seed=1).to(torch.float8_e4m3fn)
    scales = torch.tensor(0.37), torch.tensor(1.9)

    def product(a, b):
        x, y = (s.to(a.device) for s in scales)
        return torch._scaled_mm(a, b.t(), x, y, out_dtype=torch.bfloat16)

    assert_same_bits(device, product, a, b)


def test_autocast_on_the_device_multiplies_there(device):
    def product(a, b):
        with torch.autocast(device, torch.bfloat16):
            return a @ b

    assert_same_bits(device, product, drawn(5, 40, dtype=torch.float32), drawn(40, 7, dtype=torch.float32))


def test_what_the_engine_lacks_is_multiplied_by_the_host(device):
    a, b = (drawn(4, 4, dtype=torch.float64, seed=i).to(device) for i in range(2))
    with we.torch.emulate("h100") as emulation:
        d = torch.addmm(a, a, b)
    assert emulation.log[0].engine == "auto" and d.device.type == device
    assert bits(d) == bits(on_host(torch.addmm, a.cpu(), a.cpu(), b.cpu()))


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize(
    "order", [we.KOrder(splits=3, tile=16), we.KOrder(splits=3, tile=16, partials="bf16", reduction="serial"),
              we.KOrder(promote_every=2), we.KOrder(cuts=(48,), reduction="pairwise"),
              we.KOrder(tile=64, residue="first")],
)  # fmt: skip
def test_every_order_of_k_has_the_bits_of_the_host(device, order):
    a, b = (drawn(*x, seed=i) for i, x in enumerate([(5, 150), (150, 7)]))
    expected = we.gemm(a, b, k_order=order, out_dtype=torch.bfloat16, engine="numpy")
    with we.torch.emulate("h100", k_order=order) as emulation:
        found = torch.mm(a.to(device), b.to(device))
    assert emulation.log[0].engine == "cupy" and bits(found) == bits(expected)


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("form", ["fma_accumulator", "fma_source", "after_rounding"])
@pytest.mark.parametrize("beta", [1, -0.3])
def test_every_form_of_the_epilogue_has_the_bits_of_the_host(device, form, beta):
    cupy = pytest.importorskip("cupy") if device == "cuda" else host_cupy
    from wmma_emu.gemm.epilogue import epilogue_of
    from wmma_emu.gemm.options import ProductOptions

    product = we.instruction("m16n8k16.f32.f16.f16.f32", arch="h100").product
    half, single = we.formats.format_of("f16"), we.formats.format_of("f32")
    rng = np.random.default_rng(3)
    sums = rng.integers(0, 1 << 32, (9, 70), np.uint64).astype(np.uint32)
    sums[:4] = (rng.standard_normal((4, 70)) * 1e3).astype(np.float32).view(np.uint32)
    C, bias = (rng.standard_normal(x).astype(np.float16) for x in ((9, 70), (70,)))
    options = ProductOptions(alpha=1.7, beta=beta, bias=bias, form=form)
    expected = epilogue_of(product, "f32", half, C, 70, options)(sums, (slice(0, 9), slice(0, 70)))
    options = ProductOptions(alpha=1.7, beta=beta, bias=cupy.asarray(bias), form=form)
    finish = cupy_arrays._Finish.of(cupy, product, single, half, cupy.asarray(C), 70, options)
    assert (finish(cupy.asarray(sums)).get() == expected).all()

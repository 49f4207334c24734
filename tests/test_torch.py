# SPDX-License-Identifier: MIT
"""Tensors of PyTorch in, tensors of PyTorch out, with the bits that NumPy arrays give."""

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import ArgumentError, FragmentMismatchError
from wmma_emu.formats.libraries import library_of
from wmma_emu.testing import assert_bits_equal, bits, error_report

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")

DTYPES = {
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2, "float64": np.float64, "int8": np.int8, "uint8": np.uint8,
}  # fmt: skip


def random_bits(dtype, shape, seed=0):
    """Any bits at all, NaN with their payloads and subnormal numbers included."""
    dtype = np.dtype(dtype)
    return np.random.default_rng(seed).integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype)[..., 0]


def tensor_of(array, name):
    """The tensor of an array, by torch alone."""
    return torch.frombuffer(bytearray(array.tobytes()), dtype=getattr(torch, name)).reshape(array.shape)


def same(tensor, expected):
    assert isinstance(tensor, torch.Tensor) and tensor.dtype is getattr(torch, expected.dtype.name)
    raw = tensor.contiguous().view(torch.uint8).numpy() if tensor.numel() else np.empty(0, np.uint8)
    assert tuple(tensor.shape) == expected.shape and raw.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", DTYPES)
def test_gemm_of_any_bits_gives_a_tensor_with_the_bits_of_numpy_arrays(name):
    a, b = random_bits(DTYPES[name], (5, 40)), random_bits(DTYPES[name], (40, 3), 1)
    same(we.gemm(tensor_of(a, name), tensor_of(b, name)), we.gemm(a, b))


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_results_come_in_every_dtype_that_torch_has(name):
    a, b = random_bits(np.float16, (5, 40)), random_bits(np.float16, (40, 3), 1)
    out = DTYPES.get(name, np.float32)
    same(we.gemm(tensor_of(a, "float16"), tensor_of(b, "float16"), out_dtype=out), we.gemm(a, b, out_dtype=out))


def test_dtypes_of_torch_are_taken_wherever_a_dtype_is():
    a, b = random_bits(np.float16, (5, 40)), random_bits(np.float16, (40, 3), 1)
    assert_bits_equal(we.gemm(a, b, out_dtype=torch.float8_e5m2), we.gemm(a, b, out_dtype="e5m2"))
    q = we.quantise.quantise(np.ones((2, 32), np.float32), "mxfp8_e4m3")
    assert q.dequantise(torch.bfloat16).dtype == ml_dtypes.bfloat16
    assert q.dequantize("bf16").dtype == ml_dtypes.bfloat16
    assert we.ptx.empty(3, torch.bfloat16).dtype == ml_dtypes.bfloat16
    assert_bits_equal(np.array([0x3F80], np.uint16), torch.ones(1).bfloat16(), format=torch.bfloat16)
    with pytest.raises(FragmentMismatchError, match=r"out_dtype=torch.float4_e2m1fn_x2 is not a format"):
        we.gemm(a, b, out_dtype=torch.float4_e2m1fn_x2)


@pytest.mark.parametrize("out", ["e2m1", "e3m2", "e2m3"])
def test_formats_that_torch_has_no_dtype_for_come_as_patterns(out):
    a, b = random_bits(np.float16, (5, 40)), random_bits(np.float16, (40, 3), 1)
    array = we.gemm(a, b, out_dtype=out)
    tensor = we.gemm(tensor_of(a, "float16"), tensor_of(b, "float16"), out_dtype=out)
    assert tensor.dtype is torch.uint8
    assert_bits_equal(tensor.numpy(), array.view(np.uint8))


X = tensor_of(random_bits(ml_dtypes.bfloat16, (4, 6, 20)), "bfloat16")
STRIDED = {
    "transposed": X.transpose(-1, -2), "every other": X[:, ::2, 1::3], "expanded": X[:1].expand(3, 6, 20),
    "one number": X[0, 0, 0], "empty": X[:, :0], "batch": X,
}  # fmt: skip


@pytest.mark.parametrize("name", STRIDED)
def test_tensors_are_read_in_their_own_order_whatever_their_strides(name):
    tensor = STRIDED[name]
    expected = np.array(tensor.contiguous().view(torch.int16).tolist(), np.int16).reshape(tuple(tensor.shape))
    assert_bits_equal(bits(tensor), expected.view(np.uint16))


def test_a_batch_of_transposed_tensors_multiplies_like_arrays():
    a = random_bits(ml_dtypes.bfloat16, (4, 6, 20))
    tensor = tensor_of(a, "bfloat16")
    same(we.gemm(tensor, tensor.mT), we.gemm(a, a.swapaxes(-1, -2)))


def test_a_numpy_array_with_a_tensor_results_in_a_tensor():
    a, b = random_bits(np.float16, (5, 40)), random_bits(np.float16, (40, 3), 1)
    same(we.gemm(a, tensor_of(b, "float16")), we.gemm(a, b))
    same(we.gemm(a, b, bias=torch.ones(3), alpha=0.5), we.gemm(a, b, bias=np.ones(3, np.float32), alpha=0.5))
    assert isinstance(we.gemm(a, b), np.ndarray)


def test_a_tensor_with_a_gradient_is_accepted_without_recording():
    a = torch.ones(2, 16, dtype=torch.bfloat16, requires_grad=True)
    b = torch.ones(16, 2, dtype=torch.bfloat16)
    with pytest.raises(FragmentMismatchError, match=r"A requires a gradient.*A.detach\(\).*torch.no_grad\(\)"):
        we.gemm(a, b)
    with torch.no_grad():
        assert not we.gemm(a, b).requires_grad
    assert we.gemm(a.detach(), b)[0, 0] == 16


def test_a_gradient_flows_through_a_function_of_torch():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return we.gemm(a, b, out_dtype=a.dtype)

        @staticmethod
        def backward(ctx, d):
            a, b = ctx.saved_tensors
            return we.gemm(d, b.mT, out_dtype=a.dtype), we.gemm(a.mT, d, out_dtype=b.dtype)

    a = torch.ones(2, 16, dtype=torch.bfloat16, requires_grad=True)
    b = torch.full((16, 2), 3.0, dtype=torch.bfloat16, requires_grad=True)
    Product.apply(a, b).sum().backward()
    assert (a.grad == 6).all() and (b.grad == 2).all()


F = torch.ones(2, 16)
REFUSED = {
    "meta": (F.to("meta"), "A is on the device meta, where tensors have no data"),
    "sparse": (F.to_sparse(), r"A has the layout torch.sparse_coo; pass A.to_dense\(\)"),
    "complex": (F.to(torch.complex64), "A is an array of complex64, which does not determine a format"),
    "int64": (F.long(), "A is an array of int64, which does not determine a format"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_numbers_to_read_is_refused_with_what_to_write(name):
    tensor, match = REFUSED[name]
    with pytest.raises(FragmentMismatchError, match=match):
        we.gemm(tensor, torch.ones(16, 2, dtype=torch.float16))


@pytest.mark.filterwarnings("ignore")
def test_tensors_quantised_by_torch_and_nested_ones_are_refused():
    quantised = torch.quantize_per_tensor(F, 0.5, 0, torch.qint8)
    with pytest.raises(FragmentMismatchError, match=r"A is quantised by torch; pass A.int_repr\(\)"):
        we.gemm(quantised, F)
    with pytest.raises(FragmentMismatchError, match="A is nested"):
        we.gemm(torch.nested.nested_tensor([F, F]), F)


@pytest.mark.skipif(not hasattr(torch, "float4_e2m1fn_x2"), reason="this torch has no packed FP4")
def test_packed_fp4_names_the_view_and_that_view_is_taken():
    packed = torch.tensor([[0x21, 0x43] * 16], dtype=torch.uint8)
    with pytest.raises(FragmentMismatchError, match=r"A.view\(torch.uint8\), packed along k, with a_format='e2m1'"):
        we.gemm(packed.view(torch.float4_e2m1fn_x2), packed)
    with pytest.warns(we.UnverifiedModelWarning):
        d = we.gemm(packed, packed.mT, a_format="e2m1", b_format="e2m1", arch="sm_120")
    assert d.tolist() == [[16 * (0.25 + 1 + 2.25 + 4)]]


def test_registers_are_uint32_tensors():
    ins = we.instruction("m16n8k16.f32.bf16.bf16.f32")
    a, b = random_bits(ml_dtypes.bfloat16, (16, 16)), random_bits(ml_dtypes.bfloat16, (16, 8), 1)
    given = ((ins.a, tensor_of(a, "bfloat16")), (ins.b, tensor_of(b, "bfloat16")), (ins.c, torch.zeros(16, 8)))
    registers = [operand.pack(tensor) for operand, tensor in given]
    d = ins.execute(*registers)
    assert {x.dtype for x in (*registers, d)} == {torch.uint32}
    same(ins.d.unpack(d), ins(a, b))


def test_sparse_instructions_wgmma_and_splits_take_tensors():
    sparse = we.instruction("mma.sp.m16n8k16.f32.f16.f16.f32")
    zeros, b = np.tile(np.array([0, 3, 0, 5], np.float16), (16, 4)), random_bits(np.float16, (16, 8))
    same(sparse(torch.from_numpy(zeros), torch.from_numpy(b)), sparse(zeros, b))
    for tensor, array in zip(sparse.compress(torch.from_numpy(zeros)), sparse.compress(zeros), strict=True):
        same(tensor, array)
    wgmma = we.instruction("wgmma.m64n8k16.f32.f16.f16")
    a = random_bits(np.float16, (64, 16))
    d = wgmma.execute(wgmma.a.pack(tensor_of(a, "float16")), tensor_of(b, "float16"), wgmma.c.pack(torch.zeros(64, 8)))
    same(wgmma.d.unpack(d), wgmma(a, b))
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    for tensor, array in zip(we.testing.split_bf16(torch.from_numpy(x)), we.testing.split_bf16(x), strict=True):
        same(tensor, array)


def test_comparisons_reports_and_explanations_take_tensors():
    a, b = random_bits(np.float16, (2, 40)), random_bits(np.float16, (40, 2), 1)
    a, b = (np.where(np.isfinite(x), x, np.float16(1)) for x in (a, b))
    x, y = tensor_of(a, "float16"), tensor_of(b, "float16")
    compared = we.compare_archs(x, y, archs=["v100", "a100", "h100"])
    assert str(compared) == str(we.compare_archs(a, b, archs=["v100", "a100", "h100"]))
    same(compared.results["sm_90"], we.gemm(a, b, arch="h100"))
    report = error_report(None, x, y)
    assert str(report) == str(error_report(None, a, b))
    same(report.result, we.gemm(a, b))
    assert str(we.explain(None, x, y, row=0, col=1)) == str(we.explain(None, a, b, row=0, col=1))


@pytest.mark.parametrize("name", we.quantise.BLOCK_FORMATS)
def test_quantise_of_a_tensor_has_the_bits_of_an_array(name):
    x = np.linspace(-3, 5, 128, dtype=np.float32).reshape(2, 64).astype(ml_dtypes.bfloat16)
    tensor, array = (we.quantise.quantise(y, name) for y in (tensor_of(x, "bfloat16"), x))
    same(tensor.element_bits, array.element_bits)
    same(tensor.scale_bits, array.scale_bits)
    same(tensor.dequantise(np.float32), array.dequantise(np.float32))
    if hasattr(torch, array.elements.dtype.name):
        same(tensor.elements, array.elements)


def test_wmma_loads_from_a_tensor_and_stores_into_one():
    wmma = we.wmma
    a, d = torch.arange(256).reshape(16, 16).to(torch.bfloat16), torch.zeros(16, 16)
    x = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.bfloat16, wmma.row_major)
    y = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.bfloat16, wmma.row_major)
    sums = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
    wmma.load_matrix_sync(x, a, 16)
    wmma.load_matrix_sync(y, torch.eye(16, dtype=torch.bfloat16), 16)
    wmma.fill_fragment(sums, 0.0)
    wmma.mma_sync(sums, x, y, sums)
    wmma.store_matrix_sync(d, sums, 16, wmma.mem_row_major)
    assert torch.equal(d, a.float())


def test_assert_bits_equal_compares_tensors_with_arrays():
    a = random_bits(ml_dtypes.bfloat16, (4, 4))
    assert_bits_equal(tensor_of(a, "bfloat16"), a)
    with pytest.raises(AssertionError, match="the only element differs: bf16"):
        assert_bits_equal(torch.tensor([1.0]).bfloat16(), np.ones(1, ml_dtypes.bfloat16) * 2)


def test_a_parameter_and_a_class_of_ones_own_are_tensors():
    class Mine(torch.Tensor):
        pass

    assert library_of(torch.nn.Parameter(F)) is library_of(F.as_subclass(Mine)) is library_of(F)


def test_errors_advise_what_a_tensor_has():
    a, b = torch.ones(16, 16, dtype=torch.float16), torch.ones(16, 8, dtype=torch.float16)
    with pytest.raises(ArgumentError, match=r"C\.to\(torch\.float32\) is exact"):
        we.gemm(a, b, C=torch.ones(8, dtype=torch.float16))
    with pytest.raises(ArgumentError, match=r"C\.astype\(numpy\.float32\) is exact"):
        we.gemm(a.numpy(), b.numpy(), C=np.ones(8, np.float16))

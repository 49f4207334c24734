# SPDX-License-Identifier: MIT
"""Arrays of JAX in, arrays of JAX out, with the bits that NumPy arrays give."""

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import BackendUnavailableError, FragmentMismatchError
from wmma_emu.testing import assert_bits_equal, error_report

jax = pytest.importorskip("jax", reason="JAX is not installed: the tests do not depend on it")

DTYPES = [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8, np.uint8]


def random_bits(dtype, shape, seed=0):
    """Any bits at all, NaN with their payloads and subnormal numbers included."""
    dtype = np.dtype(dtype)
    return np.random.default_rng(seed).integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype)[..., 0]


def same(array, expected):
    assert isinstance(array, jax.Array)
    assert_bits_equal(np.asarray(array), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gemm_of_any_bits_gives_an_array_with_the_bits_of_numpy_arrays(dtype):
    a, b = random_bits(dtype, (5, 40)), random_bits(dtype, (40, 3), 1)
    same(we.gemm(jax.numpy.asarray(a), jax.numpy.asarray(b)), we.gemm(a, b))
    same(we.gemm(a, jax.numpy.asarray(b)), we.gemm(a, b))


@pytest.mark.parametrize("out", ["bfloat16", "float16", "float8_e4m3fn"])
def test_types_of_jax_name_results(out):
    a, b = random_bits(np.float16, (5, 40)), random_bits(np.float16, (40, 3), 1)
    expected = we.gemm(a, b, out_dtype=out)
    same(we.gemm(jax.numpy.asarray(a), b, out_dtype=getattr(jax.numpy, out)), expected)


def test_a_format_that_xla_lacks_comes_as_patterns():
    a, b = jax.numpy.ones((2, 16), "float16"), jax.numpy.ones((16, 2), "float16")
    d = we.gemm(a, b, out_dtype="e3m2")
    assert d.dtype == np.uint8 and (d == 0b011100).all()


def test_numbers_of_64_bits_are_refused_where_jax_would_round_them():
    a, b = jax.numpy.ones((2, 16), "float16"), jax.numpy.ones((16, 2), "float16")
    with pytest.raises(BackendUnavailableError, match="'jax_enable_x64', True"):
        we.gemm(a, b, out_dtype="f64")


@pytest.mark.parametrize("transform", ["jit", "vmap", "grad"])
def test_a_tracer_names_the_callback(transform):
    b = jax.numpy.ones((16, 2), "bfloat16")
    with pytest.raises(FragmentMismatchError, match=r"A is a tracer of JAX.*jax.pure_callback"):
        getattr(jax, transform)(lambda x: we.gemm(x, b).sum())(jax.numpy.ones((2, 16), "bfloat16"))


def test_comparisons_reports_and_quantised_arrays_are_of_jax():
    x = jax.numpy.linspace(-3, 5, 128).reshape(2, 64).astype("bfloat16")
    a = np.asarray(x)
    same(we.compare_archs(x, x.T, archs=["a100", "h100"]).results["sm_90"], we.gemm(a, a.T, arch="h100"))
    report = error_report(None, x, x.T)
    same(report.result, we.gemm(a, a.T))
    assert str(report) == str(error_report(None, a, a.T))
    for name in we.quantise.BLOCK_FORMATS:
        array, plain = we.quantise.quantise(x, name), we.quantise.quantise(a, name)
        same(array.element_bits, plain.element_bits)
        same(array.dequantise("f32"), plain.dequantise("f32"))


def test_tensors_of_torch_and_arrays_of_jax_are_not_mixed():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")
    with pytest.raises(FragmentMismatchError, match="A is an array of torch and B one of jax"):
        we.gemm(torch.ones(2, 16).half(), jax.numpy.ones((16, 2), "float16"))

# SPDX-License-Identifier: MIT
"""The cupy engine on a GPU: the bits of the CPU engines, for every way of computing and at hostile sizes."""

import importlib
import sys

import numpy as np
import pytest

import wmma_emu as we
from tests.arithmetic.cuda_on_host import COMPILER
from tests.arithmetic.helpers import distinct_products
from tests.arithmetic.test_engines import mixture
from tests.gpu import host_cupy
from wmma_emu.arithmetic import FMA_F32, DotProduct, cupy_engine, dot_product_of, matmul
from wmma_emu.arithmetic.cuda_source import shape_of
from wmma_emu.errors import BackendUnavailableError, FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.gemm import Factors, ProductOptions, cupy_arrays
from wmma_emu.gemm.device_arrays import is_cupy
from wmma_emu.generators import draw, generators_of
from wmma_emu.instructions import INSTRUCTIONS, lookup

PRODUCTS = {**distinct_products(), "fma.f32": FMA_F32}
gpu = pytest.mark.gpu


def gemm_on_gpu(A, B, C=None, a_format=None, b_format=None, **options):
    factors = Factors(A, B, a_format=a_format, b_format=b_format)
    return cupy_arrays.gemm_on_gpu(factors, C, ProductOptions(**options))


@pytest.fixture(params=[pytest.param("gpu", marks=gpu), "host"])
def cupy(request, monkeypatch):
    """CuPy on a GPU; and, where there is a C++ compiler, its replacement on the host."""
    if request.param == "gpu":
        return importlib.import_module("cupy")
    if COMPILER is None:
        pytest.skip("needs g++ or clang++")
    monkeypatch.setitem(sys.modules, "cupy", host_cupy)
    return host_cupy


def product_of(mnemonic: str, arch: str) -> DotProduct:
    return dot_product_of(lookup(mnemonic, arch), arch)


def matrices(product: DotProduct, m: int, n: int, k: int, seed: int = 1) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = ((product.a, (max(m, 1), k)), (product.b, (max(n, 1), k)), (product.c, (max(m, 1), n)))
    a, b, c = (mixture(fmt, shape, rng) for fmt, shape in shapes)
    return [a[:m], np.ascontiguousarray(b[:n].T), c[:m]]


def assert_same_bits(product: DotProduct, a, b, c) -> None:
    found = cupy_engine.matmul(product, a, b, c)
    expected = matmul(product, a, b, c, engine="numpy")
    assert isinstance(found, np.ndarray) and found.dtype == expected.dtype and found.shape == expected.shape
    different = np.argwhere(found != expected)
    assert not len(different), [(hex(found[tuple(i)]), hex(expected[tuple(i)])) for i in different[:4]]


@gpu
@pytest.mark.parametrize("name", PRODUCTS)
def test_the_gpu_gives_the_cpu_engines_bits_for_every_arithmetic_and_family(name):
    product = PRODUCTS[name]
    for k in (product.k, 3 * product.k) if product.chains else (product.k,):
        assert_same_bits(product, *matrices(product, 67, 131, k))
    if name == "fma.f32":
        return
    instruction = INSTRUCTIONS[name.split("|")[2]]
    for generator in generators_of(instruction):
        a, b, c, _ = draw(instruction, generator, 11, 6, 5, 5)
        assert_same_bits(product, a[:, None], b, c)


VOLTA, HOPPER = product_of("m8n8k4.f32.f16.f16.f32", "sm_70"), product_of("m16n8k16.f32.f16.f16.f32", "sm_90")
INTEGER = product_of("m16n8k32.s32.s8.s8.s32", "sm_80")


@pytest.mark.parametrize("product", [VOLTA, HOPPER, INTEGER], ids=["Volta", "Hopper", "integer"])
@pytest.mark.parametrize(
    ("m", "n", "steps"),
    [(0, 5, 1), (5, 0, 1), (3, 4, 0), (0, 0, 0), (1, 1, 1), (1, 1, 37), (1, 131, 2), (131, 1, 3),
     (64, 64, 1), (65, 63, 5), (127, 257, 2), (257, 129, 7)],
)  # fmt: skip
def test_hostile_sizes(cupy, product, m, n, steps):
    assert_same_bits(product, *matrices(product, m, n, steps * product.k))


def test_leading_axes_broadcast_and_empty_batches_are_empty(cupy):
    rng = np.random.default_rng(3)
    k = 2 * HOPPER.k
    a = mixture(HOPPER.a, (2 * 3 * 5, k), rng).reshape(2, 1, 3, 5, k)
    b = mixture(HOPPER.b, (7 * 4, k), rng).reshape(7, 1, 4, k).swapaxes(-1, -2)
    c = mixture(HOPPER.c, (5, 4), rng)
    assert_same_bits(HOPPER, a, b, c)
    assert_same_bits(HOPPER, a[0, 0, 0], b, c)
    assert_same_bits(HOPPER, a, b[0, 0], np.broadcast_to(c[:1, :1], (5, 4)))
    assert cupy_engine.matmul(HOPPER, a[:0], b, c).shape == (0, 7, 3, 5, 4)


def test_strides_of_any_sign_and_read_only_arrays_are_fine_and_left_alone(cupy):
    a, b, c = matrices(HOPPER, 90, 70, 48)
    for array in (a, b, c):
        array.setflags(write=False)
    before = [x.copy() for x in (a, b, c)]
    views = [(a[::-3, ::-1], b[::-1, ::2], c[30:0:-1, ::2]), (a.T.copy().T, b.T.copy().T, c.T.copy().T)]
    for x, y, z in views:
        expected = matmul(HOPPER, x, y, z, engine="numpy")
        assert (cupy_engine.matmul(HOPPER, x, y, z) == expected).all()
    p, q, r = (cupy.asarray(x) for x in (a, b, c))
    found = cupy_engine.matmul(HOPPER, p[::-3, ::-1], q[::-1, ::2], r[30:0:-1, ::2])
    assert (found.get() == matmul(HOPPER, *views[0], engine="numpy")).all()
    assert all((x == y).all() for x, y in zip((a, b, c), before, strict=True))


def test_the_result_stays_on_the_gpu_if_an_operand_is_there(cupy):
    a, b, c = matrices(VOLTA, 9, 10, 8)
    assert isinstance(cupy_engine.matmul(VOLTA, a, b, c), np.ndarray)
    for operands in ((cupy.asarray(a), b, c), (a, cupy.asarray(b), c), (a, b, cupy.asarray(c))):
        d = cupy_engine.matmul(VOLTA, *operands)
        assert isinstance(d, cupy.ndarray) and (d.get() == matmul(VOLTA, a, b, c, engine="numpy")).all()
    start = cupy.asarray(c)
    d = cupy_engine.matmul(VOLTA, a[:, :0], b[:0], start)
    d += 1
    assert (start.get() == c).all(), "a product of nothing is a copy of C"


def test_progress_reaches_one_and_changes_no_bit(cupy, monkeypatch):
    shape = shape_of(HOPPER)
    monkeypatch.setattr(cupy_engine, "_PRODUCTS_OF_A_LAUNCH", shape.tile_rows * shape.tile_columns * 32 * 3)
    operands, shares = matrices(HOPPER, 5 * shape.tile_rows - 1, 4 * shape.tile_columns - 1, 32), []
    d = cupy_engine.matmul(HOPPER, *operands, shares.append)
    assert (d == matmul(HOPPER, *operands, engine="numpy")).all()
    assert shares == [3 * i / 20 for i in range(1, 7)] + [1]


def test_nan_everywhere_is_nan_everywhere(cupy):
    ones = np.full((70, 64), 0x7E01, np.uint16)
    d = cupy_engine.matmul(HOPPER, ones, ones.T, np.zeros((70, 70), np.uint32))
    assert (d == 0x7FFFFFFF).all()


@pytest.mark.parametrize("out_dtype", [None, np.float16, np.float32, np.float64])
def test_gemm_of_cupy_arrays_gives_the_bits_of_numpy_arrays(cupy, out_dtype):
    rng = np.random.default_rng(9)
    A, B = rng.normal(size=(3, 33, 50)).astype("f2"), rng.normal(size=(50, 41)).astype("f2")
    C = (rng.normal(size=(33, 41)) * 3e4).astype("f4")
    A[0, 0, 0], B[3, 3] = np.inf, np.nan
    expected = we.gemm(A, B, C, arch="sm_80", out_dtype=out_dtype, engine="numpy")
    found = gemm_on_gpu(cupy.asarray(A), cupy.asarray(B), cupy.asarray(C), arch="sm_80", out_dtype=out_dtype)
    assert is_cupy(found) and found.dtype == expected.dtype
    assert found.get().tobytes() == expected.tobytes()
    assert gemm_on_gpu(cupy.asarray(A), B, None, arch="sm_80").get().tobytes() == we.gemm(A, B, arch="sm_80").tobytes()


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
@pytest.mark.parametrize(
    ("instr", "arch", "a_dtype", "b_dtype"),
    [
        ("m16n8k16.f32.bf16.bf16.f32", "sm_90", np.uint16, np.uint16),
        ("m16n8k32.f32.e4m3.e5m2.f32", "sm_89", np.uint8, np.uint8),
        ("m16n8k8.f32.tf32.tf32.f32", "sm_80", np.float32, np.uint32),
        ("m16n8k32.satfinite.s32.s8.u8.s32", "sm_80", np.int8, np.uint8),
        ("m8n8k4.f64.f64.f64.f64", "sm_90", np.float64, np.float64),
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "sm_90", np.float16, np.float16),
        ("fma.f32", "sm_90", np.float32, np.float32),
    ],
)
def test_gemm_of_every_kind_stays_on_the_gpu(cupy, instr, arch, a_dtype, b_dtype):
    rng = np.random.default_rng(4)

    def matrix(dtype, shape) -> np.ndarray:
        dtype = np.dtype(dtype)
        if dtype.kind == "f":
            return rng.normal(size=shape).astype(dtype)
        return rng.integers(0, 1 << 8 * dtype.itemsize, shape, np.uint64).astype(f"u{dtype.itemsize}").view(dtype)

    A, B = matrix(a_dtype, (2, 19, 72)), matrix(b_dtype, (72, 23))
    if "sp::" in instr:
        A[..., 1::2] = 0
    expected = we.gemm(A, B, instr=instr, arch=arch, engine="numpy")
    found = gemm_on_gpu(cupy.asarray(A), cupy.asarray(B), instr=instr, arch=arch)
    assert is_cupy(found) and found.dtype == expected.dtype and found.get().tobytes() == expected.tobytes()


def test_packed_and_boolean_matrices_stay_on_the_gpu(cupy):
    rng = np.random.default_rng(4)
    A, B = rng.integers(0, 256, (5, 40), np.uint8), rng.integers(0, 256, (40, 7), np.uint8)
    for options in (
        {"instr": "m8n8k32.s32.s4.u4.s32", "arch": "sm_75", "a_format": "s4", "b_format": "u4"},
        {"instr": "m16n8k128.s32.b1.b1.s32.and.popc", "arch": "sm_80", "a_format": "b1", "b_format": "b1"},
    ):
        found = gemm_on_gpu(cupy.asarray(A), cupy.asarray(B), **options)
        assert (found.get() == we.gemm(A, B, engine="numpy", **options)).all()
    x, y = A > 99, B > 99
    assert (gemm_on_gpu(cupy.asarray(x), cupy.asarray(y), arch="sm_80").get() == we.gemm(x, y, arch="sm_80")).all()


def test_what_gemm_refuses_is_refused_of_cupy_arrays_in_the_same_words(cupy):
    half, wrong = np.ones((4, 4), np.float16), np.ones((4, 4), np.int64)
    for operands, options in (
        ((half, half[:3]), {}),
        ((half[0], half), {}),
        ((wrong, half), {"instr": "m16n8k16.f32.f16.f16.f32"}),
        ((half, half, half), {}),
        ((wrong, wrong), {}),
        ((half, half), {"instr": "m16n8k16.f32.f16.f16.f32", "arch": "sm_70"}),
    ):
        with pytest.raises((FragmentMismatchError, UnsupportedInstructionError)) as expected:
            we.gemm(*operands, **options)
        with pytest.raises(type(expected.value)) as found:
            gemm_on_gpu(*(cupy.asarray(x) for x in operands), **options)
        assert str(found.value) == str(expected.value)
    sparse = {"instr": "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"}
    with pytest.raises(FragmentMismatchError, match="prune A first"):
        gemm_on_gpu(cupy.asarray(half), cupy.asarray(half), **sparse)
    with pytest.raises(FragmentMismatchError, match="not a dtype of CuPy"):
        gemm_on_gpu(cupy.asarray(half), cupy.asarray(half), out_dtype=we.formats.dtypes.dtype_of("bf16"))


def test_without_cupy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    operands = matrices(HOPPER, 2, 2, 16)
    with pytest.raises(BackendUnavailableError, match=r"the extra `gpu`"):
        cupy_engine.matmul(HOPPER, *operands)

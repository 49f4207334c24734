# SPDX-License-Identifier: MIT
"""A thread that flushes subnormals, as those on which JAX calls back: every public function gives its usual bits."""

import threading
import warnings

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from tests.control_word import DENORMALS_ARE_ZERO, FLUSH_TO_ZERO, flags, word_of
from tests.ptx.texts_of_kernels import text_of
from wmma_emu import scalar
from wmma_emu.arithmetic import is_installed

BOTH = FLUSH_TO_ZERO | DENORMALS_ARE_ZERO
A, B = np.full((16, 16), 2.0**-24, np.float16), np.full((16, 8), 2.0**-24, np.float16)
INS = we.instruction("m16n8k16.f32.f16.f16.f32")
SMALL = np.array([1, 0x800001, 0x80000003, 0x00400000], np.uint32)
"""Float32: subnormal, just normal, negative, subnormal."""

DOUBLE, SINGLE = A.astype(np.float64) * 2.0**-1000, SMALL.view(np.float32).reshape(2, 2)
SUBNORMAL, E4M3 = np.full((16, 8), 2.0**-140, np.float32), np.ones((32, 32), ml_dtypes.float8_e4m3fn)
TINY = np.full((1, 32), 2.0**-130, np.float32)

SCALE = text_of("""
.reg .f32 %f<3>;
ld.global.f32 %f0, [%rd1];
mul.rn.f32 %f1, %f0, 0f3F000000;
fma.rn.f32 %f2, %f1, 0f3F800000, %f0;
st.global.f32 [%rd1], %f2;
ret;
""")


def _launched():
    x = SMALL[:1].copy()
    we.ptx.Module(SCALE).kernel[1, 1](x)
    return x


@we.kernel
def _in_python(t, x):
    x[0] = we.mma(A, B)[0, 0] * np.float32(2.0**-100) * np.float32(2.0**-10)


def _kernel():
    x = np.zeros(1, np.float32)
    _in_python[1, 32](x)
    return x


def _wmma():
    a = we.wmma.fragment(we.wmma.matrix_a, 16, 16, 16, we.wmma.half, we.wmma.row_major)
    b = we.wmma.fragment(we.wmma.matrix_b, 16, 16, 16, we.wmma.half, we.wmma.col_major)
    c = we.wmma.fragment(we.wmma.accumulator, 16, 16, 16, we.wmma.float32)
    for fragment in (a, b):
        we.wmma.fill_fragment(fragment, 2.0**-24)
    we.wmma.fill_fragment(c, 2.0**-140)
    we.wmma.mma_sync(c, a, b, c)
    return c.x


WORK = {
    "mma": lambda: we.mma(A, B),
    "gemm": lambda: we.gemm(A, B),
    "gemm numpy": lambda: we.gemm(A, B, engine="numpy"),
    "gemm out": lambda: we.gemm(A, B, out_dtype=np.float16),
    "gemm f64": lambda: we.gemm(DOUBLE, DOUBLE.T),
    "gemm fma": lambda: we.gemm(SINGLE, SINGLE.T, instr="fma.f32"),
    "gemm alpha, beta": lambda: we.gemm(A, B, SUBNORMAL, alpha=0.5, beta=0.75),
    "gemm f32 scales": lambda: we.gemm(E4M3, E4M3, scale_a=np.float32(2.0**-120), scale_b=np.float32(2.0**-20)),
    "call": lambda: INS(A, B),
    "execute": lambda: INS.execute(INS.a.pack(A), INS.b.pack(B), INS.c.pack(np.zeros((16, 8), np.float32))),
    "wmma": _wmma,
    "explain": lambda: str(we.explain(INS, A, B, row=0, col=0)),
    "compare_archs": lambda: str(we.compare_archs(A, B, archs=("v100", "a100", "h100"))),
    "ptx": _launched,
    "kernel": _kernel,
    "quantise": lambda: we.quantise.quantise(TINY, "mxfp8_e4m3").elements,
    "fma": lambda: scalar.fma(SMALL, SMALL, SMALL, "f32"),
    "div": lambda: scalar.div(SMALL, SMALL[::-1].copy(), "f32"),
    "add": lambda: scalar.add(SMALL.astype(np.uint64), SMALL.astype(np.uint64), "f64"),
}  # fmt: skip
if is_installed("native"):
    WORK["gemm native"] = lambda: we.gemm(SINGLE, np.eye(2, dtype=np.float32), instr="fma.f32", engine="native")


def _bits(result):
    return result if isinstance(result, str) else np.asarray(result).tobytes()


@pytest.mark.parametrize("bits", [FLUSH_TO_ZERO, DENORMALS_ARE_ZERO, BOTH], ids=hex)
@pytest.mark.parametrize("work", WORK)
def test_bits_are_the_same_in_a_thread_that_flushes_and_the_thread_is_left_as_it_was(control, work, bits):
    want = _bits(WORK[work]())
    with flags(control, bits):
        before = word_of(control) & BOTH
        got = _bits(WORK[work]())
        after = word_of(control) & BOTH
    assert got == want and before == after == bits


def test_the_threads_of_a_large_product_do_not_flush_either(control):
    a = np.full((512, 512), 2.0**-24, np.float16)
    a[::7, ::3] = 2.0**-20
    want = we.gemm(a, a, threads=2)
    with flags(control, BOTH):
        got = we.gemm(a, a, threads=2)
    assert np.array_equal(got.view(np.uint32), want.view(np.uint32))


def test_a_thread_that_a_flushing_thread_starts_computes_as_any(control):
    want, found = WORK["gemm"]().tobytes(), []
    with flags(control, BOTH):
        thread = threading.Thread(target=lambda: found.append(WORK["gemm"]().tobytes()))
        thread.start()
        thread.join()
    assert found == [want]


def test_errors_and_warnings_are_the_same_as_in_other_threads(control):
    with flags(control, BOTH):
        with pytest.raises(we.ShapeError, match="K is 16 in A and 3 in B"):
            we.gemm(A, B[:3])
        with pytest.warns(we.UnverifiedModelWarning) as caught:
            warnings.simplefilter("always")
            we.gemm(A, B, arch="sm_72")
    assert caught[0].filename == __file__


def test_jax_calls_back_under_jit():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    seen = []

    def multiply(a, b):
        flushes = (np.array([2.0**-1022]) * 0.5).view(np.uint64)[0] == 0
        seen.append(bool(flushes))
        return we.gemm(np.asarray(a), np.asarray(b))

    shape = jax.ShapeDtypeStruct((16, 8), np.float32)
    got = np.asarray(jax.jit(lambda a, b: jax.pure_callback(multiply, shape, a, b))(A, B))
    assert got.tobytes() == we.gemm(A, B).tobytes() and got.any() and len(seen) == 1

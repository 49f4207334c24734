# SPDX-License-Identifier: MIT
"""The native engine: its results equal the reference, and errors name what it lacks."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.arithmetic.helpers import distinct_products
from tests.arithmetic.test_engines import mixture

pytest.importorskip("llvmlite")
from wmma_emu.arithmetic import (
    ENGINES,
    FMA_F32,
    compiled_code,
    dot_product_of,
    engines,
    matmul,
)
from wmma_emu.errors import BackendUnavailableError, UnsupportedInstructionError
from wmma_emu.formats import format_of
from wmma_emu.instructions import lookup

PRODUCTS = {**distinct_products(), "fma.f32": FMA_F32}


def test_every_product_of_the_table_has_native_code():
    assert all(ENGINES["native"].has(product) for product in PRODUCTS.values())


def test_the_error_for_an_unsupported_arithmetic_names_an_engine_that_supports_it():
    product = PRODUCTS["fma.f32"]
    product = replace(product, model=replace(product.model, accumulator="f16", operand_format=""))
    zeros = np.zeros((4, 4), np.uint32)
    with pytest.raises(UnsupportedInstructionError, match=r"engine='native' does not support f16 .*use engine='numpy'"):
        matmul(product, zeros, zeros, zeros, engine="native")


def test_the_old_name_of_the_engine_works_with_a_warning():
    with pytest.warns(DeprecationWarning, match="engine='numba' is now engine='native'"):
        assert engines.check_engine("numba") == "native"


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("name", [n for n, p in PRODUCTS.items() if p.chains][::9])
def test_raw_bit_patterns_match_the_reference_engine_over_many_steps(name):
    product = PRODUCTS[name]
    rng = np.random.default_rng(21)
    k = 6 * product.k
    a, b, c = (
        rng.integers(0, fmt.mask, shape, np.uint64, endpoint=True).astype(fmt.storage)
        for fmt, shape in ((product.a, (5, k)), (product.b, (k, 7)), (product.c, (5, 7)))
    )
    expected = matmul(product, a, b, c, engine="reference")
    np.testing.assert_array_equal(matmul(product, a, b, c, engine="native"), expected)


@pytest.mark.parametrize("name", [n for n, p in PRODUCTS.items() if p.model.arithmetic == "aligned_sum"])
def test_the_largest_significands_of_all_terms_do_not_overflow_int32(name):
    product = PRODUCTS[name]

    def largest(fmt):
        one = fmt.bias << (fmt.fraction_bits + fmt.ignored_low_bits)
        ones = ((1 << fmt.fraction_bits) - 1) << fmt.ignored_low_bits
        return one | ones

    a = np.full((3, product.k), largest(product.a), product.a.storage)
    b = np.full((product.k, 3), largest(product.b), product.b.storage)
    a[1] |= product.a.storage.type(product.a.sign_mask)
    a[2, ::2] |= product.a.storage.type(product.a.sign_mask)
    for c in (0, format_of(product.c.name).max_finite, largest(product.c)):
        sums = np.full((3, 3), c, product.c.storage)
        expected = matmul(product, a, b, sums, engine="reference")
        np.testing.assert_array_equal(matmul(product, a, b, sums, engine="native"), expected)


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("engine", ["numpy", "native", "auto"])
@pytest.mark.parametrize("name", [n for n, p in PRODUCTS.items() if p.chains][::6])
def test_views_and_read_only_arrays_are_accepted_and_unchanged(name, engine):
    product = PRODUCTS[name]
    rng = np.random.default_rng(22)
    wide = mixture(product.a, (26, 4 * product.k), rng)
    a, b = wide[::2, ::2], mixture(product.b, (11, 2 * product.k), rng).T
    c = mixture(product.c, (13, 11), rng)[::-1]
    expected = matmul(product, a.copy(), np.ascontiguousarray(b), c.copy(), engine="reference")
    before = [x.copy() for x in (a, b, c)]
    for x in (a, b, c):
        x.flags.writeable = False
    np.testing.assert_array_equal(matmul(product, a, b, c, engine=engine), expected)
    for x, y in zip((a, b, c), before, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("engine", ["reference", "numpy", "native"])
@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (37, 41, 3)])
def test_sizes_of_zero_one_and_primes(shape, engine):
    product = dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_90")
    m, n, ks = shape
    rng = np.random.default_rng(23)
    a, b = mixture(product.a, (m or 1, 16 * ks), rng)[:m], mixture(product.b, (n or 1, 16 * ks), rng)[:n].T
    c = mixture(product.c, (m or 1, n or 1), rng)[:m, :n]
    d = matmul(product, a, b, c, engine=engine)
    assert d.shape == (m, n)
    if not ks:
        np.testing.assert_array_equal(d, c)
    elif d.size:
        np.testing.assert_array_equal(d[:2, :3], matmul(product, a[:2], b[:, :3], c[:2, :3], engine="reference"))


@pytest.mark.parametrize("engine", ["numpy", "native"])
def test_operands_of_only_nan_give_canonical_nans(engine):
    product = dot_product_of(lookup("m16n8k16.f32.bf16.bf16.f32"), "sm_90")
    nan = np.full((40, 64), 0xFFC1, np.uint16)
    d = matmul(product, nan, nan.T.copy(), np.zeros((40, 40), np.uint32), engine=engine)
    assert (d == 0x7FFFFFFF).all()


WITHOUT_LLVM = """
import sys
sys.modules["llvmlite"] = None
import numpy as np, wmma_emu as we
A = np.full((800, 800), 1.5, np.float16)
for _ in range(2):
    print(we.gemm(A, A)[0, 0])
print(we.gemm(A, A, engine="numpy")[0, 0])
try:
    we.gemm(A, A, engine="native")
except ImportError as error:
    print(type(error).__name__, error)
"""


def test_without_llvmlite_auto_uses_numpy_with_a_note_and_native_is_an_error():
    done = subprocess.run([sys.executable, "-c", WITHOUT_LLVM], capture_output=True, text=True, check=True)
    first, again, numpy, error = done.stdout.splitlines()
    assert first == again == numpy == "1800.0"
    assert error.startswith("BackendUnavailableError engine='native' needs llvmlite, which")
    assert "install the extra `fast`" in error
    [note] = done.stderr.splitlines()
    assert note.startswith("wmma_emu: engine='auto' uses numpy instead of native, the faster engine, which ")


def test_a_small_product_does_not_load_llvmlite():
    code = (
        "import sys, numpy as np, wmma_emu as we; we.gemm(np.ones((32, 32), 'f2'), np.ones((32, 32), 'f2')); "
        "print('llvmlite' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert not done.stderr


def test_an_engine_whose_library_is_missing_names_the_extra(monkeypatch):
    monkeypatch.setattr(engines, "_problem", lambda engine: "which is not installed")
    with pytest.raises(BackendUnavailableError, match="engine='cupy' needs cupy, which is not installed; install the"):
        engines.check_engine("cupy")


def test_integers_use_blas_without_compiled_code(monkeypatch):
    monkeypatch.setattr(engines, "_problem", lambda engine: pytest.fail("the compiler was checked"))
    product = dot_product_of(lookup("m16n8k32.s32.s8.s8.s32"), "sm_90")
    ones = np.ones((256, 256), np.uint8)
    assert (matmul(product, ones, ones, np.zeros((256, 256), np.uint32)) == 256).all()


def test_a_compiler_that_cannot_be_imported_is_named_with_its_reason(monkeypatch, capsys):
    monkeypatch.setattr(engines, "_problem", lambda engine: "which cannot be imported (it needs another NumPy)")
    product = dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_90")
    monkeypatch.setattr(compiled_code, "_TO_LOAD", 0.0)
    for name in ("_kept", "_ready"):
        monkeypatch.setattr(compiled_code, name, type(getattr(compiled_code, name))())
    zeros = np.zeros((32, 32), np.uint16)
    matmul(product, zeros, zeros, np.zeros((32, 32), np.uint32))
    assert capsys.readouterr().err == (
        "wmma_emu: engine='auto' uses numpy instead of native, the faster engine, which cannot be imported "
        "(it needs another NumPy)\n"
    )


@pytest.mark.parametrize("engine", ["reference", "numpy", "native"])
def test_without_products_c_is_unchanged_including_nan(engine):
    product = dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_90")
    c = np.full((40, 40), 0x7FFF_FFFE, np.uint32)
    d = matmul(product, np.zeros((40, 0), np.uint16), np.zeros((0, 40), np.uint16), c, engine=engine)
    np.testing.assert_array_equal(d, c)
    assert d is not c

# SPDX-License-Identifier: MIT
"""The choice of engine="auto": by the compiled code, the cache on disk, and the time NumPy has spent."""

import time

import numpy as np
import pytest

from wmma_emu.arithmetic import compiled_code, dot_product_of, engines, matmul
from wmma_emu.arithmetic.compiled_code import note_seconds, pays
from wmma_emu.instructions import lookup

pytest.importorskip("llvmlite")
from wmma_emu.arithmetic import native_engine

PRODUCT = dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_90")


@pytest.fixture(autouse=True)
def _nothing_done_yet(monkeypatch):
    for name in ("_kept", "_ready", "_seconds"):
        known = getattr(compiled_code, name)
        empty = known.copy()
        empty.clear()
        monkeypatch.setattr(compiled_code, name, empty)


def engine_of(a, b, monkeypatch, product=PRODUCT):
    """Return the engine for matrices of two shapes, without multiplying them."""
    called = []

    def noted(run, *rest):
        called.append(run.__module__)
        return np.zeros((*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1]), np.uint32)

    monkeypatch.setattr(engines, "multiply_blocks", noted)
    matmul(product, np.zeros(a, np.uint16), np.zeros(b, np.uint16), np.zeros((a[-2], b[-1]), np.uint32))
    return called[0].removeprefix("wmma_emu.arithmetic.").removesuffix("_engine")


@pytest.mark.parametrize(
    ("a", "b", "kept", "missing"),
    [
        ((32, 32), (32, 32), "numpy", "numpy"),
        ((512, 512), (512, 512), "native", "numpy"),  # a tenth of a second of NumPy
        ((1024, 2048), (2048, 1024), "native", "native"),  # two seconds
        ((1000, 16, 16), (1000, 16, 8), "numpy", "numpy"),  # many small matrices, side by side
        ((20000, 16, 64), (64, 64), "native", "native"),  # the rows of one tall matrix
        ((1, 1 << 12), (1 << 12, 1), "native", "numpy"),  # hundreds of steps, one after another
        ((1, 1 << 18), (1 << 18, 1), "native", "native"),
    ],
)
def test_auto_depends_on_the_work_and_on_the_compiled_code(a, b, kept, missing, monkeypatch):
    compiled_code.note_ready(PRODUCT)
    assert engine_of(a, b, monkeypatch) == "native"
    compiled_code._ready.clear()
    monkeypatch.setattr(native_engine, "is_kept", lambda *_: True)
    assert engine_of(a, b, monkeypatch) == kept
    compiled_code._kept.clear()
    monkeypatch.setattr(native_engine, "is_kept", lambda *_: False)
    assert engine_of(a, b, monkeypatch) == missing


def test_many_small_products_use_compiled_code_once_numpy_has_spent_enough_time(monkeypatch):
    monkeypatch.setattr(native_engine, "is_kept", lambda *_: False)
    chosen = []
    for _ in range(5):
        chosen.append(engine_of((16, 16), (16, 8), monkeypatch))
        note_seconds(PRODUCT, 0.3)
    assert chosen == ["numpy"] * 2 + ["native"] * 3
    other = dot_product_of(lookup("m16n8k8.f32.tf32.tf32.f32"), "sm_90")  # another, separate function
    assert not pays(other, 1024, 1, lambda: False)


def test_llvmlite_is_not_imported_for_less_work_than_the_import_takes(monkeypatch):
    monkeypatch.setattr(compiled_code, "_MODULE", "not.imported")
    note_seconds(PRODUCT, 0.1)
    assert not pays(PRODUCT, 1024, 1, lambda: pytest.fail("llvmlite was imported"))
    note_seconds(PRODUCT, 0.2)
    assert pays(PRODUCT, 1024, 1, lambda: True)


def test_time_in_which_other_programs_use_the_cores_does_not_count():
    watch = compiled_code.Stopwatch()
    time.sleep(0.2)
    assert watch.seconds < 0.1


def test_only_time_of_numpy_under_auto_counts():
    x, c = np.zeros((16, 16), np.uint16), np.zeros((16, 16), np.uint32)
    matmul(PRODUCT, x, x, c, engine="numpy")
    assert not compiled_code._seconds
    matmul(PRODUCT, x, x, c)
    assert list(compiled_code._seconds) == [PRODUCT]


@pytest.mark.parametrize("batch", [1, 16])
def test_a_product_that_has_run_is_ready_and_on_disk(batch):
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0x3000, 0x3C00, (batch, 16, 16), np.uint16) for _ in range(2))
    c = np.zeros((batch, 16, 16), np.uint32)
    d = matmul(PRODUCT, a, b, c, engine="native")
    assert PRODUCT in compiled_code._ready and native_engine.is_kept(PRODUCT)
    assert np.array_equal(matmul(PRODUCT, a, b, c), d) and np.array_equal(matmul(PRODUCT, a, b, c, engine="numpy"), d)

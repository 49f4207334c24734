# SPDX-License-Identifier: MIT
"""The choice of engine="auto": by the compiled code, the cache on disk, and the time NumPy has spent."""

import importlib.util
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from wmma_emu.arithmetic import compiled_code, dot_product_of, engines, matmul
from wmma_emu.arithmetic.compiled_code import function_of, note_seconds, pays
from wmma_emu.instructions import lookup

pytest.importorskip("numba")
from wmma_emu.arithmetic import numba_cache, numba_engine

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
    ("a", "b", "ready", "kept", "missing"),
    [
        ((32, 32), (32, 32), "numba", "numpy", "numpy"),
        ((512, 512), (512, 512), "numba", "numba", "numpy"),  # a tenth of a second of NumPy
        ((1024, 512), (512, 1024), "numba", "numba", "numpy"),  # half a second
        ((1024, 2048), (2048, 1024), "numba", "numba", "numba"),  # two seconds
        ((20000, 16, 16), (20000, 16, 8), "numba", "numpy", "numpy"),  # many small matrices, side by side
        ((20000, 16, 64), (64, 64), "numba", "numba", "numpy"),  # the rows of one tall matrix
        ((1, 1 << 14), (1 << 14, 1), "numba", "numba", "numpy"),  # a thousand steps, one after another
        ((1, 1 << 18), (1 << 18, 1), "numba", "numba", "numba"),
    ],
)
def test_auto_depends_on_the_work_and_on_the_compiled_code(a, b, ready, kept, missing, monkeypatch):
    for code in (function_of(PRODUCT, False), function_of(PRODUCT, True)):
        compiled_code.note_ready(code)
    assert engine_of(a, b, monkeypatch) == ready
    compiled_code._ready.clear()
    monkeypatch.setattr(numba_engine, "is_kept", lambda *_: True)
    assert engine_of(a, b, monkeypatch) == kept
    compiled_code._kept.clear()
    monkeypatch.setattr(numba_engine, "is_kept", lambda *_: False)
    assert engine_of(a, b, monkeypatch) == missing


def test_many_small_products_use_compiled_code_once_numpy_has_spent_enough_time(monkeypatch):
    monkeypatch.setattr(numba_engine, "is_kept", lambda *_: False)
    chosen = []
    for _ in range(5):
        chosen.append(engine_of((16, 16), (16, 8), monkeypatch))
        note_seconds(PRODUCT, 0.6)
    assert chosen == ["numpy"] * 4 + ["numba"]
    other = dot_product_of(lookup("m16n8k8.f32.tf32.tf32.f32"), "sm_90")  # another, separate function
    assert not pays(other, True, 1024, 1, lambda: False)


def test_no_code_is_compiled_for_half_a_second_of_numpy():
    assert not pays(PRODUCT, False, 450_000_000, 1, lambda: False)
    note_seconds(PRODUCT, 0.5)
    assert not pays(PRODUCT, True, 1024, 1, lambda: False)


def test_numba_is_not_imported_for_less_work_than_the_import_takes(monkeypatch):
    monkeypatch.setattr(compiled_code, "_MODULE", "not.imported")
    monkeypatch.setattr(compiled_code, "_may_be_kept", lambda: True)
    note_seconds(PRODUCT, 0.4)
    assert not pays(PRODUCT, True, 1024, 1, lambda: pytest.fail("numba was imported"))
    note_seconds(PRODUCT, 0.2)
    assert pays(PRODUCT, True, 1024, 1, lambda: True)


def test_numba_is_not_imported_to_find_an_empty_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(compiled_code, "_MODULE", "not.imported")
    monkeypatch.setattr(compiled_code, "_may_be_kept", compiled_code._may_be_kept.__wrapped__)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    note_seconds(PRODUCT, 1.5)
    assert not pays(PRODUCT, True, 1024, 1, lambda: pytest.fail("numba was imported"))
    (tmp_path / "arithmetic_0").mkdir()
    (tmp_path / "arithmetic_0" / "numba_kernels.multiply_lanes-1.py311.nbi").touch()
    assert pays(PRODUCT, True, 1024, 1, lambda: True)


def test_time_in_which_other_programs_use_the_cores_does_not_count():
    watch = compiled_code.Stopwatch()
    time.sleep(0.2)
    assert watch.seconds < 0.1


def test_only_time_of_numpy_under_auto_counts():
    x, c = np.zeros((16, 16), np.uint16), np.zeros((16, 16), np.uint32)
    matmul(PRODUCT, x, x, c, engine="numpy")
    assert not compiled_code._seconds
    matmul(PRODUCT, x, x, c)
    assert list(compiled_code._seconds) == [function_of(PRODUCT, False).kind]


@pytest.mark.thorough
@pytest.mark.parametrize("side_by_side", [False, True])
def test_a_function_that_has_run_is_ready_and_on_disk(side_by_side):
    batch = 16 if side_by_side else 1
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0x3000, 0x3C00, (batch, 16, 16), np.uint16) for _ in range(2))
    c = np.zeros((batch, 16, 16), np.uint32)
    d = matmul(PRODUCT, a, b, c, engine="numba")
    assert compiled_code.is_ready(function_of(PRODUCT, side_by_side))
    assert numba_engine.is_kept(PRODUCT, side_by_side)
    assert np.array_equal(matmul(PRODUCT, a, b, c), d) and np.array_equal(matmul(PRODUCT, a, b, c, engine="numpy"), d)


SOURCE = """
from numba import njit

@njit(cache=True)
def inner(shape, x):
    return x + len(shape)

@njit(cache=True)
def outer(shape, x):
    return inner(shape, x) * 2
"""


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """Return a function that numba compiles when it is called, with its cache in a temporary folder."""
    name = "wmma_emu._tried"
    path = tmp_path / "tried.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module.outer


def test_whether_a_function_is_on_disk_depends_on_its_types(compiled):
    assert not numba_cache.is_on_disk(compiled, (0, 0))
    compiled((0, 0), 3)
    assert numba_cache.is_on_disk(compiled, (0, 0)) and numba_cache.is_on_disk(compiled, (0, 0), 5)
    assert not numba_cache.is_on_disk(compiled, (0, 0, 0)) and not numba_cache.is_on_disk(compiled, (0, 0), 0.5)


@pytest.mark.thorough
def test_an_unreadable_index_counts_as_missing_code(compiled):
    compiled((0, 0), 3)
    for file in (x for x in _files(compiled) if x.suffix == ".nbi"):
        file.write_bytes(b"nonsense")
    assert not numba_cache.is_on_disk(compiled, (0, 0))


def test_an_index_without_its_code_counts_as_missing_code(compiled):
    compiled((0, 0), 3)
    for file in (x for x in _files(compiled) if x.suffix == ".nbc"):
        file.unlink()
    assert not numba_cache.is_on_disk(compiled, (0, 0))


def _files(function):
    return list(Path(function.stats.cache_path).iterdir())


def test_one_line_names_a_function_that_took_long_to_compile_and_its_cache(compiled, monkeypatch, capsys):
    monkeypatch.setattr(numba_cache, "_LONG", 0.0)
    assert compiled((0, 0), 3) == compiled((0, 0), 3) == 10
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("wmma_emu: numba compiled outer for a kind of dot products in ")
    assert f"kept in {compiled.stats.cache_path}, for other processes too; engine='numpy' compiles nothing" in line


def test_a_short_compilation_is_not_reported(compiled, monkeypatch, capsys):
    monkeypatch.setattr(numba_cache, "_LONG", 3600.0)
    compiled((0, 0), 3)
    assert not capsys.readouterr().err

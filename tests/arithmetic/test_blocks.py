# SPDX-License-Identifier: MIT
"""Blocks of D in threads: the bits of one thread, one BLAS thread each, and propagation of errors and progress."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arithmetic.helpers import distinct_products, engines_of
from tests.arithmetic.test_engines import mixture
from wmma_emu.arithmetic import FMA_F32, blas, blocks, matmul, thread_count
from wmma_emu.errors import UnsupportedInstructionError

PRODUCTS = {**distinct_products(), "fma.f32": FMA_F32}
CHAINING = [name for name, product in PRODUCTS.items() if product.chains]


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Split every product for many threads, in blocks of a few rows and columns."""
    for constant, value in (("_WORTH_A_THREAD", 1), ("_FEWEST", 2), ("_ROWS", 16), ("_COLUMNS", 16)):
        monkeypatch.setattr(blocks, constant, value)


@pytest.mark.sweep(keep=1 / 24)
@pytest.mark.parametrize("engine", ["numpy", "native"])
@pytest.mark.parametrize("name", CHAINING[::5])
def test_threads_do_not_affect_the_bits(name, engine, tiny_blocks):
    product = PRODUCTS[name]
    engine = engine if engine in engines_of(product) else "auto"
    rng = np.random.default_rng(12)
    a = mixture(product.a, (29, 2 * product.k), rng)
    b = mixture(product.b, (23, 2 * product.k), rng).T
    c = mixture(product.c, (29, 23), rng)
    one = matmul(product, a, b, c, engine=engine, threads=1)
    for threads in (2, 5, 40):
        np.testing.assert_array_equal(matmul(product, a, b, c, engine=engine, threads=threads), one)


def test_batches_are_shared_between_threads(tiny_blocks):
    product = next(p for p in PRODUCTS.values() if p.model.arithmetic == "aligned_sum")
    rng = np.random.default_rng(13)
    a = mixture(product.a, (30 * 4, product.k), rng).reshape(30, 4, product.k)
    b = mixture(product.b, (30 * 3, product.k), rng).reshape(30, 3, product.k).swapaxes(1, 2)
    c = mixture(product.c, (30 * 4, 3), rng).reshape(30, 4, 3)
    np.testing.assert_array_equal(matmul(product, a, b, c, threads=3), matmul(product, a, b, c, threads=1))


@given(
    st.tuples(st.integers(1, 40), st.integers(0, 3000), st.integers(0, 3000)),
    st.integers(1, 64),
)
def test_blocks_cover_every_element_once(shape, workers):
    size = 0
    for matrices, rows, columns in blocks._blocks(shape, workers):
        for part, whole in zip((matrices, rows, columns), shape, strict=True):
            assert 0 <= part.start < part.stop <= whole
        size += (matrices.stop - matrices.start) * (rows.stop - rows.start) * (columns.stop - columns.start)
    assert size == np.prod(shape)


@pytest.mark.parametrize("shape", [(1, 1024, 1024), (1, 512, 512), (1, 64, 8192), (4, 256, 256), (100, 16, 8)])
def test_each_thread_has_a_block(shape):
    assert len(list(blocks._blocks(shape, 2))) >= 2


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_an_invalid_number_of_threads_is_rejected(threads):
    product = FMA_F32
    one = np.zeros((1, 1), np.uint32)
    with pytest.raises(UnsupportedInstructionError, match="is not a number of threads; pass 1 or more"):
        matmul(product, one, one, one, threads=threads)


def test_the_default_number_of_threads_is_the_number_of_cores():
    assert thread_count(None) == blocks.available_cores() >= 1


def test_an_error_in_a_thread_ends_the_product(tiny_blocks):
    def fails(product, a, b, c, d, progress=None):
        raise ZeroDivisionError("in a thread")

    zeros = np.zeros((1, 40, 40), np.uint32)
    with pytest.raises(ZeroDivisionError, match="in a thread"):
        blocks.multiply_blocks(fails, FMA_F32, zeros, zeros, zeros, 4)


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_rises_to_one(threads, tiny_blocks):
    shares: list[float] = []
    a = np.zeros((40, 40), np.uint32)
    matmul(FMA_F32, a, a, a, engine="numpy", threads=threads, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


class StandInController:
    """A BLAS library with 4 threads, which optionally rejects a lower limit."""

    def __init__(self, refuses: bool = False) -> None:
        self.threads, self.refuses = 4, refuses

    def info(self):
        return [{"user_api": "blas", "num_threads": self.threads}, {"user_api": "openmp", "num_threads": 8}]

    def limit(self, limits, user_api):
        assert user_api == "blas"
        before, self.threads = self.threads, self.threads if self.refuses else limits
        return type("Limiter", (), {"restore_original_limits": lambda _: setattr(self, "threads", before)})()


def most_at_once(monkeypatch) -> int:
    """Return how many of eight threads are inside NumPy's product at the same time."""
    busy, most, lock, together = 0, 0, threading.Lock(), threading.Event()

    def counted(a, b):
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
            if busy > 1:
                together.set()
        together.wait(0.05)
        with lock:
            busy -= 1
        return a

    monkeypatch.setattr(blas.np, "matmul", counted)
    one = np.ones((2, 2), np.float32)
    threads = [threading.Thread(target=blas.exact_matmul, args=(one, one)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return most


def test_blas_uses_one_thread_inside_and_its_previous_number_afterwards(monkeypatch):
    controller = StandInController()
    monkeypatch.setattr(blas, "_controller", lambda: controller)
    entered, leave = threading.Event(), threading.Event()

    def other():
        with blas.one_thread_each():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with blas.one_thread_each():
        thread.start()
        entered.wait(10)
        assert controller.threads == 1
    assert controller.threads == 1  # the other thread is still inside
    leave.set()
    thread.join()
    assert controller.threads == 4


def test_blas_with_one_thread_each_multiplies_in_several_threads_at_once(monkeypatch):
    monkeypatch.setattr(blas, "_controller", StandInController)
    with blas.one_thread_each():
        assert most_at_once(monkeypatch) > 1


@pytest.mark.parametrize("controller", [None, StandInController(refuses=True)], ids=["missing", "refused"])
def test_blas_that_rejects_the_limit_multiplies_in_one_thread_at_a_time(controller, monkeypatch):
    monkeypatch.setattr(blas, "_controller", lambda: controller)
    with blas.one_thread_each():
        assert most_at_once(monkeypatch) == 1


def test_the_blas_of_numpy_is_limited_and_restored():
    controller = blas._controller()
    before = [x["num_threads"] for x in controller.info()]
    with blas.one_thread_each():
        assert {x["num_threads"] for x in controller.info() if x["user_api"] == "blas"} == {1}
    assert [x["num_threads"] for x in controller.info()] == before


def test_running_blocks_stop_at_their_next_report_after_one_fails(tiny_blocks):
    stopped, started = threading.Event(), threading.Event()

    def run(product, a, b, c, d, progress=None):
        if not started.is_set():
            started.set()
            try:
                while True:
                    progress(0.5)
                    stopped.wait(0.01)
            finally:
                stopped.set()
        started.wait(10)
        raise KeyboardInterrupt

    zeros = np.zeros((1, 40, 40), np.uint32)
    with pytest.raises(KeyboardInterrupt):
        blocks.multiply_blocks(run, FMA_F32, zeros, zeros, zeros, 2)
    assert stopped.is_set()


def test_a_child_process_begins_with_free_locks():
    with blas.one_thread_each():
        limiter = blas._Limit.limiter
        with blas._Limit.turn:
            blas._begin_anew()
            assert blas._Limit.lock.acquire(blocking=False)
            assert blas._Limit.turn.acquire(blocking=False)
        blas._begin_anew()
        blas._Limit.within, blas._Limit.limiter = 1, limiter  # this is not a child process

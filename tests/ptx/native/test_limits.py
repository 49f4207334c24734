# SPDX-License-Identifier: MIT
"""Limits of launches on the native machine: time, steps, memory, interrupts; and launches from threads of any kind."""

import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from tests.control_word import DENORMALS_ARE_ZERO, FLUSH_TO_ZERO, ROUND_DOWN, ROUND_UP, flags
from tests.ptx.native.machines import module, require_native
from wmma_emu.errors import LaunchLimitError

pytest.importorskip("llvmlite")

from wmma_emu.ptx.native import run, table, workers

ENDLESS = "mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; bra L;"
COUNT = """
  ld.global.u32 %r2, [%d3]; mov.u32 %r1, 0;
  L: setp.ge.u32 %p0, %r1, %r2; @%p0 bra E; add.u32 %r1, %r1, 1; bra L;
  E: st.global.u32 [%d1], %r1; ret;"""


@pytest.fixture
def x():
    return np.zeros(64, np.uint32)


@pytest.mark.parametrize("grid", [1, 5])
def test_the_time_limit_ends_an_endless_launch(grid, x):
    launch = module(ENDLESS)["k"][grid, 64]
    with pytest.raises(LaunchLimitError):  # compiles what is not compiled yet
        launch(x, x, max_steps=1000)
    begin = time.perf_counter()
    with pytest.raises(LaunchLimitError, match=r"1 seconds \(max_seconds\).*line"):
        launch(x, x, max_seconds=1)
    assert time.perf_counter() - begin < 2


def test_the_time_limit_counts_the_compilation_of_native_functions(x, monkeypatch):
    def addresses(wanted, check):
        begin = time.perf_counter()
        while time.perf_counter() - begin < 5:
            time.sleep(0.01)
            check()
        return dict.fromkeys(wanted, 0)

    launch = module(COUNT)["k"][1, 64]
    launch.compile({})
    monkeypatch.setattr(table, "LIBRARY", SimpleNamespace(addresses=addresses))
    begin = time.perf_counter()
    with pytest.raises(LaunchLimitError, match=r"the compilation of k.*0.5 seconds \(max_seconds\): raise max_seconds"):
        launch(x, x, max_seconds=0.5)
    assert 0.4 < time.perf_counter() - begin < 2
    monkeypatch.undo()
    assert launch(x, x, max_seconds=100).machine == "native"


def test_the_limit_of_steps_ends_an_endless_launch(x):
    with pytest.raises(LaunchLimitError, match=r"20000 steps \(max_steps\)"):
        module(ENDLESS)["k"][1, 64](x, x, max_steps=20_000)


def test_the_steps_of_waves_add_up(x, monkeypatch):
    monkeypatch.setattr(run, "blocks_at_once", lambda *given: 2)
    report = module(COUNT)["k"][5, 64](np.full(320, 7, np.uint32), np.zeros(320, np.uint32))
    whole = module(COUNT)["k"][1, 64](np.full(64, 7, np.uint32), x)
    assert report.machine == "native"
    assert report.steps == 3 * whole.steps


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that interrupts")
@pytest.mark.parametrize("grid", [1, 5])
def test_an_interrupt_ends_a_launch(grid, x):
    launch, before = module(ENDLESS)["k"][grid, 64], x.copy()
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    begin = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            launch(x, x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert time.perf_counter() - begin < 2
    assert not [t for t in threading.enumerate() if "finish" in t.name]
    np.testing.assert_array_equal(x, before)


def test_an_interrupt_while_a_launch_waits_for_its_threads_ends_them(monkeypatch):
    def interrupted(thread):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "available_cores", lambda: 3)
    monkeypatch.setattr(workers, "FIRST_FUEL", 10)
    monkeypatch.setattr(run, "WORTH_A_THREAD", 1e-9)
    counts = np.full(64 * 9, 1000, np.uint32)
    counts[64:128] = 1 << 31  # the second block is long
    before = set(threading.enumerate())
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(threading.Thread, "join", interrupted)
        module(COUNT)["k"][9, 64](counts, np.zeros_like(counts), max_steps=10**12)
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive()


def test_workers_share_the_blocks_of_a_grid(monkeypatch):
    monkeypatch.setattr(run, "available_cores", lambda: 4)
    monkeypatch.setattr(workers, "FIRST_FUEL", 10)
    monkeypatch.setattr(run, "WORTH_A_THREAD", 1e-9)
    monkeypatch.setattr(workers, "SLICE", 1e-5)
    counts = np.random.default_rng(1).integers(0, 1000, 64 * 50).astype(np.uint32)
    y = np.zeros_like(counts)
    report = module(COUNT)["k"][50, 64](counts, y, machine="native")
    assert report.machine == "native"
    np.testing.assert_array_equal(counts, y)
    assert report.instructions == module(COUNT)["k"][50, 64](counts, y, machine="numpy").instructions


def test_an_error_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(run, "available_cores", lambda: 4)
    monkeypatch.setattr(workers, "FIRST_FUEL", 10)
    monkeypatch.setattr(run, "WORTH_A_THREAD", 1e-9)
    advance, main = workers.Worker.advance, threading.main_thread()

    def failing(self, fuel):
        if threading.current_thread() is not main:
            raise MemoryError("in a thread")
        return advance(self, 1)

    monkeypatch.setattr(workers.Worker, "advance", failing)
    counts = np.full(64 * 50, 1000, np.uint32)
    with pytest.raises(MemoryError, match="in a thread"):
        module(COUNT)["k"][50, 64](counts, np.zeros_like(counts))


def test_launches_from_several_threads_are_right():
    launch, results = module(COUNT)["k"][8, 64], []

    def work(seed):
        counts = np.random.default_rng(seed).integers(0, 1000, 512).astype(np.uint32)
        y = np.zeros_like(counts)
        results.append(launch(counts, y).machine == "native" and np.array_equal(counts, y))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 6


@pytest.mark.parametrize("bits", [FLUSH_TO_ZERO | DENORMALS_ARE_ZERO, ROUND_DOWN, ROUND_UP], ids=hex)
def test_a_thread_that_flushes_or_rounds_otherwise_gets_the_same_bits(bits, control):
    third = "ld.global.f32 %f1, [%d3]; mul.f32 %f1, %f1, 0f3EAAAAAB; st.global.f32 [%d1], %f1; ret;"
    x = np.arange(1, 65, dtype=np.uint32) * np.uint32(0x01000001)
    x[::2] >>= 8  # subnormal numbers
    with flags(control, bits):
        require_native(module(third)["k"][1, 64], x, np.zeros_like(x))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_process_runs_launches_too(x):
    launch = module(COUNT)["k"][1, 64]
    launch(x + 5, x)
    child = os.fork()
    if not child:
        y = np.zeros(64, np.uint32)
        report = launch(x + 4, y)
        os._exit(int(y[3]) if report.machine == "native" else 99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_the_limit_of_steps_ends_a_launch_in_waves(x):
    endless = "L: atom.global.exch.b32 %r1, [%d0], %r0; bra L;"
    with pytest.raises(LaunchLimitError, match=r"2000 steps \(max_steps\)"):
        module(endless)["k"][2, 64](x, x, max_steps=2000)

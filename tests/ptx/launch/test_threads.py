# SPDX-License-Identifier: MIT
"""Concurrent launches: those that share memory run in turn and lose no updates; others run at the same time."""

import os
import signal
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import HEAD
from wmma_emu.errors import KernelFindingsError, UnsupportedInstructionError
from wmma_emu.instructions import ARCHS
from wmma_emu.ptx.launch import launch_tickets
from wmma_emu.ptx.launch import runner as kernels
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.ptx.steps.matrix_operands import bind

TEXT = (
    HEAD
    + """
.global .align 4 .u32 total;
.const .align 4 .u32 table[4] = { 1, 1, 1, 1 };
.visible .entry add(.param .u64 x, .param .u32 first)
{
    .reg .b32 %r<4>; .reg .b64 %a<3>;
    ld.param.u64 %a0, [x];
    ld.param.u32 %r0, [first];
    mov.u32 %r1, %tid.x;
    add.u32 %r2, %r0, %r1;
    mul.wide.u32 %a1, %r2, 4;
    add.u64 %a2, %a0, %a1;
    ld.global.u32 %r3, [%a2];
    add.u32 %r3, %r3, 1;
    st.global.u32 [%a2], %r3;
    ret;
}
.visible .entry count()
{
    .reg .b32 %r;
    atom.global.add.u32 %r, [total], 1;
    ret;
}
"""
)
"""x[first + thread] += 1; and total += 1, for each thread."""

ADD = TEXT.replace(".global .align 4 .u32 total;", "").split(".visible .entry count")[0]
"""A module without variables that launches write."""

THREADS, OFTEN, PATIENCE = 8, 4, 30


def at_once(*calls):
    """Call functions in threads that begin together; none may hang."""
    gate = threading.Barrier(len(calls))

    def call(function):
        gate.wait(PATIENCE)
        return function()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [x.result(PATIENCE) for x in [pool.submit(call, function) for function in calls]]


def often(launch, *arguments):
    """Launch again and again."""
    for _ in range(OFTEN):
        launch(*arguments)


@pytest.mark.parametrize("schedules", [1, 2])
@pytest.mark.parametrize("modules", [1, THREADS])
def test_launches_that_share_an_array_lose_no_update(modules, schedules):
    made = [we.ptx.Module(ADD, schedules=schedules)["add"] for _ in range(modules)]
    x = np.zeros(128 * THREADS, np.uint32)
    at_once(*(lambda i=i: often(made[i % modules][1, 128], x, 128 * i) for i in range(THREADS)))
    assert (x == OFTEN).all()


def test_launches_that_share_some_elements_of_an_array_lose_no_update():
    add, x = we.ptx.Module(ADD)["add"], np.zeros(64 * (THREADS + 1), np.uint32)
    at_once(*(lambda i=i: often(add[1, 128], x[64 * i : 64 * i + 128], 0) for i in range(THREADS)))
    assert (x[:64] == OFTEN).all() and (x[64:-64] == 2 * OFTEN).all() and (x[-64:] == OFTEN).all()


def test_launches_that_share_a_variable_of_their_module_lose_no_update():
    module = we.ptx.Module(TEXT)
    at_once(*[lambda: often(module["count"][2, 64])] * THREADS)
    assert module.variable("total", np.uint32)[0] == 128 * THREADS * OFTEN


def test_a_variable_that_another_module_takes_as_an_array_is_shared_too():
    module, other = we.ptx.Module(TEXT), we.ptx.Module(ADD)
    total = module.variable("total", np.uint32)
    calls = [lambda: often(module["count"][1, 1]), lambda: often(other["add"][1, 1], total, 0)]
    at_once(*calls * (THREADS // 2))
    assert total[0] == THREADS * OFTEN


@pytest.mark.parametrize("is_shared", [False, True])
def test_launches_that_share_nothing_that_is_written_run_at_the_same_time(is_shared, monkeypatch):
    inside, run = threading.Barrier(2), kernels.run

    def met(*given, **more):
        inside.wait(PATIENCE)  # passed by two at a time alone
        return run(*given, **more)

    monkeypatch.setattr(kernels, "run", met)
    module = we.ptx.Module(ADD, machine="numpy", findings="report")
    x, y = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    if is_shared:  # both read it, as they do the module's table
        y = x
        x.flags.writeable = False
    at_once(lambda: module["add"][1, 32](x, 0), lambda: module["add"][1, 32](y, 0))
    assert is_shared or (x.tolist(), y.tolist()) == ([1] * 32, [1] * 32)


def test_no_order_of_the_arguments_makes_launches_wait_for_each_other():
    text = ADD.replace(".param .u32 first)", ".param .u32 first, .param .u64 other)")
    add, x, y = we.ptx.Module(text)["add"], np.zeros(64, np.uint32), np.zeros(64, np.uint32)

    at_once(*[lambda: often(add[1, 64], x, 0, y), lambda: often(add[1, 64], y, 0, x)] * (THREADS // 2))
    assert (x == OFTEN * THREADS // 2).all() and (y == OFTEN * THREADS // 2).all()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_launch_releases_its_ticket(error, monkeypatch):
    def interrupted(*given, **more):
        raise error

    add, x = we.ptx.Module(ADD, machine="numpy")["add"], np.zeros(32, np.uint32)
    with monkeypatch.context() as patch:
        patch.setattr(kernels, "run", interrupted)
        with pytest.raises(error) as caught:
            add[1, 32](x, 0)
    at_once(lambda: add[1, 32](x, 0))
    assert (x == 1).all() and caught.tb is not None  # whose frames still hold the launch


def test_a_launch_with_findings_releases_its_ticket():
    add, x = we.ptx.Module(ADD, findings="raise")["add"], np.zeros(32, np.uint32)
    with pytest.raises(KernelFindingsError):
        add[1, 33](x, 0)
    at_once(*[lambda: add[1, 32](x, 0)] * 2)
    assert (x == 2).all()


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="the system cannot send a signal to a thread")
def test_a_launch_that_is_interrupted_while_it_waits_leaves_the_queue():
    add, x = we.ptx.Module(ADD)["add"], np.zeros(32, np.uint32)
    add[1, 32](np.zeros(32, np.uint32), 0)  # compiled now, so that the launch below only waits
    holds, go_on, main = threading.Event(), threading.Event(), threading.main_thread().ident

    def hold():
        ticket = launch_tickets.LaunchTicket("first", lambda: launch_tickets.host_ranges("x", [x]))
        with ticket.lock:
            ticket.wait()
            holds.set()
            go_on.wait(PATIENCE)

    thread = threading.Thread(target=hold)
    thread.start()
    assert holds.wait(PATIENCE)
    left = threading.Event()

    def interrupt():  # again and again: Python drops what is raised while it clears up an object
        while not left.wait(0.5):
            signal.pthread_kill(main, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
    try:
        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        with pytest.raises(KeyboardInterrupt):
            add[1, 32](x, 0)
        left.set()
        interrupting.join(PATIENCE)
    finally:
        signal.signal(signal.SIGINT, before)
    go_on.set()
    thread.join(PATIENCE)
    at_once(lambda: add[1, 32](x, 0))
    assert (x == 1).all()


def launched_within(outer, inner, monkeypatch):
    """Launch ``inner`` while ``outer`` runs in the same thread, as a handler of a signal may."""
    run = kernels.run

    def with_another(*given, **more):
        monkeypatch.setattr(kernels, "run", run)
        inner()
        return run(*given, **more)

    monkeypatch.setattr(kernels, "run", with_another)
    outer()


def test_a_launch_within_another_of_its_thread_runs_where_it_shares_nothing(monkeypatch):
    add, x, y = we.ptx.Module(ADD, machine="numpy")["add"], np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    launched_within(lambda: add[1, 32](x, 0), lambda: add[1, 32](y, 0), monkeypatch)
    assert (x == 1).all() and (y == 1).all()


def test_a_launch_within_another_of_its_thread_is_refused_where_it_shares_memory(monkeypatch):
    add, x = we.ptx.Module(ADD, machine="numpy")["add"], np.zeros(64, np.uint32)
    with pytest.raises(
        UnsupportedInstructionError,
        match=r"^add is launched within a launch of the same thread, and shares .*x.* with add, which works on a copy: "
        r"one result would be lost; launch it after the other launch has returned$",
    ):
        launched_within(lambda: add[1, 64](x, 0), lambda: add[1, 32](x[32:], 0), monkeypatch)
    assert not x.any()
    add[1, 64](x, 0)
    assert (x == 1).all()


FORK = f"""
import os, sys, threading, numpy as np, wmma_emu as we
from wmma_emu.ptx.launch import runner as kernels
add, x = we.ptx.Module({ADD!r}, machine="numpy")["add"], np.zeros(32, np.uint32)
run, inside, go_on, main = kernels.run, threading.Event(), threading.Event(), threading.current_thread()
def held(*given, **more):
    if threading.current_thread() is not main:
        inside.set()
        go_on.wait({PATIENCE})
    return run(*given, **more)
kernels.run = held
thread = threading.Thread(target=lambda: add[1, 32](x, 0))
thread.start()
inside.wait({PATIENCE})
child = os.fork()
if not child:
    add[1, 32](x, 0)
    os._exit(int(x[0]))
status = os.waitpid(child, 0)[1]
go_on.set()
thread.join()
print(os.waitstatus_to_exitcode(status), x[0])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_process_does_not_wait_for_launches_of_its_parent():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert done.stdout.split() == ["1", "1"]


def test_threads_that_ask_for_a_kernel_at_once_get_the_same_one():
    module = we.ptx.Module(TEXT)
    assert len({id(x) for x in at_once(*[lambda: module["add"]] * THREADS)}) == 1


def test_binding_an_instruction_leaves_the_filters_of_warnings_alone(monkeypatch):
    # They are global: two threads that change them temporarily may leave them changed.
    with monkeypatch.context() as patch:
        patch.setattr(warnings, "catch_warnings", None)
        bound = bind("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", CompileContext(None, ARCHS["sm_120"]))
    assert "with no recording" in (bound.not_bit_exact or "")

# SPDX-License-Identifier: MIT
"""One worker process per core, each with its own backend; the main process only distributes and collects."""

import multiprocessing
import os
import pickle
import signal
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from multiprocessing.connection import Connection, wait
from typing import Any

from wmma_emu.applications.campaign.backends import Backend
from wmma_emu.applications.campaign.tasks import Task
from wmma_emu.applications.campaign.worker import TaskResult, Worker
from wmma_emu.errors import ArgumentValueError, BackendUnavailableError, WmmaEmuError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.warp import BoundInstruction, bound_instruction

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Environment variables that limit the matrix libraries of a worker to its own core."""

_LONGEST_BUNDLE = 16


def worker_count(workers: object) -> int:
    """Return the number of processes: 0 for none, which runs all tasks in this one, or None for one per core."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    number = integer_of(workers)
    if number is None or number < 0:
        raise ArgumentValueError(
            f"workers={shorten(workers)} is not a number of processes; pass 1 or more, 0 to use this process, or leave "
            "it "
            "out for one per core"
        )
    return number


def run_tasks(
    instructions: Sequence[BoundInstruction], backend: Backend, tasks: Sequence[Task], workers: int
) -> Iterator[TaskResult]:
    """Execute tasks, and yield the result of each, in any order; exceptions of a worker are raised here."""
    if workers == 0:
        here = Worker(instructions.__getitem__, backend)
        yield from map(here.run, tasks)
        return
    bundles = bundles_of(tasks, workers)
    with _processes(min(workers, len(bundles)), instructions, backend) as processes:
        busy: dict[Connection, int] = {}
        for free in processes:
            _send(free, bundles.popleft(), busy)
        while busy:
            for ready in wait(list(busy)):
                connection: Any = ready
                result = _receive(connection, processes)
                busy[connection] -= 1
                if not busy[connection]:
                    del busy[connection]
                    if bundles:
                        _send(connection, bundles.popleft(), busy)
                yield result


def name_of(ins: BoundInstruction) -> tuple[Any, Any, str, str | None]:
    """Return the arguments that bind an instruction, which are sent instead of it."""
    return ins.instruction, ins.arch, ins.model.lowering, ins.model.name or None


def bundles_of(tasks: Sequence[Task], workers: int) -> deque[list[Task]]:
    """Group tasks of an instruction, so that few processes have to assemble it."""
    longest = min(_LONGEST_BUNDLE, max(1, len(tasks) // (32 * workers)))
    bundles: deque[list[Task]] = deque()
    for task in tasks:
        if bundles and bundles[-1][0].instruction == task.instruction and len(bundles[-1]) < longest:
            bundles[-1].append(task)
        else:
            bundles.append([task])
    return bundles


def _send(connection: Connection, bundle: list[Task], busy: dict[Connection, int]) -> None:
    connection.send(bundle)
    busy[connection] = len(bundle)


def _receive(connection: Connection, processes: dict[Connection, Any]) -> TaskResult:
    try:
        result = connection.recv()
    except (EOFError, OSError):
        process = processes[connection]
        process.join(5)
        raise BackendUnavailableError(
            f"a worker process ended with status {process.exitcode}. A script must start a campaign under "
            "if __name__ == '__main__':, because each worker imports it (or use workers=0); if memory is short, "
            "use fewer workers="
        ) from None
    if isinstance(result, TaskResult):
        return result
    raise result


@contextmanager
def _processes(
    count: int, instructions: Sequence[BoundInstruction], backend: Backend
) -> Iterator[dict[Connection, Any]]:
    """Start processes, and end all of them in any case."""
    context = multiprocessing.get_context("spawn")
    processes: dict[Connection, Any] = {}
    try:
        with _one_thread_each():
            for _ in range(count):
                ours, theirs = context.Pipe()
                # Instructions are sent by name and bound again, because their caches need not be sent.
                named = [name_of(ins) for ins in instructions]
                process = context.Process(target=_serve, args=(theirs, named, backend), daemon=True)
                process.start()
                theirs.close()
                processes[ours] = process
        yield processes
    finally:
        for connection, process in processes.items():
            connection.close()
            process.terminate()
        for process in processes.values():
            process.join(5)
            if process.is_alive():
                process.kill()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Set the environment of processes started meanwhile so that their libraries use one thread."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _serve(connection: Connection, named: Sequence[tuple[Any, Any, str, str | None]], backend: Backend) -> None:
    """Execute bundles of tasks until the main process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles Ctrl-C and ends this one
    warnings.simplefilter("ignore")
    # An instruction is bound when a task first needs it.
    worker = Worker(cache(lambda number: bound_instruction(*named[number])), backend)
    while True:
        try:
            bundle = connection.recv()
        except (EOFError, OSError):
            return
        for task in bundle:
            try:
                result: Any = worker.run(task)
            except Exception as error:
                result = portable(error)
            try:
                connection.send(result)
            except (BrokenPipeError, OSError):
                return


def portable(error: Exception) -> Exception:
    """Return an exception that can be sent between processes."""
    try:
        if isinstance(error, WmmaEmuError) and isinstance(pickle.loads(pickle.dumps(error)), WmmaEmuError):
            return error
    except Exception:  # an exception that cannot be pickled and read back is sent as text
        pass
    return RuntimeError(f"a worker failed: {type(error).__name__}: {error}")

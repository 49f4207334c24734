# SPDX-License-Identifier: MIT
"""Processes that make the launches of a corpus. One that dies is a difference, and another process takes its place."""

import multiprocessing
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from tools.compare_machines.attempt import Attempt
from tools.compare_machines.corpora import CORPORA, Share
from tools.compare_machines.watch import Agreement, Row, watched
from wmma_emu.errors import WmmaEmuError

__all__ = ["Made", "made_by"]

_SPAWN = multiprocessing.get_context("spawn")


class Made(NamedTuple):
    """The launches of an attempt, and the CPU seconds that it took."""

    name: str
    rows: list[Row]
    cpu_seconds: float


@dataclass
class _Worker:
    share: Share
    process: BaseProcess
    connection: Connection
    begun: int = 0
    name: str = ""
    since: float = 0


def made_by(corpus: str, shares: Sequence[Share], seconds: float, patience: float) -> Iterator[Made]:
    """Yield the launches of all shares, as workers make them.

    No attempt begins after some seconds. A worker that takes longer than ``patience`` for one is ended.
    """
    end = time.time() + seconds
    workers = [_start(corpus, x, end, 0) for x in shares]
    try:
        while workers:
            ready = wait([x.connection for x in workers], timeout=1)
            for worker in [*workers]:
                if worker.connection in ready:
                    made, continues = _received(worker)
                elif worker.name and time.time() - worker.since > patience:
                    made, continues = _ended(worker, Agreement.NO_END, f"no end after {patience:.0f} s"), False
                else:
                    continue
                if made is not None:
                    yield made
                if not continues:
                    workers.remove(worker)
                    worker.process.join()
                    if made is not None:
                        workers.append(_start(corpus, worker.share, end, worker.begun))
    finally:
        for worker in workers:
            worker.process.kill()


def _start(corpus: str, share: Share, end: float, skipped: int) -> _Worker:
    mine, its = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_serve, args=(corpus, share, end, skipped, its), daemon=True)
    process.start()
    its.close()
    return _Worker(share, process, mine, skipped)


def _received(worker: _Worker) -> tuple[Made | None, bool]:
    """Take a message: the launches, if they are complete, and whether the worker continues."""
    try:
        message: Any = worker.connection.recv()
    except EOFError:
        worker.process.join()
        if not worker.name:
            raise RuntimeError("a worker cannot start") from None
        return _ended(worker, Agreement.DIFFERENT, f"the process ended with {worker.process.exitcode}"), False
    if message is None:
        return None, False
    if isinstance(message, Made):
        worker.name = ""
        return message, True
    worker.name, worker.since = message, time.time()
    worker.begun += 1
    return None, True


def _ended(worker: _Worker, outcome: Agreement, why: str) -> Made:
    worker.process.kill()
    return Made(worker.name, [Row(worker.name, "", outcome, why)], 0)


def _serve(corpus: str, share: Share, end: float, skipped: int, connection: Connection) -> None:
    """Make the launches of a share, except those of the first attempts."""
    warnings.simplefilter("ignore")
    for number, attempt in enumerate(CORPORA[corpus](share)):
        if time.time() > end:
            break
        if number >= skipped:
            connection.send(attempt.name)
            before = time.process_time()
            rows = _made(attempt)
            connection.send(Made(attempt.name, rows, time.process_time() - before))
    connection.send(None)


def _made(attempt: Attempt) -> list[Row]:
    rows: list[Row] = []
    try:
        with watched(rows.append, attempt.name):
            attempt.perform()
    except WmmaEmuError as error:
        if not rows:
            rows.append(Row(attempt.name, "", Agreement.NOT_LAUNCHED, type(error).__name__))
    except Exception as error:  # a defect of the emulator, which the summary has to name
        rows.append(Row(attempt.name, "", Agreement.DIFFERENT, traceback.format_exception_only(error)[-1].strip()))
    return rows

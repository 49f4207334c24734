# SPDX-License-Identifier: MIT
"""A campaign on the workers of a Dask client: they draw, execute and emulate, and the main process counts."""

import pickle
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from wmma_emu.applications.campaign.backends import Backend
from wmma_emu.applications.campaign.dask_patience import Patience
from wmma_emu.applications.campaign.processes import bundles_of, name_of, portable
from wmma_emu.applications.campaign.tasks import Task
from wmma_emu.applications.campaign.worker import TaskResult, Worker
from wmma_emu.documentation import how_to_install
from wmma_emu.errors import ArgumentError, ArgumentValueError, BackendUnavailableError, OptionError, shorten
from wmma_emu.version import __version__
from wmma_emu.warp import BoundInstruction, bound_instruction

_T = TypeVar("_T")

_IN_FLIGHT = 4
"""Bundles of tasks that are submitted for each thread of the cluster, so that no thread waits."""


def check_client(client: object, workers: object) -> None:
    """Reject an argument other than a client of `distributed`, and a number of processes in addition to a client."""
    client_type = getattr(sys.modules.get("distributed"), "Client", None)
    if client_type is None or not isinstance(client, client_type):
        raise ArgumentError(
            f"client={shorten(client)} is not a Dask client; pass distributed.Client(...), which the "
            f"extra `distributed` installs ({how_to_install('distributed')})"
        )
    if client.asynchronous:
        raise ArgumentValueError(
            "the client is asynchronous, but a campaign waits for results; pass distributed.Client(...) without "
            "asynchronous=True, from a separate thread"
        )
    if workers is not None:
        raise OptionError(
            f"workers={shorten(workers)} and client= exclude each other: processes of this machine, or the client's "
            "workers; leave workers out"
        )


def threads_of(client: Any) -> int:
    """Return the current number of threads of the cluster."""
    return sum(client.nthreads().values())


def describe_on_dask(client: Any, backend: Backend) -> dict[str, Any]:
    """Return the description of the backend on a worker: this machine may have no GPU.

    Its exceptions are raised here.
    """
    future = client.submit(_describe, _pickled(backend), key=f"describe-{uuid.uuid4().hex}", pure=False)
    patience = Patience(client)
    while True:
        try:
            found: Any = _translated(lambda: future.result(timeout=1.0))
            break
        except TimeoutError:
            try:
                patience.watch(lambda: "")
            except BackendUnavailableError:
                future.cancel()
                raise
    return _unless_error(found)  # type: ignore[no-any-return]


def run_on_dask(
    client: Any,
    instructions: Sequence[BoundInstruction],
    backend: Backend,
    tasks: Sequence[Task],
    device: dict[str, Any],
    resume: str,
) -> Iterator[TaskResult]:
    """Execute tasks on the workers of a cluster, and yield the result of each, once, in any order.

    A bounded number of them is submitted at a time. If a worker dies, its unfinished tasks are executed again on
    another; if no worker is left, this waits some time for new ones. Exceptions of a worker are raised here.

    The backend is pickled, opened on every worker, and must return ``device`` as its description there; ``resume`` is
    the message's text on how to continue if the cluster loses all its workers.
    """
    campaign, pickled = uuid.uuid4().hex, _pickled(backend)
    as_completed = sys.modules["distributed"].as_completed
    patience = Patience(client)
    bundles = bundles_of(tasks, max(1, patience.threads))
    pending: dict[Any, list[Task]] = {}
    completed = as_completed(with_results=True, raise_errors=False, loop=client.loop)

    def left() -> str:
        waiting = sum(map(len, bundles)) + sum(map(len, pending.values()))
        return f"{waiting} of {len(tasks)} tasks are left. {resume}; "

    try:
        while bundles or pending:
            patience.watch(left)
            while bundles and len(pending) < _IN_FLIGHT * max(1, patience.threads):
                bundle = bundles.popleft()
                # Bound again on the worker, because its caches need not be sent.
                named = name_of(instructions[bundle[0].instruction])
                key = f"crosscheck-{campaign}-{bundle[0].number}"
                future = client.submit(_run, campaign, __version__, device, pickled, named, bundle, key=key, pure=False)
                pending[future] = bundle
                completed.add(future)
            patience.until(completed.has_ready, left)
            future, results = next(completed)
            bundle = pending.pop(future)
            if future.status != "finished":
                _translated(future.result)
            future.release()
            found = _unless_error(results)
            if [x.task for x in found] != [x.number for x in bundle]:
                raise BackendUnavailableError("a worker returned the results of other tasks than its own")
            yield from found
    finally:
        client.cancel(list(pending), force=True)


def _pickled(backend: Backend) -> bytes:
    """Pickle a backend with Dask's method, which includes classes of a script."""
    return bytes(sys.modules["distributed.protocol.pickle"].dumps(backend))


def _translated(result: Callable[[], _T]) -> _T:
    """Translate Dask's own failures into those of a campaign."""
    distributed = sys.modules["distributed"]
    try:
        return result()
    except distributed.KilledWorker as error:
        raise BackendUnavailableError(
            f"workers died one after another on the same task ({shorten(error, str)}); if memory is short, use fewer "
            "threads per worker"
        ) from None
    except distributed.CancelledError as error:
        raise BackendUnavailableError(
            f"the cluster cancelled a task ({shorten(error, str)}); it may have been restarted or closed. With a state "
            "file "
            "the same call continues"
        ) from None


def _unless_error(found: Any) -> Any:
    if isinstance(found, Exception):
        raise found
    return found


# On a worker


class _ThreadState(threading.local):
    """The state of a thread of a worker: the open backend of one campaign, and the bound instructions."""

    campaign = ""
    worker: Worker | None = None
    bound: dict[int, BoundInstruction]


_STATE = _ThreadState()


def _describe(pickled: bytes) -> Any:
    try:
        return pickle.loads(pickled).describe()
    except Exception as error:
        return portable(error)


def _run(
    campaign: str, version: str, device: dict[str, Any], pickled: bytes, named: tuple[Any, Any, str, str | None],
    bundle: list[Task],
) -> Any:  # fmt: skip
    """Execute a bundle; return the result of each task, or the exception that ends the campaign."""
    try:
        if _STATE.campaign != campaign or _STATE.worker is None:
            _open(campaign, version, device, pickle.loads(pickled))
        number = bundle[0].instruction
        if number not in _STATE.bound:
            _STATE.bound[number] = bound_instruction(*named)
        return [_STATE.worker.run(task) for task in bundle]  # type: ignore[union-attr]
    except Exception as error:
        return portable(error)


def _open(campaign: str, version: str, device: dict[str, Any], backend: Backend) -> None:
    """Open the backend in this thread, and check that it matches the other workers'."""
    found = backend.describe()
    if (__version__, found) != (version, device):
        raise OptionError(
            f"all workers of a campaign must have the same GPU and version: one has {shorten(found, _shown)} with "
            "wmma_emu "
            f"{__version__}, another {shorten(device, _shown)} with {version}"
        )
    _STATE.bound = {}
    _STATE.worker = Worker(_STATE.bound.__getitem__, backend)
    _STATE.campaign = campaign


def _shown(device: dict[str, Any]) -> str:
    return ", ".join(str(device.get(name)) for name in ("name", "arch", "driver", "toolkit"))

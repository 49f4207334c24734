# SPDX-License-Identifier: MIT
"""A campaign on the workers of a Dask client: they draw, execute and emulate; this process counts."""

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
"""Bundles of tasks for each thread of the cluster that the scheduler knows of: enough that none waits for more."""


def check_client(client: object, workers: object) -> None:
    """Refuse what is no client of `distributed`, and a number of processes beside one."""
    client_type = getattr(sys.modules.get("distributed"), "Client", None)
    if client_type is None or not isinstance(client, client_type):
        raise ArgumentError(
            f"client={shorten(client)} is no client of Dask; give distributed.Client(...), which the "
            f"extra `distributed` brings ({how_to_install('distributed')})"
        )
    if client.asynchronous:
        raise ArgumentValueError(
            "the client is asynchronous, and a campaign waits for results; give distributed.Client(...) without "
            "asynchronous=True, from a thread of its own"
        )
    if workers is not None:
        raise OptionError(
            f"workers={shorten(workers)} and client= exclude each other: processes of this machine, or the client's "
            "workers; leave workers out"
        )


def threads_of(client: Any) -> int:
    """How many threads the cluster has now."""
    return sum(client.nthreads().values())


def describe_on_dask(client: Any, backend: Backend) -> dict[str, Any]:
    """Ask a worker what the backend is there: this machine may have no GPU. What it raises comes through."""
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
    """Carry tasks out on the workers of a cluster, and yield what came of each, once, in any order.

    The scheduler knows of a bounded number of them at a time. Where a worker dies, what it had not delivered is done
    again on another; where none is left, this waits some time for others to come. What a worker raises comes through.

    The backend is pickled, opened on every worker, and must say there what ``device`` says; ``resume`` is how to go on
    where the cluster loses all its workers, for the message.
    """
    campaign, pickled = uuid.uuid4().hex, _pickled(backend)
    as_completed = sys.modules["distributed"].as_completed
    patience = Patience(client)
    bundles = bundles_of(tasks, max(1, patience.threads))
    flying: dict[Any, list[Task]] = {}
    landed = as_completed(with_results=True, raise_errors=False, loop=client.loop)

    def left() -> str:
        waiting = sum(map(len, bundles)) + sum(map(len, flying.values()))
        return f"{waiting} of {len(tasks)} tasks are left. {resume}; "

    try:
        while bundles or flying:
            patience.watch(left)
            while bundles and len(flying) < _IN_FLIGHT * max(1, patience.threads):
                bundle = bundles.popleft()
                named = name_of(instructions[bundle[0].instruction])  # bound again there, as its caches need not travel
                key = f"crosscheck-{campaign}-{bundle[0].number}"
                future = client.submit(_run, campaign, __version__, device, pickled, named, bundle, key=key, pure=False)
                flying[future] = bundle
                landed.add(future)
            patience.until(landed.has_ready, left)
            future, results = next(landed)
            bundle = flying.pop(future)
            if future.status != "finished":
                _translated(future.result)
            future.release()
            found = _unless_error(results)
            if [x.task for x in found] != [x.number for x in bundle]:
                raise BackendUnavailableError("a worker came back with the results of other tasks than it was given")
            yield from found
    finally:
        client.cancel(list(flying), force=True)


def _pickled(backend: Backend) -> bytes:
    """A backend as it travels: Dask's way takes classes of a script along, too."""
    return bytes(sys.modules["distributed.protocol.pickle"].dumps(backend))


def _translated(result: Callable[[], _T]) -> _T:
    """Dask's own failures as those of a campaign."""
    distributed = sys.modules["distributed"]
    try:
        return result()
    except distributed.KilledWorker as error:
        raise BackendUnavailableError(
            f"workers died one after another of the same task ({shorten(error, str)}); where memory is short, fewer "
            "threads a worker help"
        ) from None
    except distributed.CancelledError as error:
        raise BackendUnavailableError(
            f"the cluster let go of a task ({shorten(error, str)}): was it restarted, or closed? With a state file the "
            "same call goes on"
        ) from None


def _unless_error(found: Any) -> Any:
    if isinstance(found, Exception):
        raise found
    return found


# On a worker


class _Here(threading.local):
    """What a thread of a worker has open: the backend of one campaign, and the instructions that it has met."""

    campaign = ""
    worker: Worker | None = None
    bound: dict[int, BoundInstruction]


_HERE = _Here()


def _describe(pickled: bytes) -> Any:
    try:
        return pickle.loads(pickled).describe()
    except Exception as error:
        return portable(error)


def _run(
    campaign: str, version: str, device: dict[str, Any], pickled: bytes, named: tuple[Any, Any, str, str | None],
    bundle: list[Task],
) -> Any:  # fmt: skip
    """Carry a bundle out: what came of each task, or the exception that ends the campaign."""
    try:
        if _HERE.campaign != campaign or _HERE.worker is None:
            _open(campaign, version, device, pickle.loads(pickled))
        number = bundle[0].instruction
        if number not in _HERE.bound:
            _HERE.bound[number] = bound_instruction(*named)
        return [_HERE.worker.run(task) for task in bundle]  # type: ignore[union-attr]
    except Exception as error:
        return portable(error)


def _open(campaign: str, version: str, device: dict[str, Any], backend: Backend) -> None:
    """Open the backend in this thread, and make sure that what it counts can be added to the rest."""
    found = backend.describe()
    if (__version__, found) != (version, device):
        raise OptionError(
            f"the workers of a campaign must be alike: one has {shorten(found, _shown)} with wmma_emu "
            f"{__version__}, another {shorten(device, _shown)} with {version}"
        )
    _HERE.bound = {}
    _HERE.worker = Worker(_HERE.bound.__getitem__, backend)
    _HERE.campaign = campaign


def _shown(device: dict[str, Any]) -> str:
    return ", ".join(str(device.get(name)) for name in ("name", "arch", "driver", "toolkit"))

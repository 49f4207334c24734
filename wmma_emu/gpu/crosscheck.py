# SPDX-License-Identifier: MIT
"""The run of a campaign: planning, distribution of tasks, counting, and the state file."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from wmma_emu.applications.campaign.backends import Backend
from wmma_emu.applications.campaign.groups import What, bound_instructions
from wmma_emu.applications.campaign.on_dask import check_client, describe_on_dask, run_on_dask, threads_of
from wmma_emu.applications.campaign.processes import run_tasks, worker_count
from wmma_emu.applications.campaign.report import CampaignReport
from wmma_emu.applications.campaign.state import identity_of, load_state, save_state
from wmma_emu.applications.campaign.tasks import Task, check_generators, counts_of, plan_tasks, with_generators
from wmma_emu.applications.campaign.totals import Totals
from wmma_emu.applications.campaign.worker import TaskResult
from wmma_emu.errors import ArgumentValueError, printable, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.gpu.device import open_gpu
from wmma_emu.gpu.execute import execute
from wmma_emu.renamed import renamed_keywords
from wmma_emu.warp import BoundInstruction

_SAVE_EVERY = 5.0
"""Seconds between two writes of the state, which limit the loss at a power failure."""


class GpuBackend:
    """The GPU of this machine, through `wmma_emu.gpu.execute`."""

    def describe(self) -> dict[str, Any]:
        """Return name, chip, driver and assembler of the GPU.

        Raises
        ------
        BackendUnavailableError
            If no GPU is available.
        """
        described = asdict(open_gpu().info())
        return {x: described[x] for x in ("name", "arch", "driver", "toolkit", "cuda_core") if x in described}

    @property
    def kernel_seconds(self) -> float:
        """The time that kernels of this process have run, by the GPU's own clock."""
        return open_gpu().kernel_seconds

    def execute(self, ins: BoundInstruction, a: Any, b: Any, c: Any, **keywords: Any) -> NDArray[Any]:
        """Execute on the GPU."""
        return execute(ins, a, b, c, **keywords)


class CrosscheckProgress(NamedTuple):
    """The progress of a campaign.

    Parameters
    ----------
    done, total : int
        Dot products.
    mismatches : int
    rate : float
        Dot products per second in this run.
    """

    done: int
    total: int
    mismatches: int
    rate: float


@renamed_keywords(families="generators")
def crosscheck(
    what: What,
    *,
    count: int = 10**6,
    per_group: int | None = None,
    generators: Sequence[str] | None = None,
    seed: int = 0,
    workers: int | None = None,
    state: str | Path | None = None,
    progress: Callable[[CrosscheckProgress], None] | None = None,
    backend: Backend | None = None,
    client: Any = None,
) -> CampaignReport:
    """Execute an instruction's inputs on the GPU and in the emulator, compare every bit, and count.

    Parameters
    ----------
    what : BoundInstruction, Instruction, str, or a list of those
        A string is a mnemonic, or a regular expression that is searched for in the mnemonics of the GPU's chip. If
        sources disagree, a list of one instruction bound with each ``model=`` compares all models with the same
        results.
    count : int
        Dot products of each instruction, divided among the input generators; rounded up to whole tiles.
    per_group : int, optional
        Instead of ``count``: the dot products of each kind of instruction (block-scaled, sparse, f16, bf16, tf32, FP6
        and FP4, FP8 mma, FP8 wgmma, f64, 8-bit, 4-bit, b1), divided among its instructions.
    generators : list of str, optional
        Names of input generators, of `wmma_emu.testing.generators`; all by default.
    seed : int
        The seed of the inputs, which are the same on every machine.
    workers : int, optional
        The number of processes, one per core by default; 0 uses this one. A script that starts processes needs ``if
        __name__ == "__main__":``.
    state : str or Path, optional
        The file that preserves the counts after an interrupt: the same call continues from it, to the same totals.
    progress : callable, optional
        A function that is called with a `CrosscheckProgress` after each task.
    backend : Backend, optional
        The backend that is compared with the emulator; by default this machine's GPU.
    client : distributed.Client, optional
        A Dask client whose workers run the tasks instead of processes of this machine; the GPUs are then the workers',
        and must be the same on all of them. If a worker dies, its tasks run again on another; each counts once.

    Returns
    -------
    CampaignReport
        ``str()`` gives the report as text; ``to_json()`` and ``to_html()`` give other formats.

    Raises
    ------
    BackendUnavailableError
        If no GPU is available; the message names the missing component. If a cluster has had no workers for a minute,
        or a task kills them.
    UnsupportedInstructionError
        If a name is not an instruction or an input generator, a count is below 1, the state is another campaign's,
        ``workers`` and ``client`` are both given, or workers differ in GPU or version.
    FragmentMismatchError
        If the state is damaged, or the seed, the number of workers or the client is not legal.

    Examples
    --------
    The emulator compared with itself with one bit less, and the smallest input that exposes it:

    >>> from wmma_emu.gpu.campaign import EmulatedBackend
    >>> other = EmulatedBackend(alter={"fraction_bits": 24})
    >>> name, generators = "m16n8k16.f32.f16.f16.f32", ["single_bits"]
    >>> report = crosscheck(name, count=20000, generators=generators, workers=0, backend=other)
    >>> report.dot_products, report.mismatches > 0, report.findings[0]["hints"]
    (20736, True, ['fraction_bits 24 instead of 25'])
    """
    other: Backend = GpuBackend() if backend is None else backend
    if client is None:
        processes = worker_count(workers)
    else:
        check_client(client, workers)
    number = integer_of(seed)
    if number is None or number < 0:
        raise ArgumentValueError(f"seed={shorten(seed)} is not a seed; pass an integer of at least 0")
    chosen = None if generators is None else check_generators(generators)
    if client is None:
        device = other.describe()
    else:
        device, processes = describe_on_dask(client, other), threads_of(client)
    instructions = with_generators(bound_instructions(what, device["arch"]), chosen)
    counts = counts_of(instructions, count, per_group)
    tasks = plan_tasks(instructions, counts, chosen, number)
    identity = identity_of(instructions, counts, chosen, number, device)
    sizes = [task.dot_products(instructions[task.instruction].instruction) for task in tasks]
    totals = Totals(len(tasks)) if state is None else load_state(state, identity, tasks, sizes)
    total, before, elapsed = sum(sizes), totals.compared, totals.elapsed
    start = saved = time.monotonic()
    remaining = totals.remaining(tasks)
    if state is not None:
        save_state(state, identity, totals)  # written now, so that an unwritable path is reported immediately
    try:
        with closing(_results(instructions, other, remaining, processes, device, client, state)) as results:
            for result in results:
                totals.add(tasks[result.task], result)
                now = time.monotonic()
                totals.elapsed = elapsed + now - start
                if state is not None and now - saved > _SAVE_EVERY:
                    save_state(state, identity, totals)
                    saved = now
                if progress is not None:
                    rate = (totals.compared - before) / max(now - start, 1e-9)
                    progress(CrosscheckProgress(totals.compared, total, totals.differing, rate))
    finally:
        if state is not None:
            save_state(state, identity, totals)
    settings = {"seed": number, "families": identity["families"], "processes": max(processes, 1)}
    return CampaignReport.of(instructions, totals, device, settings, total)


def _results(
    instructions: list[BoundInstruction], backend: Backend, tasks: list[Task], processes: int, device: dict[str, Any],
    client: Any, state: str | Path | None,
) -> Generator[TaskResult, None, None]:  # fmt: skip
    if tasks and client is not None:
        yield from run_on_dask(client, instructions, backend, tasks, device, _resume(state))
    elif tasks:
        yield from run_tasks(instructions, backend, tasks, processes)


def _resume(state: str | Path | None) -> str:
    """Return how to continue a campaign whose cluster has lost its workers."""
    if state is None:
        return "No counts of this campaign are saved: with state=FILE, the same call would continue from the file"
    return f"The counts are in {printable(str(state))}, and the same call continues from there"

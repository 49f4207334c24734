# SPDX-License-Identifier: MIT
"""Run a campaign: plan, hand out, count, and write down what was counted."""

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
"""Seconds between two writings of the state: what a power failure can lose."""


class GpuBackend:
    """The GPU at hand, through `wmma_emu.gpu.execute`."""

    def describe(self) -> dict[str, Any]:
        """Name, chip, driver and assembler of the GPU.

        Raises
        ------
        BackendUnavailableError
            If there is none.
        """
        described = asdict(open_gpu().info())
        return {x: described[x] for x in ("name", "arch", "driver", "toolkit", "cuda_core") if x in described}

    @property
    def kernel_seconds(self) -> float:
        """Time that kernels of this process have run, by the GPU's own clock."""
        return open_gpu().kernel_seconds

    def execute(self, ins: BoundInstruction, a: Any, b: Any, c: Any, **keywords: Any) -> NDArray[Any]:
        """Execute on the GPU."""
        return execute(ins, a, b, c, **keywords)


class CrosscheckProgress(NamedTuple):
    """How far a campaign is.

    Parameters
    ----------
    done, total : int
        Dot products.
    mismatches : int
    rate : float
        Dot products a second, of this run.
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
        A string is a mnemonic or a regular expression, searched for in the mnemonics of the GPU's chip. Where sources
        disagree, a list of one instruction bound with each ``model=`` holds all of them against the same results.
    count : int
        Dot products of each instruction, spread over the families; rounded up to whole tiles.
    per_group : int, optional
        Instead of ``count``: dot products of each kind of instruction (block-scaled, sparse, f16, bf16, tf32, FP6 and
        FP4, FP8 mma, FP8 wgmma, f64, 8-bit, 4-bit, b1), spread over its instructions.
    generators : list of str, optional
        Names of input generators, of `wmma_emu.testing.generators`; all by default.
    seed : int
        The same seed, the same inputs, on every machine.
    workers : int, optional
        Processes, one a core by default; 0 stays in this one. A script that starts processes needs
        ``if __name__ == "__main__":``.
    state : str or Path, optional
        File in which the counts survive an interrupt: the same call goes on from there, to the same totals.
    progress : callable, optional
        Called with a `Progress` after each task.
    backend : Backend, optional
        What the emulator is held against, if not the GPU at hand.
    client : distributed.Client, optional
        Run on the workers of this Dask client instead of processes of this machine; the GPU is then theirs, and alike
        on all of them. Where a worker dies, its tasks run again on another; each counts once.

    Returns
    -------
    Report
        ``str()`` of it is a report as text; ``to_json()`` and ``to_html()`` are others.

    Raises
    ------
    BackendUnavailableError
        If there is no GPU; the message says what is missing. If a cluster has had no workers for a minute, or a task
        kills them.
    UnsupportedInstructionError
        For what names no instruction or family, a count below 1, the state of another campaign, ``workers`` beside
        ``client``, and workers that differ in GPU or version.
    FragmentMismatchError
        For a state that is damaged, a seed, a number of workers or a client that is none.

    Examples
    --------
    The emulator against itself with one bit less, and the smallest input that shows it:

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
        raise ArgumentValueError(f"seed={shorten(seed)} is no seed; give 0 or a positive whole number")
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
        save_state(state, identity, totals)  # now, so that a place where nothing can be written is said at once
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
    """How to go on with a campaign whose cluster has lost its workers."""
    if state is None:
        return "Nothing of this campaign is kept: with state=FILE the same call would go on from there"
    return f"What is counted is in {printable(str(state))}, and the same call goes on from there"

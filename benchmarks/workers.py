# SPDX-License-Identifier: MIT
"""One product on one Dask worker and on two, each a process with one thread."""

import statistics
import warnings
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

import wmma_emu as we
from benchmarks.inputs import matrices
from benchmarks.timing import seconds

CHUNKS = 8
"""Return D computed in parts of its columns."""


def measure(sizes: dict[str, int], rounds: int) -> list[dict[str, Any]]:
    """Seconds on one worker and on two, for the size of each engine; both clusters are there all the time."""
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        clients = {}
        for count in (1, 2):
            cluster = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0")
            clients[count] = stack.enter_context(Client(stack.enter_context(cluster), set_as_default=False))
        return [_one_engine(clients, engine, size, rounds) for engine, size in sizes.items()]


def _one_engine(clients: dict[int, Any], engine: str, size: int, rounds: int) -> dict[str, Any]:
    import dask.array
    from distributed import wait

    A, B = matrices("f16", size)
    x, y = dask.array.from_array(A, (size, size)), dask.array.from_array(B, (size, size // CHUNKS))
    # Matrices are on the workers already: the first run distributes them.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        operands = {count: (client.persist(x), client.persist(y)) for count, client in clients.items()}
    expected = we.gemm(A[:64], B, engine=engine)

    def product(count: int) -> Any:
        held = clients[count].persist(we.gemm(*operands[count], engine=engine))
        with clients[count].as_current():
            wait(held)
        return held

    for count, client in clients.items():  # what workers load or compile once, and that the bits are right
        client.run(_small, engine)
        found = client.compute(product(count)[:64], sync=True)
        if not np.array_equal(found.view(np.uint32), expected.view(np.uint32)):
            raise RuntimeError("workers gave other bits")
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for count in clients:
            times[count].append(seconds(partial(product, count)))
    ratios = sorted(a / b for a, b in zip(times[1], times[2], strict=True))
    one, two = (statistics.median(times[count]) for count in (1, 2))
    return {
        "size": size,
        "engine": engine,
        "one": one,
        "two": two,
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }


def _small(engine: str) -> None:
    x = np.ones((256, 256), np.float16)
    we.gemm(x, x, engine=engine, threads=1)

# SPDX-License-Identifier: MIT
"""The wait of a campaign for a cluster without workers, or whose scheduler does not respond."""

import time
from collections.abc import Callable
from typing import Any

from wmma_emu.errors import BackendUnavailableError, shorten

PATIENCE = 60.0
"""Seconds without any worker after which a campaign gives up on a cluster."""

_LOOK_EVERY = 5.0
"""Seconds between two checks of the cluster's number of threads."""

_SHORTEST_NAP, _LONGEST_NAP = 0.001, 0.05
"""Seconds between two checks for a result: short while results arrive, longer between them."""


class Patience:
    """A monitor of a cluster while a campaign waits for it; ``threads`` is the number of threads at the last check."""

    def __init__(self, client: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
        self._looked = self._seen = clock()
        self.threads = 0
        self._look()

    def watch(self, left: Callable[[], str]) -> None:
        """Check the cluster, unless that was done just now; raise an error if it has had no worker for long.

        ``left`` returns the error's text about the remaining work and how to continue.
        """
        now = self._clock()
        if now - self._looked < min(_LOOK_EVERY, PATIENCE / 4):
            return
        self._looked = now
        self._look()
        if self.threads or now - self._seen <= PATIENCE:
            return
        address = shorten(self._client.scheduler.address, str)
        raise BackendUnavailableError(
            f"the cluster has had no worker for {PATIENCE:.0f} s; {left()}start some: dask worker {address}"
        )

    def until(self, ready: Callable[[], bool], left: Callable[[], str]) -> None:
        """Wait until a condition holds; raise an error if the cluster has had no worker for long meanwhile."""
        nap = _SHORTEST_NAP
        while not ready():
            self.watch(left)
            time.sleep(nap)
            nap = min(2 * nap, _LONGEST_NAP)

    def _look(self) -> None:
        """Count the threads; a scheduler that does not respond counts as none."""
        try:
            self.threads = sum(self._client.nthreads().values())
        except (OSError, TimeoutError):
            self.threads = 0
        if self.threads:
            self._seen = self._clock()

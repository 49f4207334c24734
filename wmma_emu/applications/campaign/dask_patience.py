# SPDX-License-Identifier: MIT
"""How long a campaign waits for a cluster that has no worker, or whose scheduler does not answer."""

import time
from collections.abc import Callable
from typing import Any

from wmma_emu.errors import BackendUnavailableError, shorten

PATIENCE = 60.0
"""Seconds after which a cluster without any worker is said to have none."""

_LOOK_EVERY = 5.0
"""Seconds between two looks at how many threads the cluster has."""

_SHORTEST_NAP, _LONGEST_NAP = 0.001, 0.05
"""Seconds between two looks at whether a result has come: short while results come, longer while none does."""


class Patience:
    """Watches a cluster while a campaign waits for it; ``threads`` is how many it had when it was looked at last."""

    def __init__(self, client: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
        self._looked = self._seen = clock()
        self.threads = 0
        self._look()

    def watch(self, left: Callable[[], str]) -> None:
        """Look at the cluster, if that was not done just now; raises if it has had no worker for long.

        ``left`` gives what the error says of the work that is left, and of how to go on with it.
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
        """Wait until something is ready; raises if the cluster has had no worker for long meanwhile."""
        nap = _SHORTEST_NAP
        while not ready():
            self.watch(left)
            time.sleep(nap)
            nap = min(2 * nap, _LONGEST_NAP)

    def _look(self) -> None:
        """Count the threads; a scheduler that does not answer has none."""
        try:
            self.threads = sum(self._client.nthreads().values())
        except (OSError, TimeoutError):
            self.threads = 0
        if self.threads:
            self._seen = self._clock()

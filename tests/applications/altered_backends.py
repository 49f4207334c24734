# SPDX-License-Identifier: MIT
"""Backends for campaigns without a GPU, each with a fault; errors of models are in `tools.planted_errors`."""

from dataclasses import dataclass
from typing import Any

from wmma_emu.gpu.campaign import EmulatedBackend


@dataclass(frozen=True)
class OneLaneFails(EmulatedBackend):
    """Hardware with a fault: whatever is computed, lane 5 has a bit of its first register wrong."""

    def execute(self, ins, a, b, c, **keywords: Any):
        d = super().execute(ins, a, b, c, **keywords)
        d[0, ..., 5] ^= 1
        return d


@dataclass(frozen=True)
class Dies(EmulatedBackend):
    """A backend whose process is killed, for example because memory is exhausted."""

    def execute(self, ins, a, b, c, **keywords: Any):
        import os

        os._exit(9)


@dataclass(frozen=True)
class Refuses(EmulatedBackend):
    """A driver that says no in the middle of a campaign."""

    def execute(self, ins, a, b, c, **keywords: Any):
        from wmma_emu.errors import BackendUnavailableError

        raise BackendUnavailableError("the GPU has gone")


@dataclass(frozen=True)
class DiesOnce(EmulatedBackend):
    """A worker that is killed in the middle of a task: the first one that finds no file of that name."""

    marker: str = ""

    def execute(self, ins, a, b, c, **keywords: Any):
        import os
        import signal

        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return super().execute(ins, a, b, c, **keywords)
        os.kill(os.getpid(), signal.SIGKILL)
        return None


@dataclass(frozen=True)
class SomethingElse(EmulatedBackend):
    """Another GPU in each process."""

    def describe(self):
        import os

        return {**super().describe(), "name": f"GPU {os.getpid()}"}


@dataclass(frozen=True)
class NoGpuHere(EmulatedBackend):
    """A GPU that only workers have."""

    home: int = 0

    def describe(self):
        import os

        from wmma_emu.errors import BackendUnavailableError

        if os.getpid() == self.home:
            raise BackendUnavailableError("there is no GPU")
        return super().describe()


@dataclass(frozen=True)
class Slow(EmulatedBackend):
    """Hardware that takes its time."""

    seconds: float = 0.0

    def execute(self, ins, a, b, c, **keywords: Any):
        import time

        time.sleep(self.seconds)
        return super().execute(ins, a, b, c, **keywords)

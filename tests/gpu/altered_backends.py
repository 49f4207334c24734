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
    """A process that is killed, as for want of memory."""

    def execute(self, ins, a, b, c, **keywords: Any):
        import os

        os._exit(9)


@dataclass(frozen=True)
class Refuses(EmulatedBackend):
    """A driver that says no in the middle of a campaign."""

    def execute(self, ins, a, b, c, **keywords: Any):
        from wmma_emu.errors import BackendUnavailableError

        raise BackendUnavailableError("the GPU has gone")

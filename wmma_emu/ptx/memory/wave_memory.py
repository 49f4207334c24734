# SPDX-License-Identifier: MIT
"""Memory as the threads of a chunk of blocks see it: loads and stores, copies on their way, barriers in it."""

from functools import cached_property

from wmma_emu.ptx.memory.async_copies import AsyncCopies
from wmma_emu.ptx.memory.loads_and_stores import LoadsAndStores
from wmma_emu.ptx.memory.mbarriers import Mbarriers


class WaveMemory(LoadsAndStores):
    """All memory of some blocks; what is kept of copies and of barriers is made when the first is met."""

    @cached_property
    def copies(self) -> AsyncCopies:
        """The asynchronous copies."""
        return AsyncCopies(self)

    @cached_property
    def mbarriers(self) -> Mbarriers:
        """The barriers in shared memory."""
        return Mbarriers(self, self.copies)

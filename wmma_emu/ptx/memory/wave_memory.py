# SPDX-License-Identifier: MIT
"""Memory as the threads of a wave see it: loads and stores, asynchronous copies, mbarriers."""

from functools import cached_property

from wmma_emu.ptx.memory.async_copies import AsyncCopies
from wmma_emu.ptx.memory.bulk_groups import BulkGroups
from wmma_emu.ptx.memory.loads_and_stores import LoadsAndStores
from wmma_emu.ptx.memory.mbarriers import Mbarriers


class WaveMemory(LoadsAndStores):
    """All memory of some blocks; the records of copies and of mbarriers are made on first use."""

    @cached_property
    def copies(self) -> AsyncCopies:
        """The asynchronous copies."""
        return AsyncCopies(self)

    @cached_property
    def mbarriers(self) -> Mbarriers:
        """The mbarriers, in shared memory."""
        return Mbarriers(self, self.copies)

    def finish(self) -> None:
        """Check what is still in flight when all threads of the wave have exited."""
        if "bulk_groups" in self.__dict__:
            self.bulk_groups.report_in_flight()
        if self.proxies is not None:
            self.proxies.report_unobserved(self.copies.in_phases())

    @cached_property
    def bulk_groups(self) -> BulkGroups:
        """The bulk groups of the threads."""
        return BulkGroups(self)

# SPDX-License-Identifier: MIT
"""PTX's causality order: which access of a launch is known to happen before what another thread does now."""

from wmma_emu.ptx.causality.block_order import NUM_BARRIERS, OF_CLUSTER
from wmma_emu.ptx.causality.order import CausalityOrder, order_of_launch
from wmma_emu.ptx.causality.ordering import Ordering, fence_of, ordering_of, synchronises_through_memory
from wmma_emu.ptx.causality.threads import ThreadIndices, threads_in

__all__ = [
    "NUM_BARRIERS",
    "OF_CLUSTER",
    "CausalityOrder",
    "Ordering",
    "ThreadIndices",
    "fence_of",
    "order_of_launch",
    "ordering_of",
    "synchronises_through_memory",
    "threads_in",
]

# SPDX-License-Identifier: MIT
"""PTX's causality order: which access of a launch is known to come before what another thread does now."""

from wmma_emu.ptx.causality.block_order import NUM_BARRIERS, OF_CLUSTER
from wmma_emu.ptx.causality.order import CausalityOrder, order_of_launch
from wmma_emu.ptx.causality.ordering import Ordering, fence_of, hands_on, ordering_of
from wmma_emu.ptx.causality.threads import At, threads_in

__all__ = [
    "NUM_BARRIERS",
    "OF_CLUSTER",
    "At",
    "CausalityOrder",
    "Ordering",
    "fence_of",
    "hands_on",
    "order_of_launch",
    "ordering_of",
    "threads_in",
]

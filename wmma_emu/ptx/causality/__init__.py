# SPDX-License-Identifier: MIT
"""PTX's causality order: which access of a launch is known to come before what another thread does now."""

from wmma_emu.ptx.causality.order import CausalityOrder

__all__ = ["CausalityOrder"]

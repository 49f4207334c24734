# SPDX-License-Identifier: MIT
"""The order of a launch in which nobody asks for it, and which of the two a launch has."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.order import CausalityOrder
from wmma_emu.ptx.causality.ordering import hands_on
from wmma_emu.ptx.program.program import Instruction

_Mask = NDArray[np.bool_]


class _Unasked(CausalityOrder):
    def meet_all(self) -> None:
        """Keep nothing."""

    def meet(self, number: int, blocks: NDArray[np.int64]) -> None:
        """Keep nothing."""

    def complete(self, number: int, blocks: NDArray[np.int64], who: _Mask, live: _Mask) -> None:
        """Keep nothing."""

    def arrive(self, number: int, who: _Mask, live: _Mask, *, relaxed: bool = False) -> None:
        """Keep nothing."""

    def tell(self, who: _Mask, live: _Mask, *, relaxed: bool = False) -> tuple[NDArray[np.int32], None]:
        return np.zeros_like(self.now), None

    def learn(self, who: _Mask, live: _Mask, told: NDArray[np.int32], pieces: NDArray[np.int64] | None) -> None:
        """Keep nothing."""

    def meet_lanes(self, who: _Mask | None, masks: NDArray[np.uint32], live: _Mask) -> None:
        """Keep nothing."""

    def see_told(self, who: _Mask, told: NDArray[np.int32], pieces: NDArray[Any]) -> None:
        """Keep nothing."""


def order_of_launch(
    blocks: int, warps: int, instructions: Sequence[Instruction], *, is_asked: bool = True
) -> CausalityOrder:  # fmt: skip
    """Make the order of a launch of so many blocks of so many warps.

    In ``instructions``, the program, it is looked up whether threads can order each other through words of memory.
    Unless it ``is_asked`` (races are looked for), the order keeps nothing, and is not to be asked.
    """
    if not is_asked:
        return _Unasked(blocks, warps, is_released_to=False)
    return CausalityOrder(blocks, warps, is_released_to=hands_on(instructions))

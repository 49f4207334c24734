# SPDX-License-Identifier: MIT
"""tcgen05.shift.down: every lane of tensor memory receives the contents of the next lane."""

import numpy as np

from wmma_emu.errors import AlignmentError, UnsupportedInstructionError
from wmma_emu.instructions import Arch
from wmma_emu.layouts.spec import LANES, WARPS
from wmma_emu.tcgen05.data_movement import DEFAULT_ARCH, bound_data_movement
from wmma_emu.tcgen05.pairs import Memories, tensor_memories
from wmma_emu.tcgen05.tensor_memory import column_of, lane_of

_COLUMNS = 8
"""The columns of the 32 bytes of each lane that are shifted."""


def shift_down(
    tmem: Memories,
    where: int,
    instruction: str = "tcgen05.shift.cta_group::1.down",
    *,
    arch: "str | Arch" = DEFAULT_ARCH,
) -> None:
    """Shift eight columns by one lane, in each of the four groups of 32 lanes: `tcgen05.shift.down`.

    Lane i receives the contents of lane i + 1; the last lane of each group is unchanged.

    Parameters
    ----------
    tmem : TensorMemory, or two of them
        Two for ``.cta_group::2``: that of the CTA and that of its peer.
    where : int
        The address, in lane 0, of the first of the eight columns.
    instruction : str
    arch : str or Arch

    Raises
    ------
    AlignmentError
        If the lane is not a multiple of 32.
    UnsupportedInstructionError
        If the lane is not 0: which of the four groups are shifted then is not documented.
    OutOfBoundsError
        If columns are outside of tensor memory or of the allocated columns.
    FragmentMismatchError
        If an argument is not tensor memory, or their number is not the number of CTAs.

    Warns
    -----
    UnverifiedModelWarning
        With ``.cta_group::2``, which was never read back.

    Notes
    -----
    PTX ISA 9.0, 9.7.16.9.3, says that 32-byte elements shift downwards across all rows except the last, by one row.
    That the groups of the four warps shift separately, and in which direction, was published from a B200 (notes on
    UTCSHIFT in cicuvc/nvidia-sass-document, 2026-09-17).

    Examples
    --------
    >>> from wmma_emu.tcgen05 import TensorMemory
    >>> tmem = TensorMemory()
    >>> base = tmem.alloc(32)
    >>> tmem.write(np.arange(128)[:, None], np.arange(8), np.arange(128, dtype=np.uint32)[:, None])
    >>> shift_down(tmem, base)
    >>> tmem.read([0, 1, 30, 31, 32, 63, 127], 0).tolist()
    [1, 2, 31, 31, 33, 63, 127]
    """
    movement = bound_data_movement("tcgen05.shift", instruction, arch)
    memories = tensor_memories(tmem, movement.cta_group, movement.mnemonic)
    lane, column = lane_of(where), column_of(where)
    if lane % LANES:
        low = lane - lane % LANES
        raise AlignmentError(
            f"the address {hex(where)} has lane {lane}; {movement.mnemonic} takes multiples of {LANES}: {low} or "
            f"{low + LANES}"
        )
    if lane:
        raise UnsupportedInstructionError(
            f"the address {hex(where)} has lane {lane}: which lanes {movement.mnemonic} shifts then is not documented; "
            "lane 0 shifts those of all four warps"
        )
    to = (LANES * np.arange(WARPS)[:, None] + np.arange(LANES - 1)).reshape(-1, 1)
    columns = column + np.arange(_COLUMNS)
    for memory in memories:
        memory.require_allocated(to, columns)
    for memory in memories:
        memory.move(to + 1, columns, to, columns)

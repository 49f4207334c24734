# SPDX-License-Identifier: MIT
"""The stack of each thread in its local memory, for programs in which every call has a frame."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.shadow import Shadow
from wmma_emu.ptx.threads import Array

_CHUNK = 8


class Stack:
    """The positions in the local memory of each thread, all (blocks, warps, 32).

    ``frame`` is the first byte of the running function's frame, ``top`` the first byte after the stack. ``counted`` are
    the bytes that count towards ``limit``, the limit of the stack.
    """

    limit = 0

    def __init__(self, shape: tuple[int, int, int], shadow: Shadow) -> None:
        self.frame, self.top, self.counted = (np.zeros(shape, np.uint64) for _ in range(3))
        self._shadow = shadow

    def has_room(self, start: Array, sizes: Array) -> NDArray[np.bool_]:
        """Return which threads may allocate bytes that begin at a position."""
        most = np.uint64(self.limit)
        return np.asarray((sizes <= most) & (self.counted + np.minimum(sizes, most) + (start - self.top) <= most))

    def move(self, participants: NDArray[np.bool_], top: Array) -> None:
        """Move the end of the stack."""
        moved = self.counted + top - self.top
        self.counted[participants] = moved[participants]
        self.top[participants] = np.broadcast_to(top, participants.shape)[participants]

    def begin(self, participants: NDArray[np.bool_], start: Array, sizes: Array) -> None:
        """Begin frames: their bytes are uninitialised, whatever earlier calls have left there."""
        if self._shadow.uninitialised is None or not participants.any():
            return
        window = self._shadow.window
        origin = np.broadcast_to(0 if window.origin is None else window.origin, participants.shape)
        first = (origin + start.astype(np.int64))[participants]
        counts = np.broadcast_to(sizes, participants.shape)[participants]
        steps = np.arange(0, int(counts.max()), _CHUNK, dtype=np.int64)
        positions = first[:, None] + steps
        self._shadow.uninitialised.forget(positions[steps < counts[:, None]])

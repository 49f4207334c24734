# SPDX-License-Identifier: MIT
"""The positions of declarations in the shared memory of each block of a launch."""

from wmma_emu.ptx.memory.address_map import round_up

_BOX, _VECTOR = 128, 16
LARGEST_ALIGNMENT = 1024
"""The bytes after which the swizzle of 128 bytes repeats."""


class SharedLayout:
    """The position of each declaration: the same in all blocks, in the order in which warps reach them.

    Arrays of at least 128 bytes begin at multiples of 128, as boxes of tensor maps must, and smaller ones at
    multiples of 16.

    Examples
    --------
    >>> layout = SharedLayout()
    >>> [layout.place(i, nbytes, align) for i, nbytes, align in ((0, 4, 0), (1, 4, 0), (2, 512, 0), (3, 8, 1024))]
    [0, 16, 128, 1024]
    >>> layout.place(1, 4, 0), layout.end
    (16, 1032)
    """

    def __init__(self) -> None:
        self._begins: dict[object, int] = {}
        self.end = 0

    def place(self, declaration: object, nbytes: int, align: int) -> int:
        """Return the position of a declaration; an ``align`` of 0 stands for the default."""
        if declaration not in self._begins:
            begin = round_up(self.end, align or (_BOX if nbytes >= _BOX else _VECTOR))
            self._begins[declaration], self.end = begin, begin + nbytes
        return self._begins[declaration]

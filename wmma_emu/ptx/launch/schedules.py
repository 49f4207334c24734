# SPDX-License-Identifier: MIT
"""Do two orders of the warps give the same bits?"""

import numpy as np

from wmma_emu.errors import ScheduleDependenceError
from wmma_emu.ptx.memory.heap import GlobalMemory

__all__ = ["require_same_results"]


def require_same_results(name: str, first: GlobalMemory, other: GlobalMemory, seed: int | None) -> None:
    """Compare what two runs of a launch would write, bit for bit.

    Raises
    ------
    ScheduleDependenceError
        Naming the first element that differs.
    """
    for mine, its in zip(first.mapped, other.mapped, strict=True):
        expected, found = first.buffer[mine.lo : mine.hi], other.buffer[its.lo : its.hi]
        if np.array_equal(expected, found):
            continue
        array = mine.array
        element = int(np.argmax(expected != found)) // array.itemsize
        in_c_order = array.flags.c_contiguous
        found_at = np.unravel_index(element, array.shape if in_c_order else array.shape[::-1])
        index = [int(x) for x in (found_at if in_c_order else found_at[::-1])]
        shown = [_pattern(x[element * array.itemsize :][: array.itemsize]) for x in (found, expected)]
        count = int((expected != found).reshape(-1, array.itemsize).any(axis=1).sum())
        raise ScheduleDependenceError(
            f"the order of the warps decides what {name} computes: with schedule={seed}, element {index} of "
            f"{mine.name} is {shown[0]}, not {shown[1]}; {count} of {array.size} elements differ"
        )


def _pattern(raw: "np.ndarray[tuple[int], np.dtype[np.uint8]]") -> str:
    return f"0x{raw[::-1].tobytes().hex()}" if len(raw) <= 8 else raw.tobytes().hex()

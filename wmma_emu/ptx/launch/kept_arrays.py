# SPDX-License-Identifier: MIT
"""Copies of a launch's arguments before its results are copied back; arrays that overlap also overlap in the copies."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.empty_arrays import Uninitialised, keep_uninitialised
from wmma_emu.ptx.launch.arguments import Argument
from wmma_emu.ptx.launch.memory_of_arrays import Raw
from wmma_emu.ptx.launch.reachable import Reachable
from wmma_emu.ptx.launch.struct_arrays import StructArray
from wmma_emu.ptx.launch.structs import Struct
from wmma_emu.ptx.memory.buffers import spans_of
from wmma_emu.ptx.memory.heap import alignment_of
from wmma_emu.ptx.memory.placement import MovedBytes
from wmma_emu.ptx.pages import ALIGNMENT
from wmma_emu.ptx.textures.objects import Surface, Texture, moved


class _CopiedRange(NamedTuple):
    """Bytes of host memory that some arrays cover, and their copy."""

    lo: int
    hi: int
    copy: NDArray[np.uint8]


class KeptArguments(NamedTuple):
    """Private copies of arguments; ``uninitialised`` records which of their bytes are uninitialised.

    ``reached`` are the copies of arrays that only pointers in data reach, and ``moved`` all bytes that were copied.
    """

    values: tuple[Argument, ...]
    uninitialised: tuple[Uninitialised, ...]
    reached: tuple[Reachable, ...] = ()
    moved: tuple[MovedBytes, ...] = ()


def _arrays(values: Iterable[Argument], reached: Iterable[Reachable]) -> list[NDArray[Any]]:
    return [*(y for x in values for y in x.arrays), *(x.memory for x in reached)]


def bytes_to_keep(values: Iterable[Argument], reached: Iterable[Reachable] = ()) -> int:
    """Return the number of bytes that `keep` copies."""
    return sum(hi - lo for lo, hi in spans_of(_arrays(values, reached)))


def keep(values: Sequence[Argument], reached: Sequence[Reachable] = ()) -> KeptArguments:
    """Copy the arrays of arguments.

    A copy has the same offset from a multiple of 256 bytes as the original, so that it gets the same address again.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import Parameter
    >>> x, p = np.arange(4), Parameter("p", "u64", 8, 8, 0)
    >>> low, high = (y.value for y in keep([Argument(p, "low", x[:3]), Argument(p, "high", x[2:])]).values)
    >>> x[2] = 7
    >>> low[2] = 5
    >>> high, np.shares_memory(low, x)
    (array([5, 3]), False)
    """
    pieces, uninitialised = [], []
    arrays = [x for x in _arrays(values, reached) if x.nbytes]
    by_lowest = sorted(arrays, key=lambda y: byte_bounds(y)[0])
    for lo, hi in spans_of(by_lowest):
        offset = next(alignment_of(y) for y in by_lowest if byte_bounds(y)[0] == lo)
        flat = np.empty(hi - lo + offset + ALIGNMENT, np.uint8)[offset:][: hi - lo]
        for array in by_lowest:
            begin, end = byte_bounds(array)
            if lo <= begin and end <= hi:
                flat[begin - lo : end - lo] = Raw(array.view(np.ndarray)).memory
        pieces.append(_CopiedRange(lo, hi, flat))
        uninitialised += keep_uninitialised(flat, lo)
    return KeptArguments(
        tuple(x._replace(value=_copied(x.value, pieces)) for x in values), tuple(uninitialised),
        tuple(x._replace(value=_copied(x.value, pieces)) for x in reached),
        tuple(MovedBytes(*byte_bounds(copy), lo) for lo, _, copy in pieces),
    )  # fmt: skip


def _copied(value: Any, pieces: Sequence[_CopiedRange]) -> Any:
    if isinstance(value, Struct | StructArray):
        return value.with_arrays(lambda array: _copied(array, pieces))
    if isinstance(value, Raw):
        return Raw(_moved(value.array, pieces))
    if isinstance(value, Texture | Surface):
        return moved(value, lambda array: _moved(array, pieces))
    return _moved(value, pieces) if isinstance(value, np.ndarray) else value


def _moved(array: NDArray[Any], pieces: Sequence[_CopiedRange]) -> NDArray[Any]:
    if not array.nbytes:
        return array.view(np.ndarray).copy()
    lo, hi = byte_bounds(array)
    piece = next(x for x in pieces if x.lo <= lo and hi <= x.hi)
    offset = int(array.__array_interface__["data"][0]) - piece.lo
    moved: NDArray[Any] = np.ndarray(array.shape, array.dtype, piece.copy, offset, array.strides)
    moved.flags.writeable = array.flags.writeable
    return moved

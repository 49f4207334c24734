# SPDX-License-Identifier: MIT
"""Where undefined bits come from: a number for each thread that names the register, the bytes or the lane."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wmma_emu.ptx.program.program import Instruction, SourceLine
from wmma_emu.ptx.threads import Array

__all__ = ["Origins", "spans"]

_ADDRESS_BITS, _LENGTH_BITS, _SITE_BITS = 48, 3, 13
_ADDRESS = (1 << _ADDRESS_BITS) - 1
_MOST_SITES = (1 << _SITE_BITS) - 1


class _Site(NamedTuple):
    """An instruction that brings undefined bits: kind is "register", "bytes", "lane" or "race".

    ``is_whole`` is whether it is a load of which nobody wrote any part.
    """

    kind: str
    line: int = 0
    space: str = ""
    source: SourceLine | None = None
    is_whole: bool = False

    def __str__(self) -> str:
        return f"line {self.line}" + (f" ({self.source})" if self.source else "")


_ELSEWHERE = _Site("elsewhere")
_REGISTERS = _Site("register")


class Origins:
    """The origins of a launch, numbered in 64 bits.

    A number has an address, an index of a register or a lane in its low 48 bits, the number of bytes less 1 in 3 bits,
    and in 13 bits the site: the line and the space of the load, and whether any of what it loads is written. 0 is
    nowhere. Of a kernel with more sites than there
    are numbers, the last ones are only told to be elsewhere.

    Examples
    --------
    >>> origins, load = Origins(), Instruction("ld.shared.u32", "ld", ("shared", "u32"), (), None, 57, 1)
    >>> number = origins.of_bytes(load, "shared", np.array([0x40], np.uint64), np.array([3]), np.array([0]), True)
    >>> origins.is_whole(number).tolist()
    [True]
    >>> origins.describe(int(number[0]), str, lambda space, address: f"{space} memory")
    'bytes 0x40 to 0x43 of shared memory, which nobody wrote, loaded at line 57'
    """

    def __init__(self) -> None:
        self._sites: list[_Site] = [_ELSEWHERE, _REGISTERS]
        self._numbers = {site: number for number, site in enumerate(self._sites)}

    def _number(self, site: _Site) -> int:
        found = self._numbers.get(site)
        if found is None:
            if len(self._sites) > _MOST_SITES:
                return 0
            found = self._numbers[site] = len(self._sites)
            self._sites.append(site)
        return found << (_ADDRESS_BITS + _LENGTH_BITS)

    def of_register(self, index: int) -> Array:
        """Give the origin of what is read of a register that nobody wrote."""
        return np.full((1, 1, 1), 1 << (_ADDRESS_BITS + _LENGTH_BITS) | index, np.uint64)

    def of_bytes(
        self, instruction: Instruction, space: str, addresses: Array, last: Array, first: Array, is_whole: Array
    ) -> Array:  # fmt: skip
        """Give the origins of bytes ``first`` to ``last`` behind each address, which an instruction loads.

        ``is_whole`` says where nobody wrote any bit of the element that is loaded.
        """
        length = (last - first).astype(np.uint64) << np.uint64(_ADDRESS_BITS)
        address = (addresses + first.astype(np.uint64)) & np.uint64(_ADDRESS)
        site = _Site("bytes", instruction.line, space, instruction.source)
        numbers = [np.uint64(self._number(site._replace(is_whole=x))) for x in (False, True)]
        found: Array = np.where(is_whole, numbers[1], numbers[0]) | length | address
        return found

    def is_whole(self, origins: Array) -> Array:
        """Say which of some origins are loads of elements of which nobody wrote any bit."""
        numbers = origins >> np.uint64(_ADDRESS_BITS + _LENGTH_BITS)
        whole = np.array([x.is_whole for x in self._sites])
        found: Array = whole[np.minimum(numbers, np.uint64(len(whole) - 1)).astype(np.intp)]
        return found

    def of_lanes(self, instruction: Instruction, lanes: Array) -> Array:
        """Give the origins of what lanes read that do not take part in a shuffle."""
        site = _Site("lane", instruction.line, source=instruction.source)
        found: Array = np.uint64(self._number(site)) | lanes.astype(np.uint64)
        return found

    def of_race(self, instruction: Instruction, space: str, addresses: Array) -> Array:
        """Give the origins of what an instruction loads while others may store it."""
        site = _Site("race", instruction.line, space, instruction.source)
        found: Array = np.uint64(self._number(site)) | (addresses & np.uint64(_ADDRESS))
        return found

    def line_of_race(self, origin: int) -> int | None:
        """Name the line of a load that is in a race; None for all other origins."""
        number = origin >> (_ADDRESS_BITS + _LENGTH_BITS)
        site = self._sites[number] if number < len(self._sites) else _ELSEWHERE
        return site.line if site.kind == "race" else None

    def describe(self, origin: int, register: Callable[[int], str], place: Callable[[str, int], str]) -> str:
        """Say where undefined bits come from.

        Parameters
        ----------
        origin : int
        register : callable
            From the index of a register to its name.
        place : callable
            From a space and an address to the words that name them.
        """
        number = origin >> (_ADDRESS_BITS + _LENGTH_BITS)
        site = self._sites[number] if number < len(self._sites) else _ELSEWHERE
        number = origin & _ADDRESS
        if site.kind == "register":
            return f"{register(number)}, which nobody wrote"
        if site.kind == "lane":
            return f"what lane {number} holds, which does not take part in the shuffle of {site}"
        if site.kind == "bytes":
            last = number + (origin >> _ADDRESS_BITS & (1 << _LENGTH_BITS) - 1)
            what = f"byte {number:#x}" if last == number else f"bytes {number:#x} to {last:#x}"
            return f"{what} of {place(site.space, number)}, which nobody wrote, loaded at {site}"
        if site.kind == "race":
            return f"bytes at {number:#x} of {place(site.space, number)}, loaded at {site} while others may store them"
        return "what nobody wrote"


def spans(bits: Array) -> tuple[Any, Any]:
    """Find the first and the last byte of elements that have undefined bits; (0, 0) where there are none.

    Examples
    --------
    >>> first, last = spans(np.array([0x00FFFF00, 0], np.uint32))
    >>> first.tolist(), last.tolist()
    ([1, 0], [2, 0])
    """
    size = bits.dtype.itemsize
    parts = np.ascontiguousarray(bits)[..., None].view(np.uint8) != 0
    there = parts.any(axis=-1)
    return parts.argmax(axis=-1), np.where(there, size - 1 - parts[..., ::-1].argmax(axis=-1), 0)

# SPDX-License-Identifier: MIT
"""Origins of undefined bits: a number for each thread that identifies the register, the bytes or the lane."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wmma_emu.ptx.definedness.paddings import ALONE, ELSEWHERE, PADDING
from wmma_emu.ptx.definedness.undefined import COMPUTED, computed
from wmma_emu.ptx.findings import InRegister, MemoryLocation, Message, Place
from wmma_emu.ptx.program.program import PtxInstruction, SourceLine
from wmma_emu.ptx.threads import Array

_ADDRESS_BITS, _LENGTH_BITS, _SITE_BITS = 47, 3, 13
_ADDRESS = (1 << _ADDRESS_BITS) - 1
_MOST_SITES = (1 << _SITE_BITS) - 1


class _Site(NamedTuple):
    """An instruction that introduces undefined bits; ``kind`` is "register", "bytes", "lane" or "race".

    ``is_whole`` is whether it loads an element without any written bit, and ``padding_class`` the position of this
    element among written bytes: `ELSEWHERE`, `ALONE` or `PADDING`.
    """

    kind: str
    line: int = 0
    space: str = ""
    source: SourceLine | None = None
    is_whole: bool = False
    padding_class: int = ELSEWHERE


_ELSEWHERE = _Site("elsewhere")
_REGISTERS = _Site("register")


class Origins:
    """The origins of a launch, numbered in 64 bits.

    The low 47 bits of a number are the position of bytes in global memory or their address in another space, the index
    of a register or a lane; then follow 3 bits with the number of
    bytes less 1, and 13 bits with the site: the line and the space of the load, and how much of it is written; and a
    bit that is set if the value was computed with, rather than only moved. 0 is an unknown origin. If a kernel has more
    sites than there are numbers, the last ones are described as unknown.

    Examples
    --------
    >>> from wmma_emu.ptx.findings import plain_text
    >>> origins, load = Origins(), PtxInstruction("ld.shared.u32", "ld", ("shared", "u32"), (), None, 57, 1)
    >>> number = origins.of_bytes(load, "shared", np.array([0x40], np.uint64), np.array([3]), np.array([0]), True)
    >>> origins.is_whole(number).tolist(), origins.padding_class(number).tolist()
    ([True], [0])
    >>> print(plain_text(origins.describe(int(computed(number)[0]), str, MemoryLocation)))
    4 bytes at 0x40 of shared memory, which was never written; it is loaded at line 57
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
        """Return the origin of an uninitialised register."""
        return np.full((1, 1, 1), 1 << (_ADDRESS_BITS + _LENGTH_BITS) | index, np.uint64)

    def of_bytes(
        self, instruction: PtxInstruction, space: str, addresses: Array, last: Array, first: Array, is_whole: Array,
        padding_class: Array | int = ELSEWHERE,
    ) -> Array:  # fmt: skip
        """Return the origins of bytes ``first`` to ``last``, counted from each address, which an instruction loads.

        Global memory is numbered by its positions in the heap.

        ``is_whole`` marks elements without any written bit, ``padding_class`` is the position of these elements among
        written bytes.
        """
        length = (last - first).astype(np.uint64) << np.uint64(_ADDRESS_BITS)
        address = (addresses + first.astype(np.uint64)) & np.uint64(_ADDRESS)
        site = _Site("bytes", instruction.line, space, instruction.source)
        which = np.where(is_whole, 1 + np.asarray(padding_class, np.intp), 0)
        kinds = [site, *(site._replace(is_whole=True, padding_class=x) for x in (ELSEWHERE, ALONE, PADDING))]
        there = np.bincount(which.reshape(-1), minlength=len(kinds)).tolist()
        numbers = np.array([self._number(x) if n else 0 for x, n in zip(kinds, there, strict=True)], np.uint64)
        found: Array = numbers[which] | length | address
        return found

    def is_whole(self, origins: Array) -> Array:
        """Return which origins are loads of elements without any written bit."""
        return self._of_sites(origins, np.array([x.is_whole for x in self._sites]))

    def padding_class(self, origins: Array) -> Array:
        """Return the position among written bytes of the loaded elements that some origins identify."""
        return self._of_sites(origins, np.array([x.padding_class for x in self._sites], np.uint8))

    @staticmethod
    def _of_sites(origins: Array, known: Array) -> Array:
        """Return a property of the site of each origin."""
        numbers = (origins & ~COMPUTED) >> np.uint64(_ADDRESS_BITS + _LENGTH_BITS)
        found: Array = known[np.minimum(numbers, np.uint64(len(known) - 1)).astype(np.intp)]
        return found

    def lines(self, origins: Array) -> Array:
        """Return the lines of the loads that introduced undefined bits; 0 if registers did."""
        return self._of_sites(origins, np.array([x.line for x in self._sites]))

    def of_lanes(self, instruction: PtxInstruction, lanes: Array) -> Array:
        """Return the origins of values read from lanes that do not take part in a shuffle."""
        site = _Site("lane", instruction.line, source=instruction.source)
        return computed(np.uint64(self._number(site)) | lanes.astype(np.uint64))

    def of_race(self, instruction: PtxInstruction, space: str, addresses: Array) -> Array:
        """Return the origins of bytes that an instruction loads while other threads may store them."""
        site = _Site("race", instruction.line, space, instruction.source)
        found: Array = np.uint64(self._number(site)) | (addresses & np.uint64(_ADDRESS))
        return found

    def line_of_race(self, origin: int) -> int | None:
        """Return the line of a load that is in a race; None for all other origins."""
        number = (origin & ~int(COMPUTED)) >> (_ADDRESS_BITS + _LENGTH_BITS)
        site = self._sites[number] if number < len(self._sites) else _ELSEWHERE
        return site.line if site.kind == "race" else None

    def describe(
        self, origin: int, register: Callable[[int], str], location: Callable[[str, int, int], MemoryLocation]
    ) -> Message:  # fmt: skip
        """Describe the origin of undefined bits.

        ``register`` returns the name of a register by its index; ``location`` describes bytes, by space, address (in
        global memory: position) and number.
        """
        origin &= ~int(COMPUTED)
        number = origin >> (_ADDRESS_BITS + _LENGTH_BITS)
        site = self._sites[number] if number < len(self._sites) else _ELSEWHERE
        number = origin & _ADDRESS
        place = Place(site.line, site.source)
        if site.kind == "register":
            return InRegister(number, register(number)), ", which was never written"
        if site.kind == "lane":
            return f"the value of lane {number}, which does not take part in the shuffle of ", place
        if site.kind == "bytes":
            size = (origin >> _ADDRESS_BITS & (1 << _LENGTH_BITS) - 1) + 1
            return location(site.space, number, size), ", which was never written; it is loaded at ", place
        if site.kind == "race":
            return location(site.space, number, 1), ", loaded at ", place, " while other threads may store there"
        return ("a value that was never written",)


def spans(bits: Array) -> tuple[Any, Any]:
    """Return the first and the last byte with undefined bits of each element; (0, 0) where there are none.

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

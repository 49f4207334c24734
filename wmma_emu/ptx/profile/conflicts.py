# SPDX-License-Identifier: MIT
"""Bank conflicts explained: which lanes meet in which bank, and the paddings and swizzles that remove the conflict."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.display import render, runs_of
from wmma_emu.errors import ArgumentValueError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.layouts.banks import BANK_BYTES, BANKS
from wmma_emu.ptx.profile.wavefronts import lane_groups, shared_wavefronts
from wmma_emu.suggestions import listed

_MOST_PADDING = 128
_SHOWN = 4
_INACTIVE = -1

_Change = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""A change of addresses."""


class ConflictingAccess(NamedTuple):
    """An access of an instruction to shared memory, with at least as many conflicts as its accesses have on average.

    ``addresses`` are the offsets of the 32 lanes in the block's shared memory, -1 for lanes that do not take part;
    ``size`` is the bytes of each lane, and ``joins`` whether groups of lanes may share wavefronts, as in loads.
    ``start`` is the offset of the array.
    """

    addresses: tuple[int, ...]
    size: int
    joins: bool
    conflicts: int
    start: int = 0

    def wavefronts(self) -> tuple[int, int]:
        """Return the wavefronts, and those without conflicts."""
        given = np.array([self.addresses], np.int64)
        found = shared_wavefronts(given, self.size, given != _INACTIVE, joins=self.joins)
        return int(found.needed[0]), int(found.without_conflicts[0])

    def groups(self) -> list[list[int]]:
        """Return the lanes that share wavefronts: all lanes, or groups of lanes with 8 or 16 bytes."""
        given = np.array(self.addresses, np.int64)
        return lane_groups(given, self.size, given != _INACTIVE, joins=self.joins)

    def changed(self, change: _Change) -> "ConflictingAccess":
        """Return the access with addresses that are changed, counted from the start of the array."""
        given = np.array(self.addresses, np.int64)
        changed = np.where(given == _INACTIVE, given, change(given - self.start) + self.start)
        access = self._replace(addresses=tuple(changed.tolist()))
        needed, without = access.wavefronts()
        return access._replace(conflicts=needed - without)


class Remedy(NamedTuple):
    """A change of the layout of an array, the wavefronts of all accesses with it, and the accesses."""

    text: str
    wavefronts: int
    accesses: tuple[ConflictingAccess, ...] = ()


@dataclass(frozen=True)
class ConflictExplanation:
    """The conflicts of accesses, and the changes that would remove them.

    Attributes
    ----------
    title : str
    accesses : tuple of ConflictingAccess
    row_bytes : int
        The bytes of a row of the array; 0 if they are not known.
    remedies : tuple of Remedy
        The smallest padding, and the first swizzle, with the fewest wavefronts; empty if nothing is better.

    Examples
    --------
    >>> column = ConflictingAccess(tuple(range(0, 32 * 128, 128)), 4, True, 31)
    >>> print(explain_conflicts("k.cu:8", [column], 128))
    k.cu:8: 32 wavefronts, 1 without conflicts
    bank 0: lanes 0-31, 32 words
    rows of 132 instead of 128 bytes: 1 wavefront
    4 bytes at index i of row r at i ^ r % 32: 1 wavefront
    """

    title: str
    accesses: tuple[ConflictingAccess, ...]
    row_bytes: int
    remedies: tuple[Remedy, ...]

    def _repr_html_(self) -> str:
        """Return the text with pictures of the banks, as `wmma_emu.viz.draw_bank_conflicts` draws them."""
        return str(render("conflicts.html", self))

    def __str__(self) -> str:
        needed, ideal = (sum(x) for x in zip(*(x.wavefronts() for x in self.accesses), strict=True))
        lines = [f"{self.title}: {counted(needed)}, {ideal} without conflicts"]
        banks = [tuple(_banks(x)) for x in self.accesses if x.conflicts]
        lines += [line for of_access in dict.fromkeys(banks) for line in of_access]
        if not self.row_bytes:
            lines.append("the rows of the array are not known: pass row_bytes, and paddings and swizzles are tried")
        elif needed > ideal and not self.remedies:
            lines.append(f"no padding and no swizzle of rows of {self.row_bytes} bytes is better")
        lines += [f"{x.text}: {counted(x.wavefronts)}" for x in self.remedies]
        return "\n".join(lines)


def counted(wavefronts: int) -> str:
    """Write a number of wavefronts.

    Examples
    --------
    >>> counted(1), counted(32)
    ('1 wavefront', '32 wavefronts')
    """
    return f"{wavefronts} wavefront{'s' * (wavefronts != 1)}"


def _banks(access: ConflictingAccess) -> list[str]:
    """List the busiest banks of an access, with the lanes that use several words of them."""
    words: dict[int, set[int]] = {}
    lanes: dict[int, set[int]] = {}
    for lane, address in enumerate(access.addresses):
        for byte in range(0, access.size if address != _INACTIVE else 0, BANK_BYTES):
            word = (address + byte) // BANK_BYTES
            words.setdefault(word % BANKS, set()).add(word)
            lanes.setdefault(word % BANKS, set()).add(lane)
    most = max(map(len, words.values()))
    busiest = sorted(bank for bank, found in words.items() if len(found) == most)
    shown = []
    for bank in busiest[:_SHOWN]:
        named = listed(str(x[0]) if len(x) == 1 else f"{x[0]}-{x[-1]}" for x in runs_of(sorted(lanes[bank])))
        shown.append(f"bank {bank}: lane{'s' * (len(lanes[bank]) != 1)} {named}, {most} words")
    return [*shown, f"and {len(busiest) - _SHOWN} more banks"] if len(busiest) > _SHOWN else shown


def explain_conflicts(
    title: str, accesses: Sequence[ConflictingAccess], row_bytes: int | None = None
) -> ConflictExplanation:  # fmt: skip
    """Explain conflicts, and search what removes them.

    ``row_bytes`` is the length of the array's rows; without it, the most frequent distance between the addresses of
    neighbouring lanes.

    Raises
    ------
    ArgumentValueError
        If ``row_bytes`` is not a positive multiple of 4 and of the bytes that a lane accesses.
    """
    size = max(x.size for x in accesses)
    unit = max(size, BANK_BYTES)
    if row_bytes is None:
        row_bytes = _pitch_of(accesses, unit)
        if not row_bytes:
            return ConflictExplanation(title, tuple(accesses), 0, ())
    number = integer_of(row_bytes)
    if number is None or number <= 0 or number % unit:
        raise ArgumentValueError(
            f"row_bytes={shorten(row_bytes)}; expected the bytes of a row, a positive multiple of {unit}"
        )
    return ConflictExplanation(title, tuple(accesses), number, _remedies(accesses, number, unit))


def _pitch_of(accesses: Sequence[ConflictingAccess], unit: int) -> int:
    """Return the most frequent distance between neighbouring lanes that may be a row; 0 if there is none."""
    steps: Counter[int] = Counter()
    for x in accesses:
        pairs = zip(x.addresses, x.addresses[1:], strict=False)
        steps.update(abs(b - a) for a, b in pairs if a != _INACTIVE != b and abs(b - a) > unit)
    found = next((step for step, _ in steps.most_common(1)), 0)
    return found if found % unit == 0 else 0


def _remedies(accesses: Sequence[ConflictingAccess], row_bytes: int, unit: int) -> tuple[Remedy, ...]:
    """Return the best padding and the best swizzle that are better than the layout as it is."""
    now = sum(x.wavefronts()[0] for x in accesses)
    found = []
    for candidates in (_paddings(row_bytes, unit), _swizzles(row_bytes, unit)):
        changed = [(text, tuple(x.changed(change) for x in accesses)) for text, change in candidates]
        remedies = [Remedy(text, sum(x.wavefronts()[0] for x in new), new) for text, new in changed]
        found += [x for x in [min(remedies, key=lambda x: x.wavefronts, default=None)] if x and x.wavefronts < now]
    return tuple(found)


def _paddings(row_bytes: int, unit: int) -> Iterator[tuple[str, _Change]]:
    for padding in range(unit, _MOST_PADDING + unit, unit):

        def padded(address: NDArray[np.int64], more: int = padding) -> NDArray[np.int64]:
            return address + address // row_bytes * more

        yield f"rows of {row_bytes + padding} instead of {row_bytes} bytes", padded


def _swizzles(row_bytes: int, unit: int) -> Iterator[tuple[str, _Change]]:
    units = row_bytes // unit
    if units & (units - 1):  # exclusive or stays within a row of a power of two
        return
    for divisor in (1, 2, 4, 8):

        def swizzled(address: NDArray[np.int64], by: int = divisor) -> NDArray[np.int64]:
            row, byte = address // row_bytes, address % row_bytes
            return row * row_bytes + (byte // unit ^ row // by % units) * unit + byte % unit

        row = "r" if divisor == 1 else f"r / {divisor}"
        yield f"{unit} bytes at index i of row r at i ^ {row} % {units}", swizzled

# SPDX-License-Identifier: MIT
"""The banks of an access to shared memory as a picture: which lanes use which words of a bank."""

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from wmma_emu.display import runs_of
from wmma_emu.errors import ArgumentValueError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.layouts.banks import BANK_BYTES, BANKS
from wmma_emu.layouts.spec import LANES
from wmma_emu.palette import lane_colour
from wmma_emu.ptx.profile import ConflictExplanation, ConflictingAccess
from wmma_emu.ptx.profile.conflicts import counted
from wmma_emu.viz.memory.memory_style import MARGIN, SMALL, cell, finished, head, label
from wmma_emu.viz.picture import Picture
from wmma_emu.viz.svg import checked_title, element

_SIZES = (1, 2, 4, 8, 16)
_COLUMN, _ROW, _LEFT = 24, 20, 48
_WIDTH = 2 * MARGIN + _LEFT + BANKS * _COLUMN


def draw_bank_conflicts(
    addresses: ArrayLike, size: int = 4, *, is_load: bool = True, title: str | None = None
) -> Picture:  # fmt: skip
    """Draw the banks of a warp's access to shared memory: a column for each bank, a row for each wavefront.

    A cell is a word, with the lanes that access it. Lanes with 8 or 16 bytes access shared memory in groups of 16 or 8,
    one group below the other.

    Parameters
    ----------
    addresses : int array, shape (32,)
        The offset of each lane in shared memory, in bytes; -1 for a lane that does not take part.
    size : {4, 1, 2, 8, 16}
        The bytes that each lane accesses.
    is_load : bool
        Loads may join groups of lanes that access the same addresses; stores never do.
    title : str, optional

    Returns
    -------
    Picture
        Groups of class ``cell`` have wavefront, bank, address and lanes as data attributes.

    Raises
    ------
    ArgumentValueError
        If the addresses or the size are not as described.

    Examples
    --------
    >>> picture = draw_bank_conflicts([128 * lane for lane in range(32)])
    >>> picture.title, str(picture).count('data-bank="0"')
    ('32 wavefronts, 1 without conflicts', 32)
    """
    return _drawn(_checked(addresses, size, is_load=is_load), checked_title(title))


def _checked(addresses: ArrayLike, size: int, *, is_load: bool) -> ConflictingAccess:
    given, number = np.asarray(addresses), integer_of(size)
    if number not in _SIZES:
        raise ArgumentValueError(f"size={shorten(size)}; a lane accesses 1, 2, 4, 8 or 16 bytes")
    if given.shape != (LANES,) or given.dtype.kind not in "iu":
        raise ArgumentValueError(
            f"addresses of shape {given.shape} and dtype {given.dtype}; expected {LANES} integers, one for each lane"
        )
    wrong = given[(given < -1) | ((given >= 0) & (given % number != 0))]
    if wrong.size or not (given >= 0).any():
        what = f"address {wrong[0]}" if wrong.size else "no address"
        raise ArgumentValueError(f"{what}; expected multiples of {number}, and -1 only for lanes that take no part")
    access = ConflictingAccess(tuple(given.tolist()), number, is_load, 0)
    return access.changed(lambda x: x)


def _drawn(access: ConflictingAccess, title: str) -> Picture:
    """Draw an access; its title is followed by its wavefronts."""
    needed, ideal = access.wavefronts()
    name = f"{title}: {counted(needed)}" if title else f"{counted(needed)}, {ideal} without conflicts"
    notes = ["Each column is a bank, each row a wavefront, each cell a word with the lanes that access it."]
    body, y = head(name, notes, _WIDTH)
    left, y = MARGIN + _LEFT, y + 22
    body.append(label("bank", left - 8, y - 6, anchor="end"))
    body += [label(str(i), left + (i + 0.5) * _COLUMN, y - 6, anchor="middle", size=9) for i in range(BANKS)]
    first = 0
    for lanes in access.groups():
        words = _words(access, lanes)
        rows = max(map(len, words))
        body += _group(words, first, left, y)
        if len(lanes) < LANES:
            body.append(label(_named(lanes, "T"), left - 8, y + 14, anchor="end"))
        y, first = y + rows * _ROW + 6, first + rows
    return Picture(name, finished(_WIDTH, y + MARGIN, name, " ".join(notes), body))


_Words = list[list[tuple[int, list[int]]]]
"""For each bank, the addresses of its words in order, each with its lanes."""


def _words(access: ConflictingAccess, lanes: Sequence[int]) -> _Words:
    found: dict[int, list[int]] = {}
    for lane in lanes:
        start = access.addresses[lane] // BANK_BYTES
        for word in range(start, start + max(access.size // BANK_BYTES, 1)):
            found.setdefault(word, []).append(lane)
    banks: _Words = [[] for _ in range(BANKS)]
    for word in sorted(found):
        banks[word % BANKS].append((word * BANK_BYTES, found[word]))
    return banks


def _group(banks: _Words, first: int, left: float, top: float) -> Iterator[str]:
    """Draw the words of a group of lanes; its wavefronts are numbered from ``first``."""
    most = max(map(len, banks))
    yield element("rect", x=left, y=top, width=BANKS * _COLUMN, height=most * _ROW, class_="empty")
    for bank, words in enumerate(banks):
        kind = "cell marked" if len(words) == most > 1 else "cell"
        for i, (address, lanes) in enumerate(words):
            text = _named(lanes, "T")
            data = {"wavefront": first + i, "bank": bank, "address": address, "lanes": ",".join(map(str, lanes))}
            tip = f"bank {bank}, bytes {address} to {address + BANK_BYTES - 1}: {_named(lanes, 'lane ')}"
            x, y = left + bank * _COLUMN, top + i * _ROW
            yield cell(
                x, y, _COLUMN, _ROW, lane_colour(lanes[0]), [text], data, tip=tip, kind=kind, sizes=(SMALL,)
            )  # fmt: skip


def _named(lanes: Sequence[int], before: str) -> str:
    """Name lanes in a few characters: the first and the last, or the number of the others."""
    first, last = lanes[0], lanes[-1]
    if first == last:
        return f"{before}{first}"
    return f"{before}{first}–{last}" if len(runs_of(lanes)) == 1 else f"{before}{first} +{len(lanes) - 1}"


def explanation_html(explanation: ConflictExplanation) -> str:
    """Return an explanation with pictures: the accesses as they are, and with each remedy.

    Examples
    --------
    >>> from wmma_emu.ptx.profile.conflicts import explain_conflicts
    >>> column = ConflictingAccess(tuple(range(0, 32 * 128, 128)), 4, True, 31)
    >>> explanation_html(explain_conflicts("k.cu:8", [column], 128)).count("<svg")
    3
    """
    number = max(range(len(explanation.accesses)), key=lambda i: explanation.accesses[i].conflicts)
    shown = [(explanation.title, explanation.accesses[number])]
    shown += [(x.text, x.accesses[number]) for x in explanation.remedies]
    pictures = "".join(_drawn(access, title)._repr_html_() for title, access in shown)
    return f'<pre style="white-space:pre-wrap">{escape(str(explanation))}</pre>{pictures}'

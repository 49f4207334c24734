# SPDX-License-Identifier: MIT
"""A picture of the banks of one phase: a cell for the four banks of each row, and the words requested of each bank."""

from collections.abc import Iterator, Sequence

import numpy as np

from wmma_emu.layouts.banks import BANK_BYTES, BANKS, PHASE_ROWS, bank_of
from wmma_emu.layouts.spec import Ints
from wmma_emu.palette import lane_colour
from wmma_emu.viz.memory.memory_style import SMALL, cell, label
from wmma_emu.viz.svg import element, wrapped
from wmma_emu.warp.matrix_rows import ROW_BYTES

_BANKS_OF_ROW = ROW_BYTES // BANK_BYTES
_BANK_CELL = 40
"""Rows begin at multiples of 16 bytes, so a cell represents four banks."""

STRIP = BANKS // _BANKS_OF_ROW * _BANK_CELL
"""The width of the banks."""

_ROW = 28


def bank_strip(
    phase: int, starts: Sequence[int], words: Ints, left: float, tops: Sequence[float], *, with_name: bool
) -> Iterator[str]:
    """Draw the banks of eight rows, and describe their conflicts below.

    The rows belong to the eight lanes from ``8 * phase``, and begin at ``starts``, in bytes; ``words`` counts the
    different words requested of each bank. A row is drawn at each of ``tops``; ``with_name`` writes "banks" above.

    Examples
    --------
    >>> from wmma_emu.layouts.banks import words_of_banks
    >>> starts = [128 * i for i in range(8)]
    >>> drawn = bank_strip(0, starts, words_of_banks(starts), 0, [28 * i for i in range(8)], with_name=True)
    >>> sum('class="bank marked"' in x for x in drawn)
    8
    """
    top, bottom = tops[0], tops[-1] + _ROW
    if with_name:
        yield label("banks", left, top - 20)
    yield label("words requested of each bank", left - 8, bottom + 14, anchor="end")
    for i in range(STRIP // _BANK_CELL):
        x, first = left + i * _BANK_CELL, i * _BANKS_OF_ROW
        yield label(f"{first}–{first + _BANKS_OF_ROW - 1}", x + _BANK_CELL / 2, top - 6, anchor="middle", size=9)
        yield element("rect", x=x, y=top, width=_BANK_CELL, height=bottom - top, class_="empty")
        yield _count(phase, first, int(words[first]), x + _BANK_CELL / 2, bottom + 14)
    for i, (address, y) in enumerate(zip(starts, tops, strict=True)):
        lane, bank = phase * PHASE_ROWS + i, int(bank_of(address))
        count = int(words[bank])
        data = {"phase": phase, "lane": lane, "bank": bank, "words": count, "address": address}
        tip = f"lane {lane}: banks {bank} to {bank + _BANKS_OF_ROW - 1}, {count} words requested in this phase"
        kind = "bank marked" if count > 1 else "bank"
        x = left + bank // _BANKS_OF_ROW * _BANK_CELL
        yield cell(x, y, _BANK_CELL, _ROW, lane_colour(lane), [f"T{lane}"], data, tip=tip, kind=kind)
    for i, line in enumerate(wrapped(phase_text(phase, words), STRIP, SMALL)):
        yield label(line, left, bottom + 29 + 12 * i, kind="")


def _count(phase: int, first: int, count: int, x: float, y: float) -> str:
    """Write the number of words requested of four banks, large if there are several."""
    size, kind = (12, "") if count > 1 else (SMALL, "quiet")
    text = label(f"{count} ×" if count else "–", x, y, anchor="middle", size=size, kind=kind)
    data = {"data-phase": phase, "data-bank": first, "data-words": count}
    return element("g", text, class_="count", **data)


def phase_text(phase: int, words: Ints) -> str:
    """Describe the bank conflicts of a phase's rows.

    Examples
    --------
    >>> from wmma_emu.layouts.banks import words_of_banks
    >>> phase_text(1, words_of_banks(np.arange(8) * 64))
    'Lanes 8 to 15: 4-way bank conflict, 4 words in each of banks 0–3, 16–19.'
    """
    who = f"Lanes {phase * PHASE_ROWS} to {phase * PHASE_ROWS + PHASE_ROWS - 1}"
    worst = int(words.max())
    if worst == 1:
        return f"{who}: no bank conflict."
    busiest = np.flatnonzero(words == worst)
    runs = np.split(busiest, np.flatnonzero(np.diff(busiest) > 1) + 1)
    names = ", ".join(f"{run[0]}–{run[-1]}" for run in runs)
    return f"{who}: {worst}-way bank conflict, {worst} words in each of banks {names}."

# SPDX-License-Identifier: MIT
"""The colours of distances: eight steps of ulps, NaN, and zeros of the other sign."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats.distance import NOT_COMPARABLE


class DistanceKind(NamedTuple):
    """A class of distances from the reference, of at least ``first`` ulps, with a label and colours."""

    label: str
    first: int
    day: str
    night: str


# Steps of viridis (Smith and van der Walt, CC0), whose lightness ascends evenly, also as people with any kind of
# colour-blindness see it. The largest distance has the most contrast with the background: the dark end by day, the
# light end by night. Some are shifted, to stand out from the background.
KINDS = (
    DistanceKind("same bits", 0, "#ffffff", "#161b22"),
    DistanceKind("sign of 0", 0, "#8c959f", "#8b949e"),
    DistanceKind("1 ulp", 1, "#f0dc2c", "#5a3a93"),
    DistanceKind("2–3", 2, "#a0da39", "#41609c"),
    DistanceKind("4–7", 4, "#4ac16d", "#2c7a91"),
    DistanceKind("8–15", 8, "#1fa187", "#219a89"),
    DistanceKind("16–63", 16, "#277f8e", "#35b779"),
    DistanceKind("64–255", 64, "#365c8d", "#6ece58"),
    DistanceKind("256–4095", 256, "#46327e", "#b5de2b"),
    DistanceKind("4096 up", 4096, "#38004a", "#fff04a"),
    DistanceKind("NaN", NOT_COMPARABLE, "#d6006c", "#ff4f9a"),
)
"""The kinds in the order of the legend; an element has the last kind that its distance reaches."""

EQUAL, ZERO_SIGN, NAN = 0, 1, len(KINDS) - 1

_FIRST = np.array([kind.first for kind in KINDS[ZERO_SIGN:]], np.uint64)


def kinds_of(ulps: NDArray[np.uint64], differ: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the index into `KINDS` of each element.

    Examples
    --------
    >>> ulps = np.array([0, 0, 1, 3, 4096, NOT_COMPARABLE], np.uint64)
    >>> [KINDS[i].label for i in kinds_of(ulps, np.array([False, True, True, True, True, True]))]
    ['same bits', 'sign of 0', '1 ulp', '2–3', '4096 up', 'NaN']
    """
    return np.where(differ, np.searchsorted(_FIRST, ulps, side="right"), EQUAL)


def style(name: str) -> tuple[str, str]:
    """Return light and dark style rules for the classes ``k0``, ``k1``, ... and ``mark`` of a picture."""
    day = [f".{name} .k{i} {{ fill: {kind.day}; }}" for i, kind in enumerate(KINDS)]
    night = [f".{name} .k{i} {{ fill: {kind.night}; }}" for i, kind in enumerate(KINDS)]
    mark = f".{name} .mark {{ fill: none; stroke: "
    return "\n".join([*day, f"{mark}#ffffff; }}"]), "\n".join([*night, f"{mark}#0d1117; }}"])

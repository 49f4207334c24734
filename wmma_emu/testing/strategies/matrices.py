# SPDX-License-Identifier: MIT
"""Arrays of any format and shape: a pattern that a seed gives, of which a window is kept, and edits."""

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import note
from numpy.typing import NDArray

from wmma_emu.formats import Format, encode
from wmma_emu.formats.codec import Bits
from wmma_emu.generators.words import random_words
from wmma_emu.testing.patterns import from_bits
from wmma_emu.testing.strategies.checks import Allowed, shape_of
from wmma_emu.testing.strategies.format_names import format_named
from wmma_emu.testing.strategies.operand_matrices import matrix_text
from wmma_emu.testing.strategies.patterns import integers, pattern_strategy

ROUNDS = 256
"""One step of a window in so many leaves something out."""

_STYLES = {
    "float": ("zeros", "small integers", "near one", "wide", "raw"),
    "integer": ("zeros", "small integers", "limits", "raw"),
    "bit": ("zeros", "raw"),
}


@st.composite
def matrices(
    draw: st.DrawFn,
    format: Format | str,
    shape: int | tuple[int, ...],
    *,
    allow_nan: bool = True,
    allow_infinity: bool = True,
    allow_subnormal: bool = True,
) -> NDArray[Any]:
    """Draw an array of a format: any number of elements, which Hypothesis could not draw one by one.

    It is zeros, or what a drawn seed gives (small integers, numbers near one, numbers of any size, uniform bits), of
    which mostly all is kept, and then up to eight elements that are drawn as `bit_patterns` are. Shrinks to zeros,
    and to few elements that are not zero. Of a failing example Hypothesis shows the style, the seed and the elements
    that are not zero.

    Parameters
    ----------
    format : Format, str or dtype
        Any format, ``"tf32"`` in float32; or any dtype that `from_dtype` takes.
    shape : int or tuple of int
    allow_nan, allow_infinity, allow_subnormal : bool

    Examples
    --------
    >>> from hypothesis import Phase, find, settings
    >>> anew = settings(database=None, phases=[Phase.generate])
    >>> from wmma_emu.testing.strategies import matrices
    >>> find(matrices("bf16", (2, 3)), lambda A: True, settings=anew)
    array([[0, 0, 0],
           [0, 0, 0]], dtype=bfloat16)
    """
    fmt = format_named(format)
    allowed = Allowed(allow_nan, allow_infinity, allow_subnormal).checked()
    return from_bits(draw_patterns(draw, fmt, shape_of(shape), allowed, "matrix"), fmt)


class LazyNote:
    """A text that is made when Hypothesis shows it: of failing examples alone."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text()


def draw_patterns(draw: st.DrawFn, fmt: Format, shape: tuple[int, ...], allowed: Allowed, name: str) -> Bits:
    """`matrices` as patterns; ``name`` is what the note on a failing example calls them."""
    size = prod(shape)
    style = draw(st.sampled_from(_STYLES[fmt.kind]))
    seed = draw(seeds())
    start, stop = window(draw, size)
    patterns = np.zeros(size, fmt.storage) if fmt.has_zero else np.full(size, fmt.bias, fmt.storage)
    if style != "zeros":
        patterns[start:stop] = _seeded(fmt, style, seed, size)[start:stop]
    patterns = allowed.zeroed(patterns, fmt)
    if size:
        edit = st.tuples(integers(0, size - 1), pattern_strategy(fmt, allowed))
        for index, word in draw(st.lists(edit, max_size=8)):
            patterns[index] = word
    drawn = patterns.reshape(shape)

    def text() -> str:
        origin = style
        if style != "zeros":
            origin += f", seed {seed}"
            kept = f"elements {start} to {stop - 1}" if stop - start > 1 else f"element {start}"
            origin += f", {kept} alone" if (start, stop) != (0, size) else ""
        return f"{matrix_text(name, from_bits(drawn, fmt), fmt)}  ({origin})"

    note(LazyNote(text))
    return drawn


@cache
def one_in(count: int) -> st.SearchStrategy[int]:
    """Numbers below ``count``, of which the first few are rare, and what Hypothesis shrinks towards.

    Unlike ``integers``, which Hypothesis draws small ones of.
    """
    return st.sampled_from(range(count))


def window(draw: st.DrawFn, size: int) -> tuple[int, int]:
    """Draw which of so many lines are kept: mostly all of them; shrinks to a single one.

    Step by step the lower half of what is left, the upper one, or, almost always, both.
    """
    start, stop = 0, size
    for _ in range(max(size - 1, 0).bit_length()):
        half = draw(one_in(ROUNDS))
        middle = (start + stop + 1) // 2
        if half == 0:
            stop = middle
        elif half == 1 and middle < stop:
            start = middle
    return start, stop


@cache
def seeds() -> st.SearchStrategy[int]:
    """Seeds: few enough to be said aloud, all of them as likely."""
    hundred = one_in(100)
    return st.tuples(hundred, hundred, hundred).map(lambda digits: (digits[0] * 100 + digits[1]) * 100 + digits[2])


def _seeded(fmt: Format, style: str, seed: int, count: int) -> Bits:
    key = f"wmma_emu matrices|{seed}|{style}|{fmt.name}"
    words, other = (random_words(f"{key}|{part}", count) for part in ("one", "other"))
    raw: Bits = (words & np.uint64(fmt.mask)).astype(fmt.storage)
    if style == "raw":
        return raw
    small = (other % np.uint64(17)).astype(np.int64) - 8
    if not fmt.is_float:
        ends = np.array([fmt.max_integer, fmt.min_integer, 0, 1], np.int64 if fmt.signed else np.uint64)
        chosen = ends[other % np.uint64(4)] if style == "limits" else np.clip(small, fmt.min_integer, None)
        return (chosen.astype(np.int64).view(np.uint64) & np.uint64(fmt.mask)).astype(fmt.storage)
    if style == "small integers" and fmt.has_zero:
        return encode(small.astype(np.float64) if fmt.signed else np.abs(small).astype(np.float64), fmt)
    low, high = (fmt.emin, fmt.emax) if style == "wide" else (max(fmt.emin, -3), min(fmt.emax, 3))
    exponent = low + (other % np.uint64(high - low + 1)).astype(np.int64)
    fraction = words & np.uint64((1 << fmt.fraction_bits) - 1)
    magnitude = ((exponent + fmt.bias).astype(np.uint64) << np.uint64(fmt.fraction_bits)) | fraction
    if fmt.nan == "all_ones":
        magnitude = np.minimum(magnitude, np.uint64(fmt.max_finite))
    sign = words & np.uint64(fmt.sign_mask)
    return ((magnitude << np.uint64(fmt.ignored_low_bits)) | sign).astype(fmt.storage)

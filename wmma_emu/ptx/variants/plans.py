# SPDX-License-Identifier: MIT
"""The calls of a function that are compared: other batches, other keywords, other orders."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wmma_emu.display import runs_of
from wmma_emu.errors import ArgumentError, ArgumentValueError, OptionError, shorten
from wmma_emu.formats.arrays import integer_of

_MOST_SCHEDULES = 1000


class Variant(NamedTuple):
    """One way of calling a function of rows.

    Attributes
    ----------
    kind : {"reference", "batch", "keywords", "schedule"}
        In what it differs from the reference.
    rows : tuple of int
        The rows of the batch, in their order.
    keywords : mapping
        Keywords for the function.
    schedule : int, or None
        The seed of the order of blocks, warps and atomic operations; None is the order of the numbers.
    """

    kind: str
    rows: tuple[int, ...]
    keywords: Mapping[str, Any]
    schedule: int | None = None

    def __str__(self) -> str:
        if self.kind == "schedule":
            return f"schedule={self.schedule}"
        if self.kind == "keywords":
            return ", ".join(f"{name}={shorten(x)}" for name, x in self.keywords.items())
        return f"a batch of {rows_text(self.rows)}"


def rows_text(rows: Sequence[int]) -> str:
    """Name rows in their order; neighbours are a range.

    Examples
    --------
    >>> rows_text((0,)), rows_text((0, 1, 2, 7)), rows_text((5, 0))
    ('row 0', 'rows 0-2, 7', 'rows 5, 0')
    """
    parts = [f"{x.start}-{x.stop - 1}" if len(x) > 1 else str(x.start) for x in runs_of(rows)]
    shown = parts if len(parts) <= 8 else [*parts[:8], f"and {len(parts) - 8} more"]
    return f"row{'s' * (len(rows) != 1)} {', '.join(shown)}"


def plans_of(
    rows: object, batches: Iterable[object], variants: Iterable[Mapping[str, Any]], schedules: object
) -> list[Variant]:
    """Read the calls that are compared; the first is the reference.

    Examples
    --------
    >>> print(*plans_of(4, [1, [3, 0]], [{"blocks": 2}], 1), sep="; ")
    a batch of rows 0-3; a batch of row 0; a batch of rows 3, 0; blocks=2; schedule=1
    """
    first = _rows_of(rows, "rows")
    found = [Variant("reference", first, {})]
    if isinstance(batches, str | bytes | Mapping) or not isinstance(batches, Iterable):
        raise ArgumentError(f"batches={shorten(batches)} is not a sequence: write [1, 2, 8], or lists of rows")
    for given in batches:
        batch = _rows_of(given, "a batch")
        if set(first).isdisjoint(batch):
            raise ArgumentValueError(
                f"the batch of {rows_text(batch)} has no row of the reference, which has "
                f"{rows_text(first)}: nothing can be compared"
            )
        found.append(Variant("batch", batch, {}))
    if isinstance(variants, Mapping) or not isinstance(variants, Iterable):
        raise ArgumentError(f"variants={shorten(variants)} is not a sequence of mappings: write [{{'blocks': 4}}]")
    for keywords in variants:
        if not isinstance(keywords, Mapping) or not all(isinstance(x, str) for x in keywords):
            raise ArgumentError(f"the variant {shorten(keywords)} is not a mapping of keywords: write {{'blocks': 4}}")
        found.append(Variant("keywords", first, dict(keywords)))
    number = integer_of(schedules)
    if number is None or not 0 <= number <= _MOST_SCHEDULES:
        raise OptionError(f"schedules={shorten(schedules)} is not an integer from 0 to {_MOST_SCHEDULES}")
    found += [Variant("schedule", first, {}, seed) for seed in range(1, number + 1)]
    if len(found) == 1:
        raise OptionError("there is nothing to compare with the reference: pass batches, variants or schedules")
    return found


def _rows_of(given: object, name: str) -> tuple[int, ...]:
    number = integer_of(given)
    if number is not None:
        if number < 1:
            raise ArgumentValueError(f"{name} of {number} rows is empty; it needs at least one row")
        return tuple(range(number))
    found = np.asarray(given) if isinstance(given, list | tuple | range | np.ndarray) else np.zeros(0)
    if found.ndim != 1 or not found.size or found.dtype.kind not in "iu" or found.min() < 0:
        raise ArgumentValueError(
            f"{name} is {shorten(given)}; expected a number of rows, or a list of row numbers from 0 upwards"
        )
    return tuple(found.tolist())

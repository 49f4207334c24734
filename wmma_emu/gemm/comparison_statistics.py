# SPDX-License-Identifier: MIT
"""How far apart two results are: the worst elements, and how many elements lie at which distance."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import UnsupportedInstructionError, shorten
from wmma_emu.formats import format_of
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.distance import NOT_COMPARABLE

_POWERS = np.uint64(1) << np.arange(64, dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class ElementDifference:
    """One element of D whose bits are not the reference's. ``str()`` of it is a line.

    Parameters
    ----------
    arch, reference : str
        The chips.
    index : tuple of int
        Of the element in D.
    ulps : int
        Steps between representable numbers; 0 for zeros of both signs; `NOT_COMPARABLE` where one of them is NaN.
    bits, reference_bits : int
        The patterns.
    value, reference_value : NumPy scalar
        What they mean, in the dtype of D.
    format : str
        Of the elements of D.
    """

    arch: str
    reference: str
    index: tuple[int, ...]
    ulps: int
    bits: int
    reference_bits: int
    value: Any
    reference_value: Any
    format: str

    @property
    def distance(self) -> str:
        """The distance as text: a number of ulps, or what is no distance.

        Examples
        --------
        >>> import numpy as np
        >>> zeros = np.zeros(1, np.float16)[0]
        >>> print(ElementDifference("sm_90", "sm_70", (0, 0), 0, 0x8000, 0, -zeros, zeros, "f16"))
        D[0, 0]: sm_70 0x0000 (0.0), sm_90 0x8000 (-0.0): zeros of both signs
        """
        if self.ulps == NOT_COMPARABLE:
            return "NaN"
        return f"{self.ulps} ulp{'s' * (self.ulps != 1)}" if self.ulps else "zeros of both signs"

    def hex_bits(self) -> tuple[str, str]:
        """The patterns of the reference and of the chip, in hexadecimal digits."""
        digits = format_of(self.format).bits // 4
        return f"0x{self.reference_bits:0{digits}x}", f"0x{self.bits:0{digits}x}"

    def to_dict(self) -> dict[str, Any]:
        """Return what `json` takes: NaN is no distance (null), values that JSON lacks are strings."""
        reference_bits, bits = self.hex_bits()
        return {
            "index": list(self.index),
            "ulps": None if self.ulps == NOT_COMPARABLE else self.ulps,
            "reference_bits": reference_bits,
            "bits": bits,
            "reference_value": _plain(self.reference_value),
            "value": _plain(self.value),
        }

    def __str__(self) -> str:
        reference_bits, bits = self.hex_bits()
        return (
            f"D{list(self.index)}: {self.reference} {reference_bits} ({self.reference_value!s}), "
            f"{self.arch} {bits} ({self.value!s}): {self.distance}"
        )


class DistanceBin(NamedTuple):
    """How many elements are at least ``first`` and at most ``last`` ulps from the reference's."""

    first: int
    last: int
    elements: int


@dataclass(frozen=True, slots=True)
class DistanceStatistics:
    """How many elements of a chip's D differ from the reference's, and how far.

    Parameters
    ----------
    elements : int
        Of D.
    differing : int
        Elements with other bits: those of the three kinds below.
    apart : int
        Elements that are other numbers, infinities included: at least one ulp apart.
    zero_signs : int
        Zeros whose sign is the other one: 0 ulps apart.
    nan : int
        Elements that are NaN on one of the chips, or on both with other bits: no distance is theirs.
    largest : int or None
        Ulps, of the elements that are ``apart``; None where there are none. So for ``median`` and ``mean``.
    median, mean : float or None
        Of the same elements: of those that are equal none counts.
    histogram : tuple of DistanceBin
        The same elements by distance, from one power of two to the next; bins that are empty are left out.
    """

    elements: int
    differing: int
    apart: int
    zero_signs: int
    nan: int
    largest: int | None
    median: float | None
    mean: float | None
    histogram: tuple[DistanceBin, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return dictionaries, lists and numbers."""
        names = ("elements", "differing", "apart", "zero_signs", "nan", "largest", "median", "mean")
        return {
            **{name: getattr(self, name) for name in names},
            "histogram": [x._asdict() for x in self.histogram],
        }

    def __str__(self) -> str:
        if not self.differing:
            return f"all {self.elements} elements have the same bits"
        parts = [f"{self.differing} of {self.elements} elements differ"]
        if self.largest is not None:
            ulps = f"ulp{'s' * (self.largest != 1)}"
            parts.append(f"median {self.median:g}, mean {self.mean:.4g}, at most {self.largest} {ulps}")
        if self.zero_signs:
            parts.append(f"{self.zero_signs} in the sign of zero")
        if self.nan:
            parts.append(f"{self.nan} in NaN")
        return "; ".join(parts)


def statistics_of(ulps: NDArray[np.uint64], differ: NDArray[np.bool_]) -> DistanceStatistics:
    """Count distances; ``differ`` says which elements have other bits.

    Examples
    --------
    >>> ulps = np.array([0, 1, 3, 2, 0, NOT_COMPARABLE], np.uint64)
    >>> found = statistics_of(ulps, np.array([False, True, True, True, True, True]))
    >>> print(found)
    5 of 6 elements differ; median 2, mean 2, at most 3 ulps; 1 in the sign of zero; 1 in NaN
    >>> [tuple(x) for x in found.histogram]
    [(1, 1, 1), (2, 3, 2)]
    """
    is_nan = ulps == NOT_COMPARABLE
    apart = np.sort(ulps[(ulps != 0) & ~is_nan])
    count, differing, nan = apart.size, int(differ.sum()), int(is_nan.sum())
    largest = median = mean = None
    histogram: tuple[DistanceBin, ...] = ()
    if count:
        largest = int(apart[-1])
        median = (int(apart[(count - 1) // 2]) + int(apart[count // 2])) / 2
        # Halves of words, so that no sum of distances wraps.
        low = int((apart & np.uint64(0xFFFFFFFF)).sum())
        mean = (low + (int((apart >> np.uint64(32)).sum()) << 32)) / count
        edges = np.append(np.searchsorted(apart, _POWERS), count)
        histogram = tuple(DistanceBin(1 << i, (2 << i) - 1, int(x)) for i, x in enumerate(np.diff(edges).tolist()) if x)
    zero_signs = differing - count - nan
    return DistanceStatistics(ulps.size, differing, count, zero_signs, nan, largest, median, mean, histogram)


def worst_of(ulps: NDArray[np.uint64], differ: NDArray[np.bool_], count: int) -> list[tuple[int, ...]]:
    """Indices of the elements that are furthest apart, the furthest first: NaN, then numbers, then signs of zero.

    Those of one distance come in the order of their indices.
    """
    wanted = integer_of(count)
    if wanted is None or wanted < 0:
        raise UnsupportedInstructionError(
            f"count={shorten(count)} is no number of elements; pass an integer from 0 upwards"
        )
    places = np.flatnonzero(differ)
    wanted = min(wanted, places.size)
    if not wanted:
        return []
    nearness = ~ulps.reshape(-1)[places]
    last = np.partition(nearness, wanted - 1)[wanted - 1]
    nearer = np.flatnonzero(nearness < last)
    order = nearer[np.argsort(nearness[nearer], kind="stable")]
    ties = np.flatnonzero(nearness == last)[: wanted - nearer.size]
    flat = places[np.concatenate([order, ties])]
    return [tuple(int(i) for i in np.unravel_index(x, ulps.shape)) for x in flat]


def _plain(value: Any) -> int | float | str:
    number: int | float = value.item()
    return number if np.isfinite(number) else str(number)

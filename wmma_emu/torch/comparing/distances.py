# SPDX-License-Identifier: MIT
"""The distance between two tensors: elements whose bits differ, ulps, and the relative distance of all together."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from wmma_emu.formats.distance import ulp_distance
from wmma_emu.formats.dtypes import format_of_dtype, to_bits
from wmma_emu.formats.libraries import library_of
from wmma_emu.gemm.comparison_statistics import DistanceStatistics, statistics_of


@dataclass(frozen=True, slots=True)
class TensorDistance:
    """The distance of a tensor from the reference's.

    Parameters
    ----------
    statistics : DistanceStatistics
        Elements and ulps.
    relative : float
        The Euclidean norm of the difference, divided by that of the reference; 0 if both are equal.
    """

    statistics: DistanceStatistics
    relative: float

    @property
    def share(self) -> float:
        """The share of elements whose bits differ."""
        return self.statistics.differing / max(self.statistics.elements, 1)

    def to_dict(self) -> dict[str, Any]:
        """Return numbers by name."""
        found = self.statistics
        return {
            "elements": found.elements, "differing": found.differing, "share": self.share,
            "median_ulps": found.median, "largest_ulps": found.largest, "relative": self.relative,
        }  # fmt: skip


def distance(tensor: Any, reference: Any) -> TensorDistance | None:
    """Compare two tensors; None if their shapes, or their dtypes, differ, or numbers have no distance."""
    if tensor.shape != reference.shape or tensor.dtype != reference.dtype:
        return None
    library = library_of(tensor)
    if library is None:
        return None
    return array_distance(*(library.read(x.detach().cpu().contiguous(), "a tensor") for x in (tensor, reference)))


def array_distance(array: Any, reference: Any) -> TensorDistance | None:
    """Compare two arrays of one shape and dtype; None if their numbers have no distance."""
    fmt = format_of_dtype(array.dtype)
    if fmt is None:
        return None
    x, y = (to_bits(a, fmt, "an array") for a in (array, reference))
    wide, other = array.astype(np.float64), reference.astype(np.float64)
    norm, difference = float(np.linalg.norm(other)), float(np.linalg.norm(wide - other))
    relative = difference / norm if norm else float(difference > 0)
    return TensorDistance(statistics_of(ulp_distance(x, y, fmt), x != y), relative)

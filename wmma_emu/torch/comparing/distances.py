# SPDX-License-Identifier: MIT
"""The distance between two tensors: elements whose bits differ, ulps, and the relative distance of all together."""

from dataclasses import dataclass
from typing import Any

import torch

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
    arrays = [_array(x) for x in (tensor, reference)]
    fmt = None if arrays[0] is None else format_of_dtype(arrays[0].dtype)
    if fmt is None:
        return None
    x, y = (to_bits(a, fmt, "a tensor") for a in arrays)
    wide = [t.double() for t in (tensor, reference)]
    norm, difference = (float(torch.linalg.vector_norm(t)) for t in (wide[1], wide[0] - wide[1]))
    relative = difference / norm if norm else float(difference > 0)
    return TensorDistance(statistics_of(ulp_distance(x, y, fmt), x != y), relative)


def _array(tensor: Any) -> Any:
    library = library_of(tensor)
    return None if library is None else library.read(tensor.detach().cpu().contiguous(), "a tensor")

# SPDX-License-Identifier: MIT
"""Arrays in the memory of a GPU: CuPy's, and those whose dtype CuPy lacks."""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from wmma_emu.arithmetic import ENGINES
from wmma_emu.formats.dtypes import format_of_dtype


@dataclass(frozen=True, slots=True, eq=False)
class DeviceArray:
    """A CuPy array of unsigned patterns, with the dtype of NumPy or ml_dtypes that they stand for.

    Examples
    --------
    >>> from wmma_emu.formats.dtypes import dtype_of
    >>> DeviceArray(np.zeros((2, 3), np.uint16), dtype_of("bf16")).shape
    (2, 3)
    """

    patterns: Any
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return tuple(self.patterns.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def astype(self, dtype: DTypeLike) -> "DeviceArray":
        """Convert to another floating-point dtype, rounded to nearest even."""
        wanted = np.dtype(dtype)
        formats = [format_of_dtype(x) for x in (self.dtype, wanted)]
        if formats[0] is None or formats[1] is None:
            raise TypeError(f"{self.dtype} cannot be converted to {wanted}")
        return DeviceArray(ENGINES["cupy"].load().convert(self.patterns, *formats), wanted)


def is_cupy(array: object) -> bool:
    """Return whether an array is on a GPU, without importing CuPy.

    Examples
    --------
    >>> is_cupy(np.zeros(3)), is_cupy(None)
    (False, False)
    """
    array_type = getattr(sys.modules.get("cupy"), "ndarray", None)
    return isinstance(array, DeviceArray) or (array_type is not None and isinstance(array, array_type))

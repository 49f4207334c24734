# SPDX-License-Identifier: MIT
"""Tables of numbers that grow: the events of a launch, one row each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_FIRST = 64


class Table:
    """Rows of numbers by column.

    Each column is given by a dtype and the shape of an element.

    Examples
    --------
    >>> table = Table(time=(np.int32, ()), lanes=(np.int32, (2,)))
    >>> table.append(2, time=[5, 7], lanes=[[1, 2], [3, 4]])
    array([0, 1])
    >>> table.append(1, time=9)
    array([2])
    >>> table["time"][:table.count], table["lanes"][1], table["lanes"][2]
    (array([5, 7, 9], dtype=int32), array([3, 4], dtype=int32), array([0, 0], dtype=int32))
    """

    def __init__(self, **columns: tuple[Any, tuple[int, ...]]) -> None:
        self._columns = {name: np.zeros((_FIRST, *shape), dtype) for name, (dtype, shape) in columns.items()}
        self.count = 0

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column, which is longer than its contents."""
        return self._columns[name]

    def append(self, count: int, **values: Any) -> NDArray[np.int64]:
        """Append rows, with zeros in the columns that are not given, and return their indices."""
        begin, end = self.count, self.count + count
        for name, column in self._columns.items():
            if end > len(column):
                wider = np.zeros((max(end, 2 * len(column)), *column.shape[1:]), column.dtype)
                wider[:begin] = column[:begin]
                self._columns[name] = wider
            if name in values:
                self._columns[name][begin:end] = values[name]
        self.count = end
        return np.arange(begin, end)

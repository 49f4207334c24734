# SPDX-License-Identifier: MIT
"""The first elements of a matrix, with their bits."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.cli.tables import Column, table_lines
from wmma_emu.cli.terminal import Line
from wmma_emu.formats.dtypes import to_bits
from wmma_emu.formats.table import format_of

_SIZE = 4


def corner_lines(name: str, matrix: NDArray[Any], format_name: str, width: int | None) -> Iterator[Line]:
    """Lay the first rows and columns of a matrix out, of a batch those of its first matrix.

    Columns that do not fit the width of a terminal are left out; None is that of a file.

    Examples
    --------
    >>> for line in corner_lines("D", np.float16([[1, 0.5]]), "f16", None):
    ...     print("".join(x.text for x in line))
    D  0           1
    0  0x3c00 1.0  0x3800 0.5
    """
    fmt = format_of(format_name)
    first = (0,) * max(0, matrix.ndim - 2)
    corner = np.atleast_2d(matrix[first])[:_SIZE, :_SIZE]
    digits = 2 + -(-fmt.bits // 4)
    rows = [
        [str(i), *(f"{int(bits):#0{digits}x} {value!s}" for bits, value in zip(patterns, values, strict=True))]
        for i, (patterns, values) in enumerate(zip(to_bits(corner, fmt), corner, strict=True))
    ]
    columns = [Column(name), *(Column(str(i), i > 0) for i in range(corner.shape[1]))]
    yield from table_lines(columns, rows, width)

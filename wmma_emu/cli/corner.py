# SPDX-License-Identifier: MIT
"""Descriptions of a matrix: its shape, a digest, and its first elements with their bits."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.cli.tables import Column, table_lines
from wmma_emu.cli.terminal import Line
from wmma_emu.formats.dtypes import to_bits
from wmma_emu.formats.table import format_of

_SIZE = 4


def storable(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return a matrix with a dtype that ``.npy`` files can name: raw bits if the dtype is not NumPy's."""
    return matrix if matrix.dtype.isbuiltin == 1 else matrix.view(f"u{matrix.dtype.itemsize}")


def sizes_of(matrix: NDArray[Any]) -> str:
    """Write the shape of a matrix, as in ``16 x 8``."""
    return " x ".join(map(str, matrix.shape))


def digest_of(matrix: NDArray[Any]) -> str:
    """Return the SHA-256 of the elements' bytes."""
    return hashlib.sha256(np.ascontiguousarray(matrix).data).hexdigest()


def corner_lines(name: str, matrix: NDArray[Any], format_name: str, width: int | None) -> Iterator[Line]:
    """Format the first rows and columns of a matrix, or of the first matrix of a batch.

    Columns that do not fit the terminal's width are left out; the width of a file is None.

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

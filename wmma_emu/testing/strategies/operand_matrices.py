# SPDX-License-Identifier: MIT
"""The result of `operands`: three matrices with their origin, shown by their non-zero elements."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import WmmaEmuError, shorten
from wmma_emu.formats import Format
from wmma_emu.testing.assertions import value_text
from wmma_emu.testing.patterns import patterns_of

_SHOWN = 6


class _Matrices(NamedTuple):
    A: NDArray[Any]
    B: NDArray[Any]
    C: NDArray[Any]


class OperandMatrices(_Matrices):
    """The A, B and C of one product: a tuple of three with their origin.

    Parameters
    ----------
    A, B, C : array
        Matrices in the dtypes of their formats; for a sparse instruction, all of A, including the zeros that its packed
        form omits.
    origin : str
        Input generator, seed, omitted lines, and edits.
    formats : tuple of Format
    """

    origin: str
    formats: tuple[Format, ...]

    def __new__(
        cls, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any], origin: str = "", formats: tuple[Format, ...] = ()
    ) -> Self:
        """Make the tuple."""
        made = super().__new__(cls, A, B, C)
        made.origin, made.formats = origin, formats
        return made

    @classmethod
    def _make(cls, iterable: Iterable[Any]) -> Self:  # type: ignore[override]
        return cls(*iterable)

    def _replace(self, **changed: Any) -> Self:
        made = super()._replace(**changed)
        made.origin, made.formats = f"{self.origin}; replaced: {', '.join(changed)}", self.formats
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self.origin, self.formats)

    def __repr__(self) -> str:
        if not self.formats:
            return super().__repr__()
        lines = [f"<{self.origin}"]
        for name, matrix, fmt in zip("ABC", self, self.formats, strict=False):
            lines.append(matrix_text(name, matrix, fmt))
        return "\n  ".join(lines) + ">"


def matrix_text(name: str, matrix: NDArray[Any], fmt: Format) -> str:
    """Show the first elements that are not +0."""
    try:
        bits = patterns_of(matrix, fmt, name)[0]
    except WmmaEmuError:  # a value set by _replace
        return f"{name} {shorten(matrix)}"
    there = np.argwhere(bits)
    head = f"{name} {'x'.join(map(str, matrix.shape)) or 'scalar'} {fmt}"
    if not len(there):
        return f"{head}: all +0" if fmt.is_float else f"{head}: all 0"
    digits = -(-fmt.bits // 4)
    shown = ", ".join(
        f"[{', '.join(map(str, at))}] {value_text(word, fmt)} (0x{word:0{digits}x})"
        for at, word in ((at.tolist(), int(bits[tuple(at)])) for at in there[:_SHOWN])
    )
    more = f", and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    return f"{head}, all +0 but {shown}{more}" if len(there) < bits.size else f"{head}: {shown}{more}"

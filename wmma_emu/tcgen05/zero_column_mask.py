# SPDX-License-Identifier: MIT
"""The zero-column mask of `tcgen05.mma.ws`: the columns of B that count as zero, and the shift of B."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, OptionError, UnsupportedInstructionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.warp.options import check_flag

_PARTS = {128: 1, 64: 2, 32: 4}
"""The number of parts of the mask, each with its own generator, by m."""

_COLUMNS = (64, 128, 256)
"""Every n of `tcgen05.mma.ws`."""

_RESERVED = 0b111 << 36 | 0b11 << 62


@dataclass(frozen=True, slots=True)
class ZeroColumnMask:
    """The fields of the 64-bit zero-column mask descriptor.

    The columns of D are divided into the parts into which the data path folds them: one for m = 128, two for 64, four
    for 32. Along a part, ``use_span`` columns of B that are used alternate with ``skip_span`` columns of zeros.

    Parameters
    ----------
    non_zero : bool
        False: no column counts as zero, regardless of the spans.
    use_span, skip_span : int
        1 to 256 columns; the descriptor stores one less.
    first_spans : tuple of four int
        The first span of each part: 0 for a use span, 1 for a skip span.
    start_counts : tuple of four int
        0 to 255 columns that are skipped at the beginning of each part's pattern: fewer than its first span has.
    shift : int
        Column n of D uses column n + shift of B; at most 16 for m = 32, else 32.

    Raises
    ------
    UnsupportedInstructionError
        If a number does not fit in the descriptor.

    Notes
    -----
    PTX ISA 9.3, zero-column mask descriptor of tcgen05. Its table exchanges the two spans; its examples, and CuTe
    (``MaskAndShiftB``), have them as described here. That a column of the mask is a column of D, and not a column of
    B before the shift, follows from the use in CuTe's convolutions, which never skip a whole span. According to a
    published emulator, on an SM100 such a count leaves one column of the first span; according to the manual's text the
    pattern would begin in a later span.

    Examples
    --------
    >>> mask = ZeroColumnMask(use_span=4, skip_span=3)                     # example 2 of the manual
    >>> "".join("1" if x else "0" for x in mask.columns(128, 64)[13::-1])
    '11100001110000'
    >>> ZeroColumnMask.decode(mask.encode()) == mask
    True
    """

    non_zero: bool = True
    use_span: int = 1
    skip_span: int = 1
    first_spans: tuple[int, int, int, int] = (0, 0, 0, 0)
    start_counts: tuple[int, int, int, int] = (0, 0, 0, 0)
    shift: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "non_zero", check_flag("non_zero", self.non_zero))
        for name in ("use_span", "skip_span"):
            _require(name, getattr(self, name), 1, 256)
        _require("shift", self.shift, 0, 32)
        for name, most in (("first_spans", 1), ("start_counts", 255)):
            four = getattr(self, name)
            if not isinstance(four, tuple) or len(four) != 4:
                raise OptionError(f"{name} must be a tuple of four integers, not {shorten(four)}")
            for given in four:
                _require(name, given, 0, most)

    @classmethod
    def decode(cls, value: int) -> "ZeroColumnMask":
        """Decode 64 bits.

        Raises
        ------
        FragmentMismatchError
            If the value is not an integer of 64 bits.
        UnsupportedInstructionError
            If reserved bits are set, or the shift is larger than 32 columns.
        """
        word = integer_of(value)
        if word is None or not 0 <= word < 1 << 64:
            raise ArgumentError(f"a zero-column mask is an integer of 64 bits, not {shorten(value)}")
        if word & _RESERVED:
            raise OptionError(f"bits 36 to 38, 62 and 63 of a zero-column mask are reserved: {word:#x}")
        counts, spans = ((word >> low & 255) + 1 for low in (40, 48)), range(4)
        skip, use = counts
        return cls(
            bool(word >> 39 & 1), use, skip,
            tuple(word >> 32 + i & 1 for i in spans),  # type: ignore[arg-type]
            tuple(word >> 8 * i & 255 for i in spans),  # type: ignore[arg-type]
            word >> 56 & 63,
        )  # fmt: skip

    def encode(self) -> int:
        """Return the 64 bits."""
        word = self.non_zero << 39 | (self.skip_span - 1) << 40 | (self.use_span - 1) << 48 | self.shift << 56
        for i in range(4):
            word |= self.start_counts[i] << 8 * i | self.first_spans[i] << 32 + i
        return word

    def columns(self, m: int, n: int) -> NDArray[np.bool_]:
        """Return whether each of n columns counts as zero.

        Raises
        ------
        UnsupportedInstructionError
            If `tcgen05.mma.ws` does not have the m or n, the shift is too large for the m, or the start count of a part
            skips its whole first span: sources disagree on the zero columns in this case.
        """
        parts = _PARTS.get(integer_of(m) or 0)
        if parts is None:
            raise OptionError(f"m of tcgen05.mma.ws is 32, 64 or 128, not {shorten(m)}")
        columns = integer_of(n)
        if columns not in _COLUMNS:
            raise OptionError(f"n of tcgen05.mma.ws is 64, 128 or 256, not {shorten(n)}")
        if self.shift > 16 and parts == 4:
            raise OptionError(f"the shift is at most 16 for m = 32, not {self.shift}")
        if not self.non_zero:
            return np.zeros(columns, np.bool_)
        self._check_starts(parts)
        part, place = np.divmod(np.arange(columns), columns // parts)
        place = place + np.array(self.start_counts)[part]
        period = self.use_span + self.skip_span
        skipped_first: Any = np.array(self.first_spans)[part] == 1
        found: NDArray[np.bool_] = np.where(
            skipped_first, place % period < self.skip_span, place % period >= self.use_span
        )
        return found

    def _check_starts(self, parts: int) -> None:
        """Reject a part that would begin after its first span."""
        for i in range(parts):
            span = self.skip_span if self.first_spans[i] else self.use_span
            if self.start_counts[i] >= span:
                raise UnsupportedInstructionError(
                    f"part {i} of the zero-column mask begins with a span of {span} columns and skips "
                    f"{self.start_counts[i]}: whether a later span or the last of these columns comes first is not "
                    f"documented; skip {span - 1} at most"
                )


def _require(name: str, given: object, least: int, most: int) -> None:
    number = integer_of(given)
    if number is None or not least <= number <= most:
        raise OptionError(f"{name} of a zero-column mask is {least} to {most}, not {shorten(given)}")

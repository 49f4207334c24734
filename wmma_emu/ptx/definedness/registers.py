# SPDX-License-Identifier: MIT
"""The undefined bits of all registers of a chunk: kept for those registers alone that have some."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.origins import Origins
from wmma_emu.ptx.definedness.undefined import Undefined, all_bits, joined
from wmma_emu.ptx.threads import Active

__all__ = ["UndefinedRegisters"]


class UndefinedRegisters:
    """What is undefined of the registers, by their indices; all of all of them when a chunk begins.

    Parameters
    ----------
    dtypes : sequence of dtypes
        Of the registers.
    origins : Origins
    is_checked : bool
        Whether anybody asks; if not, every register counts as defined.

    Attributes
    ----------
    watched : set of int
        Registers that are looked at whenever they are read or written: those with undefined bits in some thread, and
        those whose value has not arrived.
    """

    def __init__(self, dtypes: Sequence["np.dtype[Any]"], origins: Origins, is_checked: bool = True) -> None:
        self._found: dict[int, Undefined] = {}
        self._is_checked = is_checked
        if is_checked:
            every = {dtype: np.full((1, 1, 1), all_bits(dtype)) for dtype in set(dtypes)}
            self._found = {i: Undefined(every[x], origins.of_register(i)) for i, x in enumerate(dtypes)}
        self.watched: set[int] = set(self._found)

    def get(self, index: int) -> Undefined | None:
        """Give what is undefined of a register."""
        return self._found.get(index)

    def of(self, indices: Iterable[int]) -> list[Undefined]:
        """Give what is undefined of several registers."""
        return [x for x in map(self._found.get, indices) if x is not None]

    def write(self, index: int, active: Active, undefined: Undefined | None, live: NDArray[np.bool_]) -> None:
        """Note what is undefined of what active threads have written; None of ``active`` is all."""
        if not self._is_checked:
            return
        now = joined(active, undefined, self._found.get(index))
        if now is not None and ((now.bits != 0) & live).any():
            self._found[index] = now
            self.watched.add(index)
        else:
            self._found.pop(index, None)
            self.watched.discard(index)

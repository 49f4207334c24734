# SPDX-License-Identifier: MIT
"""The undefined bits of all registers of a chunk: kept for those registers alone that have some."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.origins import Origins
from wmma_emu.ptx.definedness.undefined import Undefined, all_bits, joined
from wmma_emu.ptx.threads import Active

_Mask = NDArray[np.bool_]
_KEPT = 256
"""Pairs of masks of which it is kept whether the first covers the second."""


@dataclass(slots=True)
class _Known:
    """What is known of one register.

    ``undefined`` holds but for the threads of ``defined``, if that is not noted in it yet (``is_pending``); in the
    threads of ``defined`` all bits are defined. Both are made anew, and never changed in place.
    """

    undefined: Undefined
    defined: _Mask | None = None
    is_pending: bool = False


class UndefinedRegisters:
    """What is undefined of the registers, by their indices; all of all of them when a chunk begins, as a rule.

    Unless it ``is_checked`` (somebody asks), every register counts as defined. ``watched`` are those that are looked at
    whenever they are read or written: with undefined bits in some thread, or with a value that has not arrived.
    """

    def __init__(
        self, dtypes: Sequence["np.dtype[Any]"], origins: Origins, is_checked: bool = True, *,
        begins_defined: bool = False,
    ) -> None:  # fmt: skip
        self._found: dict[int, _Known] = {}
        self._is_checked = is_checked
        if is_checked and not begins_defined:
            every = {dtype: np.full((1, 1, 1), all_bits(dtype)) for dtype in set(dtypes)}
            self._found = {i: _Known(Undefined(every[x], origins.of_register(i))) for i, x in enumerate(dtypes)}
        self.watched: set[int] = set(self._found)
        self._covered: dict[tuple[int, int], tuple[_Mask, _Mask, bool]] = {}

    def among(self, index: int, active: _Mask) -> Undefined | None:
        """Give what is undefined of a register if it is so in any of the active threads, else None.

        Most registers that are watched are written and read by the same threads, in one branch, and never written by
        the others: that is told from the masks alone, once for all registers.
        """
        known = self._found.get(index)
        if known is None or (known.defined is not None and self._covers(known.defined, active)):
            return None
        undefined = self._settled(index, known)
        if undefined is None or ((undefined.bits != 0) & active).any():
            return undefined
        known.defined = active
        return None

    def write(self, index: int, active: Active, undefined: Undefined | None, live: _Mask) -> None:
        """Note what is undefined of what active threads have written; None of ``active`` is all."""
        known = self._found.get(index)
        if not self._is_checked:
            return
        if undefined is None:
            if known is None or active is None:
                self._forget(index)
            elif known.defined is None or not self._covers(known.defined, active):
                if self._settled(index, known) is not None:
                    known.defined, known.is_pending = active, True
            return
        now = joined(active, undefined, None if known is None else self._settled(index, known))
        if now is not None and ((now.bits != 0) & live).any():
            self._found[index] = _Known(now)
            self.watched.add(index)
        else:
            self._forget(index)

    def _forget(self, index: int) -> None:
        self._found.pop(index, None)
        self.watched.discard(index)

    def _settled(self, index: int, known: _Known) -> Undefined | None:
        if known.is_pending and known.defined is not None:
            bits = known.undefined.bits
            known.undefined = known.undefined._replace(bits=np.where(known.defined, bits.dtype.type(0), bits))
            known.is_pending = False
            if not known.undefined.bits.any():
                self._forget(index)
                return None
        return known.undefined

    def _covers(self, defined: _Mask, active: _Mask) -> bool:
        """Whether all active threads are among others; kept, since registers of one branch have the same masks."""
        if defined is active:
            return True
        key = id(defined), id(active)
        found = self._covered.get(key)
        if found is None:
            if len(self._covered) >= _KEPT:
                self._covered.clear()
            # The masks are kept, so that their ids are of nothing else.
            found = self._covered[key] = defined, active, not (active & ~defined).any()
        return found[2]

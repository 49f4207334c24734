# SPDX-License-Identifier: MIT
"""The undefined bits of all registers of a wave, kept only for registers that have some."""

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
"""The number of pairs of masks for which it is cached whether the first covers the second."""


@dataclass(slots=True)
class _Known:
    """The undefined bits of one register.

    ``undefined`` is valid except for the threads of ``defined``, if they are not yet removed from it (``is_pending``);
    in the threads of ``defined`` all bits are defined. Both are replaced, and never changed in place.
    """

    undefined: Undefined
    defined: _Mask | None = None
    is_pending: bool = False


class UndefinedRegisters:
    """The undefined bits of the registers, by their indices; usually all bits of all registers when a wave begins.

    Unless it ``is_checked``, every register counts as defined. ``watched`` are those that are examined whenever they
    are read or written: with undefined bits in some thread, or with a value that has not arrived.
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
        """Return the undefined bits of a register if any of the active threads has some, else None.

        Most watched registers are written and read by the same threads, in one branch, and never written by the others:
        the masks alone show this, once for all registers.
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
        """Record the undefined bits that active threads have written; if ``active`` is None, all threads wrote."""
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

    def arrived(self, index: int) -> None:
        """Stop to watch a register whose value has arrived, unless it has undefined bits."""
        if index not in self._found:
            self.watched.discard(index)

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
        """Return whether a mask covers the active threads.

        The result is cached, since registers of one branch have the same masks.
        """
        if defined is active:
            return True
        key = id(defined), id(active)
        found = self._covered.get(key)
        if found is None:
            if len(self._covered) >= _KEPT:
                self._covered.clear()
            # The masks are kept, so that their ids stay unique.
            found = self._covered[key] = defined, active, not (active & ~defined).any()
        return found[2]

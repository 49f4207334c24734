# SPDX-License-Identifier: MIT
"""Delayed scaling: the scale of a tensor, from the largest magnitudes of earlier steps."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import OptionError, shorten
from wmma_emu.formats import Format, encode, format_of
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.rounding import Bits
from wmma_emu.quantise.fp8_rules import Factors
from wmma_emu.scalar import convert, div, mul

AmaxChoice = Literal["max", "most_recent"]
"""The magnitude of a history that counts: the largest, or the last."""

_F32 = format_of("f32")
_ONE, _MAX_F32, _INFINITY = np.uint32(0x3F80_0000), np.uint32(0x7F7F_FFFF), np.uint32(0x7F80_0000)


class DelayedScale:
    """The scale of one tensor under delayed scaling, as Transformer Engine updates it after each step.

    Parameters
    ----------
    element : str
        ``"e4m3"`` or ``"e5m2"``.
    length : int
        The number of steps in the history, ``amax_history_len``.
    choice : {"max", "most_recent"}
        ``amax_compute_algo``.
    margin : int
        The scale is divided by ``2**margin``.

    Attributes
    ----------
    history : array of float32
        The first entry is the magnitude of the current step; the last one is the newest of the others.
    scale : numpy.float32
        The factor for the current step, 1.0 at first.

    Notes
    -----
    Transformer Engine, ``common/recipe/delayed_scaling.cu``, `kernel_bulk`: the history moves by one place, and the
    entry that leaves it counts no more. scale = ``(max * 2**-margin) / amax`` in float32; the largest float32 if that
    is infinite; unchanged if amax is 0, infinite or NaN. A step without a magnitude does not move the history.

    Examples
    --------
    >>> state = DelayedScale("e4m3", length=2)
    >>> for amax in (7.0, 0.5, 0.5):
    ...     state.record(np.float32(amax))
    ...     state.update()
    ...     print(state.scale, state.history)
    64.0 [0. 7.]
    64.0 [0.  0.5]
    896.0 [0.  0.5]
    """

    def __init__(self, element: str, length: int = 1024, choice: AmaxChoice = "max", margin: int = 0) -> None:
        steps = integer_of(length)
        if steps is None or steps < 1:
            raise OptionError(f"length={shorten(length)} is not a positive number of steps")
        if choice not in ("max", "most_recent"):
            raise OptionError(f"choice={shorten(choice)} does not exist; use 'max' or 'most_recent'")
        if integer_of(margin) is None:
            raise OptionError(f"margin={shorten(margin)} is not an integer")
        self.history: NDArray[np.float32] = np.zeros(steps, np.float32)
        self.scale = np.float32(1)
        self._choice = choice
        self._target = _scaled_max(format_of(element), margin)

    @property
    def factors(self) -> Factors:
        """The factors for `scale_to_fp8`: the scale, and its reciprocal."""
        word = self.scale.view(np.uint32).reshape(1)
        return Factors(word, div(np.array([_ONE]), word, _F32))

    def record(self, amax: np.float32) -> None:
        """Note a magnitude of the current step."""
        self.history[0] = np.fmax(self.history[0], np.float32(amax))

    def update(self) -> None:
        """End a step: move the history, and compute the scale of the next step."""
        last = self.history[0]
        if last != 0:
            self.history = np.roll(self.history, -1)
        largest = np.fmax.reduce(self.history)
        if last != 0:
            self.history[0] = 0
        amax = last if self._choice == "most_recent" else largest if last != 0 else np.float32(0)
        word = np.float32(amax).view(np.uint32).reshape(1)
        if 0 < word[0] < _INFINITY:
            found = div(self._target, word, _F32)
            self.scale = np.minimum(found, _MAX_F32).astype(np.uint32).view(np.float32)[0]


def _scaled_max(fmt: Format, margin: int) -> Bits:
    largest = convert(np.array([fmt.max_finite], fmt.storage), fmt, _F32)
    return mul(largest, encode(np.array([2.0**-margin]), _F32), _F32)

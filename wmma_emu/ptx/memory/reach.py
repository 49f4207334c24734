# SPDX-License-Identifier: MIT
"""An access whose bytes are found, with all that is asked of it afterwards."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.touch import Touch
from wmma_emu.ptx.memory.windows import Located


class Reached(NamedTuple):
    """An access whose bytes are found: ``length`` elements of ``size`` bytes in one space.

    ``found`` is the range of the heap that they lie in, -1 if they lie in several, or in none.
    """

    where: Located
    touch: Touch
    space: str
    size: int
    length: int
    found: int = -1

    @property
    def unit(self) -> int:
        """Bytes of the elements in which the access is done."""
        return self.touch.unit

    @property
    def mask(self) -> NDArray[np.bool_] | None:
        """The threads that take part, None for all."""
        return self.touch.mask

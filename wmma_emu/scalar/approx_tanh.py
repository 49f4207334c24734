# SPDX-License-Identifier: MIT
"""MUFU.TANH: segments of a width that depends on the binade."""

import sys
from functools import cache
from typing import Any

import numpy as np

from wmma_emu.scalar.approx_datapath import NAN, Fields, interpolate, leading_bits, namespace, select
from wmma_emu.scalar.approx_tables import TANH_BINADES
from wmma_emu.scalar.traceable import looked_up

_FIRST, _END = min(TANH_BINADES) + 127, max(TANH_BINADES) + 128
_ONE = 0x3F80_0000


@cache
def _binades(module: str) -> tuple[Any, Any]:
    """Return, for each f32 exponent, the first row of the table and the binary logarithm of its number of segments."""
    first, logarithm = np.zeros((2, 256), np.int64)
    row = 0
    for exponent, bits in TANH_BINADES.items():
        first[exponent + 127], logarithm[exponent + 127] = row, bits
        row += 1 << bits
    xp = sys.modules[module]
    return xp.asarray(first), xp.asarray(logarithm)


def tanh(word: Any) -> Any:
    """Compute the hyperbolic tangent, rounded toward zero.

    Below 2**-8 the result is x itself, also if it is subnormal; if |x| is at least 8 it is 1.

    Examples
    --------
    >>> import numpy as np
    >>> [hex(y) for y in tanh(np.array([0x3F800000, 0x80000001, 0xC1000000]))]       # 1, -2**-149, -8
    ['0x3f42f848', '0x80000001', '0xbf800000']
    """
    x = Fields(word)
    first, logarithm = (looked_up(table, x.exponent) for table in _binades(namespace(word).__name__))
    segment = first + (x.fraction >> (23 - logarithm))
    position = (x.fraction >> (6 - logarithm)) & 0x1_FFFF
    magnitude = leading_bits(interpolate("tanh", segment, position))
    return select(
        magnitude + x.sign,
        (x.is_nan, NAN),
        (x.exponent < _FIRST, word),
        (x.exponent >= _END, x.sign + _ONE),
    )

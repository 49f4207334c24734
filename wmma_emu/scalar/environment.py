# SPDX-License-Identifier: MIT
"""Is this thread's floating-point unit fit for exact work?"""

import numpy as np

from wmma_emu.errors import BackendUnavailableError

__all__ = ["require_ieee_subnormals"]

_TINY = np.array([2.0**-1022, 2.0**-1022, 2.0**-1074])
_HALF = np.array([0.5, 1.0, 1.0])


def require_ieee_subnormals() -> None:
    """Raise unless subnormal float64 operands and results survive in this thread.

    Processors have two switches a thread, flush-to-zero for results and denormals-are-zero for operands, and
    libraries built with ``-ffast-math`` are known to set both when they are loaded. Code of this package that
    computes with floats near the subnormal range calls this first; it takes about a microsecond.

    Raises
    ------
    BackendUnavailableError
        If either switch is on.

    Examples
    --------
    >>> require_ieee_subnormals()
    """
    # A subnormal result of normal operands, and two whose operand or result is subnormal: the bits decide,
    # because a comparison of floats would itself take subnormals for zero.
    bits = (_TINY * _HALF).tobytes()
    if bits != _EXPECTED:
        raise BackendUnavailableError(
            "this thread's floating-point unit flushes subnormal numbers to zero, so that float64 arithmetic "
            "is not IEEE 754; a library compiled with -ffast-math probably switched that on when it was "
            "imported. Clear FTZ and DAZ in the thread, import that library later, or use engine='reference'"
        )


_EXPECTED = np.array([1 << 51, 1 << 52, 1], np.uint64).tobytes()

# SPDX-License-Identifier: MIT
"""Reading of integers from any library."""

import operator

from wmma_emu.errors import WmmaEmuError


def integer_of(given: object) -> int | None:
    """Read a Python or NumPy integer, or an object with ``__index__``; return None for anything else, bools included.

    An error of this package raised by ``__index__`` propagates, for example if lanes of a warp hold different integers.

    Examples
    --------
    >>> integer_of(3), integer_of(3.0), integer_of(True)
    (3, None, None)
    """
    if isinstance(given, bool):
        return None
    try:
        return operator.index(given)  # type: ignore[arg-type]
    except WmmaEmuError:
        raise
    except Exception:  # any error from a user's __index__
        return None

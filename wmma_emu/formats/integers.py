# SPDX-License-Identifier: MIT
"""Integers, whoever's they are."""

import operator

from wmma_emu.errors import WmmaEmuError


def integer_of(given: object) -> int | None:
    """Read an integer: Python's, NumPy's, or anything with ``__index__``; None for anything else, bools included.

    An error of this package that ``__index__`` raises goes on, as where the lanes of a warp hold different integers.

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
    except Exception:  # whatever a user's __index__ raises
        return None

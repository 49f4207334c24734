# SPDX-License-Identifier: MIT
"""Sweeps: the quick suite runs a part of their cases, ``@pytest.mark.sweep(keep=1 / 4)``; the others are slow tests.

A sweep over all rows and models takes minutes, and most of its cases are similar. The choice depends on the cases'
names only, so that new cases change the choice of few others. ``-m slow`` runs the other cases; CONTRIBUTING names the
occasions.
"""

import math
import zlib
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

__all__ = ["left_out"]


def left_out(cases: Mapping[str, float]) -> set[str]:
    """Return the full names of the cases that the quick suite leaves out; at least one case of each sweep stays.

    Parameters
    ----------
    cases : Mapping of str to float
        The full name of each case of a sweep, with the part of the sweep that is kept.

    Examples
    --------
    >>> sorted(left_out({f"tests/a.py::test_help[{i}]": 1 / 3 for i in range(3)}))
    ['tests/a.py::test_help[0]', 'tests/a.py::test_help[2]']
    """
    sweeps = defaultdict(list)
    for name, keep in cases.items():
        sweeps[name.partition("[")[0], Fraction(keep).limit_denominator(100)].append(name)
    out = set()
    for (_, keep), names in sweeps.items():
        names.sort(key=lambda name: (zlib.crc32(name.encode()), name))
        out.update(names[math.ceil(len(names) * keep) :])
    return out

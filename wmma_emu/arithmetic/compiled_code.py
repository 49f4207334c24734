# SPDX-License-Identifier: MIT
"""The decision to use compiled code: the time NumPy has spent, and whether compiled code is loaded, cached or missing.

The amount of future work of a program is unknown. So compiled code is obtained as soon as NumPy has spent a fair share
of its cost, in this process and on one product: little time if the code is cached on disk, more if it must be compiled.
The total time is then never much longer than the best choice in hindsight.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Callable

from wmma_emu.arithmetic.model import DotProduct

_TO_LOAD, _TO_IMPORT, _TO_COMPILE = 0.02, 0.2, 0.5
"""The thresholds in seconds of NumPy's time: for loading cached code, which takes some milliseconds; for also importing
llvmlite; and for compiling, which takes a third of a second to a second, once per machine."""

_RATES = {"aligned_sum": 1e9, "fma_chain": 3e7}
"""NumPy's approximate multiply-adds per second in large matrices: see docs/explanation/performance.md."""

_SECONDS_A_STEP = 2e-4
"""NumPy's time for one rounding step over matrices of any size: it calls dozens of functions for each."""

_MODULE = "wmma_emu.arithmetic.native_engine"

_seconds: defaultdict[DotProduct, float] = defaultdict(float)
"""The time that NumPy has spent on each product."""

_ready: set[DotProduct] = set()
"""The products whose code is loaded in this process."""

_kept: dict[DotProduct, bool | None] = {}
"""Whether the code of each product is cached on disk, looked up once."""


def note_ready(product: DotProduct) -> None:
    """Record that the code of a product is loaded."""
    _ready.add(product)


def note_seconds(product: DotProduct, seconds: float) -> None:
    """Add to the time that NumPy has spent on a product."""
    _seconds[product] += seconds


def pays(product: DotProduct, multiply_adds: int, instructions: int, is_kept: Callable[[], bool | None]) -> bool:
    """Return whether compiled code is worthwhile for a product.

    ``instructions`` run one after another, each over matrices of any size. ``is_kept`` returns whether the code is
    cached on disk, or None if there is no compiler; it may import llvmlite.
    """
    if product in _ready:
        return True
    steps = instructions * len(product.steps)
    seconds = multiply_adds / _RATES.get(product.model.arithmetic, _RATES["aligned_sum"]) + steps * _SECONDS_A_STEP
    seconds += _seconds.get(product, 0.0)
    if seconds < (_TO_LOAD if _MODULE in sys.modules else _TO_IMPORT):
        return False
    if product not in _kept:
        _kept[product] = is_kept()
    kept = _kept[product]
    return kept is not None and (kept or seconds >= _TO_COMPILE)


class Stopwatch:
    """A measurement of this process's working time, which excludes time that other programs use the cores."""

    def __init__(self) -> None:
        self._passed, self._worked = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        """The seconds since construction, not summed over threads."""
        return min(time.perf_counter() - self._passed, time.process_time() - self._worked)

# SPDX-License-Identifier: MIT
"""The decision to use compiled code: the time NumPy has spent, and whether compiled code is loaded, cached or missing.

The amount of future work of a program is unknown. So compiled code is obtained as soon as NumPy has spent a fair share
of its cost, in this process and on products of one kind: little time if numba has it cached on disk, much if it must be
compiled. The total time is then never much longer than the best choice in hindsight.
"""

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.tiles import largest_exact_step

_TO_LOAD, _TO_IMPORT, _TO_COMPILE = 0.1, 0.5, 2.0
"""The thresholds in seconds of NumPy's time: for loading cached code, which takes a fifth of a second; for also
importing numba, half a second more; and for compiling, about ten seconds, once per machine."""

_RATES = {"aligned_sum": 1e9, "fma_chain": 3e7}
"""NumPy's approximate multiply-adds per second in large matrices: see docs/explanation/performance.md."""

_SECONDS_A_STEP = 2e-4
"""NumPy's time for one rounding step over matrices of any size: it calls dozens of functions for each."""

_MANY, _SMALL, _SHORT = 16, 1 << 14, 1 << 6
"""The minimum number of matrices, the maximum elements of D and the maximum k for compiled code side by side."""

_MODULE = "wmma_emu.arithmetic.numba_kernels"


class CompiledFunction(NamedTuple):
    """A function compiled for a kind of products: each kind is compiled, cached and loaded separately."""

    kind: tuple[object, ...]
    side_by_side: bool


_seconds: defaultdict[tuple[object, ...], float] = defaultdict(float)
"""The time that NumPy has spent, by kind."""

_ready: set[CompiledFunction] = set()
"""The functions that have run in this process."""

_kept: dict[CompiledFunction, bool | None] = {}
"""Whether each function is cached on disk, looked up once."""


def is_side_by_side(batch: int, elements: int, k: int) -> bool:
    """Return whether the numba engine multiplies the matrices, with ``elements`` of D each, side by side."""
    return batch >= _MANY and elements <= _SMALL and k <= _SHORT


def function_of(product: DotProduct, side_by_side: bool) -> CompiledFunction:
    """Return the compiled function for a product.

    Examples
    --------
    >>> from wmma_emu.arithmetic import dot_product_of
    >>> from wmma_emu.instructions import lookup
    >>> function_of(dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_80"), True)
    CompiledFunction(kind=('aligned_sum', 8, 32, 'f32'), side_by_side=True)
    """
    model = product.model
    if model.arithmetic != "aligned_sum":
        return CompiledFunction((model.arithmetic, model.chain_format.name, product.k), False)
    if model.scaling == "groups":
        return CompiledFunction(("groups",), False)
    terms = min(model.terms_per_step, product.k)
    return CompiledFunction((model.arithmetic, terms, largest_exact_step(product), model.accumulator), side_by_side)


def note_ready(function: CompiledFunction) -> None:
    """Record that a function has run, and is therefore compiled or loaded."""
    _ready.add(function)


def is_ready(function: CompiledFunction) -> bool:
    """Return whether a function has run in this process."""
    return function in _ready


def note_seconds(product: DotProduct, seconds: float) -> None:
    """Add to the time that NumPy has spent on products."""
    _seconds[function_of(product, False).kind] += seconds


def pays(
    product: DotProduct, side_by_side: bool, multiply_adds: int, instructions: int, is_kept: Callable[[], bool | None]
) -> bool:
    """Return whether compiled code is worthwhile for a product.

    ``instructions`` run one after another, each over matrices of any size. ``is_kept`` returns whether the function is
    cached on disk, or None if numba cannot be used; it may import numba.
    """
    function = function_of(product, side_by_side)
    if function in _ready:
        return True
    steps = instructions * len(product.steps)
    seconds = multiply_adds / _RATES.get(product.model.arithmetic, _RATES["aligned_sum"]) + steps * _SECONDS_A_STEP
    seconds += _seconds.get(function.kind, 0.0)
    if seconds < _least():
        return False
    if function not in _kept:
        _kept[function] = is_kept()
    kept = _kept[function]
    return kept is not None and (kept or seconds >= _TO_COMPILE)


def _least() -> float:
    """Return the seconds of work below which numba need not be consulted."""
    if _MODULE in sys.modules:
        return _TO_LOAD
    return _TO_IMPORT if _may_be_kept() else _TO_COMPILE


@cache
def _may_be_kept() -> bool:
    """Return whether numba may have cached code of this package on disk, without importing numba."""
    chosen, here = os.environ.get("NUMBA_CACHE_DIR"), Path(__file__).parent / "__pycache__"
    if chosen:
        return any(Path(chosen).glob("*/numba_*.nbi"))
    return any(here.glob("numba_*.nbi")) or not os.access(here, os.W_OK)


class Stopwatch:
    """A measurement of this process's working time, which excludes time that other programs use the cores."""

    def __init__(self) -> None:
        self._passed, self._worked = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        """The seconds since construction, not summed over threads."""
        return min(time.perf_counter() - self._passed, time.process_time() - self._worked)

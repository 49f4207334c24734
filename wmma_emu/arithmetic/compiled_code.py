# SPDX-License-Identifier: MIT
"""When compiled code pays: what products have cost NumPy so far, and whether compiled code is ready, kept or missing.

Nobody knows how much a program is going to multiply. So compiled code is fetched once NumPy has spent, in this process
and on products of one kind, a fair share of what fetching takes: little where numba has kept it on disk, much where it
has to be compiled. Then the whole takes never much longer than what is best in hindsight.
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
"""Seconds of NumPy from which on what numba has kept is loaded, which takes a fifth of a second; from which on numba is
imported for that, half a second more; and from which on it compiles, some ten seconds, once a machine."""

_RATES = {"aligned_sum": 1e9, "fma_chain": 3e7}
"""Multiply-adds a second of NumPy, about, in large matrices: see docs/explanation/performance.md."""

_SECONDS_A_STEP = 2e-4
"""Of NumPy, for one rounding step over matrices of any size: it calls some dozens of functions for each."""

_MANY, _SMALL, _SHORT = 16, 1 << 14, 1 << 6
"""So many matrices, each of so few elements of D and so short a k, are multiplied side by side in compiled code."""

_MODULE = "wmma_emu.arithmetic.numba_kernels"


class Code(NamedTuple):
    """A function that is compiled for a kind of products: each kind is compiled, kept and loaded by itself."""

    kind: tuple[object, ...]
    side_by_side: bool


_seconds: defaultdict[tuple[object, ...], float] = defaultdict(float)
"""Of NumPy, by kind."""

_ready: set[Code] = set()
"""What has run in this process."""

_kept: dict[Code, bool | None] = {}
"""What was found on disk, or was not: looked up once."""


def is_side_by_side(batch: int, elements: int, k: int) -> bool:
    """Whether the numba engine multiplies matrices, of so many elements of D each, side by side."""
    return batch >= _MANY and elements <= _SMALL and k <= _SHORT


def code_of(product: DotProduct, side_by_side: bool) -> Code:
    """Say which compiled function a product takes.

    Examples
    --------
    >>> from wmma_emu.arithmetic import dot_product_of
    >>> from wmma_emu.instructions import lookup
    >>> code_of(dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_80"), True)
    Code(kind=('aligned_sum', 8, 32, 'f32'), side_by_side=True)
    """
    model = product.model
    if model.arithmetic != "aligned_sum":
        return Code((model.arithmetic, model.chain_format.name, product.k), False)
    if model.scaling == "groups":
        return Code(("groups",), False)
    terms = min(model.terms_per_step, product.k)
    return Code((model.arithmetic, terms, largest_exact_step(product), model.accumulator), side_by_side)


def note_ready(code: Code) -> None:
    """Remember that a function has run: it is compiled or loaded."""
    _ready.add(code)


def is_ready(code: Code) -> bool:
    """Tell whether a function has run in this process."""
    return code in _ready


def note_seconds(product: DotProduct, seconds: float) -> None:
    """Add up what products have cost NumPy."""
    _seconds[code_of(product, False).kind] += seconds


def pays(
    product: DotProduct, side_by_side: bool, multiply_adds: int, instructions: int, is_kept: Callable[[], bool | None]
) -> bool:
    """Tell whether a product is worth compiled code.

    ``instructions`` follow one another, each over matrices of any size. ``is_kept`` tells whether the function is on
    disk, None where numba cannot be used; it may import numba.
    """
    code = code_of(product, side_by_side)
    if code in _ready:
        return True
    steps = instructions * len(product.steps)
    seconds = multiply_adds / _RATES.get(product.model.arithmetic, _RATES["aligned_sum"]) + steps * _SECONDS_A_STEP
    seconds += _seconds.get(code.kind, 0.0)
    if seconds < _least():
        return False
    if code not in _kept:
        _kept[code] = is_kept()
    kept = _kept[code]
    return kept is not None and (kept or seconds >= _TO_COMPILE)


def _least() -> float:
    """Seconds below which nobody needs to ask numba."""
    if _MODULE in sys.modules:
        return _TO_LOAD
    return _TO_IMPORT if _may_be_kept() else _TO_COMPILE


@cache
def _may_be_kept() -> bool:
    """Whether numba could have anything on disk: looked up without it, where it keeps what this package compiles."""
    chosen, here = os.environ.get("NUMBA_CACHE_DIR"), Path(__file__).parent / "__pycache__"
    if chosen:
        return any(Path(chosen).glob("*/numba_*.nbi"))
    return any(here.glob("numba_*.nbi")) or not os.access(here, os.W_OK)


class Stopwatch:
    """Seconds that this process worked: less than have passed, where other programs have the cores."""

    def __init__(self) -> None:
        self._passed, self._worked = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        """Since it was made; of several threads at a time not their sum."""
        return min(time.perf_counter() - self._passed, time.process_time() - self._worked)

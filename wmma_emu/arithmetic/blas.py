# SPDX-License-Identifier: MIT
"""Keep the threads of NumPy's BLAS from multiplying with those that take the blocks of a product.

NumPy's `matmul` runs threads of its own. Where blocks of D are multiplied in several threads, each such call is to
stay in its thread: threadpoolctl says so to the library. Where it is not installed, or where it refuses because another
thread of the program has set the number before, one thread multiplies at a time.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


class _Limit:
    """What all threads of the process share: how many are within, and what was set before the first entered."""

    lock = threading.Lock()
    turn = threading.Lock()
    within = 0
    limiter: Any = None
    is_kept = False


def _begin_anew() -> None:
    """In a child process, which has none of the threads that held the locks."""
    _Limit.lock, _Limit.turn = threading.Lock(), threading.Lock()
    _Limit.within, _Limit.limiter, _Limit.is_kept = 0, None, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Within it, in every thread of the process, a call of `exact_matmul` stays in its thread, or waits its turn.

    The first to enter sets that, the last to leave puts back what was set before.
    """
    controller = _controller()
    with _Limit.lock:
        if _Limit.within == 0 and controller is not None:
            _Limit.limiter = controller.limit(limits=1, user_api="blas")
            _Limit.is_kept = {x["num_threads"] for x in controller.info() if x["user_api"] == "blas"} == {1}
        _Limit.within += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.within -= 1
            if _Limit.within == 0 and _Limit.limiter is not None:
                _Limit.limiter.restore_original_limits()
                _Limit.limiter, _Limit.is_kept = None, False


def exact_matmul(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Multiply floats whose products and sums the dtype holds exactly, in whatever order BLAS adds them."""
    with nullcontext() if _Limit.is_kept else _Limit.turn:
        product: NDArray[Any] = np.matmul(a, b)
    return product


@cache
def _controller() -> Any:
    """The BLAS libraries that are loaded; None without threadpoolctl, an extra."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()

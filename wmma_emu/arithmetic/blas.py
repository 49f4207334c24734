# SPDX-License-Identifier: MIT
"""Limits on the threads of NumPy's BLAS while several threads multiply the blocks of a product.

NumPy's `matmul` starts its own threads. If blocks of D are multiplied in several threads, each call should use only its
calling thread: threadpoolctl sets this limit in the library. If threadpoolctl is not installed, or fails because
another thread of the program has set the number before, one thread multiplies at a time.
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
    """The state shared by all threads of the process: the number inside, and the settings before the first entered."""

    lock = threading.Lock()
    turn = threading.Lock()
    within = 0
    limiter: Any = None
    is_kept = False


def _begin_anew() -> None:
    """Reset the state in a child process, which lacks the threads that held the locks."""
    _Limit.lock, _Limit.turn = threading.Lock(), threading.Lock()
    _Limit.within, _Limit.limiter, _Limit.is_kept = 0, None, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Keep each call of `exact_matmul` in its thread, or let calls wait for each other, in all threads of the process.

    The first thread to enter sets the limit, the last one to leave restores the previous settings.
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
    """Multiply floats whose products and sums are exact in the dtype, in any order of addition in BLAS."""
    with nullcontext() if _Limit.is_kept else _Limit.turn:
        product: NDArray[Any] = np.matmul(a, b)
    return product


@cache
def _controller() -> Any:
    """Return the controller of the loaded BLAS libraries; None without threadpoolctl, an extra."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()

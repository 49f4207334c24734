# SPDX-License-Identifier: MIT
"""Checks of a thread's floating-point environment, and a context that sets IEEE 754 arithmetic."""

import ctypes
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import NamedTuple, ParamSpec, TypeVar

import numpy as np

from wmma_emu.errors import BackendUnavailableError

P = ParamSpec("P")
R = TypeVar("R")

# Patterns, because this module may be imported by a thread that flushes. The first product, of 1 + 2**-52 and 1.5,
# is a tie whose even neighbour is above: RZ and RD round it down. The second, (1 + 2**-52)**2, is just above a
# float64: RU rounds it up. Then a subnormal result of normal operands, a normal number, and a subnormal number.
_X = np.array([0x3FF0 << 48 | 1, 0x3FF0 << 48 | 1, 1 << 52, 1 << 52, 1], np.uint64).view(np.float64)
_Y = np.array([0x3FF8 << 48, 0x3FF0 << 48 | 1, 0x3FE0 << 48, 0x3FF0 << 48, 0x3FF0 << 48], np.uint64).view(np.float64)
_EXPECTED = np.array([0x3FF8 << 48 | 2, 0x3FF0 << 48 | 2, 1 << 51, 1 << 52, 1], np.uint64)

_ROUNDED_X, _ROUNDED_Y, _ROUNDED = _X[:2], _Y[:2], _EXPECTED[:2].tobytes()
_ALL = _EXPECTED.tobytes()


def require_round_to_nearest() -> None:
    """Raise unless float64 arithmetic rounds to nearest even in this thread.

    C's ``fesetround`` changes the mode of the calling thread, and a library may fail to restore it. Code of this
    package that rounds floats calls this check first; it takes about a microsecond.

    Raises
    ------
    BackendUnavailableError
        If the thread has another rounding mode.

    Examples
    --------
    >>> require_round_to_nearest()
    """
    # Bits are compared, because a comparison of floats might itself treat subnormals as zero.
    if (_ROUNDED_X * _ROUNDED_Y).tobytes() != _ROUNDED:
        raise BackendUnavailableError(
            "this thread's floating-point unit does not round to nearest even, so that float64 arithmetic gives "
            "other bits; a library probably called fesetround and did not restore the mode. Call "
            "fesetround(FE_TONEAREST) in the thread, or use engine='reference' if the function has that option"
        )


def require_ieee_subnormals() -> None:
    """Raise unless float64 arithmetic in this thread follows IEEE 754: to nearest, with subnormals.

    Processors have two switches per thread, flush-to-zero for results and denormals-are-zero for operands, and
    libraries built with ``-ffast-math`` are known to set both when they are loaded. Code of this package that
    computes with floats near the subnormal range calls this check first; it takes about a microsecond.

    Raises
    ------
    BackendUnavailableError
        If either switch is on, or the thread does not round to nearest even.

    Examples
    --------
    >>> require_ieee_subnormals()
    """
    if (_X * _Y).tobytes() == _ALL:
        return
    require_round_to_nearest()
    raise BackendUnavailableError(
        "this thread's floating-point unit flushes subnormal numbers to zero, so that float64 arithmetic "
        "is not IEEE 754; a library compiled with -ffast-math probably enabled this when it was "
        "imported. Clear FTZ and DAZ in the thread, import that library later, or use engine='reference'"
    )


def in_ieee_arithmetic(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function that computes with floats run in `ieee_arithmetic`, in any calling thread.

    Examples
    --------
    >>> half = in_ieee_arithmetic(lambda x: x * 0.5)
    >>> half(np.array([2.0**-1022])).view(np.uint64) == 1 << 51
    array([ True])
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if (_X * _Y).tobytes() == _ALL:
            return function(*args, **kwargs)
        with ieee_arithmetic():
            return function(*args, **kwargs)

    return call


@contextmanager
def ieee_arithmetic() -> Iterator[None]:
    """Set this thread to IEEE 754 arithmetic, to nearest and with subnormals, and restore its state afterwards.

    Threads of XLA, which run JAX's callbacks, flush subnormal numbers to zero, and a library may leave any thread in
    that state. The switch is C's `fesetenv`; other threads are not changed, but threads started meanwhile inherit it.

    Raises
    ------
    BackendUnavailableError
        If the thread's arithmetic differs, and the switch of the system is not known. It is known on Linux on x86-64
        and 64-bit Arm, and on macOS.

    Examples
    --------
    >>> with ieee_arithmetic():
    ...     require_ieee_subnormals()
    """
    if (_X * _Y).tobytes() == _ALL:
        yield
        return
    switch = _switch()
    if switch is None:
        require_ieee_subnormals()
        return
    before = ctypes.create_string_buffer(_ROOM)
    switch.get(before)
    switch.set(switch.default)
    try:
        require_ieee_subnormals()
        yield
    finally:
        switch.set(before)


class _Switch(NamedTuple):
    """C's functions for a thread's floating-point environment, and the address of the default environment."""

    get: Callable[..., int]
    set: Callable[..., int]
    default: ctypes.c_void_p


_ROOM = 512
"""A size in bytes that exceeds ``fenv_t``, the environment, on every system; glibc's has 32."""


@cache
def _switch() -> _Switch | None:
    try:
        library = ctypes.CDLL(None)
        if sys.platform == "darwin":
            default = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, "_FE_DFL_ENV")))
        elif sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64"):
            default = ctypes.c_void_p(-1)  # FE_DFL_ENV in glibc and musl
        else:
            return None
        return _Switch(library.fegetenv, library.fesetenv, default)
    except (OSError, ValueError, AttributeError):  # the functions do not exist
        return None

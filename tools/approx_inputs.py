# SPDX-License-Identifier: MIT
"""Inputs of approximate instructions, the same on every machine: special words, sampled words, pairs for divisions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DIVISION_GENERATORS", "SPECIAL", "VERSION", "pairs", "recorded_inputs", "words"]

VERSION = 1
"""The seed of `recorded_inputs`."""

_MAGNITUDES = (
    0, 1, 2, 3, 0x400000, 0x7FFFFE, 0x7FFFFF, 0x800000, 0x800001, 0xFFFFFF, 0x1000000, 0x33800000, 0x34000000,
    0x3B7FFFFF, 0x3B800000, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FC90FDB, 0x40000000, 0x40400000,
    0x40490FDB, 0x40FFFFFF, 0x41000000, 0x42FC0000, 0x42FC0001, 0x42FE0000, 0x43000000, 0x43150000, 0x43160000,
    0x4B800000, 0x7E7FFFFF, 0x7E800000, 0x7E800001, 0x7EFFFFFF, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001,
    0x7FC00000, 0x7FFFFFFF,
)  # fmt: skip
SPECIAL: NDArray[np.uint32] = np.array([x | sign for x in _MAGNITUDES for sign in (0, 0x8000_0000)], np.uint32)
"""Zeros, ends of ranges, neighbours of powers of two, infinities, NaN."""

DIVISION_GENERATORS = (
    "random", "near 2**-126", "large b", "subnormal b", "subnormal a", "few bits", "subnormal quotient", "special",
)  # fmt: skip


def words(xp: Any, count: int, seed: int) -> Any:
    """Draw 64-bit words: splitmix64 of a counter."""
    with np.errstate(over="ignore"):
        x = xp.arange(count, dtype=np.uint64) + np.uint64(seed << 40)
        return _mix(_mix(x * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x632BE59BD9B4E019)))


def _mix(x: Any) -> Any:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def pairs(xp: Any, generator: str, count: int, seed: int) -> tuple[Any, Any]:
    """Draw dividends and divisors: random words, or such as meet the limits of a division's steps."""
    first, second = words(xp, count, 2 * seed), words(xp, count, 2 * seed + 1)
    a, b = (first >> np.uint64(32)).astype(np.uint32), first.astype(np.uint32)
    more, other = (second >> np.uint64(32)).astype(np.uint32), second.astype(np.uint32)
    match generator:
        case "near 2**-126":
            b = _with_exponent(b, more % 100 + 130)
            a = _with_exponent(a, _exponent(b) + other % 3 - 127)
        case "large b":
            b = _with_exponent(b, more % 3 + 252)
        case "subnormal b":
            b = _with_exponent(b, more & 0)
        case "subnormal a":
            a, b = _with_exponent(a, more & 0), _with_exponent(b, more % 100 + 80)
        case "few bits":
            a, b = a & 0xFFC0_0000 ^ more & 3, b & 0xFFF0_0000 ^ other & 3
        case "subnormal quotient":
            b = _with_exponent(b, more % 100 + 154)
            a = _with_exponent(a, _exponent(b) - 127 - other % 27)
        case "special":
            table = xp.asarray(SPECIAL)
            a = xp.where(more & 1 != 0, a, table[a % len(SPECIAL)])
            b = xp.where(more & 2 != 0, b, table[b % len(SPECIAL)])
    return a, b


def _exponent(x: Any) -> Any:
    return x >> 23 & 0xFF


def _with_exponent(x: Any, exponent: Any) -> Any:
    return x & 0x807F_FFFF | exponent << 23


def recorded_inputs(kind: str, operands: int) -> tuple[NDArray[Any], ...]:
    """Draw what a recording holds the results of: special words first, then words of all sizes and of moderate ones.

    Parameters
    ----------
    kind : {"f32", "b16", "b32", "f64"}
        ``b16`` is every word there is.
    operands : {1, 2}
    """
    count = 1 << 15
    if kind == "b16":
        return (np.arange(1 << 16, dtype=np.uint16),)
    if operands == 2:
        drawn = [pairs(np, generator, count // 8, seed) for seed, generator in enumerate(DIVISION_GENERATORS)]
        first = [x.reshape(-1) for x in np.meshgrid(SPECIAL[::3], SPECIAL[::3])]
        return tuple(np.concatenate([first[i], *(x[i] for x in drawn)]) for i in (0, 1))
    random = words(np, count, 100)
    if kind == "f64":
        upper = np.concatenate([SPECIAL.astype(np.uint64) << np.uint64(32), random[: count // 2]])
        moderate = random[count // 2 :] >> np.uint64(2) | np.uint64(0x3F00 << 48)
        return (np.concatenate([upper, moderate]),)
    low = random.astype(np.uint32)
    # Half of them from 2**-12 up to 2**9.
    exponent = (random[::2] >> np.uint64(32)).astype(np.uint32) % 21 + 115
    low[::2] = low[::2] & 0x807F_FFFF | exponent << 23
    return (np.concatenate([SPECIAL, low]),)

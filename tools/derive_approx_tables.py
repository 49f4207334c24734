# SPDX-License-Identifier: MIT
"""Derive the tables of the approximate functions from the functions, and say where a Hopper GPU's differ.

    python -m tools.derive_approx_tables

On each segment, with s in [0, 1) and (c0, c1, c2) the quadratic minimax polynomial of the function: C1 = round(c1);
C2 = round(c2 + c1 - C1); C0 = round(the middle of what f - C1 s - C2 s**2 spans) + a constant; each to its last
place. Numbers are in units of 2**-24, C0 in quarters of that.
"""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.scalar.approx_tables import rows

Function = Callable[[Any], Any]

_PI = np.longdouble("3.14159265358979323846264338327950288")


class Rule(NamedTuple):
    """A function of its table's argument, the argument's span, and the last places of the coefficients."""

    function: Function
    start: float
    width: float
    c1: int
    c2: int
    c0: int
    constant: int


_HALVES = {"even": (1, 1 / 64), "odd": (2, 1 / 32)}
RULES = {
    "rcp": [Rule(lambda x: 1 / x, 1, 1 / 128, 2, 1, 1, 2)],
    "rsqrt": [Rule(lambda x: 1 / np.sqrt(x), *_HALVES[half], 2, 2, 1, 1) for half in _HALVES],
    "sqrt": [Rule(np.sqrt, *_HALVES["even"], 2, 1, 1, 1), Rule(np.sqrt, *_HALVES["odd"], 4, 1, 1, 1)],
    "ex2": [Rule(lambda x: np.exp2(x) / 2, 0, 1 / 64, 4, 1, 1, 3)],
    "lg2": [Rule(np.log2, 1, 1 / 64, 8, 4, 1, 3)],
    "sin": [Rule(lambda x: np.sin(2 * _PI * x), 0, 1 / 256, 16, 4, 2, 0)],
}


def minimax(f: Function) -> tuple[Any, Any, Any]:
    """Find the quadratic polynomial with the least greatest error on [0, 1] (Remez)."""
    grid = (1 - np.cos(_PI * np.linspace(0, 1, 4001, dtype=np.longdouble))) / 2
    values = f(grid)
    points = (1 - np.cos(_PI * np.arange(4) / 3)) / 2
    alternating = np.array([1, -1, 1, -1])
    for _ in range(8):
        matrix = np.stack([points**0, points, points**2, alternating], 1)
        target = f(points)
        base, c = target[0], np.zeros(4, np.longdouble)
        for _ in range(4):
            c = c + np.linalg.solve(matrix.astype(float), (target - base - matrix @ c).astype(float))
        error = values - base - (c[0] + c[1] * grid + c[2] * grid**2)
        inner = error[200:-200]
        points = grid[[0, *sorted([200 + int(inner.argmax()), 200 + int(inner.argmin())]), -1]]
    return c[0] + base, c[1], c[2]


def derive(name: str) -> NDArray[np.int64]:
    """Compute a table by the rule."""
    s = np.linspace(0, 1, 8193, dtype=np.longdouble)
    table = []
    for rule in RULES[name]:
        for k in range(len(rows(name)) // len(RULES[name])):

            def f(s: Any, rule: Rule = rule, k: int = k) -> Any:
                return rule.function(np.longdouble(rule.start) + (k + s) * np.longdouble(rule.width)) * 2**24

            _, slope, curve = minimax(f)
            c1 = _round(slope, rule.c1)
            c2 = _round(curve + slope - c1, rule.c2)
            rest = f(s) - c1 * s - c2 * s**2
            table.append((_round(2 * (rest.max() + rest.min()), rule.c0) + rule.constant, c1, c2))
    return np.array(table)


def _round(x: Any, step: int) -> int:
    return int(np.rint(x / step)) * step


def main() -> int:
    for name in RULES:
        off = derive(name) - rows(name)
        places = {f"C{i}": {int(k): int(-off[k, i]) for k in np.flatnonzero(off[:, i])} for i in range(3)}
        print(f"{name}: {len(off)} segments; " + "; ".join(
            f"{c} differs in {len(x)}" + (f" {x}" if 0 < len(x) < 8 else "") for c, x in places.items()))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""Planted bugs: a kernel with one bug, and, if its argument ``fixed`` is true, the same kernel without it.

The lines at which the bug is to be found name its kind after an arrow: ``# <- race``.
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["PLANTED", "Planted", "ints", "plant", "read_only", "reals", "zeros"]


class Planted(NamedTuple):
    """A kernel with one bug: the kind of the finding, and a launch that meets it.

    ``error`` is the class of the error that ends the launch, None where it comes to its end.
    """

    kind: str
    function: Callable[..., Any]
    block: int
    arguments: Callable[[], tuple[Any, ...]]
    grid: int
    severity: str
    error: type[Exception] | None

    def marked_lines(self) -> set[int]:
        """The lines of the file at which the bug is to be found: at one or more of them."""
        lines, first = inspect.getsourcelines(self.function)
        marked = {first + i for i, line in enumerate(lines) if line.rstrip().endswith(f"# <- {self.kind}")}
        if not marked:
            raise ValueError(f"no line of {self.function.__name__} says {self.kind}")
        return marked


PLANTED: dict[str, Planted] = {}
"""All of them, by the names of their kernels."""


def plant(
    kind: str, block: int, arguments: Callable[[], tuple[Any, ...]], *, grid: int = 1, severity: str = "error",
    error: type[Exception] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # fmt: skip
    """Add a kernel to the table."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        PLANTED[function.__name__] = Planted(kind, function, block, arguments, grid, severity, error)
        return function

    return add


def ints(count: int) -> Any:
    return np.arange(count, dtype=np.int32)


def reals(*shape: int, dtype: Any = np.float32) -> Any:
    return (np.arange(np.prod(shape)) % 13).astype(dtype).reshape(shape)


def zeros(*shape: int, dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype)


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array

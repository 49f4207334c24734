# SPDX-License-Identifier: MIT
"""Arrays that a kernel reaches through pointers in data only, such as a table of pointers."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, OptionError, shorten
from wmma_emu.ptx.launch.memory_of_arrays import Raw, memory_of, require_readable


class Reachable(NamedTuple):
    """An array, or `raw` of one, and its name in messages."""

    name: str
    value: "NDArray[Any] | Raw"

    @property
    def memory(self) -> NDArray[Any]:
        """The array whose bytes take part in the launch."""
        return memory_of(self.value)[0]


def reachable_arrays(given: object) -> tuple[Reachable, ...]:
    """Check the option ``reachable``, and name the arrays.

    Examples
    --------
    >>> x = np.zeros(3)
    >>> [name for name, _ in reachable_arrays([x, x])], [name for name, _ in reachable_arrays({"weights": x})]
    (['reachable[0]', 'reachable[1]'], ['weights'])
    """
    if isinstance(given, Mapping):
        items: Iterable[tuple[Any, str, Any]] = [(name, f"reachable[{shorten(name)}]", x) for name, x in given.items()]
    elif isinstance(given, list | tuple):
        items = [(f"reachable[{i}]", f"reachable[{i}]", x) for i, x in enumerate(given)]
    else:
        raise OptionError(
            f"reachable={shorten(given)} is not a list of arrays, nor a dict from names to arrays: write reachable=[x]"
        )
    return tuple(x if isinstance(x, Reachable) else _checked(name, label, x) for name, label, x in items)


def _checked(name: Any, label: str, value: Any) -> Reachable:
    if not isinstance(name, str) or not name:
        raise OptionError(f"reachable has the name {shorten(name)}; the name of an array is a str")
    if not isinstance(value, np.ndarray | Raw):
        raise ArgumentError(
            f"{label} is {shorten(value)} of type {type(value).__name__}, but only NumPy arrays can be reached: for "
            "another library's array on the CPU, a NumPy view of its memory, such as x.numpy() of a tensor"
        )
    if isinstance(value, np.ndarray):
        require_readable(value, label)
    return Reachable(name, value)

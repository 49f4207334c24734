# SPDX-License-Identifier: MIT
"""A launch of a public repository's kernel: its origin, its compilation, its arguments."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Case", "Drawn", "f32", "f64", "fields", "i32", "i64", "null", "pointer", "u32"]

Array = NDArray[Any]


class Drawn(NamedTuple):
    """A launch: what ``launch.json`` of `tools.launch_bundles` says, and the arrays.

    Parameters
    ----------
    grid, block : tuple of int
        One to three numbers.
    arguments : list
        Of `pointer`, `i32`, ..., `fields`, in the kernel's order.
    arrays : dict
        By the names that the pointers say.
    shared : int
        Bytes of dynamic shared memory.

    Examples
    --------
    >>> drawn = Drawn((1,), (32,), [pointer("x"), i32(3)], {"x": np.zeros(32, np.float32)})
    >>> drawn.arguments[1]
    {'bytes': '03000000', 'pointers': []}
    """

    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: list[dict[str, Any]]
    arrays: dict[str, Array]
    shared: int = 0


class Case(NamedTuple):
    """A kernel of somebody else, and one launch of it.

    Parameters
    ----------
    name : str
        ``repository__kernel``, the name of the bundle.
    repository, revision, file, licence : str
        Where the kernel is from.
    build : function
        From the checkout to the text of the module and the kernel's name in it.
    launch : function
        A function from a Generator with a fixed seed to the kernel's arguments.
    arch : str
        The chip that the text is compiled for.
    flags : str
        Further options of the compiler, and changes of the source.
    chip : str
        The chip on which the PTX is recorded and emulated; PTX for an older chip runs on it too.
    """

    name: str
    repository: str
    revision: str
    file: str
    licence: str
    build: Callable[[Path], tuple[str, str]]
    launch: Callable[[np.random.Generator], Drawn]
    arch: str = "sm_90"
    flags: str = ""
    chip: str = "sm_90"


def pointer(name: str, offset: int = 0) -> dict[str, Any]:
    """Return the address of an array, or of a byte in it.

    Examples
    --------
    >>> pointer("x", 16)
    {'bytes': '0000000000000000', 'pointers': [[0, 'x', 16]]}
    """
    return {"bytes": bytes(8).hex(), "pointers": [[0, name, offset]]}


def null() -> dict[str, Any]:
    """Return a null pointer."""
    return {"bytes": bytes(8).hex(), "pointers": []}


def _packed(code: str, value: float) -> dict[str, Any]:
    return {"bytes": struct.pack(f"<{code}", value).hex(), "pointers": []}


def i32(value: int) -> dict[str, Any]:
    """Return an ``int``."""
    return _packed("i", value)


def u32(value: int) -> dict[str, Any]:
    """Return an ``unsigned``."""
    return _packed("I", value)


def i64(value: int) -> dict[str, Any]:
    """Return a ``long long`` or ``size_t``."""
    return _packed("q", value)


def f32(value: float) -> dict[str, Any]:
    """Return a ``float``."""
    return _packed("f", value)


def f64(value: float) -> dict[str, Any]:
    """Return a ``double``."""
    return _packed("d", value)


def fields(size: int, *parts: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    """Return a structure by value: its size, and each member with its offset; the rest is zero.

    Examples
    --------
    >>> fields(16, (0, pointer("x")), (8, i32(5)))
    {'bytes': '00000000000000000500000000000000', 'pointers': [[0, 'x', 0]]}
    """
    raw, pointers = bytearray(size), []
    for offset, part in parts:
        value = bytes.fromhex(part["bytes"])
        raw[offset : offset + len(value)] = value
        pointers += [[offset + within, name, further] for within, name, further in part["pointers"]]
    return {"bytes": raw.hex(), "pointers": sorted(pointers)}

# SPDX-License-Identifier: MIT
"""Launches of public repositories' kernels: their sources, their PTX and their arguments."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "DrawnLaunch", "PublicKernel", "f32", "f64", "fields", "i32", "i64", "null", "pointer", "u32"]

Array = NDArray[Any]


class DrawnLaunch(NamedTuple):
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


class PublicKernel(NamedTuple):
    """A kernel of somebody else, and one launch of it.

    Parameters
    ----------
    name : str
        ``repository__kernel``, the name of the bundle.
    repository, revision, file, licence : str
        Where the kernel is from.
    build : function
        A function of the checkout that returns the PTX of the module and the kernel's name in it.
    launch : function
        A function of a Generator, which always has the same seed, that returns the kernel's arguments.
    arch : str
        The chip that the PTX is compiled for.
    flags : str
        Other options of the compiler, and changes of the source.
    chip : str
        The chip on which the launch is recorded, and which is emulated; it also runs PTX for older chips.
    """

    name: str
    repository: str
    revision: str
    file: str
    licence: str
    build: Callable[[Path], tuple[str, str]]
    launch: Callable[[np.random.Generator], DrawnLaunch]
    arch: str = "sm_90"
    flags: str = ""
    chip: str = "sm_90"


def pointer(name: str, offset: int = 0) -> dict[str, Any]:
    """Return the address of an array, or of a byte in it, as an argument.

    Examples
    --------
    >>> pointer("x", 16)
    {'bytes': '0000000000000000', 'pointers': [[0, 'x', 16]]}
    """
    return {"bytes": bytes(8).hex(), "pointers": [[0, name, offset]]}


def null() -> dict[str, Any]:
    """Return a null pointer as an argument."""
    return {"bytes": bytes(8).hex(), "pointers": []}


def _packed(code: str, value: float) -> dict[str, Any]:
    return {"bytes": struct.pack(f"<{code}", value).hex(), "pointers": []}


def i32(value: int) -> dict[str, Any]:
    """Return an ``int`` as an argument."""
    return _packed("i", value)


def u32(value: int) -> dict[str, Any]:
    """Return an ``unsigned`` as an argument."""
    return _packed("I", value)


def i64(value: int) -> dict[str, Any]:
    """Return a ``long long`` or ``size_t`` as an argument."""
    return _packed("q", value)


def f32(value: float) -> dict[str, Any]:
    """Return a ``float`` as an argument."""
    return _packed("f", value)


def f64(value: float) -> dict[str, Any]:
    """Return a ``double`` as an argument."""
    return _packed("d", value)


def fields(size: int, *parts: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    """Return a structure by value as an argument: its size, and each member with its offset; the rest is zero.

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

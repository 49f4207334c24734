# SPDX-License-Identifier: MIT
"""A launch of another project's kernel: its source, its arguments, its expected results."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.program.program import Parameter

__all__ = ["Array", "DrawnArguments", "SampleLaunch", "Source"]

Array = NDArray[Any]


class Source(NamedTuple):
    """A file, and how it is compiled.

    Parameters
    ----------
    tree : {"cuda-samples", "cutlass"}
    path : str
        In that tree.
    arch : str
        What nvcc compiles for.
    tiles : dict
        Numbers of tiles that replace those of the source, which is made for matrices of thousands of rows.
    """

    tree: str
    path: str
    arch: str = "sm_80"
    tiles: dict[str, int] = {}  # noqa: RUF012


class SampleLaunch(NamedTuple):
    """A kernel and what it is given.

    Parameters
    ----------
    source : str
        Of `SOURCES`.
    kernel : str
        Its name in the source.
    grid, block : int or tuple of int
    shared : int
        Bytes of dynamic shared memory.
    draw : function
        From a Generator and the kernel's parameters to the arguments, the output among them, its expected values in
        float64 or integers, and the tolerance.
    mangled : str
        Part of the mangled name that distinguishes instances of a template.
    known : str
        A kind of finding that is a bug of the source, described in the how-to.
    """

    source: str
    kernel: str
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    shared: int
    draw: Callable[[np.random.Generator, tuple[Parameter, ...]], "DrawnArguments"]
    mangled: str = ""
    known: str = ""


class DrawnArguments(NamedTuple):
    """Arguments, the output among them, the expected result, and the largest error of each element."""

    arguments: tuple[Any, ...]
    output: Array
    expected: Array
    bound: Array

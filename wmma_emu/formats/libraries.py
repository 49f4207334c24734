# SPDX-License-Identifier: MIT
"""Arrays of other libraries at the public interface: torch or JAX operands give torch or JAX results.

The functions inside handle only NumPy arrays.
"""

import sys
from abc import abstractmethod
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, NamedTuple, ParamSpec, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, WmmaEmuError
from wmma_emu.formats import jax_arrays, torch_tensors

P = ParamSpec("P")
R = TypeVar("R")


class Library(NamedTuple):
    """A library whose arrays are accepted and returned.

    ``module`` is never imported: a program that has one of its arrays has already imported it. ``read(array, name)``
    returns a NumPy array with the elements' dtype of NumPy or ml_dtypes, a view of the same memory if possible; errors
    use the name. ``write`` converts a new NumPy array with the same bits. ``rewrite_advice`` adapts the advice of
    an error message, which is written for NumPy arrays, to arrays of the library.
    """

    module: str
    array_type: str
    read: Callable[[Any, str], NDArray[Any]]
    write: Callable[[NDArray[Any]], Any]
    rewrite_advice: Callable[[str], str] = str

    def has_made(self, array: object) -> bool:
        """Return whether an array belongs to this library."""
        array_type = getattr(sys.modules.get(self.module), self.array_type, None)
        return array_type is not None and isinstance(array, array_type)


LIBRARIES = (
    Library("torch", "Tensor", torch_tensors.read, torch_tensors.write, torch_tensors.respelled),
    Library("jax", "Array", jax_arrays.read, jax_arrays.write),
)
"""The supported libraries. Arrays of others are read through ``__array__`` or DLPack; results are NumPy arrays."""


class Carrier:
    """An object that contains arrays, all of one library."""

    __slots__ = ()

    @property
    @abstractmethod
    def library(self) -> Library | None:
        """The library of the arrays; None for NumPy."""

    @abstractmethod
    def in_library(self, library: Library | None) -> Self:
        """Return the same object with arrays of another library, or of NumPy."""


def library_of(array: object) -> Library | None:
    """Return the library of an array; None for NumPy and for libraries that are not in `LIBRARIES`.

    Examples
    --------
    >>> library_of(np.zeros(3)) is None
    True
    """
    if isinstance(array, Carrier):
        return array.library
    if array is None or isinstance(array, np.ndarray | np.generic | str | float):
        return None
    return next((x for x in LIBRARIES if x.has_made(array)), None)


def library_of_result(given: list[tuple[str, object]]) -> Library | None:
    """Return the library of a result: the one library of the operands, which may be combined with NumPy arrays."""
    found = [(name, library) for name, array in given if (library := library_of(array)) is not None]
    for name, library in found[1:]:
        (first, of_first) = found[0]
        if library != of_first:
            raise ArgumentError(
                f"{first} is an array of {of_first.module} and {name} one of {library.module}, so that the library of "
                f"the result is ambiguous; pass all of one library, or {name} as a NumPy array: numpy.asarray({name})"
            )
    return found[0][1] if found else None


def in_library(result: Any, library: Library | None) -> Any:
    """Convert a result to a library's arrays: an array, a `Carrier` or a tuple; return other results unchanged."""
    if isinstance(result, Carrier):
        return result.in_library(library)
    if library is None:
        return result
    if isinstance(result, np.ndarray):
        return library.write(result)
    return tuple(in_library(x, library) for x in result) if type(result) is tuple else result


def takes_tensors(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function of NumPy arrays accept arrays of `LIBRARIES` and return arrays of the same library.

    Array arguments are converted to NumPy, also within a `Carrier`; a result that is an array, a tuple of arrays or a
    `Carrier` is converted to the library of the operands. NumPy operands are passed through.

    Examples
    --------
    >>> @takes_tensors
    ... def twice(x):
    ...     return x + x
    >>> twice(np.ones(2))
    array([2., 2.])
    """
    names = tuple(signature(function).parameters)

    @wraps(function)
    def edge(*args: P.args, **kwargs: P.kwargs) -> R:
        if not any(x.module in sys.modules for x in LIBRARIES):
            return function(*args, **kwargs)
        named = list(zip(names, args, strict=False))
        library = library_of_result([*named, *kwargs.items()])
        if library is None:
            return function(*args, **kwargs)
        positional = [_read(x, name) for name, x in named]
        keywords = {name: _read(x, name) for name, x in kwargs.items()}
        try:
            result = cast(Any, function)(*positional, **keywords)
        except WmmaEmuError as error:
            error.args = tuple(library.rewrite_advice(x) if isinstance(x, str) else x for x in error.args)
            raise
        return cast(R, in_library(result, library))

    return edge


def _read(array: object, name: str) -> object:
    library = library_of(array)
    if library is None:
        return array
    return array.in_library(None) if isinstance(array, Carrier) else library.read(array, name)

# SPDX-License-Identifier: MIT
"""Arrays of other libraries, at the edge: what comes in as torch's or JAX's goes out as torch's or JAX's.

Functions behind the edge know NumPy arrays alone.
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
    """A library whose arrays are taken, and given back.

    Who has an array of it has imported its ``module``, which is never imported to find out. ``read(array, name)`` makes
    a NumPy array of one, in the dtype of NumPy or ml_dtypes that its elements have, of the same memory if that is
    possible; errors call it by the name. ``write`` makes one of a fresh NumPy array, with the same bits. ``says``
    writes what an error advises to do with a NumPy array as it is written for one of the library.
    """

    module: str
    array_type: str
    read: Callable[[Any, str], NDArray[Any]]
    write: Callable[[NDArray[Any]], Any]
    says: Callable[[str], str] = str

    def has_made(self, array: object) -> bool:
        """Whether an array is this library's."""
        array_type = getattr(sys.modules.get(self.module), self.array_type, None)
        return array_type is not None and isinstance(array, array_type)


LIBRARIES = (
    Library("torch", "Tensor", torch_tensors.read, torch_tensors.write, torch_tensors.respelled),
    Library("jax", "Array", jax_arrays.read, jax_arrays.write),
)
"""One row each. Arrays of others come in by ``__array__`` or DLPack, and NumPy arrays come out."""


class Carrier:
    """What has arrays in it, all of one library."""

    __slots__ = ()

    @property
    @abstractmethod
    def library(self) -> Library | None:
        """Whose arrays they are; None for NumPy's."""

    @abstractmethod
    def in_library(self, library: Library | None) -> Self:
        """Return the same with arrays of another library, or of NumPy."""


def library_of(array: object) -> Library | None:
    """Say whose array it is; None for NumPy's, and for all that no row of `LIBRARIES` is about.

    Examples
    --------
    >>> library_of(np.zeros(3)) is None
    True
    """
    if isinstance(array, Carrier):
        return array.library
    if isinstance(array, np.ndarray | np.generic):
        return None
    return next((x for x in LIBRARIES if x.has_made(array)), None)


def library_of_result(given: list[tuple[str, object]]) -> Library | None:
    """Say whose array the result of some operands is: theirs, of one library, beside which NumPy arrays may stand."""
    found = [(name, library) for name, array in given if (library := library_of(array)) is not None]
    for name, library in found[1:]:
        (first, of_first) = found[0]
        if library != of_first:
            raise ArgumentError(
                f"{first} is an array of {of_first.module} and {name} one of {library.module}, so that neither says "
                f"whose the result is; pass all of one library, or {name} as a NumPy array: numpy.asarray({name})"
            )
    return found[0][1] if found else None


def in_library(result: Any, library: Library | None) -> Any:
    """Bring a result of NumPy arrays to a library: an array, a `Carrier`, or a tuple of such; others stay."""
    if isinstance(result, Carrier):
        return result.in_library(library)
    if library is None:
        return result
    if isinstance(result, np.ndarray):
        return library.write(result)
    return tuple(in_library(x, library) for x in result) if type(result) is tuple else result


def takes_tensors(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function of NumPy arrays take those of `LIBRARIES`, and give its result back as one of them.

    Arrays in the arguments are read, a `Carrier` is brought to NumPy; an array, a tuple of arrays or a `Carrier` that
    comes back is brought to the library of the operands. With NumPy operands nothing is done.

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
            error.args = tuple(library.says(x) if isinstance(x, str) else x for x in error.args)
            raise
        return cast(R, in_library(result, library))

    return edge


def _read(array: object, name: str) -> object:
    library = library_of(array)
    if library is None:
        return array
    return array.in_library(None) if isinstance(array, Carrier) else library.read(array, name)

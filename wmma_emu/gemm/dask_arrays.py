# SPDX-License-Identifier: MIT
"""Products of matrices in chunks, on many machines: Dask arrays in, a lazy Dask array out."""

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.blocks import thread_count
from wmma_emu.arithmetic.engines import ENGINES
from wmma_emu.errors import FragmentMismatchError, ShapeError
from wmma_emu.formats import format_of
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.gemm.dask_dtypes import as_declared, raw_array, raw_chunks, send_by_pickled_dtype, viewed
from wmma_emu.gemm.operands import check_c, result_shape
from wmma_emu.gemm.options import Factors, ProductOptions

Multiply = Callable[[Factors, Any, ProductOptions], NDArray[Any]]

_WHOLE = -1
"""The chunk size that means a chunk as long as its axis."""

_LONGEST = 4096
"""The largest number of rows of A and columns of B in a chunk of a NumPy array.

Chunks of D stay small even for a small K.
"""


def is_dask(*arrays: object) -> bool:
    """Return whether one of the arrays is a Dask array, without importing Dask.

    Examples
    --------
    >>> is_dask(np.zeros(3), None)
    False
    """
    array_type = getattr(sys.modules.get("dask.array"), "Array", None)
    return array_type is not None and any(isinstance(x, array_type) for x in arrays)


def check_known(*arrays: object) -> None:
    """Reject Dask arrays with chunks of unknown size, which is nan in their shapes.

    The arrays are A, B, C and bias, or the first few of them, in this order, which gives the names in the message;
    other arrays pass.

    Examples
    --------
    >>> check_known(np.zeros((2, 2)), None)
    """
    for name, array in zip(("A", "B", "C", "bias"), arrays, strict=False):
        _check_known(array, name)


def _check_known(array: Any, name: str) -> None:
    if is_dask(array) and any(np.isnan(length) for length in array.shape):
        raise ShapeError(
            f"{name} has chunks of unknown size (shape {array.shape}); {name}.compute_chunk_sizes() finds them out"
        )


def gemm_dask(gemm: Multiply, factors: Factors, C: Any, options: ProductOptions) -> Any:
    """Build the graph of D = A B + C: each chunk of D is one task, which takes all of k.

    An element of D is a sum over k in one order, so k is never split between tasks, and the bits equal the whole
    product's.

    Every task calls ``gemm`` on its chunks: `wmma_emu.gemm` for NumPy arrays, a function of a module. At least one of
    the factors is a Dask array, and the bias of the options may be one; chunks along k are merged. With a beta of 0, C
    is not read: its chunks are never computed, and D does not take its shape from C. A task takes one thread unless the
    options set a number. D has chunks like the rows of A and the columns of B.

    Whatever `wmma_emu.gemm` rejects is rejected immediately, and so are chunks of unknown size; a chunk whose dtype
    differs from its array's is rejected in its task.
    """
    x, y = _wrapped(factors.a, "A", -1), _wrapped(factors.b, "B", -2)
    v = None if options.bias is None else _wrapped(options.bias, "bias", None)
    per_byte = _per_byte(x, factors.a_format), _per_byte(y, factors.b_format)
    shape = result_shape(_in_elements(x.shape, -1, per_byte[0]), _in_elements(y.shape, -2, per_byte[1]))
    factors, options = Factors(x, y, a_format=factors.a_format, b_format=factors.b_format), replace(options, bias=v)
    d, reads_c = _dry_run(gemm, factors, C, options)
    if not reads_c:
        C, options = None, replace(options, beta=None)
    z = None if C is None else _wrapped(C, "C", None)
    if z is not None:
        shape = check_c(z.shape, shape)
    dtypes = [array.dtype for array in (x, y, z, v) if array is not None]
    x, y = raw_chunks(x, "A").rechunk({x.ndim - 1: _WHOLE}), raw_chunks(y, "B").rechunk({y.ndim - 2: _WHOLE})
    axes = tuple(range(len(shape)))
    row, column = axes[-2:]
    # A and B have separate labels for k: packed, they differ in length. Leading axes broadcast from the last one.
    pairs = [
        (x, (*axes[len(axes) - x.ndim : -2], row, len(axes))),
        (y, (*axes[len(axes) - y.ndim : -2], len(axes) + 1, column)),
    ]
    if z is not None:
        z = raw_chunks(z, "C").rechunk({z.ndim - 2: x.chunks[-2], z.ndim - 1: y.chunks[-1]})
        pairs.append((z, axes[len(axes) - z.ndim :]))
    if v is not None:
        pairs.append((raw_chunks(v, "bias").rechunk({0: y.chunks[-1]}), (column,)))
    return import_module("dask.array").blockwise(
        _task, axes, *chain.from_iterable(pairs), token="gemm", dtype=d.dtype, meta=np.empty((0,) * len(axes), d.dtype),
        gemm=gemm, dtypes=dtypes, names=[dtype.name for dtype in (*dtypes, d.dtype)], has_c=z is not None,
        formats=(factors.a_format, factors.b_format), options=_options_of_task(replace(options, bias=None)),
    )  # fmt: skip


def _task(
    *chunks: Any, gemm: Multiply, dtypes: list[Any], names: list[str], has_c: bool,
    formats: tuple[str | None, str | None], options: ProductOptions,
) -> Any:  # fmt: skip
    """Compute one chunk of D.

    The names of dtypes are part of the task's key, because Dask's keys do not distinguish some dtypes.
    """
    a, b, *rest = [as_declared(_single_chunk(chunk), dtype) for chunk, dtype in zip(chunks, dtypes, strict=True)]
    c = rest.pop(0) if has_c else None
    factors = Factors(a, b, a_format=formats[0], b_format=formats[1])
    try:
        d = gemm(factors, c, replace(options, bias=rest.pop(0)) if rest else options)
    except FragmentMismatchError as error:
        # Mostly zeros that a sparse instruction requires and A lacks: `gemm` sees only this chunk.
        raise type(error)(
            f"{error} (in one chunk of A, of shape {a.shape}: its rows and matrices are counted from the chunk's first)"
        ) from None
    send_by_pickled_dtype(d.dtype)
    return d


def _single_chunk(chunk: Any) -> Any:
    """Return the chunk itself: Dask passes the only chunk along k as a list."""
    while isinstance(chunk, list):
        (chunk,) = chunk
    return chunk


def _wrapped(array: Any, name: str, k_axis: int | None) -> Any:
    """Return an operand as a Dask array; a NumPy array becomes part of the graph once, not of every task."""
    if is_dask(array):
        _check_known(array, name)
        return array
    given = as_numpy(array, name)
    from_array = import_module("dask.array").from_array
    wrapped = from_array(raw_array(given), chunks=_chunks(given, k_axis))
    return wrapped if wrapped.dtype == given.dtype else viewed(wrapped, given.dtype)


def _chunks(given: NDArray[Any], k_axis: int | None) -> tuple[Any, ...]:
    """Return chunks of Dask's default size, with all of k, and with a bounded part of D."""
    chunks: list[Any] = ["auto"] * given.ndim
    if k_axis is None or given.ndim < 2:
        return tuple(chunks)
    chunks[k_axis] = _WHOLE
    other = -3 - k_axis
    found = import_module("dask.array.core").normalize_chunks(tuple(chunks), given.shape, dtype=given.dtype)
    chunks = list(found)
    if max(chunks[other], default=0) > _LONGEST:
        chunks[other] = _LONGEST
    return tuple(chunks)


def _per_byte(array: Any, named: str | None) -> int:
    """Return how many elements an entry contains: several if the user named the format of packed bytes."""
    if named is None or array.dtype != np.uint8:
        return 1
    bits = format_of(named).bits
    return 8 // bits if bits in (1, 4) else 1


def _in_elements(shape: tuple[int, ...], k_axis: int, per_byte: int) -> tuple[int, ...]:
    if len(shape) < 2:
        return shape
    lengths = list(shape)
    lengths[k_axis] *= per_byte
    return tuple(lengths)


def _options_of_task(options: ProductOptions) -> ProductOptions:
    """Return options with one thread, because a worker runs as many tasks as it has threads."""
    return replace(options, threads=1 if options.threads is None else thread_count(options.threads))


def _dry_run(gemm: Multiply, factors: Factors, C: Any, options: ProductOptions) -> tuple[NDArray[Any], bool]:
    """Multiply no rows of zeros; return D, which has no elements, and whether C is read.

    This rejects wrong formats, options, K and bias immediately, and determines D's dtype. It uses the engine that is
    always available: workers may have libraries and GPUs that this machine lacks.
    """
    engine = "numpy" if options.engine in ENGINES else options.engine
    x, y, v = factors.a, factors.b, options.bias
    columns = y.shape[-1]
    few = factors._replace(a=_zeros((0, x.shape[-1]), x.dtype), b=_zeros((y.shape[-2], columns), y.dtype))
    bias = None if v is None else _zeros(v.shape, v.dtype)
    d = gemm(few, _sample_of_c(C, columns), replace(_options_of_task(options), engine=engine, bias=bias))
    return d, d.ndim == _AXES_OF_SAMPLE


_AXES_OF_SAMPLE = 3
"""The axes of the sample of C, one more than A and B have: D has this many axes only if C is read."""


def _sample_of_c(C: Any, columns: int) -> Any:
    if C is None:
        return None
    try:
        dtype = C.dtype if is_dask(C) else as_numpy(C, "C").dtype
    except FragmentMismatchError:
        return C  # `gemm` rejects it with the same message, if it reads it
    return _zeros((1, 0, columns), dtype)


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return zeros that take no memory."""
    return np.broadcast_to(np.zeros((), dtype), shape)

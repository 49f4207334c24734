# SPDX-License-Identifier: MIT
"""Matrices in pieces, on many machines: Dask arrays in, a Dask array out, and nothing is computed yet."""

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
"""A chunk as long as its axis."""

_LONGEST = 4096
"""Rows of A and columns of B in a chunk of a NumPy array, so that chunks of D stay small, however small K is."""


def is_dask(*arrays: object) -> bool:
    """Whether one of them is a Dask array; Dask is not imported to find out.

    Examples
    --------
    >>> is_dask(np.zeros(3), None)
    False
    """
    array_type = getattr(sys.modules.get("dask.array"), "Array", None)
    return array_type is not None and any(isinstance(x, array_type) for x in arrays)


def check_known(*arrays: object) -> None:
    """Refuse Dask arrays with chunks of unknown size, which is nan in their shapes.

    The arrays are A, B, C and bias, or the first of them, which gives the names in the message; what is no Dask array
    passes.

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
    """Plan D = A B + C in pieces: each chunk of D is one task, which takes all of k.

    An element of D is a sum over k in one order, so k is never split between tasks, and the bits are those of the whole
    product.

    ``gemm`` is what every task calls on its chunks, `wmma_emu.gemm` of NumPy arrays; a function of a module. At least
    one of the factors is a Dask array, and the bias of the options may be one; chunks along k are put together. With a
    beta of 0 C is not read: its chunks are never computed, and D takes no shape from it. A task takes one thread if the
    options do not say how many. D is in chunks like the rows of A and the columns of B.

    What `wmma_emu.gemm` refuses is refused at once, and so are chunks of unknown size; in a task, a chunk whose dtype
    is another than its array's.
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
    # A and B have labels of k of their own: packed, they differ in length. Leading axes broadcast from the last on.
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
    """One chunk of D. The names of dtypes make the task's own name, in which Dask takes some dtypes for others."""
    a, b, *rest = [as_declared(_single_chunk(chunk), dtype) for chunk, dtype in zip(chunks, dtypes, strict=True)]
    c = rest.pop(0) if has_c else None
    factors = Factors(a, b, a_format=formats[0], b_format=formats[1])
    try:
        d = gemm(factors, c, replace(options, bias=rest.pop(0)) if rest else options)
    except FragmentMismatchError as error:
        # Zeros that a sparse instruction wants and A lacks, above all: `gemm` knows nothing of other chunks.
        raise type(error)(
            f"{error} (in one chunk of A, of shape {a.shape}: its rows and matrices are counted from the chunk's first)"
        ) from None
    send_by_pickled_dtype(d.dtype)
    return d


def _single_chunk(chunk: Any) -> Any:
    """The chunk itself: those along k, of which there is one, come as a list."""
    while isinstance(chunk, list):
        (chunk,) = chunk
    return chunk


def _wrapped(array: Any, name: str, k_axis: int | None) -> Any:
    """An operand as a Dask array; one of NumPy becomes a part of the graph once, not a part of every task."""
    if is_dask(array):
        _check_known(array, name)
        return array
    given = as_numpy(array, name)
    from_array = import_module("dask.array").from_array
    wrapped = from_array(raw_array(given), chunks=_chunks(given, k_axis))
    return wrapped if wrapped.dtype == given.dtype else viewed(wrapped, given.dtype)


def _chunks(given: NDArray[Any], k_axis: int | None) -> tuple[Any, ...]:
    """Chunks of as many bytes as Dask is set to, with all of k, and of a bounded part of D."""
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
    """How many elements an entry holds: several where the user named the format of packed bytes."""
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
    """As many tasks run on a worker as it has threads, so that each takes one."""
    return replace(options, threads=1 if options.threads is None else thread_count(options.threads))


def _dry_run(gemm: Multiply, factors: Factors, C: Any, options: ProductOptions) -> tuple[NDArray[Any], bool]:
    """No row of D, of zeros, and whether C is read.

    So formats, options, K and bias are refused here and now, and D's dtype is known. On the engine that is always
    there: workers may have libraries and GPUs that this machine lacks.
    """
    engine = "numpy" if options.engine in ENGINES else options.engine
    x, y, v = factors.a, factors.b, options.bias
    columns = y.shape[-1]
    few = factors._replace(a=_zeros((0, x.shape[-1]), x.dtype), b=_zeros((y.shape[-2], columns), y.dtype))
    bias = None if v is None else _zeros(v.shape, v.dtype)
    d = gemm(few, _sample_of_c(C, columns), replace(_options_of_task(options), engine=engine, bias=bias))
    return d, d.ndim == _AXES_OF_SAMPLE


_AXES_OF_SAMPLE = 3
"""One more than A and B have here: D has it too where C is read, and has not where beta is 0."""


def _sample_of_c(C: Any, columns: int) -> Any:
    if C is None:
        return None
    try:
        dtype = C.dtype if is_dask(C) else as_numpy(C, "C").dtype
    except FragmentMismatchError:
        return C  # which `gemm` refuses in the same words, if it reads it
    return _zeros((1, 0, columns), dtype)


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Zeros that take no memory."""
    return np.broadcast_to(np.zeros((), dtype), shape)

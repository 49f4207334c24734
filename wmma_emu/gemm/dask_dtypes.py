# SPDX-License-Identifier: MIT
"""The transport of chunks of ml_dtypes' formats between Dask's workers: as unsigned integers.

`distributed` names a dtype by its string or by pickle. The string of float8_e5m2 is ``<f1``, which NumPy cannot read
back: arrays of it never arrive, and a process that waits for them waits indefinitely (distributed 2026.8; other formats
arrive).

Dask names tasks by their arguments, and dtypes by the same strings, which are ``<V1`` for both int4 and uint4: two
tasks of one name are computed once. Therefore the tasks of this package take the names of dtypes in addition to the
dtypes.
"""

import pickle
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, shorten


def raw_array(array: NDArray[Any]) -> NDArray[Any]:
    """View an array of an ml_dtypes dtype as unsigned integers; return other arrays unchanged.

    Examples
    --------
    >>> import ml_dtypes
    >>> raw_array(np.array([1.5], ml_dtypes.float8_e5m2)), raw_array(np.array([1.5]))
    (array([62], dtype=uint8), array([1.5]))
    """
    raw = _raw_dtype(array.dtype)
    return array if raw == array.dtype else np.ascontiguousarray(array).view(raw)


def raw_chunks(array: Any, name: str) -> Any:
    """View a Dask array of an ml_dtypes dtype as unsigned integers, so that later steps move those.

    Every chunk is checked to have the dtype that the array was declared with, before it is joined or viewed: bits of
    another dtype would be read as wrong numbers. Chunks that are NumPy arrays in the graph are checked and viewed
    immediately, because they are sent first.

    Shape and chunks stay the same. A chunk of another dtype is rejected immediately if it is in the graph, and
    otherwise in its task.
    """
    raw = _raw_dtype(array.dtype)
    layer = dict(array.dask.layers.get(array.name, {}))
    chunks: dict[Any, Any] = {key: getattr(task, "value", task) for key, task in layer.items()}
    if chunks and all(type(chunk) is np.ndarray for chunk in chunks.values()):
        checked = {key: _checked(chunk, array.dtype, name) for key, chunk in chunks.items()}
        if raw == array.dtype:
            return array
        new = f"{array.name}-{array.dtype.name}-bits"
        of_bits = {(new, *key[1:]): chunk for key, chunk in checked.items()}
        return import_module("dask.array").Array(of_bits, new, array.chunks, dtype=raw)
    return _mapped(_checked, array, raw, array.dtype, name, array.dtype.name)


def viewed(array: Any, dtype: np.dtype[Any]) -> Any:
    """View a Dask array of unsigned integers in an ml_dtypes dtype."""
    return _mapped(_viewed, array, dtype, dtype, dtype.name)


def _mapped(step: Callable[..., Any], array: Any, dtype: np.dtype[Any], *arguments: Any) -> Any:
    meta = np.empty((0,) * array.ndim, dtype)
    return array.map_blocks(step, *arguments, token="gemm-operand", dtype=dtype, meta=meta)


def _viewed(chunk: Any, dtype: np.dtype[Any], dtype_name: str) -> Any:
    return chunk.view(dtype)


def as_declared(chunk: Any, dtype: np.dtype[Any]) -> Any:
    """View a chunk of `raw_chunks` in the dtype that its array was declared with."""
    return chunk.view(dtype) if dtype != _raw_dtype(dtype) else chunk


def _checked(chunk: Any, declared: np.dtype[Any], name: str, dtype_name: str = "") -> Any:
    """Return a chunk as unsigned integers if its dtype is ml_dtypes', after checking the declared dtype."""
    found = getattr(chunk, "dtype", None)
    if not isinstance(found, np.dtype):
        raise ArgumentError(
            f"{name} has a chunk that is {shorten(type(chunk).__name__, str)}, whose dtype is not a NumPy dtype; "
            f"convert its chunks to NumPy arrays, {name}.map_blocks(numpy.asarray)"
        )
    if _native(found) != _native(declared):
        raise ArgumentError(
            f"{name} was declared as an array of {shorten(declared, str)}, and a chunk of it is {shorten(found, str)}; "
            f"declare it where it is made (dtype= and meta=), or afterwards, {name}.astype({shorten(found, str)})"
        )
    return raw_array(chunk)


def _native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in native byte order, which changes no value."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def send_by_pickled_dtype(dtype: np.dtype[Any]) -> None:
    """Make `distributed` send arrays of this dtype with a pickled dtype, so that they arrive."""
    protocol = sys.modules.get("distributed.protocol.numpy")
    if protocol is None or _is_read_back(dtype) or dtype in _SENT:
        return
    _SENT.add(dtype)
    if len(_SENT) > 1:
        return

    def serialize(x: NDArray[Any], context: Any = None) -> Any:
        header, frames = protocol.serialize_numpy_ndarray(raw_array(x) if x.dtype in _SENT else x, context=context)
        if x.dtype in _SENT:
            header["dtype"] = (1, pickle.dumps(x.dtype))
        return header, frames

    import_module("distributed.protocol.serialize").dask_serialize.register(np.ndarray, serialize)


_SENT: set[np.dtype[Any]] = set()


def _is_read_back(dtype: np.dtype[Any]) -> bool:
    """Return whether NumPy can read back the dtype that `distributed` sends: void kinds by pickle, others by string."""
    try:
        return dtype.kind == "V" or np.dtype(dtype.str) == dtype
    except TypeError:
        return False


def _raw_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    of_a_library = dtype.isbuiltin == 2
    return np.dtype(f"u{dtype.itemsize}") if of_a_library else dtype

# SPDX-License-Identifier: MIT
"""How chunks of ml_dtypes' formats travel between Dask's workers: as the unsigned integers that they are.

`distributed` names a dtype by its string or by pickle. float8_e5m2 calls itself ``<f1``, which NumPy cannot read back:
arrays of it never arrive, and whoever waits for them waits for ever (distributed 2026.8; other formats arrive).
"""

import pickle
import sys
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["raw_array", "raw_chunks", "send_by_pickled_dtype"]


def raw_array(array: NDArray[Any]) -> NDArray[Any]:
    """View an array of ml_dtypes' as unsigned integers; others are returned as they are.

    Examples
    --------
    >>> import ml_dtypes
    >>> raw_array(np.array([1.5], ml_dtypes.float8_e5m2)), raw_array(np.array([1.5]))
    (array([62], dtype=uint8), array([1.5]))
    """
    raw = _raw_dtype(array.dtype)
    return array if raw == array.dtype else np.ascontiguousarray(array).view(raw)


def raw_chunks(array: Any) -> Any:
    """View a Dask array of ml_dtypes' as unsigned integers, so that what follows moves those.

    Chunks that are in the graph as they are, of NumPy arrays, are viewed there: they travel first of all.
    """
    raw = _raw_dtype(array.dtype)
    if raw == array.dtype:
        return array
    layer = dict(array.dask.layers.get(array.name, {}))
    chunks: dict[Any, Any] = {key: getattr(task, "value", task) for key, task in layer.items()}
    if chunks and all(type(chunk) is np.ndarray for chunk in chunks.values()):
        name = f"{array.name}-bits"
        viewed = {(name, *key[1:]): raw_array(chunk) for key, chunk in chunks.items()}
        return import_module("dask.array").Array(viewed, name, array.chunks, dtype=raw)
    return array.view(raw)


def send_by_pickled_dtype(dtype: np.dtype[Any]) -> None:
    """Have `distributed` send arrays of this dtype from this process in a way in which they arrive."""
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
    """Whether `distributed` and NumPy understand each other: void kinds go by pickle, others by their string."""
    try:
        return dtype.kind == "V" or np.dtype(dtype.str) == dtype
    except TypeError:
        return False


def _raw_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    of_a_library = dtype.isbuiltin == 2
    return np.dtype(f"u{dtype.itemsize}") if of_a_library else dtype

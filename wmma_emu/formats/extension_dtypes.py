# SPDX-License-Identifier: MIT
"""The dtype of each format, and the dtypes that NumPy lacks: the only module that imports ml_dtypes."""

from typing import Any

import ml_dtypes
import numpy as np

DTYPES: dict[str, np.dtype[Any]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "tf32": np.dtype(np.float32),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "e3m2": np.dtype(ml_dtypes.float6_e3m2fn),
    "e2m3": np.dtype(ml_dtypes.float6_e2m3fn),
    "e2m1": np.dtype(ml_dtypes.float4_e2m1fn),
    "ue8m0": np.dtype(ml_dtypes.float8_e8m0fnu),
    "ue4m3": np.dtype(np.uint8),
    "s32": np.dtype(np.int32),
    "s8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "s4": np.dtype(ml_dtypes.int4),
    "u4": np.dtype(ml_dtypes.uint4),
    "b1": np.dtype(np.bool_),
}
"""The dtype of arrays of each format: tf32 is held in float32, ue4m3 as raw uint8."""

UINT4 = np.dtype(ml_dtypes.uint4)


def ml_dtype_of(name: str) -> np.dtype[Any] | None:
    """Return the dtype of ml_dtypes with a name, even if no instruction uses its format; None if it does not exist.

    Examples
    --------
    >>> ml_dtype_of("float8_e5m2fnuz"), ml_dtype_of("float16"), ml_dtype_of("finfo")
    (dtype(float8_e5m2fnuz), None, None)
    """
    given = getattr(ml_dtypes, name, None)
    if not isinstance(given, type):
        return None
    try:
        dtype = np.dtype(given)
    except TypeError:
        return None
    return None if dtype.kind == "O" else dtype  # finfo and iinfo


def ml_dtype_names() -> list[str]:
    """Return the name of every dtype of the installed ml_dtypes.

    Examples
    --------
    >>> "bfloat16" in ml_dtype_names()
    True
    """
    return [name for name in dir(ml_dtypes) if ml_dtype_of(name) is not None]


def fills_its_bytes(dtype: np.dtype[Any]) -> bool:
    """Return whether an element of an ml_dtypes dtype uses all bits of its bytes.

    Examples
    --------
    >>> [fills_its_bytes(ml_dtype_of(x)) for x in ("bfloat16", "float8_e5m2", "float6_e3m2fn", "int4")]
    [True, True, False, False]
    """
    info = ml_dtypes.iinfo if "int" in dtype.name else ml_dtypes.finfo
    return bool(info(dtype).bits == 8 * dtype.itemsize)

# SPDX-License-Identifier: MIT
"""What counts as an array: NumPy's own, and those of other libraries that NumPy can read; and what as an integer."""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ShapeError, shorten
from wmma_emu.formats.integers import integer_of
from wmma_emu.formats.room import require_room

__all__ = ["MAX_AXES", "as_numpy", "integer_of"]

MAX_AXES = 32
"""More axes than these NumPy does not broadcast, and some of its functions do not take."""

_TORCH_RAW = {
    "torch.bfloat16": ("bf16", "uint16"),
    "torch.float8_e4m3fn": ("e4m3", "uint8"),
    "torch.float8_e5m2": ("e5m2", "uint8"),
    "torch.float8_e8m0fnu": ("ue8m0", "uint8"),
}
"""Element types that torch has and its NumPy bridge refuses: the format, and the type to view them in."""


def as_numpy(array: object, name: str = "A") -> tuple[NDArray[Any], str | None]:
    """Read any array as a NumPy array in native byte order, without changing it.

    Parameters
    ----------
    array : object
        A NumPy array, or anything with ``__array__`` or DLPack whose data lies in the memory of the host.
    name : str
        What error messages call it.

    Returns
    -------
    array : numpy.ndarray
        Possibly a view of the caller's data.
    format_name : str or None
        The format of a torch tensor that had to come as raw bits; None where the dtype says it.

    Raises
    ------
    FragmentMismatchError
        For what is no array: lists and Python numbers, which have no dtype; masked arrays; None; text; and for
        more than 32 axes.

    Examples
    --------
    >>> as_numpy(np.array([1, 256], ">u2"))[0].view(np.uint8)
    array([1, 0, 0, 1], dtype=uint8)
    """
    if isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(f"{name} is a masked array; pass {name}.filled(value)")
    if isinstance(array, np.ndarray | np.generic):
        given, format_name = np.asarray(array), None
    else:
        given, format_name = _foreign(array, name)
    if given.ndim > MAX_AXES:
        raise ShapeError(
            f"{name} has {given.ndim} axes; at most {MAX_AXES} are taken: reshape the leading ones into one"
        )
    if not given.dtype.isnative:
        require_room(given.shape, given.dtype.itemsize, name)
        given = given.astype(given.dtype.newbyteorder("="))
    return given, format_name


def _foreign(array: Any, name: str) -> tuple[NDArray[Any], str | None]:
    kind = shorten(type(array).__name__, str)
    library = shorten(type(array).__module__, str).partition(".")[0]
    if isinstance(array, list | tuple | int | float | complex):
        raise ArgumentError(
            f"{name} is a Python {kind}, which has no dtype; "
            f"pass numpy.array({name}, dtype=...) with the dtype that is meant"
        )
    try:
        raw = _TORCH_RAW.get(str(getattr(array, "dtype", "")))
        if raw is not None and library in sys.modules:
            format_name, view = raw
            return np.asarray(array.view(getattr(sys.modules[library], view))), format_name
        if hasattr(array, "__array__"):
            return np.asarray(array), None
        if hasattr(array, "__dlpack__"):
            return np.from_dlpack(array), None
    except Exception as error:
        raise ArgumentError(
            f"{name} is a {library} {kind} that NumPy cannot read: {shorten(error, str)}. {_fix(array, name)}"
        ) from error
    raise ArgumentError(
        f"{name} is {shorten(array)} ({kind}), which is no array; pass a NumPy array, or one with __array__ or DLPack"
    )


def _fix(array: object, name: str) -> str:
    if hasattr(type(array), "get"):
        return f"Bring it to the host: {name}.get()"
    if hasattr(type(array), "cpu"):
        return f"Bring it to the host: {name}.detach().cpu()"
    return "Pass a NumPy array of its values, or of its bits as unsigned integers"

# SPDX-License-Identifier: MIT
"""The element types of tensor maps, with their numbers in the 128 bytes, in the driver and in PTX."""

from typing import NamedTuple

import numpy as np

from wmma_emu.errors import OptionError, shorten
from wmma_emu.suggestions import did_you_mean

_OF_NUMPY = {
    "uint16": "u16", "int16": "u16", "uint32": "u32", "int32": "s32", "uint64": "u64", "int64": "s64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
}  # fmt: skip
"""The types of NumPy and ml_dtypes of more than 8 bits."""


class ElementType(NamedTuple):
    """An element type: its size in bytes, and its numbers.

    ``code`` and ``is_tf32`` are the fields of the 128 bytes, ``driver`` the number of ``CUtensorMapDataType``, and
    ``replaced`` that of ``tensormap.replace.tile.elemtype``.
    """

    name: str
    bytes: int
    code: int
    is_tf32: bool
    driver: int
    replaced: int

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type, whose fill may be NaN."""
        return self.name[0] not in "us"


ELEMENT_TYPES = (
    ElementType("u8", 1, 0, False, 0, 0),
    ElementType("u16", 2, 1, False, 1, 1),
    ElementType("u32", 4, 2, False, 2, 2),
    ElementType("s32", 4, 3, False, 3, 3),
    ElementType("u64", 8, 4, False, 4, 4),
    ElementType("s64", 8, 5, False, 5, 5),
    ElementType("f16", 2, 6, False, 6, 6),
    ElementType("f32", 4, 7, False, 7, 7),
    ElementType("f32.ftz", 4, 8, False, 10, 8),
    ElementType("f64", 8, 9, False, 8, 9),
    ElementType("bf16", 2, 10, False, 9, 10),
    ElementType("tf32", 4, 7, True, 11, 11),
    ElementType("tf32.ftz", 4, 8, True, 12, 12),
)
"""The types of sm_90. Those of 4 and 6 bits are for other chips: the driver refuses them for an H200."""

_BY_NAME = {x.name: x for x in ELEMENT_TYPES}


def element_type_of(given: object) -> ElementType:
    """Return an element type, given its name or a NumPy type; numbers of 8 bits travel as ``u8``.

    Examples
    --------
    >>> element_type_of("tf32").driver, element_type_of(np.dtype(np.float16)).name, element_type_of(np.int8).name
    (11, 'f16', 'u8')
    """
    if isinstance(given, str) and given in _BY_NAME:
        return _BY_NAME[given]
    name = _name_of(given)
    if name not in _BY_NAME:
        raise OptionError(
            f"a tensor map has no elements of {shorten(given)}; its types are {', '.join(_BY_NAME)}"
            f"{did_you_mean(str(given), list(_BY_NAME), '')}"
        )
    return _BY_NAME[name]


def _name_of(given: object) -> str | None:
    try:
        dtype = np.dtype(given)  # type: ignore[call-overload]
    except TypeError:
        return None
    if dtype.itemsize == 1 and dtype.kind != "b":
        return "u8"
    return _OF_NUMPY.get(dtype.name)

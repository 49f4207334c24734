# SPDX-License-Identifier: MIT
"""The C++ interface of `mma.h` in Python: fragments, loads, stores and products of a warp.

>>> import numpy as np
>>> from wmma_emu import wmma
>>> a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
>>> b = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.col_major)
>>> c = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
>>> A, B, D = np.ones(256, np.float16), np.ones(256, np.float16), np.zeros(256, np.float32)
>>> wmma.load_matrix_sync(a, A, 16)
>>> wmma.load_matrix_sync(b, B, 16)
>>> wmma.fill_fragment(c, 0.5)
>>> wmma.mma_sync(c, a, b, c)
>>> wmma.store_matrix_sync(D, c, 16, wmma.mem_row_major)
>>> D[0]
np.float32(16.5)
"""

from typing import TYPE_CHECKING, NoReturn

from wmma_emu.wmma import experimental, precision
from wmma_emu.wmma.convert import float_to_tf32
from wmma_emu.wmma.fill import fill_fragment
from wmma_emu.wmma.fragments import Fragment, fragment
from wmma_emu.wmma.load_store import load_matrix_sync, store_matrix_sync
from wmma_emu.wmma.names import ElementType, FragmentLayout, FragmentUse, MemoryOrder
from wmma_emu.wmma.product import bmma_sync, mma_sync

__all__ = [
    "Fragment",
    "accumulator",
    "bfloat16",
    "bmma_sync",
    "col_major",
    "double",
    "experimental",
    "fill_fragment",
    "float32",
    "float_to_tf32",
    "fragment",
    "half",
    "int8",
    "int32",
    "load_matrix_sync",
    "matrix_a",
    "matrix_b",
    "mem_col_major",
    "mem_row_major",
    "mma_sync",
    "precision",
    "row_major",
    "store_matrix_sync",
    "uint8",
]

matrix_a = FragmentUse.matrix_a
matrix_b = FragmentUse.matrix_b
accumulator = FragmentUse.accumulator
row_major = FragmentLayout.row_major
col_major = FragmentLayout.col_major
mem_row_major = MemoryOrder.mem_row_major
mem_col_major = MemoryOrder.mem_col_major
half = ElementType.half
bfloat16 = ElementType.bfloat16
float32 = ElementType.float32
double = ElementType.double
int8 = ElementType.int8
uint8 = ElementType.uint8
int32 = ElementType.int32


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # type checkers know the names, and would take any other for one too

    def __getattr__(name: str) -> NoReturn:
        """Raise AttributeError; for names from C++, name the equivalent."""
        import sys

        from wmma_emu.suggestions import missing_attribute
        from wmma_emu.wmma.spellings import advice

        known = advice(name)
        if known is not None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {known}")
        raise missing_attribute(sys.modules[__name__], name)

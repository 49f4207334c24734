# SPDX-License-Identifier: MIT
"""Widths of PTX types, and the array dtypes that hold them."""

import re
from functools import lru_cache

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError

_TYPE = re.compile(r"[a-z]+?(\d+)(?:x(\d))?\Z")
_DTYPES = {1: np.bool_, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


@lru_cache(1 << 10)
def bits_of_type(name: str) -> int:
    """Return the width of a PTX type in bits: 32 of "f16x2"; 1 of "pred".

    Examples
    --------
    >>> bits_of_type("u32"), bits_of_type("bf16x2"), bits_of_type("pred"), bits_of_type("tf32")
    (32, 32, 1, 32)
    """
    if name == "pred":
        return 1
    if name == "tf32":  # 19 bits, held in 32
        return 32
    found = _TYPE.match(name)
    if found is None:
        raise UnsupportedInstructionError(f"{name!r} is not a PTX type with a number of bits")
    return int(found[1]) * int(found[2] or 1)


def dtype_of_bits(bits: int) -> "np.dtype[np.generic]":
    """Return the dtype of a register: bool for predicates, unsigned integers for all others."""
    if bits not in _DTYPES:
        raise UnsupportedInstructionError(
            f"registers of {bits} bits are not modelled; legal widths are 8, 16, 32 and 64 bits, and .pred"
        )
    return np.dtype(_DTYPES[bits])

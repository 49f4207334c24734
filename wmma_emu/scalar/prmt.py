# SPDX-License-Identifier: MIT
"""Permutation of bytes: four of the eight bytes of two words, selected by selectors or by a mode."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, OptionError, ShapeError, shorten
from wmma_emu.formats.arrays import is_masked
from wmma_emu.scalar.traceable import looked_up

_Words = int | np.uint32 | np.int32 | NDArray[np.uint32] | NDArray[np.int32]

PRMT_MODES: dict[str, tuple[tuple[int, int, int, int], ...]] = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}
"""The selected bytes for each mode and each value of the selector's lowest two bits, lowest result byte first.
Bytes 0-3 belong to a, 4-7 to b (PTX ISA 9.0, prmt: documented)."""

_SIGN = 8
"""The bit of a selector that replicates the byte's sign eight times instead of copying the byte."""


def prmt(a: _Words, b: _Words, c: _Words, mode: str = "") -> Any:
    """Select four bytes of two words, as PTX's ``prmt`` does.

    Parameters
    ----------
    a, b : uint32 or int32 arrays, or ints
        Bytes 0 to 3 and 4 to 7. Arrays broadcast. Python integers count as 32 bits.
    c : uint32 or int32 array, or int
        Without a mode, bits 4i to 4i + 2 select the source of byte i, and bit 4i + 3 replicates its sign bit
        instead; upper bits are ignored. With a mode, the lowest two bits select the permutation.
    mode : {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}

    Returns
    -------
    array of a's dtype (uint32 if a is an integer and another operand an array), or int
        A non-negative int if all three are Python integers.

    Raises
    ------
    FragmentMismatchError
        If a dtype is not legal, an integer exceeds 32 bits, or shapes do not broadcast.
    UnsupportedInstructionError
        If the mode does not exist.

    Notes
    -----
    PTX ISA 9.0, prmt.b32.

    Examples
    --------
    >>> hex(prmt(0x33221100, 0x77665544, 0x5410)), hex(prmt(0x80, 0, 0x0008)), hex(prmt(0x33221100, 0, 2, "rc8"))
    ('0x55441100', '0x808080ff', '0x22222222')
    """
    if not isinstance(mode, str) or mode not in ("", *PRMT_MODES):
        raise OptionError(f"there is no mode {shorten(mode)} of prmt; the modes are {', '.join(PRMT_MODES)}, or none")
    words = [_word(x, name) for name, x in zip("abc", (a, b, c), strict=True)]
    try:
        low, high, chosen = np.broadcast_arrays(*words)
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in zip("abc", words, strict=True))
        raise ShapeError(f"the shapes of prmt's operands do not broadcast: {shapes}") from None
    word = permuted(low, high, chosen, mode)
    if all(isinstance(x, int) for x in (a, b, c)):
        return int(word)
    return (word if isinstance(a, int) else word.view(a.dtype))[()]


def permuted(low: NDArray[np.uint32], high: NDArray[np.uint32], chosen: NDArray[np.uint32], mode: str) -> Any:
    """Select four bytes of each pair of words; the arrays of words and selectors broadcast."""
    both = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
    result: Any = np.uint64(0)
    for place in range(4):
        selector = _selector(chosen.astype(np.uint64), mode, place)
        byte = both >> ((selector & np.uint64(7)) * np.uint64(8)) & np.uint64(0xFF)
        replicated = (byte >> np.uint64(7)) * np.uint64(0xFF)
        byte = np.where(selector & np.uint64(_SIGN), replicated, byte)
        result = result | byte << np.uint64(8 * place)
    return result.astype(np.uint32)


def _selector(chosen: NDArray[np.uint64], mode: str, place: int) -> NDArray[np.uint64]:
    """Return the selector of a result byte; bit 3 is set to replicate its sign."""
    if not mode:
        return chosen >> np.uint64(4 * place) & np.uint64(15)
    bytes_of_place = np.array([row[place] for row in PRMT_MODES[mode]], np.uint64)
    found: NDArray[np.uint64] = looked_up(bytes_of_place, (chosen & np.uint64(3)).astype(np.intp))
    return found


def _word(value: object, name: str) -> NDArray[np.uint32]:
    """Read 32 bits of each lane."""
    if isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**32:
        return np.array(value & 0xFFFF_FFFF, np.uint32)
    if (
        isinstance(value, np.ndarray | np.generic)
        and not is_masked(value)
        and value.dtype in (np.dtype(np.uint32), np.dtype(np.int32))
        and value.dtype.isnative
    ):
        return np.asarray(value).view(np.uint32)
    given = shorten(value.dtype, str) if isinstance(value, np.ndarray | np.generic) else shorten(value)
    raise ArgumentError(
        f"{name} of prmt is a word of 32 bits, an integer or an array of uint32 or int32, not {given}; "
        "reinterpret the bits with .view(numpy.uint32)"
    )

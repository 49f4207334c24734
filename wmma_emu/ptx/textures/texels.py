# SPDX-License-Identifier: MIT
"""The texels of a texture or a surface, and the byte of its array at which each begins."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, ShapeError, shorten
from wmma_emu.formats.arrays import integer_of, is_masked

Indices = NDArray[np.int64]

_DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32")
"""The elements of CUDA arrays (CUDA Driver API 13.0, CUarray_format, without those of graphics)."""

_CHANNELS = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class Texels:
    """An array as texels: ``channels`` elements each, in up to three axes, and in layers if ``layers`` is a number.

    ``extents`` are the sizes of x, y and z in texels, without the layers.
    """

    array: NDArray[Any]
    extents: tuple[int, ...]
    channels: int
    layers: int | None

    @property
    def kind(self) -> str:
        """The kind of an element: "u", "i" or "f"."""
        return self.array.dtype.kind

    @property
    def element_bytes(self) -> int:
        """The bytes of a channel."""
        return self.array.dtype.itemsize

    @property
    def texel_bytes(self) -> int:
        """The bytes of a texel."""
        return self.element_bytes * self.channels

    @property
    def row_bytes(self) -> int:
        """The bytes of a row, the texels of all x."""
        return self.texel_bytes * self.extents[0]

    @property
    def shown(self) -> str:
        """The texels as text, for messages."""
        size = " x ".join(map(str, self.extents))
        layers = "" if self.layers is None else f", {self.layers} layers"
        return f"{size} texels of {self.channels} {self.array.dtype}{layers}"

    def rows(self, others: tuple[Indices, ...], layer: Indices | None) -> Indices:
        """Return the position of the first byte of a row, by its indices along y and z, and its layer.

        Examples
        --------
        >>> texels = texels_of(np.zeros((2, 3, 4), np.uint16), None, False, "a texture")
        >>> texels.rows((np.array([1]), np.array([1])), None)
        array([32])
        """
        row: Any = 0 if layer is None else layer
        for size, index in zip(reversed(self.extents[1:]), reversed(others), strict=True):
            row = row * size + index
        return np.asarray(row * self.row_bytes, np.int64)


def texels_of(array: object, channels: int | None, layers: bool, what: str) -> Texels:
    """Return an array as texels; ``what`` is "a texture" or "a surface"."""
    if not isinstance(array, np.ndarray) or is_masked(array):
        raise ArgumentError(f"{what} needs a NumPy array, not {shorten(array)}")
    if not isinstance(layers, bool):
        raise ArgumentError(f"layers={shorten(layers)} is neither True nor False")
    name = array.dtype.name
    if name not in _DTYPES or not array.dtype.isnative:
        raise ArgumentError(
            f"{what} has elements of {', '.join(_DTYPES)}, not {shorten(array.dtype, str)}; as in CUDA, wider elements "
            "are two channels: x.view(np.uint32) with channels=2"
        )
    if channels is not None and integer_of(channels) not in _CHANNELS:
        raise ArgumentValueError(f"channels={shorten(channels)} is not 1, 2 or 4, the channels of a texel")
    if channels is not None and array.shape[-1:] != (channels,):
        raise ShapeError(
            f"channels={channels} is the length of the last axis, that of the channels, but the array has shape "
            f"{array.shape}; without channels= each element is a texel"
        )
    shape = array.shape if channels is None else array.shape[:-1]
    count = None
    if layers:
        count, shape = (shape[0] if shape else 0), shape[1:]
    most = 2 if layers else 3
    if not 1 <= len(shape) <= most or not prod(shape) or count == 0:
        axes = f"1 to {most} axes{' after that of the layers' if layers else ''}"
        raise ShapeError(f"{what} has {axes}, none of length 0; the array has shape {array.shape}")
    if not array.flags.c_contiguous:
        raise ArgumentValueError(
            f"{what} needs a contiguous array; this one has strides {array.strides}: pass np.ascontiguousarray(x)"
        )
    if not array.flags.aligned:
        raise ArgumentValueError(f"{what} needs an aligned array; this one begins within an element: pass x.copy()")
    return Texels(array, shape[::-1], channels or 1, count)

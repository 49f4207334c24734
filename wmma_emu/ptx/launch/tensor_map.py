# SPDX-License-Identifier: MIT
"""Tensor maps as arguments: 128 bytes with the address of a NumPy array in a launch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, OptionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.ptx.launch.memory_of_arrays import Raw, raw
from wmma_emu.ptx.launch.structs import Struct
from wmma_emu.ptx.tensor_maps.element_types import element_type_of
from wmma_emu.ptx.tensor_maps.encoding import (
    FILLS,
    INTERLEAVES,
    PROMOTIONS,
    SWIZZLES,
    TensorMapFields,
    Window,
)
from wmma_emu.ptx.tensor_maps.rules import require_legal
from wmma_emu.suggestions import did_you_mean

_ALIGNMENT = 64


class TensorMap(Struct):
    """A tensor map (``CUtensorMap``) of an array, which a kernel takes by value or within a struct.

    Each launch replaces the address in its bytes by the address of the array.

    Parameters
    ----------
    given : bytes
        The 128 bytes, which may be made elsewhere: the address in them is ignored.
    array : array or `raw` array
        The array at whose first element the tensor starts.

    Raises
    ------
    ArgumentError, ArgumentValueError
        If there are not 128 bytes, or they are not a legal map of sm_90.

    Examples
    --------
    >>> x = np.zeros((16, 128), np.float16)
    >>> made_elsewhere = tensor_map(x, (8, 64)).pack(lambda array: 0x7FA3B2000000)
    >>> TensorMap(made_elsewhere, x)
    TensorMap(f16, dims=(128, 16), box=(64, 8))
    """

    def __init__(self, given: bytes, array: Any) -> None:
        if not isinstance(given, bytes | bytearray | memoryview):
            raise ArgumentError(f"a tensor map consists of 128 bytes, not of {shorten(given)}; bytes.fromhex(text)")
        self.map = TensorMapFields.decode(bytes(given))
        require_legal(self.map.at(0))
        is_view = isinstance(array, np.ndarray) and not array.flags.c_contiguous
        super().__init__(bytes(given), pointers={0: raw(array) if is_view else array})
        self._pointers = {"the tensor": self._pointers["offset 0"]}

    def __repr__(self) -> str:
        return f"TensorMap({self.map.element.name}, dims={self.map.dims}, box={self.map.box or self.map.window})"

    @property
    def alignment(self) -> int:
        """The alignment in bytes."""
        return _ALIGNMENT

    @property
    def tensor(self) -> Raw:
        """The array, as bytes in memory."""
        (array,) = (x for _, x in self.pointed if isinstance(x, np.ndarray | Raw))
        return raw(array)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Im2col:
    """The window of an im2col map, in the order of the array's spatial axes: (depth,) (height,) width.

    Parameters
    ----------
    lower, upper : tuple of int
        The offsets of the window's corners from the tensor's; both (-1, -1) for a filter of 3 by 3 with padding 1.
    channels, pixels : int
        The channels and pixels that a copy moves.

    Examples
    --------
    >>> images = np.zeros((2, 14, 14, 64), np.float16)
    >>> tensor_map(images, im2col=Im2col((-1, -1), (-1, -1), channels=64, pixels=32)).map.encode()[56:60].hex()
    'ffffffff'
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int


def tensor_map(
    array: NDArray[Any], box: Sequence[int] | None = None, *, element_strides: Sequence[int] | None = None,
    swizzle: str = "none", interleave: str = "none", fill: str = "zero", promotion: str = "none",
    im2col: Im2col | None = None, dtype: object = None,
) -> TensorMap:  # fmt: skip
    """Make a tensor map of an array, as ``cuTensorMapEncodeTiled`` and ``cuTensorMapEncodeIm2col`` do.

    Axes are in the order of the array, whose last axis is contiguous; the driver counts them from the other end.

    Parameters
    ----------
    array : array of 1 to 5 axes
        The tensor. The strides of all axes but the last are multiples of 16 bytes.
    box : sequence of int
        The number of elements of each axis that a copy moves, 1 to 256; None with ``im2col``.
    element_strides : sequence of int, optional
        Of each axis, the distance of the elements that are copied, 1 to 8; by default 1.
    swizzle : {"none", "32B", "64B", "128B"}
        The pattern in shared memory.
    interleave : {"none", "16B", "32B"}
        The interleaved layouts. The axes are the images, the slices of channels, then the spatial ones. An element of
        the last axis is a slice of 16 or 32 bytes.
    fill : {"zero", "nan"}
        What elements outside of the tensor are: "nan" is 0x7FF7 in each 16 bits.
    promotion : {"none", "64B", "128B", "256B"}
        A hint for the cache, without a function here.
    im2col : Im2col, optional
        The window of an im2col map of an array (images, (depth,) (height,) width, channels).
    dtype : str or dtype, optional
        The element type, such as "tf32"; by default that of the array. Types of 8 bits are "u8".

    Raises
    ------
    ArgumentValueError
        If the map breaks a rule of the driver, which the message names.

    Examples
    --------
    >>> x = np.zeros((16, 128), np.float16)
    >>> found = tensor_map(x, (8, 64), swizzle="128B")
    >>> found
    TensorMap(f16, dims=(128, 16), box=(64, 8))
    >>> found.pack(lambda array: 0x7F00)[:16].hex(" ", 4)
    '007f0000 00000000 10630000 10000000'
    """
    if not isinstance(array, np.ndarray) or array.ndim == 0:
        raise ArgumentError(f"a tensor map needs a NumPy array of 1 to 5 axes, not {shorten(array)}")
    if not array.size:
        raise ArgumentValueError(f"a tensor map needs elements; the array's shape is {array.shape}")
    if not array.dtype.isnative:
        raise ArgumentValueError("a GPU has another byte order; pass x.astype(x.dtype.newbyteorder('='))")
    if array.strides[-1] != array.itemsize:
        raise ArgumentValueError("the last axis of the array must be contiguous; pass np.ascontiguousarray(x)")
    if (box is None) == (im2col is None):
        raise ArgumentError("a tensor map has either a box or an im2col window; pass one of them")
    element = element_type_of(array.dtype if dtype is None else dtype)
    if element.bytes != array.itemsize:
        raise ArgumentValueError(f"{element.name} has {element.bytes} bytes, the array's elements {array.itemsize}")
    steps = (1,) * array.ndim if element_strides is None else _integers("element_strides", element_strides)
    if len(steps) != array.ndim:
        raise ArgumentValueError(f"element_strides has {len(steps)} numbers for {array.ndim} axes")
    fields = TensorMapFields(
        0, element, array.shape[::-1], array.strides[-2::-1] if array.ndim > 1 else (), steps[::-1],
        () if box is None else _integers("box", box)[::-1],
        None if im2col is None else _window(im2col),
        _number("swizzle", swizzle, SWIZZLES), _number("interleave", interleave, INTERLEAVES),
        _number("promotion", promotion, PROMOTIONS), _number("fill", fill, FILLS),
    )  # fmt: skip
    require_legal(fields)
    return TensorMap(fields.encode(), array)


def _window(given: object) -> Window:
    if not isinstance(given, Im2col):
        raise ArgumentError(f"im2col={shorten(given)} is not a wmma_emu.ptx.Im2col")
    lower, upper = (_integers(name, getattr(given, name))[::-1] for name in ("lower", "upper"))
    channels, pixels = _integers("channels and pixels", (given.channels, given.pixels))
    return Window(lower, upper, channels, pixels)


def _integers(name: str, given: object) -> tuple[int, ...]:
    found = [integer_of(x) for x in given] if isinstance(given, Iterable) and not isinstance(given, str) else [None]
    if None in found:
        raise ArgumentError(f"{name}={shorten(given)} is not a sequence of integers, one for each axis")
    return tuple(x for x in found if x is not None)


def _number(name: str, given: object, legal: Sequence[str]) -> int:
    if given not in legal:
        near = did_you_mean(str(given), legal, "")
        raise OptionError(f"{name}={shorten(given)} is not one of {', '.join(legal)}{near}")
    return legal.index(str(given))


def described(fields: TensorMapFields) -> list[tuple[str, str]]:
    """Return the fields of a map as names and values, in the driver's order of dimensions.

    Examples
    --------
    >>> described(tensor_map(np.zeros((16, 128), np.float16), (8, 64)).map)[:4]
    [('address', '0x0'), ('element type', 'f16'), ('dimensions', '128, 16'), ('strides in bytes', '256')]
    """
    found = [
        ("address", f"{fields.address:#x}"), ("element type", fields.element.name),
        ("dimensions", ", ".join(map(str, fields.dims))),
        ("strides in bytes", ", ".join(map(str, fields.strides)) or "none"),
        ("element strides", ", ".join(map(str, fields.element_strides))),
    ]  # fmt: skip
    window = fields.window
    if window is None:
        found.append(("box", ", ".join(map(str, fields.box))))
    else:
        found += [
            ("lower corner", ", ".join(map(str, window.lower))), ("upper corner", ", ".join(map(str, window.upper))),
            ("channels", str(window.channels)), ("pixels", str(window.pixels)),
        ]  # fmt: skip
    return [
        *found, ("swizzle", SWIZZLES[fields.swizzle]), ("interleave", INTERLEAVES[fields.interleave]),
        ("fill", FILLS[fields.fill]), ("L2 promotion", PROMOTIONS[fields.promotion]),
    ]  # fmt: skip

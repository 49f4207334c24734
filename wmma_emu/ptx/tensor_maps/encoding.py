# SPDX-License-Identifier: MIT
"""The 128 bytes of a tensor map (``CUtensorMap``) and their fields.

NVIDIA does not document the bytes. Their fields are known from the machine code that ptxas makes of
``tensormap.replace``, and from the driver: every parameter of ``cuTensorMapEncodeTiled`` and
``cuTensorMapEncodeIm2col`` was moved alone, and the bits that changed were recorded (NVIDIA H200, driver 580.159.04,
2026-11-23; ``tests/ptx/tensor_maps``).
"""

from dataclasses import dataclass, replace
from math import prod

from wmma_emu.errors import ArgumentValueError
from wmma_emu.ptx.tensor_maps.element_types import ELEMENT_TYPES, ElementType

MAP_BYTES = 128
SWIZZLES = ("none", "32B", "64B", "128B")
INTERLEAVES = ("none", "16B", "32B")
PROMOTIONS = ("none", "64B", "128B", "256B")
FILLS = ("zero", "nan")
"""The values of fields, in the order of their numbers."""

_WORDS = MAP_BYTES // 4
_SLICE = 16
_REPEATS = (16, 256, 512, 1024)
"""The bytes after which each swizzle repeats, a field without a known function."""

CORNER_BITS = {3: 16, 4: 8, 5: 5}
"""The bits of a corner of the im2col window in each dimension, by rank."""


@dataclass(frozen=True)
class Window:
    """The im2col part of a map: the corners of the window in each spatial dimension, the first the fastest.

    ``lower`` and ``upper`` are offsets of pixels; ``channels`` and ``pixels`` are the numbers that a copy moves.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int


@dataclass(frozen=True)
class TensorMapFields:
    """The fields of a tensor map; dimension 0 is the contiguous one, as in the driver.

    ``strides`` starts with dimension 1, in bytes. A tiled map has a ``box``, an im2col map a ``window``.
    ``swizzle``, ``interleave``, ``promotion`` and ``fill`` are numbers, as in the driver.

    Examples
    --------
    >>> fields = TensorMapFields(0x7F00, ELEMENT_TYPES[10], (128, 16), (256,), (1, 1), box=(64, 8), swizzle=3)
    >>> fields.encode()[:32].hex(" ", 4)
    '007f0000 00000000 10650000 10000000 00000000 00000000 00000000 00000000'
    >>> TensorMapFields.decode(fields.encode()) == fields
    True
    """

    address: int
    element: ElementType
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    element_strides: tuple[int, ...]
    box: tuple[int, ...] = ()
    window: Window | None = None
    swizzle: int = 0
    interleave: int = 0
    promotion: int = 0
    fill: int = 0

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def slice_bytes(self) -> int:
        """The bytes of a slice of channels in an interleaved layout; 0 without interleaving."""
        return _SLICE * self.interleave

    @property
    def encoded_bytes(self) -> int:
        """The bytes of a box as the driver writes them into the map: with quotients that are rounded down."""
        if self.window is not None:
            return self.window.channels * self.window.pixels * self.element.bytes
        return prod(b // e for b, e in zip(self.box, self.element_strides, strict=True)) * self.element.bytes

    def at(self, address: int) -> "TensorMapFields":
        """Return the map of another address."""
        return replace(self, address=address)

    def encode(self) -> bytes:
        """Return the 128 bytes."""
        words = [0] * _WORDS
        words[0], words[1] = self.address & 0xFFFFFFFF, self.address >> 32
        words[2] = (
            (self.window is not None) | (self.rank - 1) << 4 | self.element.code << 7 | self.interleave << 11
            | self.swizzle << 13 | self.fill << 15 | self.element.is_tf32 << 16 | self.promotion << 17
        )  # fmt: skip
        for i, stride in enumerate(self.strides):
            words[3 + i] = stride >> 4 & 0xFFFFFFFF
            words[7] |= (stride >> 36 & 0xF) << 4 * i
        for i, (dim, step) in enumerate(zip(self.dims, self.element_strides, strict=True)):
            words[8 + i] = dim - 1 & 0xFFFFFFFF
            words[13] |= (step - 1) << 3 * i
        if self.window is None:
            sizes = [x - 1 for x in self.box]
            words[13] |= sizes[0] << 24
            words[14] = sum(x << 8 * i for i, x in enumerate(sizes[1:]))
        else:
            words[13] |= (self.window.channels - 1) << 24
            words[14] = self._corners(self.window)
            words[15] = self.window.pixels - 1
        words[16] = self.encoded_bytes
        words[18] = _REPEATS[self.swizzle]
        return b"".join(x.to_bytes(4, "little") for x in words)

    def _corners(self, window: Window) -> int:
        bits = CORNER_BITS[self.rank]
        mask = (1 << bits) - 1
        return sum(
            (x & mask) << half + bits * i
            for half, corner in ((0, window.lower), (16, window.upper))
            for i, x in enumerate(corner)
        )

    @classmethod
    def decode(cls, given: bytes) -> "TensorMapFields":
        """Return the fields of 128 bytes; those without a known function are ignored.

        Raises
        ------
        ArgumentValueError
            If there are not 128 bytes, or a field has a value that sm_90 does not have.
        """
        if len(given) != MAP_BYTES:
            raise ArgumentValueError(f"a tensor map has {MAP_BYTES} bytes, not {len(given)}")
        words = [int.from_bytes(given[4 * i : 4 * i + 4], "little") for i in range(_WORDS)]
        kind, rank = words[2], (words[2] >> 4 & 7) + 1
        element = _element(kind >> 7 & 15, bool(kind >> 16 & 1))
        interleave = kind >> 11 & 3
        if rank > 5 or interleave >= len(INTERLEAVES) or kind & 0b1110 or kind >> 19:
            raise ArgumentValueError(f"word 2 of the tensor map, {kind:#010x}, is not that of a map of sm_90")
        strides = tuple((words[3 + i] | (words[7] >> 4 * i & 15) << 32) << 4 for i in range(rank - 1))
        first, others = (words[13] >> 24) + 1, tuple((words[14] >> 8 * i & 255) + 1 for i in range(rank - 1))
        window = _window(words[14], rank, first, (words[15] & 1023) + 1) if kind & 1 else None
        return cls(
            words[0] | words[1] << 32, element, tuple(words[8 + i] + 1 for i in range(rank)), strides,
            tuple((words[13] >> 3 * i & 7) + 1 for i in range(rank)),
            () if window else (first, *others), window, kind >> 13 & 3, interleave, kind >> 17 & 3, kind >> 15 & 1,
        )  # fmt: skip


def _element(code: int, is_tf32: bool) -> ElementType:
    for one in ELEMENT_TYPES:
        if (one.code, one.is_tf32) == (code, is_tf32):
            return one
    raise ArgumentValueError(f"the element type {code}{' of tf32' if is_tf32 else ''} of the tensor map does not exist")


def _window(word: int, rank: int, channels: int, pixels: int) -> Window:
    if rank not in CORNER_BITS:
        raise ArgumentValueError(f"an im2col map has a rank of 3 to 5, not {rank}")
    bits = CORNER_BITS[rank]
    lower, upper = (tuple(_signed(word >> half + bits * i, bits) for i in range(rank - 2)) for half in (0, 16))
    return Window(lower, upper, channels, pixels)


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value

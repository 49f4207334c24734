# SPDX-License-Identifier: MIT
"""Random tensor maps, the same on every machine: for the driver's encoder, and for copies of a small tensor."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from random import Random
from typing import TypeVar

from wmma_emu.ptx.steps.bulk_reductions import REDUCTIONS
from wmma_emu.ptx.tensor_maps.boxes import spatial_dimensions
from wmma_emu.ptx.tensor_maps.element_types import ELEMENT_TYPES, ElementType
from wmma_emu.ptx.tensor_maps.encoding import CORNER_BITS, TensorMapFields, Window

T = TypeVar("T")

TENSOR_BYTES = 32768
"""The bytes of a tensor that is copied from."""

LARGEST_COPY = 16384
"""The bytes that a copy moves at most."""

_PADDED = 256
_STORES = 1 << 32
"""The seed of the first store."""

_WRONG = 1 / 64
"""The share of parameters that are drawn without a regard to the rules."""


class Draw:
    """Random choices that depend on the seed alone: `random.Random.random` is the same in every version of Python."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def below(self, limit: int) -> int:
        """Return an integer from 0 to ``limit - 1``."""
        return int(self._random.random() * limit)

    def within(self, least: int, most: int) -> int:
        """Return an integer from ``least`` to ``most``."""
        return least + self.below(most - least + 1)

    def of(self, choices: Sequence[T]) -> T:
        """Return one of the choices."""
        return choices[self.below(len(choices))]

    def chance(self, part: float) -> bool:
        """Return True in this part of the draws."""
        return self._random.random() < part

    def size(self, most: int) -> int:
        """Return an integer from 1 to ``most``, each number of digits as likely as the others."""
        bits = most.bit_length()
        return min(most, max(1, self.below(1 << self.within(1, bits))))


def drawn_map(seed: int) -> TensorMapFields:
    """Return a map that mostly obeys the rules; some parameters are at the limits or beyond them.

    Examples
    --------
    >>> drawn_map(3) == drawn_map(3)
    True
    """
    draw = Draw(seed)
    element = draw.of(ELEMENT_TYPES)
    is_window = draw.chance(0.4)
    interleave = draw.of((0, 0, 0, 1, 2))
    swizzle = draw.below(4)
    if interleave == 2 and not draw.chance(_WRONG):
        swizzle = 1
    rank = draw.within(3 if (is_window or interleave) and not draw.chance(_WRONG) else 1, 5)
    if is_window and rank < 3:
        is_window = False
    multiple = 32 if interleave == 2 else 16
    sizes = (1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1)
    dims = tuple(_limited(draw, draw.size(1 << 32), sizes) for _ in range(rank))
    pitches = (0, 8, 24, (1 << 40) - multiple, 1 << 40)
    strides = tuple(
        _limited(draw, draw.below((1 << draw.within(4, 40)) // multiple) * multiple, pitches) for _ in range(rank - 1)
    )
    steps = tuple(_limited(draw, draw.of((1, 1, draw.within(1, 8))), (0, 8, 9)) for _ in range(rank))
    address = (0x7F << 40) + draw.below(1 << 30) * multiple + (draw.of((8, 16)) if draw.chance(_WRONG) else 0)
    span = 16 << swizzle if swizzle and not interleave and not draw.chance(_WRONG) else 1024
    inner = _inner(draw, element.bytes, span, bool(interleave))
    promotion, fill = draw.below(4), draw.below(2) if element.is_float or draw.chance(_WRONG) else 0
    box: tuple[int, ...] = ()
    window = None
    if is_window:
        window = _window(draw, rank, dims, inner)
    else:
        box = (inner, *(_limited(draw, draw.size(256 >> rank), (0, 1, 256, 257)) for _ in range(rank - 1)))
    return TensorMapFields(address, element, dims, strides, steps, box, window, swizzle, interleave, promotion, fill)


def _limited(draw: Draw, value: int, limits: Sequence[int]) -> int:
    return draw.of(limits) if draw.chance(_WRONG) else value


def _inner(draw: Draw, size: int, span: int, is_interleaved: bool) -> int:
    if is_interleaved or draw.chance(_WRONG):
        return draw.within(1, 256)
    unit = max(1, 16 // size)
    return unit * draw.within(1, max(1, min(span // size, 256) // unit))


def _window(draw: Draw, rank: int, dims: tuple[int, ...], channels: int) -> Window:
    half = 1 << CORNER_BITS[rank] - 1
    sides = []
    for _ in range(2):
        near = tuple(draw.within(-3, 3) if draw.chance(0.5) else draw.within(-half, half - 1) for _ in range(rank - 2))
        sides.append(tuple(_limited(draw, x, (-half - 1, -half, half - 1, half)) for x in near))
    pixels = _limited(draw, draw.size(1024), (0, 1, 1024, 1025))
    return Window(sides[0], sides[1], channels, pixels)


@dataclass(frozen=True)
class DrawnCopy:
    """A copy of one box or window: the map at address 0, the coordinates, and where the box is in shared memory.

    ``offsets`` belong to a load of a window; ``reduction`` is the operation of a store.
    """

    map: TensorMapFields
    coordinates: tuple[int, ...]
    offsets: tuple[int, ...]
    destination: int
    reduction: str = ""


def drawn_copy(seed: int) -> DrawnCopy:
    """Return a copy of a tensor of at most `TENSOR_BYTES`, mostly near its edges.

    Examples
    --------
    >>> drawn_copy(5).map.encoded_bytes <= LARGEST_COPY
    True
    """
    draw = Draw(seed)
    while True:
        found = _copy(draw)
        if found is not None:
            return found


def drawn_store(seed: int) -> DrawnCopy:
    """Return a store to a tensor of at most `TENSOR_BYTES`, or a reduction into it.

    Examples
    --------
    >>> drawn_store(7).map.encoded_bytes <= LARGEST_COPY, drawn_store(7).offsets
    (True, ())
    """
    draw = Draw(seed + _STORES)
    while True:
        found = _copy(draw)
        if found is not None and (store := _as_store(draw, found)) is not None:
            return store


def _as_store(draw: Draw, given: DrawnCopy) -> DrawnCopy | None:
    """Return a store with the map and, mostly, the coordinates of a load, which are not negative and in the window."""
    fields, coordinates = given.map, given.coordinates
    possible = _reductions_of(fields.element)
    reduction = draw.of(possible) if possible and draw.chance(0.6) else ""
    if fields.window is not None:
        lower, upper = (tuple(map(abs, x)) for x in (fields.window.lower, fields.window.upper))
        fields = replace(fields, window=replace(fields.window, lower=lower, upper=tuple(-x for x in upper)))
        starts = coordinates[spatial_dimensions(fields)]
        ends = [size - 1 - x for size, x in zip(fields.dims[spatial_dimensions(fields)], upper, strict=True)]
        if any(not low <= at <= end for low, at, end in zip(lower, starts, ends, strict=True)):
            return None
    if fields.window is None and draw.chance(0.8):
        coordinates = tuple(x if x < size else 0 for x, size in zip(coordinates, fields.dims, strict=True))
    if not draw.chance(_WRONG):
        coordinates = tuple(max(x, 0) for x in coordinates)
    return replace(given, map=fields, coordinates=coordinates, offsets=(), reduction=reduction)


def _reductions_of(element: ElementType) -> tuple[str, ...]:
    """Return the reductions that have a type of the elements' size; the chip does not support all of them."""
    kinds = (element.name, f"b{8 * element.bytes}" if not element.is_float else "")
    return tuple(x for x, types in REDUCTIONS.items() if element.name != "f64" and not set(kinds).isdisjoint(types))


def _copy(draw: Draw) -> DrawnCopy | None:
    element = draw.of(ELEMENT_TYPES)
    is_window = draw.chance(0.35)
    interleave = draw.of((0, 0, 0, 1, 2))
    swizzle = 1 if interleave == 2 else draw.below(2) if interleave else draw.below(4)
    rank = draw.within(3 if is_window or interleave else 1, 5)
    unit = max(1, 16 // element.bytes)
    dims = tuple(draw.within(1, 4 if i else 6) * (1 if i else unit) for i in range(rank))
    dims = (dims[0], *(x + draw.below(9 if rank < 4 else 4) for x in dims[1:]))
    pitch, strides = dims[0] * element.bytes, []
    multiple = 32 if interleave == 2 else 16
    for size in dims[1:]:
        pitch = -(-pitch // multiple) * multiple + multiple * draw.of((0, 0, 1))
        strides.append(pitch)
        pitch *= size
    if pitch > TENSOR_BYTES - _PADDED:
        return None
    steps = tuple(draw.of((1, 1, draw.within(1, 4))) for _ in range(rank))
    span = 16 << swizzle if swizzle and not interleave else 256
    most = min(span // element.bytes, 256) // unit
    inner = unit * draw.within(1, max(1, min(most, 4)))
    destination = 128 * draw.below(8)
    fill = draw.below(2) if element.is_float else 0
    if is_window:
        bare = TensorMapFields(0, element, dims, tuple(strides), steps, (), None, swizzle, interleave, 0, fill)
        return _copy_of_window(draw, bare, inner, destination)
    box = (inner, *(draw.within(1, 9 if rank < 4 else 4) for _ in range(rank - 1)))
    fields = TensorMapFields(0, element, dims, tuple(strides), steps, box, None, swizzle, interleave, 0, fill)
    if prod(box) * max(element.bytes, fields.slice_bytes) > LARGEST_COPY:
        return None
    unit = 1 if interleave else unit
    coordinates = (unit * draw.within(-2, dims[0] // unit), *(draw.within(-3, x + 1) for x in dims[1:]))
    return DrawnCopy(fields, coordinates, (), destination)


def _copy_of_window(draw: Draw, bare: TensorMapFields, channels: int, destination: int) -> DrawnCopy | None:
    """Return an im2col copy, which mostly begins inside of the window."""
    rank, dims, spatial = bare.rank, bare.dims, bare.rank - 2
    first = 0 if bare.interleave else 1
    lower = tuple(draw.within(-2, 1) for _ in range(spatial))
    upper = tuple(draw.within(-2, 2) for _ in range(spatial))
    ends = [dims[i + first] - 1 + upper[i] for i in range(spatial)]
    if any(end < low for low, end in zip(lower, ends, strict=True)):
        return None
    fields = replace(bare, window=Window(lower, upper, channels, draw.size(96)))
    if fields.encoded_bytes > LARGEST_COPY:
        return None
    outside = draw.chance(_WRONG)
    starts = [draw.within(low - outside, end + outside) for low, end in zip(lower, ends, strict=True)]
    unit = 1 if bare.interleave else max(1, 16 // bare.element.bytes)
    channel = unit * draw.within(-1, (dims[-2] if bare.interleave else dims[0]) // unit)
    image = draw.within(0, dims[-1])
    coordinates = (*starts, channel, image) if bare.interleave else (channel, *starts, image)
    return DrawnCopy(fields, coordinates, tuple(draw.below(4) for _ in range(rank - 2)), destination)

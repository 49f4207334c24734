# SPDX-License-Identifier: MIT
"""CuTe layouts: a shape and a stride of the same nesting, which together map coordinates to an index.

An integer coordinate counts along the first mode first, as in CuTe (generalised column-major order).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from wmma_emu.errors import ArgumentError, ArgumentValueError, OutOfBoundsError, shorten
from wmma_emu.layouts.cute_text import IntTuple, parsed_layout, written
from wmma_emu.layouts.spec import Ints

_LARGEST = 1 << 22
"""The most elements of a layout whose indices are computed one by one."""


@dataclass(frozen=True, slots=True)
class CuteLayout:
    """A CuTe layout.

    Parameters
    ----------
    shape, stride : int or nested tuple of int
        Both have the same nesting. Sizes are at least 1; a stride of 0 repeats elements.

    Raises
    ------
    FragmentMismatchError
        If shape and stride do not match.

    Examples
    --------
    >>> a = CuteLayout.parse("((4,8),(2,2,2)):((32,1),(16,8,128))")
    >>> a.size, a.cosize, a(5, 3), a(((1, 1), (1, 1, 0)))
    (256, 256, 57, 57)
    >>> print(a.mode(0), a.coalesce(), CuteLayout((2, 4), (1, 2)).coalesce())
    (4,8):(32,1) (4,8,2,2,2):(32,1,16,8,128) 8:1
    """

    shape: IntTuple
    stride: IntTuple

    def __post_init__(self) -> None:
        _check(self.shape, self.stride)

    @classmethod
    def parse(cls, text: str) -> "CuteLayout":
        """Parse ``(4,8):(8,1)``, also with static integers (``_4``), or C++: ``Layout<Shape<...>, Stride<...>>``.

        If strides are omitted, the layout is compact, with the first mode fastest.

        Raises
        ------
        FragmentMismatchError
            If the string is not a layout; the message names the position.

        Examples
        --------
        >>> print(CuteLayout.parse("Layout<Shape <Shape < _4,_8>,_2>, Stride<Stride<_16,_1>,_8>>"))
        ((4,8),2):((16,1),8)
        >>> print(CuteLayout.parse("(4,(2,3))"))
        (4,(2,3)):(1,(4,8))
        """
        shape, stride = parsed_layout(text)
        return cls(shape, _compact(shape, 1)[0] if stride is None else stride)

    def __str__(self) -> str:
        return f"{written(self.shape)}:{written(self.stride)}"

    @property
    def rank(self) -> int:
        """The number of top-level modes."""
        return len(self.shape) if isinstance(self.shape, tuple) else 1

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return math.prod(size for size, _ in self.modes())

    @property
    def cosize(self) -> int:
        """The largest index plus one."""
        return 1 + sum((size - 1) * stride for size, stride in self.modes())

    def mode(self, number: int) -> "CuteLayout":
        """Return a top-level mode as a separate layout."""
        if not 0 <= number < self.rank:
            raise OutOfBoundsError(f"{self} has no mode {shorten(number)}; legal modes are 0 to {self.rank - 1}")
        if isinstance(self.shape, tuple) and isinstance(self.stride, tuple):
            return CuteLayout(self.shape[number], self.stride[number])
        return self

    def modes(self) -> list[tuple[int, int]]:
        """Return size and stride of every mode, without the nesting."""
        return list(_leaves(self.shape, self.stride))

    def __call__(self, *coordinate: IntTuple) -> int:
        """Return the index of a coordinate: an integer, one integer per top-level mode, or nested like the shape.

        Raises
        ------
        FragmentMismatchError, OutOfBoundsError
            If the coordinate does not belong to this layout.
        """
        given = coordinate[0] if len(coordinate) == 1 else coordinate
        return _index(given, self.shape, self.stride, str(self))

    def table(self) -> Ints:
        """Return the index of every coordinate, the first mode fastest; for two modes as an array (first, second).

        Examples
        --------
        >>> CuteLayout.parse("(2,3):(3,1)").table().tolist()
        [[0, 1, 2], [3, 4, 5]]
        """
        flat = self._flat()
        sizes = [self.mode(i).size for i in range(self.rank)]
        return flat.reshape(sizes, order="F")

    def coalesce(self) -> "CuteLayout":
        """Return the shortest layout of one mode that maps every integer to the same index.

        Examples
        --------
        >>> print(CuteLayout.parse("(2,(1,6)):(1,(6,2))").coalesce())
        12:1
        """
        shape, stride = _coalesced(self.modes())
        return CuteLayout(shape, stride)

    def composition(self, inner: "CuteLayout") -> "CuteLayout":
        """Return the composition ``i -> self(inner(i))``, with the modes of ``inner``.

        Raises
        ------
        FragmentMismatchError
            If the sizes do not divide, so that no such layout exists.

        Examples
        --------
        >>> print(CuteLayout.parse("(6,2):(8,2)").composition(CuteLayout.parse("(4,3):(3,1)")))
        ((2,2),3):((24,2),8)
        """
        composed = _composed(_coalesced(self.modes()), inner.shape, inner.stride)
        found = None if composed is None else CuteLayout(*composed)
        own, asked = self._flat(), inner._flat()
        if found is None or asked.max() >= own.size or (_written_out(found.modes()) != own[asked]).any():
            raise ArgumentValueError(
                f"no layout is the composition of {self} after {inner}: "
                + (f"the inner layout reaches {asked.max()}, the outer one has {own.size} elements"
                   if asked.max() >= own.size else "their sizes do not divide")
            )  # fmt: skip
        return found

    def _flat(self) -> Ints:
        if self.size > _LARGEST:
            raise ArgumentValueError(f"{self} has {self.size} elements; at most {_LARGEST} can be listed")
        return _written_out(self.modes())

    @classmethod
    def of_tables(cls, *tables: Ints) -> "CuteLayout":
        """Return the layout whose modes have these indices; each table begins with 0.

        Raises
        ------
        FragmentMismatchError
            If no layout has these indices.

        Examples
        --------
        >>> print(CuteLayout.of_tables(np.array([0, 1, 8, 9]), np.array([0, 0, 4, 4])))
        ((2,2),(2,2)):((1,8),(0,4))
        """
        modes = [_coalesced(_factored(table)) for table in tables]
        return cls(tuple(shape for shape, _ in modes), tuple(stride for _, stride in modes))


_Modes = list[tuple[int, int]]
_Pair = tuple[int, int] | tuple[tuple[int, ...], tuple[int, ...]]


def _check(shape: object, stride: object) -> None:
    """Check that a shape and a stride have the same nesting and legal numbers."""
    if isinstance(shape, tuple) and isinstance(stride, tuple) and len(shape) == len(stride) and shape:
        for own, its in zip(shape, stride, strict=True):
            _check(own, its)
    elif type(shape) is not int or type(stride) is not int:
        raise ArgumentError(f"shape {shorten(shape)} and stride {shorten(stride)} are not nested alike")
    elif shape < 1 or stride < 0:
        raise ArgumentValueError(f"there is no mode {shape}:{stride}; sizes are at least 1, strides at least 0")


def _leaves(shape: IntTuple, stride: IntTuple) -> Iterator[tuple[int, int]]:
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        for own, its in zip(shape, stride, strict=True):
            yield from _leaves(own, its)
    elif isinstance(shape, int) and isinstance(stride, int):
        yield shape, stride


def _compact(shape: IntTuple, step: int) -> tuple[IntTuple, int]:
    """Return the strides of a compact layout, and the step after them."""
    if isinstance(shape, int):
        return step, step * shape
    strides = []
    for own in shape:
        stride, step = _compact(own, step)
        strides.append(stride)
    return tuple(strides), step


def _index(coordinate: IntTuple, shape: IntTuple, stride: IntTuple, whole: str) -> int:
    if isinstance(coordinate, tuple):
        if not isinstance(shape, tuple) or not isinstance(stride, tuple) or len(coordinate) != len(shape):
            raise ArgumentError(f"{shorten(coordinate)} is not a coordinate of {whole}: its nesting is different")
        return sum(_index(c, s, d, whole) for c, s, d in zip(coordinate, shape, stride, strict=True))
    modes = list(_leaves(shape, stride))
    size = math.prod(x for x, _ in modes)
    if type(coordinate) is not int or not 0 <= coordinate < size:
        raise OutOfBoundsError(
            f"{shorten(coordinate)} is not a coordinate of {whole}; legal values are 0 to {size - 1}"
        )
    total = 0
    for own, step in modes:
        coordinate, place = divmod(coordinate, own)
        total += place * step
    return total


def _written_out(modes: _Modes) -> Ints:
    """Return the index of every integer."""
    values = np.zeros(1, np.int64)
    for size, stride in modes:
        values = (np.arange(size)[:, None] * stride + values).ravel()
    return values


def _coalesced(modes: _Modes) -> _Pair:
    """Join modes that continue each other, and drop modes of size 1."""
    joined: _Modes = []
    for size, stride in modes:
        if size == 1:
            continue
        if joined and joined[-1][0] * joined[-1][1] == stride:
            joined[-1] = (joined[-1][0] * size, joined[-1][1])
        else:
            joined.append((size, stride))
    if len(joined) < 2:
        return joined[0] if joined else (1, 0)
    return tuple(size for size, _ in joined), tuple(stride for _, stride in joined)


def _factored(table: Ints) -> _Modes:
    """Find sizes and strides that reproduce a table, from the fastest to the slowest, and verify them."""
    modes: _Modes = []
    rest = table = np.asarray(table)
    while rest.size > 1:
        step = int(rest[1] - rest[0])
        straight = int(np.argmin(np.append(rest == rest[0] + step * np.arange(rest.size), False)))
        size = max(x for x in range(2, straight + 1) if rest.size % x == 0 or x == straight)
        if rest.size % size or step < 0:
            break
        modes.append((size, step))
        rest = rest[::size]
    if not table.size or table[0] != 0 or rest.size > 1 or (_written_out(modes) != table).any():
        raise ArgumentValueError("these indices do not form a CuTe layout: no sizes and strides produce them")
    return modes


def _composed(outer: _Pair, shape: IntTuple, stride: IntTuple) -> tuple[IntTuple, IntTuple] | None:
    """Compose with each mode separately; return None if sizes do not divide."""
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        found = [_composed(outer, own, its) for own, its in zip(shape, stride, strict=True)]
        whole = [x for x in found if x is not None]
        return None if len(whole) < len(found) else (tuple(s for s, _ in whole), tuple(d for _, d in whole))
    if not isinstance(shape, int) or not isinstance(stride, int):
        return None
    modes: _Modes = []
    for size, step in _leaves(*outer):
        if stride % size == 0 and stride:
            stride //= size
            continue
        if size % max(stride, 1):
            return None
        taken = min(size // max(stride, 1), shape) if stride else 1
        if shape % taken:
            return None
        modes.append((taken, stride * step))
        shape //= taken
        stride = 1 if stride else 0
    last = list(_leaves(*outer))[-1]
    if shape > 1:
        modes.append((shape, 0 if not stride else stride * last[0] * last[1]))
    return _coalesced(modes)

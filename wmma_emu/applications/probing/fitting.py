# SPDX-License-Identifier: MIT
"""Elimination: which values of a parameter give every bit that was observed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.applications.probing.device_under_test import DeviceUnderTest, Query
from wmma_emu.applications.probing.terms import Terms, pattern_text, value_text
from wmma_emu.arithmetic import DotProduct, matmul
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits, unpack
from wmma_emu.generators import draw, generators_of
from wmma_emu.warp.sparse import Extras, compress, expand, multiply


def differing(x: Bits, y: Bits, fmt: Format) -> NDArray[np.bool_]:
    """Where results differ; two NaN do not, whatever their bits: those are no parameter of a `DotModel`."""
    result: NDArray[np.bool_] = (x != y) & ~(unpack(x, fmt).is_nan & unpack(y, fmt).is_nan)
    return result


def with_parameters(product: DotProduct, **changes: Any) -> DotProduct:
    """The dot product with another value of some parameters of its model; ``chain_rounding`` is the instruction's."""
    if "chain_rounding" in changes:
        product = replace(product, rounding=changes.pop("chain_rounding"))
    return replace(product, model=replace(product.model, **changes))


@dataclass(frozen=True, slots=True)
class ObservedTile:
    """Matrices of a family, and what the subject made of them."""

    generator: str
    a: Bits
    b: Bits
    c: Bits
    indices: Any
    d: Bits

    def predicted(self, product: DotProduct) -> Bits:
        """What a model makes of them."""
        return multiply(product, self.a, self.b, self.c, Extras(self.indices))


def tiles_of(device: DeviceUnderTest, seeds: Sequence[int]) -> Iterator[ObservedTile]:
    """Ask the subject for matrices of every family."""
    row = device.instruction
    for generator in generators_of(row):
        for seed in seeds:
            pools = draw(row, generator, seed, 1, 1, 1)
            a, b, c = pools.a[0], pools.b[0], pools.c[0]
            if pools.indices is None:
                yield ObservedTile(generator, a, b, c, None, device.multiply(a, b, c))
                continue
            # Of zeros it is left open which ones are kept; so the model takes those that compress keeps.
            whole = expand(row, a, pools.indices[0])
            a, indices = compress(row, whole)
            yield ObservedTile(generator, a, b, c, indices, device.multiply(whole, b, c))


@dataclass(frozen=True, slots=True)
class Survivors:
    """How many of the dot products that were compared each value of a parameter gets wrong."""

    wrong: Mapping[Any, int]
    compared: int

    @property
    def values(self) -> list[Any]:
        """Those that contradict nothing; if there are none, the one that contradicts least."""
        least = min(self.wrong.values())
        right = [value for value, count in self.wrong.items() if count == least]
        return right[:1] if least else right

    @property
    def problem(self) -> str:
        """Why there is no value, if there is none."""
        best = self.values[0]
        return f"the best, {best}, is wrong in {self.wrong[best]} of {self.compared}" if self.wrong[best] else ""

    def runners_up(self, count: int = 3) -> str:
        """How often the best of the others are wrong."""
        others = sorted((n, str(value)) for value, n in self.wrong.items() if n)
        return ", ".join(f"{value} in {n}" for n, value in others[:count])


@dataclass(slots=True)
class Observations:
    """Asks for dot products, and holds candidates against them and against tiles of families."""

    device: DeviceUnderTest
    tiles: list[ObservedTile] = field(default_factory=list)

    def survivors(self, cases: Sequence[Query], candidates: Mapping[Any, DotProduct]) -> Survivors:
        """Ask for cases, and see which candidates give all their bits."""
        fmt = self.device.d
        results = np.array(self.device.query(cases), fmt.storage)
        operands = self.device.operands(cases)
        wrong = {
            value: int(differing(matmul(product, *operands)[:, 0, 0], results, fmt).sum()) if cases else 0
            for value, product in candidates.items()
        }
        return Survivors(wrong, len(cases))

    def wrong(self, product: DotProduct) -> int:
        """How many elements of the tiles a model gets wrong."""
        return sum(int(differing(tile.predicted(product), tile.d, product.d).sum()) for tile in self.tiles)

    def witnesses(self, cases: Sequence[Query], chosen: DotProduct, other: DotProduct) -> list[str]:
        """The simplest case that tells two candidates apart, as a line of evidence."""
        operands = self.device.operands(cases)
        first, second = (matmul(product, *operands)[:, 0, 0] for product in (chosen, other))
        places = np.flatnonzero(first != second)
        if not len(places):
            return []
        index = min(map(int, places), key=lambda i: (len(cases[i].products), i))
        return [observed_line(self.device, cases[index], int(first[index]))]


def observed_line(device: DeviceUnderTest, case: Query, bits: int) -> str:
    """A dot product and its result, in words."""
    return f"{Terms(device).text(case)} -> {pattern_text(bits, device.d)} = {value_text(bits, device.d)}"

# SPDX-License-Identifier: MIT
"""Elimination: the values of a parameter that give every observed bit."""

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
    """Return the mask of different results; two NaN are equal, because a `DotModel` has no parameter for their bits."""
    result: NDArray[np.bool_] = (x != y) & ~(unpack(x, fmt).is_nan & unpack(y, fmt).is_nan)
    return result


def with_parameters(product: DotProduct, **changes: Any) -> DotProduct:
    """Return the dot product with other parameters of its model; ``chain_rounding`` is the instruction's rounding."""
    if "chain_rounding" in changes:
        product = replace(product, rounding=changes.pop("chain_rounding"))
    return replace(product, model=replace(product.model, **changes))


@dataclass(frozen=True, slots=True)
class ObservedTile:
    """Matrices of an input generator, and the device's result."""

    generator: str
    a: Bits
    b: Bits
    c: Bits
    indices: Any
    d: Bits

    def predicted(self, product: DotProduct) -> Bits:
        """Return a model's result for the matrices."""
        return multiply(product, self.a, self.b, self.c, Extras(self.indices))


def tiles_of(device: DeviceUnderTest, seeds: Sequence[int]) -> Iterator[ObservedTile]:
    """Query the device with matrices of every input generator."""
    entry = device.instruction
    for generator in generators_of(entry):
        for seed in seeds:
            pools = draw(entry, generator, seed, 1, 1, 1)
            a, b, c = pools.a[0], pools.b[0], pools.c[0]
            if pools.indices is None:
                yield ObservedTile(generator, a, b, c, None, device.multiply(a, b, c))
                continue
            # Any of the zeros may be kept, so the model uses those that compress keeps.
            whole = expand(entry, a, pools.indices[0])
            a, indices = compress(entry, whole)
            yield ObservedTile(generator, a, b, c, indices, device.multiply(whole, b, c))


@dataclass(frozen=True, slots=True)
class Survivors:
    """The number of compared dot products that each value of a parameter gets wrong."""

    wrong: Mapping[Any, int]
    compared: int

    @property
    def values(self) -> list[Any]:
        """The values that contradict nothing; if there are none, the value with the fewest contradictions."""
        least = min(self.wrong.values())
        right = [value for value, count in self.wrong.items() if count == least]
        return right[:1] if least else right

    @property
    def problem(self) -> str:
        """The reason why no value is right, if there is none."""
        best = self.values[0]
        return f"the best, {best}, is wrong in {self.wrong[best]} of {self.compared}" if self.wrong[best] else ""

    def runners_up(self, count: int = 3) -> str:
        """Return the numbers of errors of the best wrong values."""
        others = sorted((n, str(value)) for value, n in self.wrong.items() if n)
        return ", ".join(f"{n} with {value}" for n, value in others[:count])


@dataclass(slots=True)
class Observations:
    """Queries of dot products, and comparisons of candidates with them and with tiles of generators."""

    device: DeviceUnderTest
    tiles: list[ObservedTile] = field(default_factory=list)

    def survivors(self, cases: Sequence[Query], candidates: Mapping[Any, DotProduct]) -> Survivors:
        """Query cases, and count the errors of each candidate."""
        fmt = self.device.d
        results = np.array(self.device.query(cases), fmt.storage)
        operands = self.device.operands(cases)
        wrong = {
            value: int(differing(matmul(product, *operands)[:, 0, 0], results, fmt).sum()) if cases else 0
            for value, product in candidates.items()
        }
        return Survivors(wrong, len(cases))

    def wrong(self, product: DotProduct) -> int:
        """Return the number of elements of the tiles that a model gets wrong."""
        return sum(int(differing(tile.predicted(product), tile.d, product.d).sum()) for tile in self.tiles)

    def witnesses(self, cases: Sequence[Query], chosen: DotProduct, other: DotProduct) -> list[str]:
        """Return the simplest case that distinguishes two candidates, as a line of evidence."""
        operands = self.device.operands(cases)
        first, second = (matmul(product, *operands)[:, 0, 0] for product in (chosen, other))
        places = np.flatnonzero(first != second)
        if not len(places):
            return []
        index = min(map(int, places), key=lambda i: (len(cases[i].products), i))
        return [observed_line(self.device, cases[index], int(first[index]))]


def observed_line(device: DeviceUnderTest, case: Query, bits: int) -> str:
    """Return a dot product and its result as text."""
    return f"{Terms(device).text(case)} -> {pattern_text(bits, device.d)} = {value_text(bits, device.d)}"

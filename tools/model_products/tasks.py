# SPDX-License-Identifier: MIT
"""A captured operation as products of matrices, in the order of k of a layout, and the inverse for its result."""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, NamedTuple

import torch

from tools.model_products.capture import Captured
from wmma_emu.models.convolution_kernels import LAYOUTS, KLayout
from wmma_emu.torch.convolutions import convolution, convolution_backward
from wmma_emu.torch.products import TensorProduct

CHANNEL_TILES = (8, 16, 32, 64)
"""Channels of one tile where a kernel passes all filter positions for a tile before it continues with the next."""

TURNS = (32, 64)
"""The k of one tile where ranges take tiles in turn."""

_MOST_TURNS = 24

_LONG = 2048
"""The K from which ranges that take turns are tried."""


class Task(NamedTuple):
    """Products whose bits are compared with one result of an operation.

    ``part`` says which result of a backward convolution it is. ``factors(layout)`` are A and B, of several products as
    a batch; ``assembled(layout, d)`` is the result of the operation, for a D that is rounded to its dtype.
    """

    part: str
    layouts: tuple[str, ...]
    factors: Callable[[str], tuple[Any, Any]]
    assembled: Callable[[str, Any], Any]
    wanted: Any
    work: int
    addend: Any = None
    convolves: bool = False

    @property
    def depth(self) -> int:
        """K."""
        return int(self.factors("")[0].shape[-1])


def tasks_of(product: Captured) -> Iterator[Task]:
    """Yield what can be compared of an operation: none if it scales its terms."""
    if product.name in ("mm", "bmm"):
        yield _matrices(product, *product.arguments[:2])
    elif product.name in ("addmm", "baddbmm"):
        scales = (product.named.get("alpha", 1), product.named.get("beta", 1))
        a, b = product.arguments[1:3]
        if scales == (1, 1):
            yield _matrices(product, a, b, product.arguments[0])
        elif scales[1] == 0 and scales[0] == 1:
            yield _matrices(product, a, b)
    elif product.name == "convolution":
        yield _convolution(product)
    else:
        yield from _gradients(product)


def _matrices(product: Captured, a: Any, b: Any, addend: Any = None) -> Task:
    return Task(
        "", ("",), lambda layout: (a, b), lambda layout, d: d, product.results[0], product.work, addend,
    )  # fmt: skip


class _Factors:
    """Collects the products of a convolution, or returns given results for them."""

    def __init__(self, layout: KLayout, results: list[Any] | None = None) -> None:
        self.found: list[tuple[Any, Any]] = []
        self._layout, self._results = layout, results

    def convolution(self, convolution: Any, dtype: Any) -> tuple[KLayout, None]:
        """Return the layout of k that is tried."""
        return self._layout, None

    def __call__(self, product: TensorProduct) -> Any:
        self.found.append((product.a, product.b))
        if self._results is not None:
            return self._results[len(self.found) - 1]
        return product.a.new_zeros(*product.a.shape[:-1], product.b.shape[-1])


def _convolution(product: Captured) -> Task:
    weight = product.arguments[1]

    def run(multiply: Any) -> Any:
        return convolution(multiply, *product.arguments)

    groups = product.arguments[8]
    return _task("", run, weight, weight.shape[1], groups, product.results[0], product.work)


def _gradients(product: Captured) -> Iterator[Task]:
    weight, wanted = product.arguments[2], product.arguments[10]
    work = product.work // max(sum(wanted[:2]), 1)
    for i, part in enumerate(("input", "weight")):
        if not wanted[i]:
            continue

        def run(multiply: Any, only: int = i) -> Any:
            mask = [only == 0, only == 1, False]
            return convolution_backward(multiply, *product.arguments[:10], mask)[only]

        if part == "input":
            yield _task(part, run, weight, weight.shape[0], product.arguments[9], product.results[0], work)
        else:
            yield _task(part, run, weight, 0, product.arguments[9], product.results[1], work)


def _task(part: str, run: Any, weight: Any, channels: int, groups: int, wanted: Any, work: int) -> Task:
    """Describe a convolution; without ``channels``, k does not run over filter positions."""
    positions = prod(weight.shape[2:])

    def factors(layout: str) -> tuple[Any, Any]:
        collector = _Factors(_layout(layout))
        run(collector)
        return tuple(x[0] if len(x) == 1 else torch.stack(x) for x in zip(*collector.found, strict=True))

    def assembled(layout: str, d: Any) -> Any:
        several = not channels and positions > 1
        return run(_Factors(_layout(layout), list(d) if several else [d]))

    depth = prod(wanted.shape) and work // wanted.numel()
    layouts = _layouts(part, channels, positions, groups, depth)
    return Task(part, layouts, factors, assembled, wanted, work, convolves=True)


def _layouts(part: str, channels: int, positions: int, groups: int, depth: int) -> tuple[str, ...]:
    """Name the orders of k that are tried."""
    if part == "weight" and depth >= _LONG:
        return ("", *(f"tiles of {tile} in turn by {n}" for tile in TURNS for n in range(2, _MOST_TURNS)))
    if not channels or positions == 1 or groups > 1:
        return ("",)
    tiles = [f"channels by {n}" for n in CHANNEL_TILES if n < channels and channels % n == 0]
    pads = [f"channels padded to {n}" for n in (4, 8) if not part and channels < n]
    back = [f"{x}positions reversed" for x in ("", *(f"{tile}, " for tile in tiles))] if part == "input" else []
    return ("", *pads, "filter positions last", *tiles, *back)


def _layout(name: str) -> KLayout:
    first, _, second = name.partition(", ")
    numbers = [int(word) for word in first.split() if word.isdigit()]
    plain = LAYOUTS["rsc"]._replace(is_reversed="positions reversed" in (first, second))
    if "in turn" in first:
        return plain._replace(turns=(numbers[0], numbers[1]))
    if "padded" in first:
        return plain._replace(padded_to=numbers[0])
    if " by " in first:
        return plain._replace(tile=numbers[0])
    return LAYOUTS["crs"] if first == "filter positions last" else plain

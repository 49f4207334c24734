# SPDX-License-Identifier: MIT
"""The undefined bits of results: kinds of rules, each a function of the undefined bits of the sources."""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from wmma_emu.ptx.definedness.undefined import all_bits, everywhere
from wmma_emu.ptx.threads import Array


class Sources(NamedTuple):
    """The sources of an instruction that reads undefined bits.

    ``values`` are the patterns of the sources, ``bits`` the undefined bits of each, in its width; None if all are
    defined. ``names`` are equal for sources that are the same register. ``compute`` is the instruction: patterns in,
    one pattern or a tuple of patterns out. ``results`` are the dtypes of the destinations.
    """

    values: list[Array]
    bits: list[Array | None]
    names: tuple[object, ...]
    compute: Callable[..., Any]
    results: tuple["np.dtype[Any]", ...]

    def lost(self, *which: int) -> Array:
        """Return in which threads any of some sources, by default of all, has undefined bits."""
        chosen = range(len(self.bits)) if not which else which
        found: Array = np.zeros((1, 1, 1), np.bool_)
        for i in chosen:
            bits = self.bits[i]
            if bits is not None:
                found = found | (bits != 0)
        return found

    def computed(self, values: list[Array]) -> tuple[Array, ...]:
        """Compute the instruction on other values of its sources."""
        results = self.compute(*values)
        return results if isinstance(results, tuple) else (results,)


Rule = Callable[[Sources], tuple[Array, ...]]
"""A function from sources to the undefined bits of each destination."""


def whole(sources: Sources) -> tuple[Array, ...]:
    """Return all bits of the results as undefined where any bit of the sources is."""
    lost = sources.lost()
    return tuple(everywhere(lost, dtype) for dtype in sources.results)


def exact(*controls: int) -> Rule:
    """Make the rule of instructions whose result bits each depend on at most one bit of each source.

    This holds once the controls are known. Such an instruction is computed with the undefined bits of each source all 0
    and all 1, in every combination: result bits that vary are undefined. If bits of a control are undefined, all result
    bits are.
    """

    def rule(sources: Sources) -> tuple[Array, ...]:
        bits = [None if i in controls else x for i, x in enumerate(sources.bits)]
        names = list(dict.fromkeys(n for n, x in zip(sources.names, bits, strict=True) if x is not None))
        found: list[Array] = [np.zeros((1, 1, 1), dtype) for dtype in sources.results]
        first: tuple[Array, ...] | None = None
        for choice in product((False, True), repeat=len(names)):
            chosen = dict(zip(names, choice, strict=True))
            results = sources.computed([
                value if x is None else value | x if chosen[name] else value & ~x
                for value, x, name in zip(sources.values, bits, sources.names, strict=True)
            ])  # fmt: skip
            if first is None:
                first = results
            else:
                found = [x | (a ^ b) for x, a, b in zip(found, first, results, strict=True)]
        if any(sources.bits[i] is not None for i in controls):
            lost = sources.lost(*controls)
            found = [x | everywhere(lost, x.dtype) for x in found]
        return tuple(found)

    return rule


def selected(control: int, counts: int, rule: Rule) -> Rule:
    """Follow a rule, but ignore bits of a control that the instruction does not use; ``counts`` are the used bits."""

    def of_those(sources: Sources) -> tuple[Array, ...]:
        bits = list(sources.bits)
        lost = bits[control]
        if lost is not None:
            kept = lost & lost.dtype.type(counts)
            bits[control] = kept if kept.any() else None
        return rule(sources._replace(bits=bits))

    return of_those


def carries(sources: Sources) -> tuple[Array, ...]:
    """Return the lowest undefined bit of the sources of a sum or difference, and all bits above it.

    Carries can reach the upper bits.
    """
    return _upward(sources, [x for x in sources.bits if x is not None])


def products(factor_bits: int | None = None) -> Rule:
    """Make the rule of the low bits of a product of the first two sources, and of a sum with it.

    The product of bits that are undefined from 2**i on and a factor that is a multiple of 2**k is undefined from 2**(i
    + k) on; it is defined if the factor is 0. ``factor_bits`` is the number of low bits of the factors that are used,
    None for all.
    """

    def rule(sources: Sources) -> tuple[Array, ...]:
        dtype = sources.results[0]
        counts = all_bits(dtype) if factor_bits is None else dtype.type((1 << factor_bits) - 1)
        nothing = np.zeros((1, 1, 1), dtype)
        values = [x.astype(dtype) & counts for x in sources.values[:2]]
        bits = [nothing if x is None else x.astype(dtype) & counts for x in sources.bits[:2]]
        (a, b), (lost_a, lost_b) = values, bits
        steps = [_lowest(lost_a) * _lowest(b | lost_b), _lowest(lost_b) * _lowest(a | lost_a)]
        return _upward(sources, [*steps, *(x for x in sources.bits[2:] if x is not None)])

    return rule


def _lowest(bits: Array) -> Array:
    kept: Array = bits & (~bits + bits.dtype.type(1))
    return kept


def _upward(sources: Sources, bits: list[Array]) -> tuple[Array, ...]:
    """Set the lowest of some bits and all above it; a carry flag is undefined if any bit is."""
    found = []
    for dtype in sources.results:
        if dtype.kind == "b":
            found.append(sources.lost())
            continue
        every: Array = np.zeros((1, 1, 1), dtype)
        for x in bits:
            every = every | x.astype(dtype)
        found.append(~_lowest(every) + dtype.type(1))
    return tuple(found)


class ElementRule(NamedTuple):
    """An element of a result: ``width`` bits from ``shift`` on of destination ``target``, and its sources.

    ``reads`` are (source, shift, width) of elements; a width of 0 is the whole source.
    """

    target: int
    shift: int
    width: int
    reads: tuple[tuple[int, int, int], ...]


def by_elements(*pieces: ElementRule) -> Rule:
    """Make the rule of results whose elements each depend on whole elements of the sources."""

    def rule(sources: Sources) -> tuple[Array, ...]:
        found: list[Array] = [np.zeros((1, 1, 1), dtype) for dtype in sources.results]
        for target, shift, width, reads in pieces:
            dtype = sources.results[target]
            lost: Array = np.zeros((1, 1, 1), np.bool_)
            for source, below, taken in reads:
                bits = sources.bits[source]
                if bits is not None:
                    part = bits if not taken else bits >> bits.dtype.type(below) & bits.dtype.type((1 << taken) - 1)
                    lost = lost | (part != 0)
            if dtype.kind == "b":
                found[target] = found[target] | lost
            else:
                mask = dtype.type((1 << width) - 1 << shift)
                found[target] = found[target] | np.where(lost, mask, dtype.type(0))
        return tuple(found)

    return rule

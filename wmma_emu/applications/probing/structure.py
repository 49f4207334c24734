# SPDX-License-Identifier: MIT
"""The steps of k, and the position of c, that produce a tree of sums."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from wmma_emu.applications.probing.terms import C
from wmma_emu.applications.probing.tree import Tree
from wmma_emu.arithmetic import DotProduct

_ANY = 1 << 16
"""A bound on the number of terms of any instruction."""


@dataclass(frozen=True, slots=True)
class Structure:
    """The grouping of a `DotModel`'s summands: its fields for the structure."""

    arithmetic: Literal["aligned_sum", "fma_chain"]
    terms_per_step: int
    k_order: Literal["ascending", "byte_pairs"] = "ascending"
    c_joins: Literal["first_step", "last_add", "each_add"] = "first_step"
    partial_sums: Literal["chained", "added"] = "chained"

    def fields(self) -> dict[str, Any]:
        """Return the fields of a `DotModel`."""
        return {name: getattr(self, name) for name in self.__slots__}

    def tree(self, product: DotProduct) -> Tree:
        """Return the tree of sums of a dot product."""
        steps = replace(product, model=replace(product.model, **self.fields())).steps
        return _chains(self, steps) if self.arithmetic == "fma_chain" else _aligned(self, steps)


Steps = tuple[tuple[int, ...], ...]


def _aligned(structure: Structure, steps: Steps) -> Tree:
    first = structure.c_joins == "first_step"
    running: Tree | None = C if first else None
    if structure.partial_sums == "added":
        for i, step in enumerate(steps):
            partial = _node(C if first and i == 0 else None, *step)
            running = partial if i == 0 else _node(running, partial)
    else:
        for step in steps:
            running = _node(running, *step)
    return _node(running) if first else _node(running, C)


def _chains(structure: Structure, steps: Steps) -> Tree:
    if structure.c_joins == "each_add":
        running: Tree = C
        for step in steps:
            running = _node(running, _chain(step))
        return running
    positions = tuple(sorted(k for step in steps for k in step))
    if structure.c_joins == "first_step":
        return _chain((C, *positions))
    return _node(_chain(positions), C)


def _chain(leaves: tuple[Any, ...]) -> Tree:
    running: Tree = leaves[0]
    for leaf in leaves[1:]:
        running = _node(running, leaf)
    return running


def _node(*children: Tree | None) -> Tree:
    """Return a node of summands that are added at once; a single summand is returned unchanged."""
    present = [x for x in children if x is not None]
    return present[0] if len(present) == 1 else frozenset(present)


def structures_of(tree: Tree, product: DotProduct) -> list[Structure]:
    """Return every structure that produces a tree, the simplest first."""
    return [structure for structure in _candidates(product.k) if structure.tree(product) == tree]


def _candidates(k: int) -> Iterator[Structure]:
    """Yield all structures for k products; equivalent ones with ascending k, few steps and c first come first."""
    yield Structure("fma_chain", 1)
    for n in range(k, 0, -1):
        yield Structure("fma_chain", n, c_joins="last_add")
        yield Structure("fma_chain", n, c_joins="each_add")
    for n in range(k, 0, -1):
        yield Structure("aligned_sum", n)
    for n in range(k, 0, -1):
        yield Structure("aligned_sum", n, c_joins="last_add")
        yield Structure("aligned_sum", n, c_joins="last_add", partial_sums="added")
        yield Structure("aligned_sum", n, partial_sums="added")
    for n in range(max(k // 2, 1), 0, -1):
        yield Structure("aligned_sum", n, "byte_pairs")
        yield Structure("aligned_sum", n, "byte_pairs", "last_add")
        yield Structure("aligned_sum", n, "byte_pairs", "last_add", "added")
        yield Structure("aligned_sum", n, "byte_pairs", "first_step", "added")


def significant(structure: Structure) -> Structure:
    """Return a structure without meaningless fields: a chain has no steps unless c takes their sums."""
    if structure.arithmetic == "fma_chain" and structure.c_joins != "each_add":
        return replace(structure, terms_per_step=1)
    return structure


def values_of(found: list[Structure], chosen: Structure, name: str, terms: int) -> Sequence[Any]:
    """Return the values of a field for which the tree, and so the bits, stay the same."""
    fields = [x for x in chosen.__slots__ if x != name]
    same = [x for x in found if all(getattr(x, field) == getattr(chosen, field) for field in fields)]
    values = list(dict.fromkeys(getattr(x, name) for x in same)) or [getattr(chosen, name)]
    if name != "terms_per_step":
        return values
    if chosen.arithmetic == "fma_chain" and chosen.c_joins != "each_add":
        return range(1, _ANY)
    least = min(values)
    whole = terms // 2 if chosen.k_order == "byte_pairs" else terms
    return range(least, _ANY) if max(values) >= whole else values


def steps_text(structure: Structure) -> str:
    """Describe a structure as text."""
    n = structure.terms_per_step
    join = {
        "first_step": "c is first",
        "last_add": "c is added last",
        "each_add": "each group's sum is added to c in turn",
    }
    if structure.arithmetic == "fma_chain":
        groups = f", {n} products a group" if structure.c_joins == "each_add" else ""
        return f"one product after another{groups}; {join[structure.c_joins]}"
    parts = [f"{n} products at once", join[structure.c_joins]]
    if structure.k_order == "byte_pairs":
        parts.append("first the k with k % 4 < 2, then the others")
    if structure.partial_sums == "added":
        parts.append("the steps' results are added")
    return "; ".join(parts)

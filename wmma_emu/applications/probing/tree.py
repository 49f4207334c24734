# SPDX-License-Identifier: MIT
"""Which summands meet when: the tree of sums, found by masking.

The idea is that of FPRev (P. Xie et al., "FPRev: revealing the order of floating-point summation", arXiv 2411.00442).
Let one summand be large, another its negative, and a third one small. If the small one meets the large one before that
has met its negative, it is absorbed, and the sum is 0; else the sum is the small one. So each triple says whether its
third summand is under the node where the first two meet.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from wmma_emu.applications.probing.device_under_test import DeviceUnderTest, Query
from wmma_emu.applications.probing.terms import C, Leaf, Terms, exact
from wmma_emu.formats.reference import unpack

Tree = Leaf | frozenset["Tree"]
"""A summand, or a set of trees that are added at once."""

_REACH = 60


class NoTreeError(Exception):
    """Sums that come about in no fixed order."""


class _Triple(NamedTuple):
    large: Leaf
    opposite: Leaf
    small: Leaf


class Masks:
    """Asks which summands are absorbed."""

    def __init__(self, device: DeviceUnderTest) -> None:
        self.device = device
        self.terms = Terms(device)
        formats = (device.c, device.d)
        self.large = min(self.terms.top, *(fmt.emax for fmt in formats), _REACH)
        self.small = max(self.terms.bottom, *(fmt.emin - fmt.fraction_bits for fmt in formats), -_REACH)
        self.evidence: list[str] = []

    def absorbed(self, triples: Sequence[_Triple]) -> list[bool]:
        """Whether each triple's small summand is lost.

        Directed rounding shows a small summand of one sign in the last place of the large one; so signs are tried
        until the sum is one of the two that it can be.
        """
        answers: dict[int, bool] = {}
        for signs in product((0, 1), repeat=2):
            missing = [i for i in range(len(triples)) if i not in answers]
            cases = [self._case(triples[i], *signs) for i in missing]
            kept = exact(self.device.d, 1, self.small, signs[1])
            for i, bits in zip(missing, self.device.query(cases), strict=True):
                if unpack(bits, self.device.d).kind == "zero":
                    answers[i] = True
                elif bits == kept:
                    answers[i] = False
        if len(answers) < len(triples):
            wrong = next(triples[i] for i in range(len(triples)) if i not in answers)
            raise NoTreeError(
                f"2**{self.large} at {_name(wrong.large)}, its negative at {_name(wrong.opposite)} and 2**{self.small} "
                f"at {_name(wrong.small)} give neither 0 nor 2**{self.small}"
            )
        return [answers[i] for i in range(len(triples))]

    def _case(self, triple: _Triple, negative: int, small_sign: int) -> Query:
        case = self.terms.case(
            [(triple.large, 1, self.large, negative), (triple.opposite, 1, self.large, 1 - negative),
             (triple.small, 1, self.small, small_sign)]
        )  # fmt: skip
        if case is None:  # pragma: no cover - both are normal in every format
            raise NoTreeError("the formats are too narrow to mask summands")
        return case


def reveal(masks: Masks) -> Tree:
    """Find the tree in which a subject adds its products and c; where nothing is ever lost, all are added at once."""
    return _build(masks, [C, *range(masks.device.terms)])


def _build(masks: Masks, leaves: list[Leaf]) -> Tree:
    """The tree of some summands: from one of them upwards, one node after another."""
    pivot, others = leaves[0], leaves[1:]
    if not others:
        return pivot
    triples = [_Triple(pivot, other, small) for other in others for small in others if small != other]
    lost = dict(zip(triples, masks.absorbed(triples), strict=True))
    under = {
        other: frozenset([other, *(x for x in others if x != other and lost[_Triple(pivot, other, x)])])
        for other in others
    }
    if C in leaves and not any(lost.values()):
        return frozenset(leaves)  # nothing is lost: which sums are made on the way shows nowhere
    tree: Tree = pivot
    below: frozenset[Leaf] = frozenset()
    for leaf_set in sorted(set(under.values()), key=len):
        here = [x for x in others if under[x] == leaf_set]
        if below | set(here) != leaf_set:
            raise NoTreeError(
                f"{_names(leaf_set)} are under the node where {_name(pivot)} meets {_name(here[0])}, and "
                f"{_names(below | set(here))} should be"
            )
        tree = frozenset([tree, *(_build(masks, group) for group in _group_leaves(masks, pivot, here))])
        below = leaf_set
    return tree


def _group_leaves(masks: Masks, pivot: Leaf, leaves: list[Leaf]) -> list[list[Leaf]]:
    """Group summands that meet one another before they meet the pivot."""
    pairs = [(x, y) for i, x in enumerate(leaves) for y in leaves[i + 1 :]]
    lost = masks.absorbed([_Triple(x, y, pivot) for x, y in pairs])
    apart = {pair for pair, gone in zip(pairs, lost, strict=True) if gone}
    groups: list[list[Leaf]] = []
    for leaf in leaves:
        for group in groups:
            if (group[0], leaf) not in apart:
                group.append(leaf)
                break
        else:
            groups.append([leaf])
    return groups


def brackets(tree: Tree) -> str:
    """Write a tree down: what is added at once stands in one pair of brackets, runs of k shortened.

    Examples
    --------
    >>> brackets(frozenset([frozenset(["c", 0, 1, 2, 3]), 4, 5, 6, 7]))
    '((c + k0..k3) + k4..k7)'

    One after another:

    >>> brackets(frozenset([frozenset([frozenset([frozenset([0, 1]), 2]), 3]), "c"]))
    'chain(k0..k3, c)'
    """
    if not isinstance(tree, frozenset):
        return _name(tree)
    base, links = _chain(tree)
    if len(links) > 2:
        parts = [brackets(base), *_in_order(links)] if isinstance(base, frozenset) else _in_order([base, *links])
        return f"chain({', '.join(parts)})"
    inner = sorted((x for x in tree if isinstance(x, frozenset)), key=_first)
    parts = [brackets(x) for x in inner] + (["c"] if C in tree else [])
    return f"({' + '.join(parts + _in_order(sorted(x for x in tree if isinstance(x, int))))})"


def _chain(tree: Tree) -> tuple[Tree, list[Leaf]]:
    """Take off the summands that are added to the rest one after another, last ones first."""
    links: list[Leaf] = []
    while isinstance(tree, frozenset) and len(tree) == 2:
        last = [x for x in tree if not isinstance(x, frozenset)]
        if len(last) == 2:
            first, second = sorted(last, key=_first)
            return first, [second, *reversed(links)]
        if not last:
            break
        links += last
        [tree] = tree - set(last)
    return tree, links[::-1]


def _in_order(leaves: Sequence[Leaf]) -> list[str]:
    """Summands in their order, runs of ascending k shortened."""
    parts: list[list[Leaf]] = []
    for leaf in leaves:
        if parts and leaf != C and parts[-1][-1] != C and int(leaf) == int(parts[-1][-1]) + 1:
            parts[-1].append(leaf)
        else:
            parts.append([leaf])
    return [
        text
        for run in parts
        for text in ([f"k{run[0]}..k{run[-1]}"] if len(run) > 2 else [_name(leaf) for leaf in run])
    ]


def _first(tree: Tree) -> int:
    if not isinstance(tree, frozenset):
        return -1 if tree == C else int(tree)
    return min(_first(x) for x in tree)


def _name(leaf: Leaf) -> str:
    return C if leaf == C else f"k{leaf}"


def _names(leaves: Iterable[Leaf]) -> str:
    return ", ".join(sorted(map(_name, leaves)))

# SPDX-License-Identifier: MIT
"""Altered kernels: those of `examples/ptx`, and the correct variants of the planted bugs."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from examples.ptx.cases import CASES
from examples.ptx.texts import compiled
from tests.ptx.planted.table import PLANTED
from tools.compare_machines.alterations import ALTERATIONS, altered
from tools.compare_machines.attempt import LIMITS, Attempt, launch

__all__ = ["ORIGINALS", "mutant", "mutants"]


class Original(NamedTuple):
    """A kernel and its launch, to be altered."""

    kernel: str
    text: Callable[[], str]
    shape: tuple[Any, Any, int]
    arguments: Callable[[], Sequence[Any]]

    def divided(self) -> tuple[str, list[str]]:
        """Return the text before the body of the kernel, and the lines from there to its end, and after it."""
        head, begin, body = self.text().partition(f".entry {self.kernel}(")
        return head + begin, body.split("\n")


ORIGINALS = {
    name: Original(x.kernel, partial(compiled, x.text), (x.grid, x.block, x.shared), partial(x.draw, 1))
    for name, x in CASES.items() if "512" not in name
} | {
    f"planted_{name}": Original(x.kernel, partial(x.ptx, fixed=True), (x.grid, x.block, x.shared), x.arguments)
    for name, x in PLANTED.items()
}  # fmt: skip
"""The kernels by the names of their cases."""

_KINDS = (*ALTERATIONS, "shortened", "reshaped")

_EXAMPLES = [x for x in ORIGINALS if x in CASES]
_PLANTED = [x for x in ORIGINALS if x not in CASES]


def mutants(seed: int, names: Sequence[str] = ()) -> Iterator[Attempt]:
    """Yield altered kernels in a random order; two of three are larger kernels, those of the examples.

    Each has one change: of one line, of an array, which has half of its elements, or of the grid or the block.
    """
    rng = np.random.default_rng(seed)
    while True:
        some = names or (_EXAMPLES if rng.random() < 2 / 3 else _PLANTED)
        name = some[int(rng.integers(len(some)))]
        kind = _KINDS[int(rng.integers(len(_KINDS)))]
        for number in rng.permutation(_length(name)):
            attempt = mutant(f"{name} {kind} {number} {rng.integers(1 << 30)}")
            if attempt is not None:
                yield attempt
                break


def mutant(described: str) -> Attempt | None:
    """Return an altered kernel by its name; None if the change does not apply to the line.

    The name has the original, the kind of change, the number of the line, and a random number.
    """
    name, kind, number, choice = described.split(" ")
    original = ORIGINALS[name]
    head, lines = original.divided()
    body = altered(lines, int(number), kind, int(choice)) if kind in ALTERATIONS else "\n".join(lines)
    if body is None:
        return None
    arguments = partial(_shortened, original, int(choice)) if kind == "shortened" else original.arguments
    shape = _reshaped(original, int(choice)) if kind == "reshaped" else original.shape
    return Attempt(described, lambda: launch(head + body, original.kernel, shape, [*arguments()], **LIMITS))


def _length(name: str) -> int:
    """Return the number of lines of a kernel's body."""
    original = ORIGINALS[name]
    _, lines = original.divided()
    return next(i for i, x in enumerate(lines) if x.startswith("}"))


def _shortened(original: Original, choice: int) -> list[Any]:
    """Return the arguments with half of an array."""
    drawn = [*original.arguments()]
    arrays = [i for i, x in enumerate(drawn) if isinstance(x, np.ndarray) and x.ndim]
    if arrays:
        at = arrays[choice % len(arrays)]
        drawn[at] = np.ascontiguousarray(drawn[at]).reshape(-1)[: drawn[at].size // 2].copy()
    return drawn


def _reshaped(original: Original, choice: int) -> tuple[Any, Any, int]:
    """Return grid, block and bytes of shared memory, one of them changed."""
    grid, block, shared = original.shape
    grids, blocks = ([*x] if isinstance(x, tuple) else [x] for x in (grid, block))
    changed = grids if choice % 3 == 0 else blocks
    number, count = choice // 3, changed[0]
    if number % 8 == 7:
        return grid, block, shared // 2
    changed[0] = [1, count + 1, max(count - 1, 1), 2 * count, count // 2 or 1, 17, 33][number % 8]
    return tuple(grids), tuple(blocks), shared

# SPDX-License-Identifier: MIT
"""What a campaign consists of: tasks, each some tiles of one family through one instruction."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import prod

from wmma_emu.errors import UnsupportedInstructionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.gpu.campaign.groups import group_of
from wmma_emu.gpu.campaign.registers import Variant, variants_of
from wmma_emu.instructions import Instruction
from wmma_emu.testing.families import FAMILIES, families_of
from wmma_emu.warp import BoundInstruction

__all__ = ["DOT_PRODUCTS_OF_A_TASK", "Task", "check_names", "counts_of", "plan_tasks", "select_families"]

DOT_PRODUCTS_OF_A_TASK = 1 << 20
"""Of one task at most: its arrays stay below some hundred MB, and an interrupt loses little."""


@dataclass(frozen=True, slots=True)
class Task:
    """All pairs of ``p`` warps of A and ``q`` of B, drawn from one seed.

    Parameters
    ----------
    number : int
        In the order of the campaign.
    instruction : int
        Its number among the campaign's.
    family : str
    seed : int
    p, q : int
    variant : Variant
    """

    number: int
    instruction: int
    family: str
    seed: int
    p: int
    q: int
    variant: Variant

    def dot_products(self, row: Instruction) -> int:
        """How many elements of D it computes."""
        return self.p * self.q * row.m * row.n * row.products


def plan_tasks(
    instructions: Sequence[BoundInstruction], counts: Sequence[int], families: Sequence[str] | None, seed: int
) -> list[Task]:
    """Split a campaign into tasks: those of one instruction together, every family as often.

    Parameters
    ----------
    instructions : list of BoundInstruction
    counts : list of int
        Dot products of each, rounded up to whole tasks.
    families : list of str or None
        Those of each instruction that are among them; None for all.
    seed : int
    """
    tasks: list[Task] = []
    for number, (ins, count) in enumerate(zip(instructions, counts, strict=True)):
        row = ins.instruction
        names = [x for x in families_of(row) if families is None or x in families]
        variants = variants_of(row)
        share = -(-count // len(names))
        parts = -(-share // DOT_PRODUCTS_OF_A_TASK)
        p, q = _pool_sizes(row, -(-share // parts))
        for turn, family in enumerate(names):
            for part in range(parts):
                chosen = variants[(turn + part) % len(variants)]
                tasks.append(Task(len(tasks), number, family, _seed(seed, part), p, q, chosen))
    return tasks


def _pool_sizes(row: Instruction, dot_products: int) -> tuple[int, int]:
    """Choose p and q: about as many rows of A as columns of B, so that few are drawn."""
    wanted = max(1, -(-dot_products // prod((row.m, row.n, row.products))))
    q = min(wanted, max(1, round((wanted * row.m / row.n) ** 0.5)))
    return -(-wanted // q), q


def _seed(seed: int, part: int) -> int:
    """The seed of a part of a family: families, formats and shapes enter a draw by themselves."""
    digest = hashlib.shake_128(f"campaign|{seed}|{part}".encode()).digest(6)
    return int.from_bytes(digest, "little")


def check_names(families: Sequence[str] | None) -> None:
    """Check that every family exists.

    Raises
    ------
    UnsupportedInstructionError
    """
    if families is None:
        return
    if not _listed(families):
        raise UnsupportedInstructionError(
            "there is nothing to draw: the list of families is empty; leave it out for all"
        )
    for name in _listed(families):
        if name not in FAMILIES:
            near = get_close_matches(str(name), FAMILIES, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UnsupportedInstructionError(
                f"there is no family {shorten(name)}; the families are {', '.join(FAMILIES)}{hint}"
            )


def select_families(instructions: Sequence[BoundInstruction], families: Sequence[str] | None) -> tuple[str, ...] | None:
    """Check that every instruction has one of the families.

    Raises
    ------
    UnsupportedInstructionError
    """
    if families is None:
        return None
    for ins in instructions:
        legal = families_of(ins.instruction)
        if not set(legal) & set(_listed(families)):
            raise UnsupportedInstructionError(
                f"{ins.mnemonic} has none of the families {', '.join(_listed(families))}; it has {', '.join(legal)}"
            )
    return tuple(dict.fromkeys(_listed(families)))


def _listed(families: Sequence[str]) -> list[str]:
    return [families] if isinstance(families, str) else list(families)


def counts_of(instructions: Sequence[BoundInstruction], count: object, per_group: object) -> list[int]:
    """Say how many dot products each instruction gets: ``count``, or its share of ``per_group``.

    Raises
    ------
    UnsupportedInstructionError
        For what is no positive whole number.
    """
    if per_group is None:
        return [_positive("count", count)] * len(instructions)
    total = _positive("per_group", per_group)
    groups = [group_of(ins.instruction) for ins in instructions]
    return [-(-total // groups.count(group)) for group in groups]


def _positive(name: str, given: object) -> int:
    number = integer_of(given)
    if number is None or number < 1:
        raise UnsupportedInstructionError(
            f"{name}={shorten(given)} is no number of dot products; give 1 or more, such as 10**8"
        )
    return number

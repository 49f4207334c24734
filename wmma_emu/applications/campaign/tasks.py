# SPDX-License-Identifier: MIT
"""The tasks of a campaign: each executes some tiles of one input generator with one instruction."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from wmma_emu.applications.campaign.groups import group_of
from wmma_emu.applications.campaign.registers import Variant, variants_of
from wmma_emu.errors import OptionError, UnknownNameError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.generators import GENERATORS, generators_of
from wmma_emu.instructions import Instruction
from wmma_emu.suggestions import did_you_mean
from wmma_emu.warp import BoundInstruction

DOT_PRODUCTS_OF_A_TASK = 1 << 20
"""The largest size of one task: its arrays stay below a few hundred MB, and an interrupt loses little."""


_MOST = 10**13
"""The largest number of dot products of a campaign: its tasks fit into the memory of a small machine."""


@dataclass(frozen=True, slots=True)
class Task:
    """All pairs of ``p`` warps of A and ``q`` of B, drawn from one seed.

    ``number`` counts the tasks of a campaign, ``instruction`` its instructions.
    """

    number: int
    instruction: int
    generator: str
    seed: int
    p: int
    q: int
    variant: Variant

    def dot_products(self, entry: Instruction) -> int:
        """Return the number of elements of D that it computes."""
        return self.p * self.q * entry.m * entry.n * entry.products


def plan_tasks(
    instructions: Sequence[BoundInstruction], counts: Sequence[int], generators: Sequence[str] | None, seed: int
) -> list[Task]:
    """Divide a campaign into tasks.

    The tasks of one instruction are consecutive, with equal numbers for every generator.

    Counts are dot products of each instruction, rounded up to whole tasks. Each instruction uses the named generators
    that apply to it, or all.
    """
    total = sum(counts)
    if total > _MOST:
        raise OptionError(
            f"{total:.3g} dot products exceed the limit of a campaign, {_MOST:.0e}, which takes days; request fewer, "
            "and run another campaign with another seed"
        )
    tasks: list[Task] = []
    for number, (ins, count) in enumerate(zip(instructions, counts, strict=True)):
        entry = ins.instruction
        names = [x for x in generators_of(entry) if generators is None or x in generators]
        variants = variants_of(entry)
        share = -(-count // len(names))
        parts = -(-share // DOT_PRODUCTS_OF_A_TASK)
        p, q = _pool_sizes(entry, -(-share // parts))
        for turn, generator in enumerate(names):
            for part in range(parts):
                chosen = variants[(turn + part) % len(variants)]
                tasks.append(Task(len(tasks), number, generator, _seed(seed, part), p, q, chosen))
    return tasks


def _pool_sizes(entry: Instruction, dot_products: int) -> tuple[int, int]:
    """Choose p and q: about as many rows of A as columns of B, so that few are drawn."""
    wanted = max(1, -(-dot_products // prod((entry.m, entry.n, entry.products))))
    q = min(wanted, max(1, round((wanted * entry.m / entry.n) ** 0.5)))
    return -(-wanted // q), q


def _seed(seed: int, part: int) -> int:
    """Return the seed of a part; the generator, formats and shapes enter a draw separately."""
    digest = hashlib.shake_128(f"campaign|{seed}|{part}".encode()).digest(6)
    return int.from_bytes(digest, "little")


def check_generators(generators: object) -> tuple[str, ...]:
    """Check that every input generator exists; return each once."""
    if not isinstance(generators, Iterable):
        raise OptionError(f"generators={shorten(generators)} is not a list of names; leave it out for all")
    names = tuple(dict.fromkeys([generators] if isinstance(generators, str) else generators))
    if not names:
        raise OptionError("generators is empty; name some input generators, or leave it out for all")
    for name in names:
        if name not in GENERATORS:
            hint = did_you_mean(name, GENERATORS, f"the input generators are {', '.join(GENERATORS)}")
            raise UnknownNameError(f"there is no input generator {shorten(name)}{hint}")
    return names


def with_generators(
    instructions: Sequence[BoundInstruction], generators: Sequence[str] | None
) -> list[BoundInstruction]:
    """Keep the instructions to which one of the generators applies.

    A pattern may also match instructions of integers, to which none applies.
    """
    if generators is None:
        return list(instructions)
    kept = [ins for ins in instructions if set(generators_of(ins.instruction)) & set(generators)]
    if not kept:
        first = instructions[0]
        raise OptionError(
            f"{first.mnemonic} has none of the input generators {', '.join(generators)}; it has "
            f"{', '.join(generators_of(first.instruction))}"
        )
    return kept


def counts_of(instructions: Sequence[BoundInstruction], count: object, per_group: object) -> list[int]:
    """Return the number of dot products of each instruction: ``count``, or its share of ``per_group``."""
    if per_group is None:
        return [_positive("count", count)] * len(instructions)
    total = _positive("per_group", per_group)
    groups = [group_of(ins.instruction) for ins in instructions]
    return [-(-total // groups.count(group)) for group in groups]


def _positive(name: str, given: object) -> int:
    number = integer_of(given)
    if number is None or number < 1:
        raise OptionError(f"{name}={shorten(given)} is not a number of dot products; pass 1 or more, such as 10**8")
    return number

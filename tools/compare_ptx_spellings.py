# SPDX-License-Identifier: MIT
"""Orders of modifiers and kinds of operands: does the emulator accept and reject the same statements as ptxas?

python -m tools.compare_ptx_spellings --seed 0 --orders 8 --operands 8 [--ptxas PATH] [--write FILE]

Takes the statements of `STATEMENTS`, brings their modifiers into other orders, and replaces their operands by
others. Prints each disagreement; exit status 1 if there is one. ``--write`` records ptxas's judgements for the tests.
"""

import argparse
import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.ptxas_oracle import HEAD, Ptxas, find_ptxas, statement_text
from wmma_emu.errors import WmmaEmuError
from wmma_emu.ptx import Module

TARGET, VERSION = "sm_90a", "9.0"

STATEMENTS = (Path(__file__).parent / "ptx_statements.txt").read_text().splitlines()
"""Statements in the manual's order."""

OPERANDS = (
    "%p5 %h5 %hu5 %hf5 %r5 %u5 %s5 %f5 %rd5 %ud5 %d5 3 -1 4294967296 0f3F800000 0d3FF0000000000000 1.5 %tid.x sv gv "
    "[%rd5] [sv] [gv] [%f5]"
).split()
"""The replacements of an operand."""

DELIBERATE = {
    r"movmatrix\S* .*(%p5|0f)": "ptxas takes predicates and constants for words",
    r"mbarrier\.init\S* .*, (-1|4294967296)": "ptxas 13.0 takes counts that 13.5 refuses",
    r"mma\.sp\S* .*%p5, 0;": "ptxas takes a predicate for the metadata",
    r"mma\.sp\S* .*, \d+;": "a selector that the shape has not",
    r"bar\.red\S* %u1, 0, [-\d]": "a constant for the predicate",
}
"""Statements that ptxas accepts and the emulator rejects: they are meaningless."""


def split(text: str) -> list[str]:
    """Return the operands of a statement."""
    found, depth = [""], 0
    for letter in text:
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(letter, 0)
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [x.strip() for x in found]


def in_other_orders(draw: random.Random, statement: str, count: int) -> Iterator[str]:
    """Return the statement, its permutations of modifiers, and one with a repeated modifier."""
    yield statement
    opcode, blank, rest = statement.partition(" ")
    mnemonic, *words = opcode.split(".")
    for _ in range(count):
        other = draw.sample(words, len(words))
        yield f"{'.'.join((mnemonic, *other))}{blank}{rest}"
        word = draw.choice(words)
        moved = [x for x in words if x != word]
        moved.insert(draw.randrange(len(moved) + 1), word)
        yield f"{'.'.join((mnemonic, *moved))}{blank}{rest}"
    yield f"{'.'.join((mnemonic, *words, draw.choice(words)))}{blank}{rest}"


def with_other_operands(draw: random.Random, statement: str, count: int) -> Iterator[str]:
    """Return the statement with each of its operands replaced."""
    opcode, _, rest = statement.partition(" ")
    operands = split(rest) if rest else []
    for place in range(len(operands)):
        for other in draw.sample(OPERANDS, min(count, len(OPERANDS))):
            yield f"{opcode} {', '.join((*operands[:place], other, *operands[place + 1 :]))}"


def drawn(seed: int, orders: int, operands: int) -> list[str]:
    """Return all statements of a seed, each once."""
    draw = random.Random(seed)
    found: dict[str, None] = {}
    for statement in STATEMENTS:
        found.update(dict.fromkeys(f"{x};" for x in in_other_orders(draw, statement, orders)))
    for statement in STATEMENTS:
        found.update(dict.fromkeys(f"{x};" for x in with_other_operands(draw, statement, operands)))
    return list(found)


def is_deliberate(statement: str) -> bool:
    """Return whether the emulator refuses a statement that ptxas takes because it means nothing."""
    return any(re.match(x, statement) for x in DELIBERATE)


def reasons(statements: Sequence[str]) -> list[str | None]:
    """Return the emulator's reason for rejecting each statement, None if it accepts it."""
    found: list[str | None] = [None] * len(statements)
    _judge(statements, list(range(len(statements))), found)
    return found


def _judge(statements: Sequence[str], asked: list[int], found: list[str | None]) -> None:
    first = HEAD.format(target=TARGET, version=VERSION).count("\n") + 1
    try:
        kernel = Module(statement_text([statements[x] for x in asked], TARGET, VERSION), "sm_90").kernel
    except WmmaEmuError as error:  # not even read: which of them?
        if len(asked) == 1:
            found[asked[0]] = str(error)
            return
        for part in (asked[: len(asked) // 2], asked[len(asked) // 2 :]):
            _judge(statements, part, found)
        return
    for missing in kernel.compiled.missing:
        found[asked[missing.line - first]] = missing.reason


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--orders", type=int, default=8, help="pairs of other orders of each statement")
    parser.add_argument("--operands", type=int, default=8, help="replacements of each operand")
    parser.add_argument("--ptxas", type=Path, default=find_ptxas())
    parser.add_argument("--write", type=Path, help="file for ptxas's judgements")
    given = parser.parse_args(arguments)
    if given.ptxas is None:
        print("ptxas is not installed; name one with --ptxas, or install nvidia-cuda-nvcc")
        return 2
    ptxas, statements = Ptxas(given.ptxas), drawn(given.seed, given.orders, given.operands)
    judged = [x for i in range(0, len(statements), 400) for x in ptxas.judge(statements[i : i + 400], TARGET, VERSION)]
    mine = reasons(statements)
    wrong = 0
    for statement, said, own in zip(statements, judged, mine, strict=True):
        if (said is None) != (own is None) and not (said is None and is_deliberate(statement)):
            wrong += 1
            print(f"{'taken' if said is None else 'refused'} by ptxas: {statement}  {said or own}")
    print(
        f"ptxas {ptxas.version}: {len(statements)} statements, {sum(x is None for x in judged)} taken, "
        f"{wrong} with another result here"
    )
    if given.write:
        head = f"# ptxas {ptxas.version}, .target {TARGET}, .version {VERSION}: + taken, - refused\n"
        rows = (f"{'+' if said is None else '-'} {x}\n" for x, said in zip(statements, judged, strict=True))
        given.write.write_text(head + "".join(rows))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

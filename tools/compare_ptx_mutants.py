# SPDX-License-Identifier: MIT
"""PTX with small faults: does ptxas reject source that the emulator accepts, at a line of the same kernel?

python -m tools.compare_ptx_mutants --seed 0 --count 400 [--ptxas PATH] [--texts FOLDER ...]

Tokens of one kernel's instructions are deleted, doubled, swapped or replaced by others. A mutant counts if the kernel
could be launched here. Prints each disagreement; exit status 1 if there is one.
"""

import argparse
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.ptxas_oracle import Ptxas, find_ptxas
from wmma_emu.errors import WmmaEmuError
from wmma_emu.ptx import Module
from wmma_emu.ptx.launch.targets import arch_for

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "examples" / "ptx" / "compiled", ROOT / "tests" / "ptx")

_LONGEST = 60_000
_TOKEN = re.compile(r"\.?[A-Za-z_%$][\w$%]*(?:::[a-z_]\w*)*|0[fFdDxX][0-9A-Fa-f]+|\d+\.\d+|\d+|\.[a-z]\w*|[^\s\w]")
_WORDS = (
    ".f32 .s32 .u32 .b32 .f64 .b64 .u64 .s64 .f16 .b16 .u16 .f16x2 .bf16 .bf16x2 .pred .rn .rz .ftz .sat .approx .full "
    ".global .shared .local .const .param .v2 .v4 .lo .hi .wide .sync .aligned .x1 .x4 .trans .row .col .uni .to .ca "
    ".cg .nc .volatile .relaxed .gpu .lt .eq .and 0 1 2 16 32 -1 4608 4294967296 0f3F800000 0d3FF0000000000000 1.5 _ ! "
    "% %tid.x %clock64"
).split()


@dataclass(frozen=True)
class Mutant:
    """PTX source with a fault, the kernel that has it, and the first and last line of that kernel."""

    name: str
    text: str
    kernel: str
    first: int
    last: int


def sources(folders: Sequence[Path]) -> list[tuple[str, str]]:
    """Return PTX sources of moderate length, by name."""
    paths = sorted(x for folder in folders for x in folder.rglob("*.ptx"))
    texts = [(str(x.name), x.read_text()) for x in paths]
    return [(name, text) for name, text in texts if len(text) < _LONGEST and ".entry" in text]


def kernels_of(text: str) -> list[tuple[str, int, int]]:
    """Name and span of the body of each kernel, characters of the braces included."""
    found = []
    for entry in re.finditer(r"\.entry\s+([\w$]+)", text):
        begin = text.find("{", entry.end())
        depth, place = 0, begin
        while 0 <= place < len(text):
            depth += {"{": 1, "}": -1}.get(text[place], 0)
            if depth == 0:
                found.append((entry[1], begin, place + 1))
                break
            place += 1
    return found


def mutate(draw: random.Random, text: str, begin: int, end: int) -> str:
    """Change one to three tokens of the instructions between two places."""
    body = text[begin:end]
    statements = [
        x
        for x in re.finditer(r"[^;{}]+;", body)
        if not re.match(r"\s*(\.|//|/\*)", x[0]) and not re.search(r"//|\.(pragma|loc|file)", x[0])
    ]
    if not statements:
        return text
    edits = []
    for statement in draw.sample(statements, min(len(statements), draw.choice((1, 1, 1, 2, 3)))):
        tokens = [x for x in _TOKEN.finditer(statement[0])][:-1]
        if not tokens:
            continue
        token = draw.choice(tokens)
        other = draw.choice([x for x in _TOKEN.finditer(draw.choice(statements)[0])])
        kind = draw.randrange(6)
        new = {
            0: "", 1: token[0] * 2, 2: other[0], 3: draw.choice(_WORDS), 4: token[0] + draw.choice(_WORDS), 5: other[0]
        }[kind]  # fmt: skip
        edits.append((begin + statement.start() + token.start(), begin + statement.start() + token.end(), new))
    for start, stop, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[stop:]
    return text


def mutants(seed: int, texts: Sequence[tuple[str, str]]) -> Iterator[Mutant]:
    """Yield mutants endlessly: the same for the same seed and sources."""
    draw = random.Random(seed)
    while True:
        name, text = draw.choice(texts)
        kernel, begin, end = draw.choice(kernels_of(text))
        changed = mutate(draw, text, begin, end)
        if changed != text:
            first = text.count("\n", 0, begin) + 1
            yield Mutant(
                name, changed, kernel, first, first + changed.count("\n", begin, end + len(changed) - len(text))
            )


def is_taken(mutant: Mutant) -> bool:
    """Return whether the emulator would launch the kernel."""
    try:
        kernel = Module(mutant.text, arch_for(mutant.text))[mutant.kernel]
        return not kernel.compiled.missing
    except WmmaEmuError:
        return False


def target_of(text: str) -> str:
    """Return the chip of ``.target``."""
    found = re.search(r"\.target\s+(sm_\w+)", text)
    return found[1] if found else "sm_80"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=400, help="mutants that the emulator takes")
    parser.add_argument("--ptxas", type=Path, default=find_ptxas())
    parser.add_argument("--texts", type=Path, nargs="*", default=list(FOLDERS), help="folders of PTX")
    given = parser.parse_args(arguments)
    if given.ptxas is None:
        print("ptxas is not installed; name one with --ptxas, or install nvidia-cuda-nvcc")
        return 2
    ptxas, texts = Ptxas(given.ptxas), sources(given.texts)
    untouched = {name: ptxas.errors(text, target_of(text)) for name, text in texts}
    texts = [(name, text) for name, text in texts if not untouched[name]]
    drawn = taken = wrong = 0
    for mutant in mutants(given.seed, texts):
        if taken == given.count:
            break
        drawn += 1
        if not is_taken(mutant):
            continue
        taken += 1
        errors = ptxas.errors(mutant.text, target_of(mutant.text))
        for line, reason in sorted(x for x in errors.items() if x[1])[:1]:  # ptxas may crash without a word
            wrong += 1
            lines = mutant.text.splitlines()
            print(f"{mutant.name}, {mutant.kernel}, line {line}: {reason}: {lines[line - 1].strip() if line else ''}")
    print(
        f"ptxas {ptxas.version}: seed {given.seed}, {len(texts)} sources, {drawn} mutants, {taken} taken here, "
        f"{wrong} of them refused by ptxas"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

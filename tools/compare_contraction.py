# SPDX-License-Identifier: MIT
"""Compare the rules of contraction with the machine code that ptxas generates from PTX files.

    python -m tools.compare_contraction FILE.ptx FOLDER ... --targets sm_80 sm_90a --releases 12.9 13.0

Every sum that leaves its rounding open is a site: the machine code has an addition for it, or a fused multiply-add. The
tool counts the sites on which rules and machine code agree, those that the machine code does not have (removed, or
merged into another instruction of a packed pair), and prints each one on which they differ. PTX for an
architecture-specific target, such as sm_90a, is assembled for that chip alone.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from wmma_emu.errors import CompilationError, WmmaEmuError
from wmma_emu.ptx.launch.assembler import Assembler, find_assemblers
from wmma_emu.ptx.launch.machine_code import Disassembly, assembled_by
from wmma_emu.ptx.machine.known_values import evaluate
from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.folding import fold
from wmma_emu.ptx.program.fusions import choose, is_sum
from wmma_emu.ptx.program.program import KernelProgram, ModuleProgram

KINDS = ("fused, as ptxas does", "not fused, as ptxas does not", "not in the machine code", "differs")


class Site(NamedTuple):
    """A sum on which rules and machine code differ."""

    kernel: str
    line: int
    text: str
    rule: str
    machine: str


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path, help="files of PTX, or folders of them")
    parser.add_argument("--targets", nargs="+", default=["sm_90a"], help="chips to assemble for (default: sm_90a)")
    parser.add_argument(
        "--releases", nargs="*", default=[], help="installed ptxas releases to use, as in 13.0; all if left out"
    )
    parser.add_argument("--json", type=Path, help="write the counts there")
    given = parser.parse_args(argv)
    asked = tuple(f"{x}." for x in given.releases) or ("",)
    assemblers = [x for x in find_assemblers() if x.version.startswith(asked)]
    if not assemblers:
        parser.error(f"no ptxas of these releases; there are {', '.join(x.version for x in find_assemblers())}")
    texts = [x for path in given.texts for x in (sorted(path.rglob("*.ptx")) if path.is_dir() else [path])]
    counts: dict[str, Counter[str]] = {}
    for path in texts:
        for assembler, target, result in _compared(path, assemblers, given.targets):
            total = counts.setdefault(f"ptxas {assembler.version}, {target}", Counter(texts=0))
            if isinstance(result, str):
                total["texts refused"] += 1
                print(f"{path.name}, {assembler.version}, {target}: {result}", flush=True)
                continue
            total["texts"] += 1
            total.update(result[0])
            for site in result[1]:
                print(f"{path}, ptxas {assembler.version}, {target}: {site.kernel}, line {site.line}: {site.text}: "
                      f"{site.rule} here, {site.machine} there", flush=True)  # fmt: skip
    _print(counts)
    if given.json is not None:
        given.json.write_text(json.dumps({x: dict(y) for x, y in counts.items()}, indent=1) + "\n")
    return int(any(x["differs"] for x in counts.values()))


def _compared(
    path: Path, assemblers: Sequence[Assembler], targets: Sequence[str]
) -> Iterator[tuple[Assembler, str, "str | tuple[Counter[str], list[Site]]"]]:
    text = path.read_text(encoding="utf-8")
    own = re.search(r"^\s*\.target\s+(sm_\d+[af])", text, re.MULTILINE)
    try:
        module = program_of(text)
    except WmmaEmuError as error:
        print(f"{path.name}: {str(error).splitlines()[0]}", flush=True)
        return
    if not any(is_sum(x) for kernel in module.kernels.values() for x in kernel.instructions):
        return
    for assembler in assemblers:
        for target in [own[1]] if own else targets:
            try:
                yield assembler, target, _sites(module, assembled_by(assembler, text, target))
            except CompilationError as error:
                yield assembler, target, str(error).splitlines()[0]


def _sites(module: ModuleProgram, code: Disassembly) -> tuple[Counter[str], list[Site]]:
    counts: Counter[str] = Counter()
    differing = []
    for program in module.kernels.values():
        kernel, _ = fold(program, evaluate, contracts=True)
        for kind, site in _sites_of(kernel, code):
            counts[kind] += 1
            if kind == "differs":
                differing.append(site)
    return counts, differing


def _sites_of(kernel: KernelProgram, code: Disassembly) -> Iterator[tuple[str, Site]]:
    fused = {x.total for x in choose(kernel)[0]}
    functions = (kernel.name, *(name for name, _, _ in kernel.functions))
    for place, x in enumerate(kernel.instructions):
        if not is_sum(x):
            continue
        rule = "fma" if place in fused else "add"
        found = {y for name in functions for y in code.kinds_of(name, (x.line, x.column), x.modifiers[-1])} - {"mul"}
        if not found:
            kind = KINDS[2]
        elif found == {rule}:
            kind = KINDS[0] if rule == "fma" else KINDS[1]
        else:
            kind = KINDS[3]
        yield kind, Site(kernel.name, x.line, kernel.text(x.line), rule, " and ".join(sorted(found)))


def _print(counts: dict[str, Counter[str]]) -> None:
    heads = ("ptxas and chip", "texts", *KINDS)
    print(f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", sep="\n")
    for name, found in counts.items():
        print(f"| {' | '.join([name, *(f'{found[x]:,}' for x in heads[1:])])} |")


if __name__ == "__main__":
    sys.exit(main())

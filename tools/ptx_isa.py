# SPDX-License-Identifier: MIT
"""List the instructions of the PTX ISA that the emulator neither executes nor refuses with a reason of a table.

    python -m tools.ptx_isa                # print them, and counts by instruction with --verbose
    python -m tools.ptx_isa --assemble     # ask the newest installed ptxas about every statement again

The statements are in tests/ptx/steps/data/isa_statements.txt: every opcode in the tables of ptxas, with the qualifiers
that the manual documents. A statement counts as executed if the emulator loads a kernel with it for its first target.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from wmma_emu.errors import CompilationError, PtxSyntaxError, WmmaEmuError
from wmma_emu.ptx import Module
from wmma_emu.ptx.launch.assembler import find_assemblers
from wmma_emu.ptx.steps.refusals import reasons

__all__ = ["Answer", "IsaStatement", "answers", "main", "read_statements"]

STATEMENTS = Path(__file__).parents[1] / "tests/ptx/steps/data/isa_statements.txt"
_VERSION = "9.4"

_HEAD = """.version {version}
.target {target}{mode}
.address_size 64
.global .align 128 .b8 gv[256];
.const .align 16 .b8 cv[256];
{module}
.visible .entry k(.param .u64 pp)
{{
.reg .pred %p<40>; .reg .b16 %h<40>; .reg .u16 %hu<20>; .reg .s16 %hs<20>; .reg .f16 %hf<20>;
.reg .b32 %r<140>; .reg .u32 %u<20>; .reg .s32 %s<140>; .reg .f32 %f<140>; .reg .f16x2 %ff<20>;
.reg .b64 %rd<40>; .reg .u64 %ud<20>; .reg .s64 %sd<20>; .reg .f64 %d<20>;
.shared .align 128 .b8 sv[1024];
.local .align 16 .b8 lv[256];
"""
_MODULE = {
    "tex0": ".global .texref tex0;",
    "srf0": ".global .surfref srf0;",
    "smp0": ".global .samplerref smp0;",
    "callee": ".func (.param .b32 cr) callee(.param .b32 ca) "
    "{ .reg .b32 %x; ld.param.b32 %x, [ca]; st.param.b32 [cr], %x; ret; }",
    "plain": ".func plain() { ret; }",
    "vprintf": ".extern .func (.param .b32 fr) vprintf (.param .b64 fa, .param .b64 fb);",
    "malloc": ".extern .func (.param .b64 mr) malloc (.param .b64 ma);",
}
"""The declarations of the module that a statement may name."""


class IsaStatement(NamedTuple):
    """A statement, the instruction that it belongs to, the targets whose assembler accepts it, and its PTX version."""

    group: str
    targets: tuple[str, ...]
    version: str
    text: str


class Answer(NamedTuple):
    """The emulator's answer: "executes", "refused" with a reason of a table, or "open"; and the message."""

    kind: str
    message: str


def read_statements(path: Path = STATEMENTS) -> list[IsaStatement]:
    """Read the statements, in the order of the file."""
    found, group = [], ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            group = line[3:]
        elif not line.startswith("#"):
            targets, version, text = line.split("|", 2)
            found.append(IsaStatement(group, tuple(f"sm_{x}" for x in targets.split()), version, text))
    return found


def text_of(statements: Sequence[str], target: str) -> tuple[str, int]:
    """Write a kernel with the statements, one in a line, and return the line before the first one."""
    body = "".join(f"{{ {x} }}\n" for x in statements)
    module = " ".join(y for x, y in _MODULE.items() if re.search(rf"\b{x}\b", body))
    mode = ", texmode_independent" if "smp0" in body else ""
    head = _HEAD.format(version=_VERSION, target=target, mode=mode, module=module)
    return f"{head}{body}LEXIT: ret;\n}}\n", head.count("\n")


def answers(statements: Sequence[IsaStatement]) -> dict[IsaStatement, Answer]:
    """Load the statements, each for its first target, and return the emulator's answer to each."""
    found: dict[IsaStatement, Answer] = {}
    groups: dict[tuple[str, bool], list[IsaStatement]] = {}
    for one in statements:
        groups.setdefault((one.targets[0], "smp0" in one.text), []).append(one)
    for (target, _), group in groups.items():
        found.update(_answers_on(target, group))
    return {x: found[x] for x in statements}


def _answers_on(target: str, statements: Sequence[IsaStatement]) -> Iterator[tuple[IsaStatement, Answer]]:
    left = list(statements)
    while left:
        text, before = text_of([x.text for x in left], target)
        try:
            missing = Module(text, re.sub("[af]$", "", target), contraction="never")["k"].compiled.missing
        except (PtxSyntaxError, WmmaEmuError) as error:
            number = re.match(r"line (\d+)", str(error))
            index = int(number[1]) - before - 1 if number else -1
            if not 0 <= index < len(left):
                raise
            one = left.pop(index)
            yield one, _answer(one, str(error).splitlines()[0])
            continue
        said = {x.line - before - 1: x.reason for x in reversed(missing)}
        yield from ((x, _answer(x, said.get(i, ""))) for i, x in enumerate(left))
        return


def _answer(one: IsaStatement, message: str) -> Answer:
    if not message:
        return Answer("executes", "")
    return Answer("refused" if any(x in message for x in reasons()) else "open", message)


def _refused_by_ptxas(statements: Sequence[IsaStatement]) -> Iterator[str]:
    """Yield the statements that the newest installed ptxas refuses for their first target."""
    assembler = find_assemblers()[0]
    print(f"ptxas {assembler.version}")
    for one in statements:
        try:
            assembler.listing(text_of([one.text], one.targets[0])[0], one.targets[0])
        except CompilationError as error:
            yield f"{one.targets[0]}: {one.text}: {error}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--verbose", action="store_true", help="also print the counts of each instruction")
    parser.add_argument("--assemble", action="store_true", help="ask the newest installed ptxas")
    given = parser.parse_args(argv)
    statements = read_statements()
    if given.assemble:
        refused = list(_refused_by_ptxas(statements))
        print(*refused, f"{len(refused)} of {len(statements)} statements are refused", sep="\n")
        return int(bool(refused))
    found = answers(statements)
    if given.verbose:
        counts: dict[str, Counter[str]] = {}
        for one, answer in found.items():
            counts.setdefault(one.group, Counter())[answer.kind] += 1
        for group, count in counts.items():
            print(f"{group}: {', '.join(f'{y} {x}' for x, y in count.items())}")
    unanswered = {x: y for x, y in found.items() if y.kind == "open"}
    for one, answer in unanswered.items():
        print(f"{one.group} | {' '.join(one.targets)} | PTX {one.version} | {one.text} | {answer.message}")
    kinds = Counter(x.kind for x in found.values())
    print(f"{len(found)} statements: {kinds['executes']} executed, {kinds['refused']} refused with a reason, "
          f"{kinds['open']} neither")  # fmt: skip
    return int(bool(unanswered))


if __name__ == "__main__":
    sys.exit(main())

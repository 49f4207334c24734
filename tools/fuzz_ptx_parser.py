# SPDX-License-Identifier: MIT
"""Feed damaged PTX to the parser: every source must be parsed or rejected, in time linear in its length.

python -m tools.fuzz_ptx_parser --count 1000000 --seed 0 --report FILE [--processes 1]

The same seed gives the same sources, for any number of processes. Exit status 1 if anything else happened.
"""

import argparse
import json
import platform
import random
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import Pool
from pathlib import Path

from wmma_emu.errors import PtxSyntaxError, UnsupportedInstructionError
from wmma_emu.ptx.program.build import program_of

TEXTS = Path(__file__).parents[1] / "tests" / "ptx" / "texts"

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"

WORDS = (
    ".version .target .address_size .visible .extern .weak .common .entry .func .reg .shared .global .const "
    ".local .param .align .b8 .b16 .b32 .b64 .b128 .u32 .s64 .f32 .f64 .pred .v2 .v4 .ptr .loc .file .section "
    ".pragma .alias .attribute .branchtargets .callprototype .calltargets .reqntid .maxntid .noreturn add.s32 "
    "mov.b32 mov.u64 ld.param.u64 ld.global.v4.f32 st.shared.b32 setp.lt.s32 bra bra.uni brx.idx call "
    "call.uni ret exit selp.b32 cvta.to.global.u64 shfl.sync.idx.b32 %r1 %r2 %r99 %rd1 %p1 %tid.x %laneid "
    "WARP_SZ a f k L1 L2 T _ p x v.x %r $L__BB0_1 generic { } ( ) [ ] < > , ; : :: @ @! ! | + - * / % << >> & "
    "^ ~ ? = == && || 0 1 -1 5 32 4294967296 18446744073709551615 0x1F 017 0b11 5U 1.5 .5 1e5 0f3F800000 "
    '0d3FF0000000000000 99999999999999999999 "s" " // /* */ # \\ é \0'
).split(" ")

SNIPPETS = (
    ".entry k(.param .u64 a) { .reg .b32 %r<5>; .reg .pred %p<2>; L1: mov.b32 %r1, %r2; @%p1 bra L1; ret; }",
    ".func (.reg .b32 r) f (.reg .b32 x) { add.s32 r, x, 1; ret; } "
    ".entry k() { .reg .b32 %r<3>; call (%r1), f, (%r2); }",
    ".func (.param .b32 r) f (.param .b32 x) ; .entry k() { .param .b32 a; .param .b32 b; call (a), f, (b); }",
    ".global .align 8 .u64 p[2] = {q, generic(q)+8}; .global .b8 q[16]; .const .f32 c[2][2] = {{1.5, -2.0}, {3.25}};",
    ".extern .shared .align 16 .b8 d[]; .shared .b32 s[4]; "
    ".entry k() { .reg .b64 %rd<2>; mov.u64 %rd1, d; mov.u64 %rd1, s+4; }",
    ".entry k() { .reg .b32 %r<9>; T: .branchtargets L1, L2; brx.idx %r1, T; "
    "L1: { .reg .b32 %r<2>; L3: bra L2; } L2: ret; }",
    ".entry k() .reqntid 32, 1, 1 { .reg .b32 %r<9>; .loc 1 2 3 "
    "mov.u32 %r1, (1 << 4) | ~3 ? 5 : 6; mov.u32 %r2, %tid.x; }",
    '.entry k() { .reg .v4 .f32 v; .pragma "nounroll"; ld.global.v4.f32 v, [16]; } '
    '.file 1 "x" .section .debug { .b8 1 }',
)
"""Valid sources, so that the parser gets far in most damaged ones."""

_PIECES = re.compile(r"\s+|\w+|[^\w\s]")

_SPANS = (1, 1, 1, 2, 2, 3, 5, 8, 20, 60)
"""Characters that a damage touches."""


@dataclass(slots=True)
class Counts:
    """The results of some sources."""

    parsed: int = 0
    refused: int = 0
    characters: int = 0
    slowest: float = 0.0
    crashes: list[str] = field(default_factory=list)

    def add(self, other: "Counts") -> None:
        self.parsed += other.parsed
        self.refused += other.refused
        self.characters += other.characters
        self.slowest = max(self.slowest, other.slowest)
        self.crashes += other.crashes


def sources() -> list[str]:
    """Return sources to damage: the snippets, and whole samples of compilers' output."""
    return [*(HEAD + x for x in SNIPPETS), *(x.read_text() for x in sorted(TEXTS.glob("*.ptx")))]


def soup(draw: random.Random) -> str:
    """Return words of PTX in any order."""
    words = " ".join(draw.choices(WORDS, k=draw.randrange(1, 60)))
    return draw.choice(("", HEAD, HEAD + ".entry k() { .reg .b32 %r<5>; .reg .pred %p<2>; ")) + words


def raw(draw: random.Random) -> str:
    """Return characters in any order, some of them many times."""
    alphabet = "abr.%_$0123456789xfUe+-*/<>{}[]()|&^~!?:;,@=\"\\#' \t\n\r\0é\u2028"
    text = "".join(draw.choices(alphabet, k=draw.randrange(1, 80)))
    if draw.random() < 0.2:
        text += draw.choice(alphabet) * draw.randrange(1, 3000)
    return draw.choice(("", HEAD, HEAD + ".entry k() { mov.b32 ")) + text


def mutated(draw: random.Random, texts: Sequence[str]) -> str:
    """Return a source with spans deleted, doubled, moved or replaced from another source, and characters changed."""
    text = draw.choice(texts[: len(SNIPPETS)] if draw.random() < 0.8 else texts)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        where, length = draw.randrange(len(text) + 1), draw.choice(_SPANS)
        span = text[where : where + length]
        kind = draw.randrange(12)
        if kind == 0:
            text = text[:where] + text[where + length :]
        elif kind == 1:
            text = text[:where] + span * draw.choice((2, 2, 3, 50)) + text[where + length :]
        elif kind == 2:
            other = draw.randrange(len(text) + 1)
            text = text[:other] + span + text[other:]
        elif kind == 3:
            donor = draw.choice(texts)
            begin = draw.randrange(len(donor) + 1)
            text = text[:where] + donor[begin : begin + length] + text[where + length :]
        elif kind == 4:
            text = text[:where] + chr(draw.choice((draw.randrange(128), draw.randrange(0x3000)))) + text[where + 1 :]
        elif kind == 5:
            text = text[:where] + draw.choice(WORDS) + text[where:]
        elif kind < 11:
            statements = text.split(";")
            one, other = draw.randrange(len(statements)), draw.randrange(len(statements))
            statements[one : one + draw.randrange(2)] = statements[other : other + draw.randrange(3)]
            text = ";".join(statements)
        else:
            pieces = _PIECES.findall(text)
            one, other = draw.randrange(max(1, len(pieces))), draw.randrange(max(1, len(pieces)))
            pieces[one : one + 1] = pieces[other : other + 1] if draw.random() < 0.7 else [draw.choice(WORDS)]
            text = "".join(pieces)
    return text


def make(index: int, seed: int, texts: Sequence[str]) -> str:
    """Return source number `index` of a seed."""
    draw = random.Random(f"{seed} {index}")
    kind = draw.random()
    if kind < 0.15:
        return raw(draw)
    return soup(draw) if kind < 0.4 else mutated(draw, texts)


def try_one(text: str, counts: Counts, name: str) -> None:
    """Parse and build one text, and count what came out."""
    start = time.process_time()
    try:
        program_of(text)
        counts.parsed += 1
    except (PtxSyntaxError, UnsupportedInstructionError):
        counts.refused += 1
    except BaseException as error:
        counts.crashes.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
    took = time.process_time() - start
    counts.characters += len(text)
    counts.slowest = max(counts.slowest, took / max(1.0, len(text) / 1024))


def _batch(numbers: range, seed: int) -> Counts:
    counts, texts = Counts(), sources()
    for index in numbers:
        try_one(make(index, seed, texts), counts, f"text {index} of seed {seed}")
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="texts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--machine", default=platform.processor() or platform.machine(), help="for the report")
    parser.add_argument("--report", type=Path, help="JSON file to write")
    given = parser.parse_args(arguments)
    started, total = time.monotonic(), Counts()
    batches = [range(a, min(a + 1000, given.count)) for a in range(0, given.count, 1000)]
    with Pool(given.processes) as pool:
        for done, counts in enumerate(pool.imap(partial(_batch, seed=given.seed), batches), 1):
            total.add(counts)
            if done % 100 == 0:
                print(f"{done} of {len(batches)} thousand, {len(total.crashes)} crashes", flush=True)
    report = {
        "machine": {"cores": given.machine, "python": platform.python_version()},
        "count": given.count, "seed": given.seed, "parsed": total.parsed, "refused": total.refused,
        "crashes": len(total.crashes), "first_crashes": total.crashes[:20], "characters": total.characters,
        "longest_milliseconds_per_kilobyte": round(total.slowest * 1e3, 3),
        "seconds": round(time.monotonic() - started, 1),
    }  # fmt: skip
    print(json.dumps(report, indent=1))
    if given.report:
        given.report.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if total.crashes else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""Orders of modifiers and kinds of operands: does the emulator take what ptxas takes, and refuse what it refuses?

python -m tools.compare_ptx_spellings --seed 0 --orders 8 --operands 8 [--ptxas PATH] [--write FILE]

Takes the statements of `STATEMENTS`, brings their modifiers into other orders, and puts other operands in the place of
theirs. Prints each disagreement; exit status 1 if there is one. ``--write`` records ptxas's judgements for the tests.
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

STATEMENTS = """
add.rn.ftz.sat.f32 %f1, %f2, %f3
add.sat.s32 %s1, %s2, %s3
add.cc.u32 %u1, %u2, %u3
sub.rn.f64 %d1, %d2, %d3
mul.lo.s32 %s1, %s2, %s3
mul.wide.u16 %u1, %hu2, %hu3
mul.rz.ftz.f32 %f1, %f2, %f3
mad.lo.cc.u32 %u1, %u2, %u3, %u4
mad.hi.sat.s32 %s1, %s2, %s3, %s4
mad24.lo.u32 %u1, %u2, %u3, %u4
fma.rn.ftz.relu.f16 %hf1, %hf2, %hf3, %hf4
fma.rn.bf16x2 %r1, %r2, %r3, %r4
div.full.ftz.f32 %f1, %f2, %f3
div.approx.ftz.f32 %f1, %f2, %f3
div.s32 %s1, %s2, %s3
rcp.approx.ftz.f32 %f1, %f2
sqrt.rn.ftz.f32 %f1, %f2
ex2.approx.ftz.f32 %f1, %f2
tanh.approx.f32 %f1, %f2
min.ftz.NaN.xorsign.abs.f32 %f1, %f2, %f3
max.relu.s32 %s1, %s2, %s3
dp4a.u32.s32 %s1, %u2, %s3, %s4
dp2a.lo.u32.s32 %s1, %u2, %s3, %s4
and.b32 %r1, %r2, %r3
lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 1, %p2
shf.l.clamp.b32 %r1, %r2, %r3, %u4
shl.b64 %rd1, %rd2, %u3
shr.s32 %s1, %s2, %u3
prmt.b32.f4e %r1, %r2, %r3, %r4
bfe.s32 %s1, %s2, %u3, %u4
bfi.b64 %rd1, %rd2, %rd3, %u4, %u5
bfind.shiftamt.u32 %u1, %u2
szext.clamp.u32 %u1, %u2, %u3
popc.b64 %u1, %rd2
mov.b32 %r1, %r2
mov.f32 %f1, %f2
mov.u64 %ud1, %ud2
selp.f32 %f1, %f2, %f3, %p1
slct.ftz.u32.f32 %u1, %u2, %u3, %f4
setp.lt.and.ftz.f32 %p1|%p2, %f1, %f2, %p3
setp.eq.or.u64 %p1, %ud1, %ud2, %p3
set.lt.xor.ftz.u32.f32 %u1, %f2, %f3, %p1
testp.finite.f32 %p1, %f2
copysign.f64 %d1, %d2, %d3
cvt.rn.f16.f32 %hf1, %f2
cvt.rn.relu.f16x2.f32 %ff1, %f2, %f3
cvt.rzi.ftz.sat.s32.f32 %s1, %f2
cvt.rn.satfinite.relu.e4m3x2.f32 %h1, %f2, %f3
cvt.rna.tf32.f32 %r1, %f2
cvt.u64.u32 %ud1, %u2
cvt.pack.sat.u8.s32.b32 %r1, %s2, %s3, %r4
vadd4.s32.u32.u32.sat %s1, %u2, %u3, %s4
vset2.u32.u32.lt.add %u1, %u2, %u3, %u4
shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1
vote.sync.ballot.b32 %r1, %p1, -1
vote.sync.all.pred %p1, %p2, -1
match.any.sync.b32 %r1, %r2, -1
redux.sync.add.u32 %u1, %u2, -1
elect.sync %r1|%p1, -1
activemask.b32 %r1
ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [%rd5]
stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%rd5], {%r1, %r2}
movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4}
mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%s1, %s2, %s3, %s4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%s1, %s2, %s3, %s4}
mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%s1, %s2, %s3, %s4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%s1, %s2, %s3, %s4}
mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8}, {%f1, %f2, %f3, %f4}, %r9, 0
wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1]
wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}
wgmma.fence.sync.aligned
wgmma.wait_group.sync.aligned 0
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, 1, 0, 0
ld.relaxed.gpu.global.L1::no_allocate.v2.b32 {%r1, %r2}, [%rd1]
ld.global.nc.L1::evict_first.L2::128B.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]
ld.volatile.shared.u32 %u1, [%rd1]
ld.global.f32 %f1, [%rd1]
ld.global.u8 %hu1, [%rd1]
ld.shared.b64 %rd1, [%rd2]
st.release.gpu.global.u32 [%rd1], %u1
st.global.cs.v2.f32 [%rd1], {%f1, %f2}
st.shared.u16 [%rd1], %hu1
atom.acq_rel.gpu.global.add.u32 %u1, [%rd1], %u2
atom.global.cas.b64 %rd1, [%rd2], %rd3, %rd4
atom.add.noftz.f16x2 %r1, [%rd1], %r2
red.relaxed.gpu.global.add.f32 [%rd1], %f1
cp.async.ca.shared.global.L2::128B [%rd1], [%rd2], 16
cp.async.commit_group
cp.async.mbarrier.arrive.noinc.shared.b64 [%rd1]
mbarrier.init.shared::cta.b64 [%rd1], %r2
mbarrier.arrive.release.cta.shared::cta.b64 %rd1, [%rd2]
mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd1, [%rd2], %r3
mbarrier.test_wait.parity.acquire.cta.shared.b64 %p1, [%rd2], %r3
bar.sync 0
bar.red.popc.u32 %u1, 0, %p1
bar.warp.sync -1
barrier.cta.sync.aligned 0
fence.acq_rel.gpu
fence.mbarrier_init.release.cluster
fence.proxy.async.shared::cta
cvta.to.global.u64 %rd1, %rd2
cvta.shared.u64 %rd1, %rd2
isspacep.shared::cta %p1, %rd2
nanosleep.u32 %u1
""".strip().splitlines()
"""Statements in the manual's order."""

OPERANDS = (
    "%p5 %h5 %hu5 %hf5 %r5 %u5 %s5 %f5 %rd5 %ud5 %d5 3 -1 4294967296 0f3F800000 0d3FF0000000000000 1.5 %tid.x sv gv "
    "[%rd5] [sv] [gv] [%f5]"
).split()
"""What is put in the place of an operand."""

DELIBERATE = {
    r"movmatrix\S* .*(%p5|0f)": "ptxas takes predicates and constants for words",
    r"mbarrier\.init\S* .*, 4294967296": "ptxas 13.0 takes a count that 13.5 refuses",
    r"mma\.sp\S* .*%p5, 0;": "ptxas takes a predicate for the metadata",
    r"mma\.sp\S* .*, \d+;": "a selector that the shape has not",
    r"bar\.red\S* %u1, 0, [-\d]": "a constant for the predicate",
}
"""What ptxas takes and the emulator refuses: nobody means it."""


def split(text: str) -> list[str]:
    """Operands of a statement."""
    found, depth = [""], 0
    for letter in text:
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(letter, 0)
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [x.strip() for x in found]


def in_other_orders(draw: random.Random, statement: str, count: int) -> Iterator[str]:
    """The statement, and with its modifiers in other orders; one with a modifier twice."""
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
    """The statement with another operand in the place of each of its own."""
    opcode, _, rest = statement.partition(" ")
    operands = split(rest) if rest else []
    for place in range(len(operands)):
        for other in draw.sample(OPERANDS, min(count, len(OPERANDS))):
            yield f"{opcode} {', '.join((*operands[:place], other, *operands[place + 1 :]))}"


def drawn(seed: int, orders: int, operands: int) -> list[str]:
    """All statements of a seed, each once."""
    draw = random.Random(seed)
    found: dict[str, None] = {}
    for statement in STATEMENTS:
        found.update(dict.fromkeys(f"{x};" for x in in_other_orders(draw, statement, orders)))
    for statement in STATEMENTS:
        found.update(dict.fromkeys(f"{x};" for x in with_other_operands(draw, statement, operands)))
    return list(found)


def is_deliberate(statement: str) -> bool:
    """Whether the emulator refuses a statement that ptxas takes because it means nothing."""
    return any(re.match(x, statement) for x in DELIBERATE)


def reasons(statements: Sequence[str]) -> list[str | None]:
    """Say of single statements why the emulator refuses them, None where it takes them."""
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
    parser.add_argument("--operands", type=int, default=8, help="other operands in each place")
    parser.add_argument("--ptxas", type=Path, default=find_ptxas())
    parser.add_argument("--write", type=Path, help="file for ptxas's judgements")
    given = parser.parse_args(arguments)
    if given.ptxas is None:
        print("there is no ptxas here; name one with --ptxas, or install nvidia-cuda-nvcc")
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
        f"{wrong} judged otherwise here"
    )
    if given.write:
        head = f"# ptxas {ptxas.version}, .target {TARGET}, .version {VERSION}: + taken, - refused\n"
        rows = (f"{'+' if said is None else '-'} {x}\n" for x, said in zip(statements, judged, strict=True))
        given.write.write_text(head + "".join(rows))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

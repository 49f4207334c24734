# SPDX-License-Identifier: MIT
"""Statements of newer PTX, each with damage: operands, words of the opcode, guards and addresses that do not fit."""

import random
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import wmma_emu as we

__all__ = ["STATEMENTS", "Damaged", "damaged"]

_REGISTERS = """.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<12>; .reg .f32 %f<12>; .reg .b64 %d<12>;
.reg .f64 %g<4>; .reg .b128 %q<4>; .reg .b64 %x;"""

_BEFORE = """.func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r; ld.param.b32 %r, [a]; shl.b32 %r, %r, 1;
st.param.b32 [r], %r; ret; }
.func (.param .b32 r) again(.param .b32 a) { .reg .b32 %r; .reg .pred %p; .param .b32 s, t; ld.param.b32 %r, [a];
setp.eq.u32 %p, %r, 0; @%p bra L; sub.u32 %r, %r, 1; st.param.b32 [s], %r; call (t), again, (s);
L: st.param.b32 [r], %r; ret; }
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 values);
.global .align 16 .b8 v[64];
.global .align 8 .u64 table[2] = {twice, again};
.global .align 1 .b8 words[8] = {37, 100, 10, 0};"""

STATEMENTS = """
add.rn.f32x2 %d1, %d2, %d3;
sub.rz.ftz.f32x2 %d1, %d2, %d3;
mul.f32x2 %d1, %d2, %d3;
fma.rn.f32x2 %d1, %d2, %d3, %d4;
min.f32 %f1, %f2, %f3, %f4;
max.NaN.abs.f32 %f1, %f2, %f3, 0f3F800000;
add.rn.f32.f16 %f1, %h2, %f3;
sub.sat.f32.bf16 %f1, %h2, %f3;
fma.rn.f32.f16 %f1, %h2, %h3, %f4;
ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%x];
ld.global.v4.b64 {%d1, %d2, _, %d4}, [%x + 32];
st.global.v8.b32 [%x], {%r1, _, %r3, _, %r5, %r6, %r7, %r8};
ld.global.b128 %q1, [%x + 16];
st.global.b128 [%x], %q1;
mov.b128 %q1, {%d1, %d2};
mov.b128 {%d1, _}, %q1;
cvt.rn.satfinite.e4m3x2.bf16x2 %h1, %r2;
cvt.rn.scaled::n2::ue8m0.bf16x2.e5m2x2 %r1, %h2, %h3;
atom.global.max.noftz.v2.f16 {%h1, %h2}, [%x], {%h3, %h0};
atom.global.exch.b128 %q1, [%x], %q2;
atom.global.cas.b128 %q1, [%x], %q2, %q3;
red.global.add.noftz.f32 [%x], %f1;
ld.mmio.acquire.sys.global.b32 %r1, [%x];
mov.u64 %d1, %clock64;
mov.u32 %r1, %clock;
mov.u64 %d1, %globaltimer;
mov.u32 %r1, %envreg1;
mov.u32 %r1, %reserved_smem_offset_begin;
mov.u32 %r1, %smid;
nanosleep.u32 100;
activemask.b32 %r1;
trap;
brkpt;
exit;
bar.sync 1, 32;
barrier.sync.aligned 1, 32;
barrier.cta.red.popc.aligned.u32 %r1, 1, %p1;
match.any.sync.b32 %r1, %r2, 0xffffffff;
redux.sync.add.s32 %r1, %r2, 0xffffffff;
elect.sync %r1|%p1, 0xffffffff;
alloca.u64 %d1, 16;
alloca.u64 %d1, %d2, 32;
stacksave.u64 %d1;
stackrestore.u64 %d1;
tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d5, {%r1}];
tex.2d.v4.s32.f32 {%r1, %r2, %r3, %r4}, [%d5, {%f1, %f2}];
tex.level.3d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d5, {%f1, %f2, %f3, %f4}], %f5;
tex.a2d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%d5, {%r1, %r2, %r3, %r4}];
tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d5, {%f1, %f2}];
txq.width.b32 %r1, [%d5];
suld.b.1d.b32.trap %r1, [%d6, {%r1}];
suld.b.2d.v2.b32.clamp {%r1, %r2}, [%d6, {%r1, %r2}];
sust.b.2d.b32.zero [%d6, {%r1, %r2}], %r3;
sust.p.2d.b32.trap [%d6, {%r1, %r2}], %r3;
suq.height.b32 %r1, [%d6];
sured.b.add.2d.u32.trap [%d6, {%r1, %r2}], %r3;
istypep.surfref %p1, %d6;
mov.u64 %d1, twice;
ld.global.u64 %d1, [table + 8];
{ .param .b32 a, b; st.param.b32 [a], 3; call (b), twice, (a); ld.param.b32 %r1, [b]; }
{ .param .b32 a, b; st.param.b32 [a], 3; call.uni (b), again, (a); }
{ .param .b32 a, b; P: .callprototype (.param .b32 _) _ (.param .b32 _); mov.u64 %d1, twice; call (b), %d1, (a), P; }
{ .param .b64 a, b; st.param.b64 [a], 16; call (b), malloc, (a); ld.param.b64 %d1, [b]; call free, (b); }
{ .param .b64 f, a; .param .b32 r; mov.u64 %d1, words; st.param.b64 [f], %d1; call (r), vprintf, (f, a); }
add.u8x4 %r1, %r2, %r3;
dp4a.s32.u32 %r1, %r2, %r3, %r4;
st.bulk.weak.shared::cta [%r1], %d2, 0;
""".strip().splitlines()
"""Statements of the newer features, as an assembler accepts them."""

_OPERANDS = """
%r1 %h1 %f2 %d3 %p1 %q1 %g1 %nothing _ 0 -1 1.5 0f7FC00000 0dFFF0000000000000 99999999999999999999999 v table
twice again [%x] [%r1] [v+1] [0] [%x+-1] [%x+99999999999] [%q1] {%r1,%r2} {%d1} {} {%f1,%f2,%f3} {%r1,{%r2}}
!%p1 -%f1 %tid.x %clock64 L WARP_SZ %r1|%p1 (1<<70) 1?2:3 [%d5,{%r1}] "words" v[1] %r1.x %envreg99 k
""".split()
_WORDS = """
f32 f32x2 f16 bf16 b128 u128 v8 v16 v0 s8x4 e2m1x4 rn rz sat ftz NaN abs sync aligned 1d 3d cube a2d 2dms global
shared param local const mmio relaxed volatile clamp zero noftz b32 u64 b1024 unified L2::evict_first
scaled::n2::ue8m0 wide uni x y exch f64 pred
""".split()
_GUARDS = ("@%p1 ", "@!%p1 ", "@%r1 ", "@%p9 ", "@ ", "@%q1 ", "@!%f1 ", "@%p1 @%p2 ", "@1 ", "@%x ")
_CHIPS = ("sm_100a", "sm_120a", "sm_90", "sm_75")


class Damaged(NamedTuple):
    """A kernel with a damaged statement: how it was damaged, and the chip for which it is."""

    how: str
    statement: str
    chip: str

    @property
    def text(self) -> str:
        """The PTX."""
        return (
            f".version 9.0\n.target {self.chip}\n.address_size 64\n{_BEFORE}\n"
            f".visible .entry k(.param .u64 x, .param .u64 t, .param .u64 s) {{\n{_REGISTERS}\n"
            "ld.param.u64 %x, [x]; ld.param.u64 %d5, [t]; ld.param.u64 %d6, [s];\n"
            f"st.global.u32 [%x], 7;\n{self.statement}\nL: ret;\n}}\n"
        )

    def launch(self, x: np.ndarray) -> object:
        """Run it on an array, a texture and a surface."""
        texture, surface = we.ptx.texture(np.zeros((4, 4), np.float32)), we.ptx.surface(np.zeros((4, 4), np.uint32))
        limits = {"max_steps": 3000, "max_seconds": 10, "stack_bytes": 512}
        module = we.ptx.Module(self.text, arch=self.chip, findings="report", **limits)
        return module["k"][1, 32](x, texture, surface)


def damaged(statement: str, count: int) -> Iterator[Damaged]:
    """Yield a statement as it is, and draw damages of it; equal statements have equal damages."""
    yield Damaged("no damage", statement, "sm_100a")
    rng = random.Random(statement)
    for _ in range(count):
        how = rng.choice(list(_DAMAGES))
        done = _DAMAGES[how](rng, statement)
        yield Damaged(how, done, rng.choice(_CHIPS) if how == "another chip" else "sm_100a")


def _parts(statement: str) -> tuple[str, list[str]]:
    """Divide a statement into its opcode and its operands; commas in brackets do not divide."""
    opcode, _, rest = statement.rstrip(";").partition(" ")
    parts, depth = [""], 0
    for c in rest:
        depth += (c in "[{(") - (c in "]})")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return opcode, [x.strip() for x in parts if x.strip()]


def _joined(opcode: str, operands: list[str]) -> str:
    return f"{opcode} {', '.join(operands)};"


def _fewer(rng: random.Random, statement: str) -> str:
    opcode, operands = _parts(statement)
    if operands:
        operands.pop(rng.randrange(len(operands)))
    return _joined(opcode, operands)


def _more(rng: random.Random, statement: str) -> str:
    opcode, operands = _parts(statement)
    operands.insert(rng.randrange(len(operands) + 1), rng.choice(_OPERANDS))
    return _joined(opcode, operands)


def _other(rng: random.Random, statement: str) -> str:
    opcode, operands = _parts(statement)
    if operands:
        operands[rng.randrange(len(operands))] = rng.choice(_OPERANDS)
    return _joined(opcode, operands)


def _order(rng: random.Random, statement: str) -> str:
    opcode, operands = _parts(statement)
    rng.shuffle(operands)
    return _joined(opcode, operands)


def _word(rng: random.Random, statement: str) -> str:
    opcode, operands = _parts(statement)
    words = opcode.split(".")
    at = rng.randrange(len(words))
    words[at : at + rng.randrange(2)] = [rng.choice(_WORDS)]
    return _joined(".".join(words), operands)


def _no_word(rng: random.Random, statement: str) -> str:
    opcode, operands = _parts(statement)
    words = opcode.split(".")
    words.pop(rng.randrange(len(words)))
    return _joined(".".join(words), operands)


def _token(rng: random.Random, statement: str) -> str:
    at = rng.randrange(len(statement))
    return (
        statement[:at]
        + rng.choice([*'%[]{}(),;.@_0-"\0\n\x1b', "é", "//", "/*", ""])
        + statement[at + rng.randrange(3) :]
    )


_DAMAGES = {
    "an operand less": _fewer,
    "an operand more": _more,
    "another operand": _other,
    "operands in another order": _order,
    "another word": _word,
    "a word less": _no_word,
    "a guard": lambda rng, x: rng.choice(_GUARDS) + x,
    "a letter": _token,
    "another chip": lambda rng, x: x,
    "twice": lambda rng, x: x + x,
}

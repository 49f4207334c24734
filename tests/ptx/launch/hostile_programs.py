# SPDX-License-Identifier: MIT
"""Kernels that use a number as what it is not, such as a pointer, a handle or a function, and links that collide."""

from functools import cache
from typing import Any

import numpy as np

import wmma_emu as we

__all__ = ["BODIES", "DECLARATIONS", "NUMBERS", "USES", "link", "run"]

NUMBERS = (
    0, 1, 3, 8, 16, 31, 32, 33, 1023, 1024, 1025, 2**16, 2**31 - 1, 2**32 - 1, 2**32, 2**47, 2**63 - 1, 2**63,
    2**64 - 8, 2**64 - 1,
)  # fmt: skip

_BEFORE = """.version 8.6
.target sm_90
.address_size 64
.func (.param .b32 r) twice(.param .b32 x) {
    .reg .b32 %r; ld.param.b32 %r, [x]; shl.b32 %r, %r, 1; st.param.b32 [r], %r; ret; }
.func (.param .b32 r) deep(.param .b32 x) {
    .reg .b32 %r; .reg .pred %p; .param .b32 a, b; .local .b8 l[64];
    ld.param.b32 %r, [x]; setp.eq.u32 %p, %r, 0; @%p bra E; sub.u32 %r, %r, 1; st.param.b32 [a], %r;
    call (b), deep, (a); ld.param.b32 %r, [b]; E: st.param.b32 [r], %r; ret; }
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 values);
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
.global .align 8 .u64 table[2] = {twice, deep};
.shared .align 8 .b8 tile[64];
.visible .entry k(.param .u64 x, .param .u64 n) {
    .reg .pred %p<4>; .reg .b32 %r<12>; .reg .f32 %f<12>; .reg .b64 %d<12>; .local .align 8 .b8 l[64];
    .param .b64 a, b, c; .param .b32 s, t;
    P: .callprototype (.param .b32 _) _ (.param .b32 _);
    W: .callprototype (.param .b64 _) _ (.param .b64 _);

    ld.param.u64 %d0, [x]; ld.param.u64 %d1, [n]; cvt.u32.u64 %r1, %d1; st.global.u32 [%d0], 7;
"""

BODIES = {
    "malloc": "st.param.b64 [a], %d1; call (b), malloc, (a); ld.param.b64 %d3, [b]; setp.ne.u64 %p1, %d3, 0; "
    "@%p1 st.global.u32 [%d3], 5;",
    "free": "st.param.b64 [a], %d1; call free, (a);",
    "free twice": "st.param.b64 [a], 8; call (b), malloc, (a); ld.param.b64 %d3, [b]; add.u64 %d3, %d3, %d1; "
    "st.param.b64 [a], %d3; call free, (a); call free, (a);",
    "a call through a number": "st.param.b32 [s], 5; call (t), %d1, (s), P;",
    "a call near a function": "mov.u64 %d3, twice; add.u64 %d3, %d3, %d1; st.param.b32 [s], 5; call (t), %d3, (s), P;",
    "a call with another prototype": "mov.u64 %d3, twice; st.param.b64 [a], %d1; call (b), %d3, (a), W;",
    "recursion": "st.param.b32 [s], %r1; call (t), deep, (s);",
    "alloca": "alloca.u64 %d3, %d1; st.local.u32 [%d3], 1;",
    "stackrestore": "stackrestore.u64 %d1; alloca.u64 %d3, 16; st.local.u32 [%d3], 1;",
    "printf of a number": "mov.u64 %d4, l; cvta.local.u64 %d4, %d4; st.param.b64 [a], %d1; st.param.b64 [b], %d4; "
    "call (s), vprintf, (a, b);",
    "printf with values at a number": "mov.u64 %d4, table; st.param.b64 [a], %d4; st.param.b64 [b], %d1; "
    "call (s), vprintf, (a, b);",
    "assert": "st.param.b64 [a], %d1; st.param.b32 [s], 3; call __assertfail, (a, a, s, a, a);",
    "a texture": "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {%r1}];",
    "a surface": "sust.b.1d.b32.trap [%d1, {%r1}], %r1;",
    "txq": "txq.width.b32 %r2, [%d1]; suq.width.b32 %r3, [%d1];",
    "nanosleep": "nanosleep.u32 %r1; mov.u64 %d3, %clock64;",
    "waiting for a time": "M2: mov.u64 %d3, %globaltimer; setp.lt.u64 %p1, %d3, %d1; @%p1 bra M2;",
    "waiting for a clock": "M2: mov.u32 %r3, %clock; setp.lt.u32 %p1, %r3, %r1; @%p1 bra M2;",
    "a barrier": "bar.sync %r1;",
    "a barrier of some threads": "barrier.sync 1, %r1;",
    "members": "redux.sync.add.u32 %r2, %r1, %r1; match.any.sync.b32 %r2, %r1, %r1; elect.sync %r2|%p1, %r1;",
    "activemask": "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, %r1; @%p1 exit; activemask.b32 %r2;",
    "a load": "ld.u32 %r2, [%d1]; ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d1];",
    "loads of other spaces": "ld.const.u32 %r2, [%d1]; ld.param.u32 %r2, [%d1]; ld.shared.u32 %r2, [%d1];",
    "stores": "st.local.u32 [%d1], %r1; st.shared.u32 [%d1], %r1; st.u32 [%d1], %r1;",
    "atomics": "atom.add.u32 %r2, [%d1], 1; atom.shared.cas.b32 %r2, [%d1], 1, 2; red.global.add.u32 [%d1], 1;",
    "addresses of spaces": "cvta.to.shared.u64 %d3, %d1; cvta.local.u64 %d4, %d1; ld.u32 %r2, [%d4]; "
    "isspacep.param %p1, %d1;",
    "a branch": "T: .branchtargets L, M; brx.idx %r1, T; M: exit;",
    "a copy": "mov.u32 %r2, tile; cp.async.ca.shared.global [%r2], [%d0], 4, %r1; cp.async.wait_all;",
    "an mbarrier": "mbarrier.init.shared.b64 [tile], %r1; mbarrier.arrive.shared.b64 %d3, [tile];",
    "bits": "bfe.u32 %r3, %r1, %r1, %r1; bfind.u64 %r4, %d1; fns.b32 %r2, %r1, %r1, %r1; "
    "shf.l.wrap.b32 %r5, %r1, %r1, %r1;",
    "the end": "brkpt; trap; exit;",
}  # fmt: skip
"""What a kernel does with a number: %d1, and its lower half %r1."""


@cache
def _module(body: str) -> we.ptx.Module:
    return we.ptx.Module(f"{_BEFORE}{body}\nL: ret;\n}}\n", findings="report", max_steps=5000, max_seconds=20)


def run(body: str, number: int, x: np.ndarray, **options: Any) -> Any:
    """Run a kernel with a body on a number."""
    return _module(body)["k"][1, 32](x, number, **options)


DECLARATIONS = (
    ".visible .func f { ret; }", ".func f { ret; }", ".weak .func f { ret; }", ".extern .func f;",
    ".visible .func (.param .b32 r) f(.param .b64 a) { st.param.b32 [r], 1; ret; }",
    ".extern .func (.param .b32 r) f(.param .b32 a);", ".visible .global .b32 f;", ".extern .global .b32 f;",
    ".weak .global .b32 f = 3;", ".common .global .b32 f;", ".extern .global .b8 f[16];",
    ".visible .const .b32 f[2] = {1, 2};",
    ".extern .shared .b8 f[];", ".visible .entry f() { ret; }", ".extern .entry f();",
    ".weak .entry f(.param .u64 a) { ret; }",
    ".visible .global .u64 g[1] = {f};", ".alias f, h;", ".visible .func h { ret; }", ".global .texref f;", "f: ret;",
    ".visible .func f", "}",
    ".version 9.9 .target sm_90", ".func h { call f; ret; }", ".address_size 32", "", "\0", "/*",
)  # fmt: skip
"""Declarations of the name f, and strings that are not declarations."""

USES = ("", "call f;", "st.param.b32 [s], 1; call (t), f, (s);", "mov.u64 %x, f;", "ld.global.u32 %r, [f];", "call h;")
"""What a kernel does with the name f."""


def link(one: str, use: str, other: str, x: np.ndarray) -> Any:
    """Link a kernel that uses a name, with one declaration of it, with another declaration of it."""
    head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    kernel = (
        f"{head}{one}\n.visible .entry k(.param .u64 x) {{ .reg .b64 %x; .reg .b32 %r; .param .b32 s, t;\n"
        f"ld.param.u64 %x, [x]; st.global.u32 [%x], 7; {use} ret; }}\n"
    )
    return we.ptx.Module(kernel, findings="report", max_steps=1000).link(head + other)["k"][1, 1](x)

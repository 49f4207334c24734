# SPDX-License-Identifier: MIT
"""Small PTX sources that the tests of launches share."""

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"

SCALE = (
    HEAD
    + """
.visible .entry scale(.param .u64 x, .param .f32 a, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %a<3>; .reg .f32 %f<3>;
    ld.param.u64 %a0, [x];
    ld.param.f32 %f0, [a];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    setp.ge.s32 %p, %r4, %r0;
    @%p bra $end;
    mul.wide.s32 %a1, %r4, 4;
    add.s64 %a2, %a0, %a1;
    ld.global.f32 %f1, [%a2];
    mul.rn.f32 %f2, %f1, %f0;
    st.global.f32 [%a2], %f2;
$end:
    ret;
}
"""
)
"""x[i] *= a, for i < n."""

SHIFT = (
    HEAD
    + """
.visible .entry shift(.param .u64 x, .param .u64 y)
{
    .reg .b32 %r<8>; .reg .b64 %a<5>;
    .shared .align 4 .b8 tile[512];
    ld.param.u64 %a0, [x];
    ld.param.u64 %a1, [y];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %a2, %r0, 4;
    add.s64 %a3, %a0, %a2;
    ld.global.u32 %r1, [%a3];
    shl.b32 %r2, %r0, 2;
    mov.u32 %r3, tile;
    add.s32 %r4, %r3, %r2;
    st.shared.u32 [%r4], %r1;
    BARRIER
    xor.b32 %r5, %r4, 128;
    ld.shared.u32 %r6, [%r5];
    add.s64 %a4, %a1, %a2;
    st.global.u32 [%a4], %r6;
    ret;
}
"""
)
"""y[i] = x[i ^ 32] through shared memory; a race where BARRIER is left out."""

ORDER = (
    HEAD
    + """
.visible .entry order(.param .u64 next, .param .u64 out)
{
    .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %a<4>;
    ld.param.u64 %a0, [next];
    ld.param.u64 %a1, [out];
    mov.u32 %r0, %ctaid.x;
    atom.global.add.u32 %r1, [%a0], 1;
    mul.wide.u32 %a2, %r0, 4;
    add.s64 %a3, %a1, %a2;
    st.global.u32 [%a3], %r1;
    ret;
}
"""
)
"""out[block] = the number of blocks that ran before: no race, and a different result in every order."""


def entry(parameters: str, body: str = "ret;", directives: str = "", before: str = "") -> str:
    """A PTX source with one kernel, ``k``."""
    return f"{HEAD}{before}\n.visible .entry k({parameters}) {directives}\n{{\n{body}\n}}\n"


VPRINTF = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);"

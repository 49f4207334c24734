# SPDX-License-Identifier: MIT
"""The products that are fused into sums, compared with the machine code of ptxas."""

import pytest

from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.contraction import contract
from wmma_emu.ptx.program.fusions import choose

ROWS = [
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%c;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%c,%u;", "d", "u>d", "FFMA"),
    ("mul.rn.f32 %u,%a,%b; add.f32 %d,%u,%c;", "d", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; add.rn.f32 %d,%u,%c;", "d", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; sub.f32 %d,%u,%c;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; sub.f32 %d,%c,%u;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%c; add.f32 %e,%u,%f;", "d,e", "u>d u>e", "FFMA FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%c;", "d,u", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%c; mul.f32 %e,%u,%f;", "d,e", "", "FMUL FADD FMUL"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%u,%v;", "d", "u>d", "FMUL FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%v,%u;", "d", "v>d", "FMUL FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; sub.f32 %d,%u,%v;", "d", "u>d", "FMUL FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; sub.f32 %d,%v,%u;", "d", "v>d", "FMUL FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%u,%v;", "d,v", "u>d", "FMUL FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%u,%v;", "d,u", "v>d", "FMUL FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%u;", "d", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; neg.f32 %v,%u; add.f32 %d,%v,%c;", "d", "u>d", "FFMA"),
    ("neg.f32 %v,%a; mul.f32 %u,%v,%b; add.f32 %d,%u,%c;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; abs.f32 %v,%u; add.f32 %d,%v,%c;", "d", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; mov.f32 %v,%u; add.f32 %d,%v,%c;", "d", "u>d", "FFMA"),
    ("mul.ftz.f32 %u,%a,%b; add.ftz.f32 %d,%u,%c;", "d", "u>d", "FFMA.FTZ"),
    ("mul.ftz.f32 %u,%a,%b; add.f32 %d,%u,%c;", "d", "", "FMUL.FTZ FADD"),
    ("mul.f32 %u,%a,%b; add.ftz.f32 %d,%u,%c;", "d", "", "FMUL FADD.FTZ"),
    ("mul.f32 %u,%a,%b; add.sat.f32 %d,%u,%c;", "d", "u>d", "FFMA.SAT"),
    ("mul.sat.f32 %u,%a,%b; add.f32 %d,%u,%c;", "d", "", "FMUL.SAT FADD"),
    ("mul.rz.f32 %u,%a,%b; add.rz.f32 %d,%u,%c;", "d", "", "FMUL.RZ FADD.RZ"),
    ("mul.f32 %u,%a,0f40400000; add.f32 %d,%u,%c;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,0f3F800000;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %v,%u,%c; add.f32 %d,%v,%e;", "d", "u>v", "FFMA FADD"),
    ("add.f32 %u,%a,%b; mul.f32 %d,%u,%c;", "d", "", "FADD FMUL"),
    ("add.f32 %u,%a,0f3F800000; mul.f32 %d,%u,%c;", "d", "", "FADD FMUL"),
    ("mul.f32 %u,%a,%b; mov.f32 %d,%c; @%p0 add.f32 %d,%u,%c;", "d", "u>d", "FFMA"),
    ("mov.f32 %u,%c; @%p0 mul.f32 %u,%a,%b; add.f32 %d,%u,%c;", "d", "", "FMUL FADD"),
    ("mov.f32 %u,%c; mov.f32 %d,%c; @%p0 mul.f32 %u,%a,%b; @%p0 add.f32 %d,%u,%c;", "d", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; mov.f32 %d,%c; @%p0 bra L; add.f32 %d,%u,%c; st.global.f32 [%x1+64],%d; L:",
     "d", "", "FMUL FADD"),
    ("mov.f32 %u,%c; @%p0 bra L; mul.f32 %u,%a,%b; st.global.f32 [%x1+64],%u; L: add.f32 %d,%u,%c;",
     "d", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; selp.f32 %v,%u,%e,%p0; add.f32 %d,%v,%c;", "d", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; fma.rn.f32 %d,%c,%e,%u;", "d", "", "FMUL FFMA"),
    ("mul.f32 %u,%a,%b; mov.f32 %a,%e; add.f32 %d,%u,%c;", "d,a", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; bar.sync 0; add.f32 %d,%u,%c;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%c; add.f32 %e,%u,%f; add.f32 %g,%u,%e;",
     "d,e,g", "u>d u>e u>g", "FFMA FFMA FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%c; sub.f32 %e,%f,%u;", "d,e", "u>d u>e", "FFMA FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%c; max.f32 %e,%u,%f;", "d,e", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%u,%v; add.f32 %g,%v,%f;", "d,g", "u>d", "FMUL FFMA FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %g,%v,%f; add.f32 %d,%u,%v;", "d,g", "u>d", "FMUL FFMA FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%u,%v; sub.f32 %g,%u,%v;", "d,g", "u>d u>g", "FMUL FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%u,%v; sub.f32 %g,%v,%u;", "d,g", "u>d u>g", "FMUL FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%v,%u; sub.f32 %g,%u,%f;", "d,g", "v>d", "FMUL FFMA FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; sub.f32 %g,%u,%f; add.f32 %d,%v,%u;", "d,g", "v>d", "FMUL FFMA FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; mul.f32 %w,%f,%g; add.f32 %z,%u,%v; add.f32 %d,%z,%w;",
     "d", "u>z w>d", "FMUL FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; mul.f32 %w,%f,%g; add.f32 %z,%u,%v; add.f32 %d,%w,%z;",
     "d", "u>z w>d", "FMUL FFMA FFMA"),
    ("mov.f32 %d,%c; @%p0 mul.f32 %u,%a,%b; @%p0 add.f32 %d,%u,%c;", "d", "", "FMUL FADD"),
    ("mov.f32 %d,%c; @%p0 mul.f32 %u,%a,%b; @%p1 add.f32 %d,%u,%c;", "d", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; bra L; L: add.f32 %d,%u,%c;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; L: add.f32 %d,%u,%c;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; @%p0 ret; add.f32 %d,%u,%c;", "d", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; add.f32 %u,%u,%c;", "u", "u>u", "FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%c; fma.rn.f32 %g,%e,%f,%u;", "d,g", "", "FMUL FADD FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%c; add.rn.f32 %g,%e,%u;", "d,g", "", "FMUL FADD FADD"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%c; add.ftz.f32 %g,%e,%u;", "d,g", "", "FMUL FADD FADD.FTZ"),
    ("mul.f32 %u,%a,%b; neg.f32 %v,%u; add.f32 %d,%u,%c; add.f32 %g,%v,%e;", "d,g", "u>d u>g", "FFMA FFMA"),
    ("mul.f32 %u,%a,%b; neg.f32 %v,%u; add.f32 %d,%u,%c;", "d,v", "", "FMUL FADD FADD"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%c; mov.f32 %u,%e;", "d,u", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%a; add.f32 %d,%u,%c;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%u; add.f32 %g,%u,%c;", "d,g", "", "FMUL FADD FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; mul.f32 %w,%f,%g; mul.f32 %z,%a,%g; add.f32 %u,%u,%v; "
     "add.f32 %w,%w,%z; add.f32 %d,%u,%w;",
     "d", "u>u w>w", "FMUL FMUL FFMA FFMA FADD"),
    ("mul.f32 %u,%a,0f40000000; add.f32 %d,%u,%a;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%u,%v; add.f32 %g,%u,%f;", "d,g", "v>d", "FMUL FFMA FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %g,%u,%f; add.f32 %d,%u,%v;", "d,g", "v>d", "FMUL FFMA FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%v,%u; add.f32 %g,%u,%f;", "d,g", "v>d", "FMUL FFMA FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%v,%u; add.f32 %g,%v,%f;", "d,g", "u>d", "FMUL FFMA FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%v,%u; sub.f32 %g,%u,%v;", "d,g", "v>d v>g", "FMUL FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; sub.f32 %d,%v,%u; sub.f32 %g,%u,%v;", "d,g", "v>d v>g", "FMUL FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; sub.f32 %d,%v,%u; add.f32 %g,%v,%u;", "d,g", "v>d v>g", "FMUL FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%u,%v; add.f32 %g,%u,%f; add.f32 %h,%u,%g;",
     "d,h", "v>d", "FMUL FADD FFMA FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%u,%v; add.f32 %g,%u,%f; add.f32 %h,%v,%f;",
     "d,g,h", "u>d u>g", "FMUL FFMA FFMA FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%v,%u; add.f32 %g,%u,%f; add.f32 %h,%v,%f;",
     "d,g,h", "v>d v>h", "FMUL FFMA FFMA FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %g,%u,%f; add.f32 %h,%v,%f; add.f32 %d,%u,%v;",
     "d,g,h", "u>g v>h u>d", "FMUL FFMA FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; mul.f32 %w,%f,%g; add.f32 %d,%u,%v; add.f32 %h,%v,%w;",
     "d,h", "u>d w>h", "FMUL FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; mul.f32 %w,%f,%g; add.f32 %d,%v,%u; add.f32 %h,%v,%w;",
     "d,h", "u>d w>h", "FMUL FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; mul.f32 %w,%f,%g; add.f32 %d,%v,%u; add.f32 %h,%w,%v;",
     "d,h", "u>d w>h", "FMUL FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; mul.f32 %w,%f,%g; add.f32 %h,%w,%v; add.f32 %d,%v,%u;",
     "d,h", "w>h u>d", "FMUL FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%u,%v; add.f32 %g,%v,%f;", "d,g,u", "v>d v>g", "FMUL FFMA FFMA"),
    ("mul.f32 %v,%c,%e; mul.f32 %u,%a,%b; add.f32 %d,%u,%v;", "d", "u>d", "FMUL FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; mul.f32 %w,%f,%g; add.f32 %z,%u,%v; add.f32 %d,%z,%w;",
     "d", "u>z w>d", "FMUL FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%u,%c; add.f32 %d,%v,%e;", "d", "v>d", "FMUL FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%u,%c; add.f32 %d,%v,%u;", "d", "v>d", "FMUL FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %d,0f3F800000,%u;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; sub.f32 %d,0f3F800000,%u;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,0f40400000,%a; add.f32 %d,%u,%c;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%a; mul.f32 %v,%b,%b; sub.f32 %d,%u,%v;", "d", "u>d", "FMUL FFMA"),
    ("mul.f32 %u,%a,%b; neg.f32 %v,%u; sub.f32 %d,%c,%v;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%a; mul.f32 %v,%b,%b; add.f32 %w,%u,%v; mul.f32 %z,%c,%c; add.f32 %d,%w,%z;",
     "d", "u>w z>d", "FMUL FFMA FFMA"),
    ("mul.f32 %u,%a,%a; mul.f32 %v,%b,%b; mul.f32 %z,%c,%c; add.f32 %w,%v,%z; add.f32 %d,%u,%w;",
     "d", "v>w u>d", "FMUL FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%u,%v; add.f32 %g,%u,%f; add.f32 %h,%u,%c; add.f32 %w,%v,%f;",
     "d,g,h,w", "v>d v>w", "FMUL FADD FFMA FFMA FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%v,%u; add.f32 %g,%u,%f; add.f32 %h,%u,%c; add.f32 %w,%v,%f;",
     "d,g,h,w", "v>d v>w", "FMUL FADD FFMA FFMA FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %g,%u,%f; add.f32 %h,%u,%c; add.f32 %w,%v,%f; add.f32 %d,%u,%v;",
     "d,g,h,w", "u>g u>h v>w v>d", "FMUL FFMA FFMA FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %g,%u,%f; add.f32 %h,%u,%c; add.f32 %w,%v,%f; add.f32 %d,%v,%u;",
     "d,g,h,w", "u>g u>h v>w v>d", "FMUL FFMA FFMA FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %g,%u,%f; add.f32 %d,%v,%u; add.f32 %w,%v,%f;",
     "d,g,w", "u>g v>d v>w", "FMUL FFMA FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; mul.f32 %w,%f,%g; add.f32 %d,%u,%v; add.f32 %h,%v,%w; add.f32 %y,%w,%u;",
     "d,h,y", "u>d w>h w>y", "FMUL FMUL FFMA FFMA FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; neg.f32 %w,%u; add.f32 %d,%w,%v;", "d", "u>d", "FMUL FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; mov.f32 %w,%u; add.f32 %d,%w,%v; add.f32 %g,%u,%f;",
     "d,g", "v>d", "FMUL FFMA FADD"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%c,%e; mov.f32 %g,%f; add.f32 %d,%u,%c; @%p0 add.f32 %g,%u,%f;",
     "d,g", "u>d u>g", "FFMA FFMA"),
    ("mul.ftz.f32 %u,%a,%b; mul.f32 %v,%c,%e; add.f32 %d,%u,%v;", "d", "v>d", "FMUL.FTZ FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %v,%u,%c; mul.f32 %w,%v,%e; add.f32 %d,%w,%v;", "d", "u>v w>d", "FFMA FFMA"),
    ("mul.f32 %u,%a,%b; add.sat.f32 %d,%u,%c; add.f32 %g,%u,%e;", "d,g", "u>d u>g", "FFMA.SAT FFMA"),
    ("mul.f32 %u,%a,%b; neg.f32 %w,%u; sub.f32 %d,%w,%c;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; neg.f32 %w,%c; add.f32 %d,%u,%w;", "d", "u>d", "FFMA"),
    ("mul.ftz.f32 %u,%a,%b; neg.ftz.f32 %w,%u; add.ftz.f32 %d,%w,%c;", "d", "u>d", "FFMA.FTZ"),
    ("mul.f32 %u,%a,%b; abs.f32 %w,%c; add.f32 %d,%u,%w;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%c; @%p0 bra L; mul.f32 %v,%d,%e; add.f32 %d,%v,%c; "
     "st.global.f32 [%x1+99],%d; L:",
     "d", "u>d v>d", "FFMA FFMA"),
    ("mul.f32 %u,%a,%b; membar.gl; add.f32 %d,%u,%c;", "d", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; @%p0 exit; add.f32 %d,%u,%c;", "d", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; @%p0 bra L; add.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; L:", "", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; @%p0 bra L; ld.global.f32 %w,[%x0+256]; add.f32 %g,%u,%w; st.global.f32 [%x1+64],%g; L:",
     "", "", "FMUL FADD"),
    ("mov.f32 %g,%c; @%p0 bra L; mul.f32 %g,%a,%b; st.global.f32 [%x1+64],%g; L: add.f32 %d,%g,%e;",
     "d", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%b; L: add.f32 %d,%u,%c;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; @%p0 bra L; add.f32 %g,%u,%c; bra M; L: add.f32 %g,%u,%e; M:", "g", "", "FMUL FADD FADD"),
    # The last product of a quotient or a reciprocal.
    ("div.full.f32 %u,%a,%b; add.f32 %d,%u,%c;", "d", "u>d", "FMUL FMUL FMUL FMUL FFMA"),
    ("div.full.ftz.f32 %u,%a,%b; sub.ftz.f32 %d,%c,%u;", "d", "u>d", "FMUL.FTZ FMUL.FTZ FFMA.FTZ"),
    ("div.approx.f32 %u,%a,%b; add.f32 %d,%c,%u;", "d", "u>d", "FMUL FMUL FFMA"),
    ("div.approx.ftz.f32 %u,%a,%b; sub.ftz.f32 %d,%u,%c;", "d", "u>d", "FFMA.FTZ"),
    ("rcp.approx.f32 %u,%a; add.f32 %d,%u,%c;", "d", "u>d", "FMUL FFMA"),
    ("rcp.approx.ftz.f32 %u,%a; add.ftz.f32 %d,%u,%c;", "d", "", "FADD.FTZ"),
    ("sqrt.approx.f32 %u,%a; add.f32 %d,%u,%c;", "d", "", "FMUL FMUL FADD"),
    ("rsqrt.approx.f32 %u,%a; add.f32 %d,%u,%c;", "d", "", "FMUL FMUL FADD"),
    ("ex2.approx.f32 %u,%a; add.f32 %d,%u,%c;", "d", "", "FMUL FMUL FADD"),
    ("sin.approx.f32 %u,%a; add.f32 %d,%u,%c;", "d", "", "FMUL.RZ FADD"),
    ("div.full.f32 %u,%a,%b; add.f32 %d,%u,%c;", "d,u", "", "FMUL FMUL FMUL FMUL FMUL FADD"),
    ("div.full.f32 %u,%a,%b; add.ftz.f32 %d,%u,%c;", "d", "", "FMUL FMUL FMUL FMUL FMUL FADD.FTZ"),
    ("div.full.f32 %u,%a,%b; mul.f32 %v,%e,%c; add.f32 %d,%u,%v;", "d", "u>d", "FMUL FMUL FMUL FMUL FMUL FFMA"),
    ("div.full.f32 %u,%a,%b; mul.f32 %v,%e,%c; add.f32 %d,%v,%u;", "d", "v>d", "FMUL FMUL FMUL FMUL FMUL FFMA"),
    ("div.full.f32 %u,%a,%b; add.f32 %g,%u,%c; add.f32 %h,%u,%e; add.f32 %d,%g,%h;", "d", "u>g u>h",
     "FMUL FMUL FMUL FMUL FFMA FFMA FADD"),
    ("div.full.f32 %u,%a,%b; @%p0 bra L; add.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; L:", "", "",
     "FMUL FMUL FMUL FMUL FMUL FADD"),
    # A product by a constant is fused in other blocks too.
    ("mul.f32 %u,%a,0f40400000; @%p0 bra L; add.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; L:", "", "u>g", "FFMA"),
    ("mul.f32 %u,%a,%q; @%p0 bra L; add.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; L:", "", "u>g", "FFMA"),
    ("mul.f32 %u,%q,%q; @%p0 bra L; add.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; L:", "", "u>g", "FFMA"),
    ("mul.f32 %u,%a,%a; @%p0 bra L; add.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; L:", "", "", "FMUL FADD"),
    ("mov.f32 %t,0f40400000; mul.f32 %u,%a,%t; @%p0 bra L; add.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; L:", "", "u>g",
     "FFMA"),
    ("neg.f32 %t,%q; mul.f32 %u,%a,%t; @%p0 bra L; add.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; L:", "", "u>g", "FFMA"),
    ("abs.f32 %t,%q; mul.f32 %u,%a,%t; @%p0 bra L; add.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; L:", "", "u>g", "FFMA"),
    ("mul.f32 %t,%q,%q; mul.f32 %u,%a,%t; @%p0 bra L; add.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; L:", "", "",
     "FMUL FMUL FADD"),
    ("ld.const.f32 %t,[table+4]; mul.f32 %u,%a,%t; @%p0 bra L; add.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; L:", "",
     "u>g", "FFMA"),
    ("mov.u64 %x3,table; ld.const.f32 %t,[%x3+4]; mul.f32 %u,%a,%t; @%p0 bra L; add.f32 %g,%u,%c; "
     "st.global.f32 [%x1+64],%g; L:", "", "u>g", "FFMA"),
    ("mul.f32 %u,%a,%q; membar.gl; add.f32 %d,%u,%c;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%q; @%p0 bra L; add.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; bra M; L: add.f32 %g,%u,%b; M:", "g",
     "u>g u>g", "FFMA FFMA"),
    ("mul.f32 %u,%a,%q; @%p0 bra L; add.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; L:", "u", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%q; neg.f32 %v,%u; @%p0 bra L; add.f32 %g,%v,%c; st.global.f32 [%x1+64],%g; L:", "", "u>g", "FFMA"),
    ("mul.f32 %u,%a,%q; @%p0 bra L; mul.f32 %v,%b,%c; add.f32 %g,%v,%u; st.global.f32 [%x1+64],%g; L:", "", "v>g",
     "FMUL FFMA"),
    ("mul.f32 %u,%a,%q; @%p0 bra L; mul.f32 %v,%b,%c; add.f32 %g,%u,%v; st.global.f32 [%x1+64],%g; L:", "", "u>g",
     "FMUL FFMA"),
    ("mul.f32 %u,%a,%q; @%p0 bra L; mul.f32 %u,%b,%c; L: add.f32 %d,%u,%c;", "d", "", "FMUL FMUL FADD"),
    ("mul.f32 %u,%a,%q; @%p0 mov.f32 %u,%b; add.f32 %d,%u,%c;", "d", "", "FMUL FADD"),
    ("mul.f32 %u,%a,%q; mov.f32 %d,%c; @%p1 st.global.f32 [%x1+64],%c; add.f32 %d,%u,%c;", "d", "u>d", "FFMA"),
    ("div.approx.ftz.f32 %u,%q,%b; @%p0 bra L; add.ftz.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; L:", "", "u>g",
     "FFMA.FTZ"),
    ("div.approx.f32 %u,%q,%b; @%p0 bra L; add.f32 %g,%u,%c; st.global.f32 [%x1+64],%g; L:", "", "",
     "FMUL FMUL FMUL FADD"),
    # An instruction that changes only the sign is an alias of the product; dead instructions do not count as readers.
    ("mul.f32 %u,%a,%b; mul.f32 %v,%u,0f3F800000; sub.f32 %d,%c,%v;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; mul.f32 %v,%u,0fBF800000; add.f32 %d,%c,%v;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; cvt.f32.f32 %v,%u; add.f32 %d,%c,%v;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,0f3F800000; mul.f32 %v,%b,%c; add.f32 %d,%u,%v;", "d", "v>d", "FFMA"),
    ("mov.f32 %t,0f3F800000; div.approx.ftz.f32 %u,%t,%b; mul.ftz.f32 %v,%b,%c; add.ftz.f32 %d,%u,%v;", "d", "v>d",
     "FFMA.FTZ"),
    ("mov.f32 %t,0f3F800000; div.approx.ftz.f32 %u,%t,%b; add.ftz.f32 %d,%u,%c;", "d", "", "FADD.FTZ"),
    ("mul.f32 %u,%a,%b; cvt.ftz.f32.f32 %v,%u; add.f32 %d,%c,%v;", "d", "", "FMUL FADD.FTZ FADD"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%c; mul.f32 %g,%u,%e;", "d", "u>d", "FFMA"),
    ("mul.f32 %u,%a,%b; add.f32 %d,%u,%c; mul.f32 %g,%u,%e; mul.f32 %h,%g,%g;", "d", "u>d", "FFMA"),
    # A negative with .ftz is a separate product; if nothing else reads the original, it is fused into every sum.
    ("mul.ftz.f32 %u,%a,%b; neg.ftz.f32 %v,%u; sub.ftz.f32 %d,%v,%c;", "d,v", "u>d", "FMUL.FTZ FFMA.FTZ"),
    ("mul.ftz.f32 %u,%a,%b; neg.ftz.f32 %v,%u; sub.ftz.f32 %d,%v,%c; fma.rn.ftz.f32 %g,%v,%e,%f;", "d,g", "u>d",
     "FMUL.FTZ FFMA.FTZ FFMA.FTZ"),
    ("mul.ftz.f32 %u,%a,%b; neg.ftz.f32 %v,%u; sub.ftz.f32 %d,%v,%c; add.ftz.f32 %g,%e,%v;", "d,g", "u>d u>g",
     "FFMA.FTZ FFMA.FTZ"),
    ("mul.ftz.f32 %u,%a,%b; add.ftz.f32 %d,%u,%c; neg.ftz.f32 %v,%u; sub.ftz.f32 %g,%e,%v;", "d,g", "",
     "FMUL.FTZ FADD.FTZ FADD.FTZ FADD.FTZ"),
    ("mul.ftz.f32 %u,%a,%b; neg.ftz.f32 %v,%u; neg.ftz.f32 %w,%v; add.ftz.f32 %d,%w,%c;", "d", "",
     "FMUL.FTZ FADD.FTZ FADD.FTZ"),
    ("mul.ftz.f32 %u,%a,%b; neg.ftz.f32 %v,%u; add.ftz.f32 %d,%v,%v;", "d", "", "FMUL.FTZ FADD.FTZ"),
    ("mul.ftz.f32 %u,%a,%b; neg.ftz.f32 %v,%u; sub.ftz.f32 %d,%v,%c; @%p0 bra L; st.global.f32 [%x1+64],%v; L:", "d",
     "u>d", "FMUL.FTZ FFMA.FTZ"),
    ("mul.ftz.f32 %u,%a,%b; neg.ftz.f32 %v,%u; @%p0 bra L; sub.ftz.f32 %g,%v,%e; st.global.f32 [%x1+64],%g; "
     "L: sub.ftz.f32 %d,%v,%c;", "d", "u>g u>d", "FFMA.FTZ FFMA.FTZ"),
    ("mul.ftz.f32 %u,%a,%b; neg.ftz.f32 %v,%u; sub.ftz.f32 %d,%c,%v;", "d", "", "FMUL.FTZ FADD.FTZ"),
    ("mul.ftz.f32 %u,%a,%b; neg.ftz.f32 %v,%u; sub.ftz.f32 %d,%v,%c; sub.ftz.f32 %g,%e,%v;", "d,g", "u>d",
     "FMUL.FTZ FFMA.FTZ FADD.FTZ"),
    ("mul.ftz.f32 %u,%a,%b; add.ftz.f32 %d,%u,%c; neg.ftz.f32 %v,%u; add.ftz.f32 %g,%e,%v;", "d,g", "u>d u>g",
     "FFMA.FTZ FFMA.FTZ"),
    ("div.approx.ftz.f32 %u,%a,%b; neg.ftz.f32 %v,%u; sub.ftz.f32 %d,%v,%c;", "d,v", "u>d", "FMUL.FTZ FFMA.FTZ"),
    # A negative without .ftz only changes the sign, also between instructions with .ftz.
    ("mul.ftz.f32 %u,%a,%b; neg.f32 %v,%u; add.ftz.f32 %d,%c,%v;", "d", "u>d", "FFMA.FTZ"),
    # Equal products stay two products.
    ("mul.f32 %u,%a,%b; mul.f32 %v,%a,%b; add.f32 %d,%u,%c; add.f32 %g,%v,%e;", "d,g", "u>d v>g", "FFMA FFMA"),
]  # fmt: skip
"""Instructions; the registers that are stored after them; the products with their sums; and the floating-point
instructions in the machine code of ptxas 12.9.86 and 13.0.88 for sm_90, in nvdisasm's order. For the cases starting
with the first quotient, ptxas 13.5.37 gives the same."""

KINDS = ("f64", "f16", "f16x2", "bf16", "bf16x2")
"""For these types, ptxas 13.0.88 fuses the same products as with f32: sums, both differences, two products, two sums, a
stored product, a sum in another block, a guarded sum, ``.rn`` on either side."""

SPLITTING = (
    "membar.gl;", "fence.acq_rel.gpu;", "fence.sc.cta;", "@%p0 st.global.b32 [%x1+64], %n0;", "@%p0 bar.warp.sync -1;",
    "@%p0 ld.global.b32 %n3, [%x1];", "div.s32 %n3, %n0, 7;", "rem.s32 %n3, %n0, %n1;", "div.u64 %x5, %x0, %x1;",
    "div.rn.f32 %g, %e, %c;", "sqrt.rn.ftz.f32 %g, %e;", "rcp.rn.f32 %g, %e;", "@%p0 ret;", "@%p0 bra $elsewhere;",
    "red.global.add.noftz.f16 [%x1], %h0;", "pmevent 1;",
)  # fmt: skip
PASSING = (
    "", "bar.sync 0;", "bar.warp.sync -1;", "st.global.b32 [%x1+64], %n0;", "atom.global.add.u32 %n3, [%x1], %n0;",
    "div.u32 %n3, %n0, %n1;", "rem.u32 %n3, %n0, %n1;", "div.full.f32 %g, %e, %c;", "sqrt.approx.f32 %g, %e;",
    "fence.proxy.async;", "shfl.sync.bfly.b32 %n3, %n0, 1, 31, -1;", "@%p0 add.s32 %n3, %n0, %n1;", "$nowhere:",
    "red.global.add.noftz.f16x2 [%x1], %n0;", "bra $next; $next:", "vote.sync.any.pred %p1, %p0, -1;",
)  # fmt: skip
"""Instructions between a product and a sum: with the first group ptxas 13.0.88 does not fuse them, with the second it
does."""


def program(body: str, stored: str):
    stores = "".join(f"st.global.f32 [%x1+{4 * i}], %{x};" for i, x in enumerate(stored.split(",")) if x)
    return program_of(
        f""".version 9.0
        .target sm_90
        .address_size 64
        .const .align 4 .b8 table[64];
        .visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 q) {{
        .reg .b64 %x<9>; .reg .b32 %n<9>; .reg .pred %p<9>; .reg .b16 %h<2>;
        .reg .b32 %a, %b, %c, %d, %e, %f, %g, %h, %q, %t, %u, %v, %w, %y, %z;
        ld.param.u64 %x0, [x]; ld.param.u64 %x1, [y]; ld.param.u32 %n0, [n]; ld.param.f32 %q, [q];
        {body}
        {stores}
        $elsewhere: ret; }}"""
    ).kernels["k"]


@pytest.mark.parametrize(("body", "stored", "pairs", "machine_code"), ROWS, ids=[f"{i:02d}" for i in range(len(ROWS))])
def test_products_are_fused_into_the_same_sums_as_by_ptxas(body, stored, pairs, machine_code):
    before = program(body, stored)
    code = before.instructions
    found = [f"{code[x.product].operands[0].name[1:]}>{code[x.total].operands[0].name[1:]}" for x in choose(before)[0]]
    assert " ".join(found) == pairs
    after, *_ = contract(before)
    fused = [x for x in after.instructions if x.mnemonic == "fma" and x not in code]
    already = sum(x.mnemonic == "fma" for x in code)
    assert len(fused) == len(found)
    assert machine_code.count("FFMA") == len(found) + already


@pytest.mark.parametrize("between", SPLITTING)
def test_an_instruction_that_ends_a_block_prevents_fusion(between):
    assert choose(program(f"mul.f32 %u, %a, %b; {between} add.f32 %d, %u, %c;", "d"))[0] == []


@pytest.mark.parametrize("between", PASSING)
def test_an_instruction_that_does_not_end_a_block_allows_fusion(between):
    assert len(choose(program(f"mul.f32 %u, %a, %b; {between} add.f32 %d, %u, %c;", "d"))[0]) == 1


@pytest.mark.parametrize("kind", ["ftz.f16", "ftz.f16x2", "bf16x2"])
def test_a_negation_that_is_an_instruction_prevents_fusion(kind):
    body = f"mul.{kind} %u, %a, %b; neg.{kind} %v, %u; sub.{kind} %d, %v, %c;"
    assert choose(program(body, "d"))[0] == []


@pytest.mark.parametrize("kind", ["f16", "f16x2", "bf16"])
def test_a_negation_that_only_changes_the_sign_allows_fusion(kind):
    body = f"mul.{kind} %u, %a, %b; neg.{kind} %v, %u; sub.{kind} %d, %v, %c;"
    assert len(choose(program(body, "d"))[0]) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_is_fused_by_the_same_rules(kind):
    ways = {
        "add.T %d, %u, %c;": "u>d",
        "add.T %d, %c, %u;": "u>d",
        "sub.T %d, %u, %c;": "u>d",
        "sub.T %d, %c, %u;": "u>d",
        "mul.T %v, %c, %e; add.T %d, %v, %u;": "v>d",
        "add.T %d, %u, %c; sub.T %e, %f, %u;": "u>d u>e",
        "add.T %d, %u, %c; mov.b32 %e, %u; st.global.b32 [%x1], %e;": "",
        "@%p0 bra $l; add.T %d, %u, %c; $l:": "",
        "@%p0 add.T %d, %u, %c;": "u>d",
        "add.rn.T %d, %u, %c;": "",
    }
    for body, pairs in ways.items():
        before = program(f"mul.T %u, %a, %b; {body}".replace(".T", f".{kind}"), "d,e" if " %e, %f" in body else "d")
        code = before.instructions
        found = [
            f"{code[x.product].operands[0].name[1:]}>{code[x.total].operands[0].name[1:]}" for x in choose(before)[0]
        ]
        assert " ".join(found) == pairs, body


def test_lines_of_fused_products_are_returned():
    before = program("mul.f32 %u, %a, %b;\nadd.f32 %d, %u, %c;", "d")
    (product,) = (x for x in before.instructions if x.mnemonic == "mul")
    assert contract(before)[1] == (product.line,)

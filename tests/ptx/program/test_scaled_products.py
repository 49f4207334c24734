# SPDX-License-Identifier: MIT
"""The products that ptxas scales by a power of two before it rounds them, read from its machine code.

Rows were read on 23 November 2026 from ptxas 13.0.88 for sm_80, sm_90, sm_100a and sm_120a; 12.9.86, 13.4.59 and
13.5.37 have the same for sm_90.
"""

import numpy as np
import pytest

from tests.ptx.texts_of_launches import entry
from wmma_emu.ptx import Module
from wmma_emu.ptx.machine.known_values import evaluate
from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.contraction import contract
from wmma_emu.ptx.program.folding import fold
from wmma_emu.ptx.program.scaled_products import scale_products

REGISTERS = ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %a, %b, %c, %e, %x, %y;"
READ = "ld.param.u64 %rd0, [p]; ld.global.f32 %x, [%rd0]; ld.global.f32 %y, [%rd0+4]; ld.global.b32 %r7, [%rd0+8];"


def scaled(body):
    """Return the scales of the products, with .ftz and .sat."""
    text = entry(".param .u64 p", f"{REGISTERS}\n{READ}\n{body}\nst.global.f32 [%rd0+16], %b;\nret;")
    program = scale_products(contract(fold(program_of(text).kernels["k"], evaluate)[0]).program)
    return [".".join(x.modifiers[:-1]) for x in program.instructions if x.mnemonic == "%mul"]


ROWS = [
    ("mul.f32 %e, %x, %y; mul.f32 %b, %e, 0f40000000;", ["m2"]),
    ("mul.f32 %e, %x, %y; mul.f32 %b, 0f41000000, %e;", ["m8"]),
    ("mul.f32 %e, %x, %y; mul.f32 %b, %e, 0f3E800000;", ["d4"]),
    ("mul.f32 %e, %x, %y; mul.f32 %b, %e, 0f3D800000;", []),
    ("mul.f32 %e, %x, %y; mul.f32 %b, %e, 0fC0000000;", []),
    ("mul.f32 %e, %x, %y; mul.ftz.f32 %b, %e, 0f40000000;", ["m2.ftz"]),
    ("mul.ftz.f32 %e, %x, %y; mul.f32 %b, %e, 0f40000000;", ["m2"]),
    ("mul.f32 %e, %x, %y; mul.ftz.sat.f32 %b, %e, 0f40000000;", ["m2.ftz.sat"]),
    ("mul.f32 %e, %x, %y; mul.rn.f32 %b, %e, 0f40000000;", ["m2"]),
    ("mul.rn.f32 %e, %x, %y; mul.f32 %b, %e, 0f40000000;", []),
    ("mul.sat.f32 %e, %x, %y; mul.f32 %b, %e, 0f40000000;", []),
    ("mul.f32 %e, %x, %y; mul.rz.f32 %b, %e, 0f40000000;", []),
    ("mul.f32 %e, %x, %y; mul.f32 %b, %e, 0f40000000; st.global.f32 [%rd0], %e;", []),
    ("mul.f32 %e, %x, %y; mul.f32 %c, %e, 0f40000000; mul.f32 %b, %c, 0f40000000;", ["m2"]),
    ("mul.f32 %e, %x, %y; mul.f32 %c, %e, 0f40000000; add.f32 %b, %c, %x;", []),
    ("mul.f32 %e, %x, %y; neg.f32 %c, %e; mul.f32 %b, %c, 0f40000000;", []),
    ("mul.f32 %e, %x, %y; mov.b32 %c, %e; bar.sync 0; mul.f32 %b, %c, 0f40000000;", ["m2"]),
    ("div.approx.f32 %e, %x, %y; mul.f32 %b, %e, 0f40000000;", ["m2"]),
    ("div.full.ftz.f32 %e, %x, %y; mul.ftz.f32 %b, %e, 0f40000000;", ["m2.ftz"]),
    ("rcp.approx.f32 %e, %x; mul.f32 %b, %e, 0f40000000;", ["m2"]),
    ("rcp.approx.ftz.f32 %e, %x; mul.ftz.f32 %b, %e, 0f40000000;", []),
    ("rsqrt.approx.f32 %e, %x; mul.f32 %b, %e, 0f40000000;", []),
    ("mul.f32 %e, %x, %y; div.full.f32 %b, %e, 0f40000000;", ["d2"]),
    ("fma.rn.f32 %e, %x, %y, %x; mul.f32 %b, %e, 0f40000000;", []),
    ("mul.f32 %e, %x, %y; mul.f32 %e, %e, 0f3F000000; mov.f32 %b, %e;", ["d2"]),
    ("mov.f32 %e, %x; setp.eq.s32 %p0, %r7, 0; @%p0 mul.f32 %e, %x, %y; mul.f32 %b, %e, 0f40000000;", []),
]


@pytest.mark.parametrize(("body", "powers"), ROWS, ids=[x for x, _ in ROWS])
def test_a_product_scaled_by_a_power_of_two_is_merged_as_by_ptxas(body, powers):
    assert scaled(body) == powers


def test_a_report_names_the_instruction_of_a_scaled_product_as_the_text_does():
    body = "div.full.f32 %e, %x, %y; mul.f32 %b, %e, 0f40000000;"
    text = entry(".param .u64 p", f"{REGISTERS}\n{READ}\n{body}\nst.global.f32 [%rd0+16], %b;\nret;")
    report = Module(text, arch="a100")["k"][1, 1](np.ones(8, np.float32))
    assert {x.opcode for x in report.not_bit_exact} == {"div.full.f32"}

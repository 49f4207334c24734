# SPDX-License-Identifier: MIT
"""Which registers may be read behind each piece of straight-line code."""

from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.flow import Blocks, reads, writes

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<9>;\n.reg .pred %p<3>;\n"
LOOP = """
    mov.u32 %r1, 1;
    mov.u32 %r2, 0;
H:  add.u32 %r2, %r2, 1;
    setp.gt.u32 %p1, %r2, 7;
    @%p1 bra S;
    add.u32 %r3, %r1, %r2;
S:  mov.u32 %r1, %r2;
    setp.lt.u32 %p2, %r2, 9;
    @%p2 bra H;
    ret;
}
"""


def test_what_the_next_round_of_a_loop_reads_is_live_at_the_end_of_this_one():
    code = program_of(HEAD + LOOP).kernels["k"].instructions
    blocks = Blocks(code)
    (first,) = writes(code[0])
    assert first in reads(code[5])  # the sum, which is in the middle of the loop
    live = {span.start: bool(registers >> first & 1) for span, registers in zip(blocks.spans, blocks.live, strict=True)}
    assert live == {0: True, 2: True, 5: False, 6: True, 9: False}

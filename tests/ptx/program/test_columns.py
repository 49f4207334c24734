# SPDX-License-Identifier: MIT
"""Errors about names point at the name, not at its statement."""

import pytest

from wmma_emu.errors import PtxSyntaxError
from wmma_emu.ptx.program.build import program_of

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n.func f(.reg .b32 a) { ret; }\n.entry k() {\n"


@pytest.mark.parametrize(
    ("body", "line", "pointed"),
    [
        ("add.s32 %r1, %r10, %r9;", 1, "%r10, %r9;"),
        ("add.s32 %r1, %r1, %r9;", 1, "%r9;"),
        ("@%p9 add.s32 %r1, %r1, 1;", 1, "%p9 add"),
        ("@%r1 add.s32 %r1, %r1, 1;", 1, "%r1 add"),
        ("add.s32 %r1,\n  %r1,\n  %r9;", 3, "%r9;"),
        ("add.s32 %r1, %r1, add;", 1, "add;"),
        ("ld.global.u32 %r1, [%rd7+8];", 1, "%rd7+8"),
        ("ld.global.v2.u32 {%r1, %r9}, [%r1];", 1, "%r9}"),
        ("ld.global.u32 %r1, [%p1];", 1, "%p1]"),
        ("bra nowhere;", 1, "nowhere;"),
        ("mov.u32 %r1, L; L: ret;", 1, "L; L"),
        ("call f, (%r8);", 1, "%r8)"),
        ("call g, (%r1);", 1, "g, (%r1)"),
        ("T: .branchtargets L; brx.idx %r1, U; L: ret;", 1, "U; L"),
    ],
)  # fmt: skip
def test_an_error_points_at_the_operand(body, line, pointed):
    with pytest.raises(PtxSyntaxError) as error:
        program_of(f"{HEAD}{body}\n}}".replace(body, f".reg .b32 %r<3>; .reg .pred %p<3>;\n{body}"))
    found = error.value
    assert found.line == HEAD.count("\n") + 1 + line
    assert body.splitlines()[line - 1][found.column - 1 :].startswith(pointed)

# SPDX-License-Identifier: MIT
import pickle
import sys

import pytest

from wmma_emu.errors import PtxSyntaxError, UnsupportedInstructionError
from wmma_emu.ptx.program.build import program_of

HEAD = ".version 8.0\n.target sm_80\n"
KERNEL = HEAD + ".entry k() { .reg .b32 %r<9>; .reg .pred %p<9>; "
SIZE = 50_000

TEXTS = {
    **{f"only {x!r}": HEAD + x * SIZE for x in "{}[]()a1.0-+~!*/%@\"':;,<>|&^?=_$\n\\é"},
    **{f"operand of {x!r}": KERNEL + "mov.b32 %r1, " + x * SIZE for x in "{[(1-~!%.,x0"},
    **{
        f"statements {x!r}": KERNEL + x * (SIZE // len(x)) + "}"
        for x in ("{}", "a::", "*/", "/*/", '"a\n', "1?1:", "x:")
    },
    "open scopes": KERNEL + "{ .reg .b32 q;" * SIZE,
    "a huge number": KERNEL + "mov.b32 %r1, " + "9" * SIZE + "; }",
    "a huge fraction": KERNEL + "mov.f64 %r1, 0." + "9" * SIZE + "; }",
    "a huge exponent": KERNEL + "mov.f64 %r1, 1e+" + "9" * SIZE + "; }",
    "a huge name": KERNEL + "mov.b32 %r1, " + "x" * SIZE + "; }",
    "a huge register": KERNEL + "mov.b32 %r" + "1" * SIZE + ", 5; }",
    "a huge sum": KERNEL + "mov.b32 %r1, 1" + "+1" * SIZE + "; }",
    "a huge array": HEAD + ".global .b8 x" + "[9999999999999999]" * 32 + ";",
    "huge local memory": KERNEL + ".local .b8 x[9999999999999999]; mov.b64 %r1, x; }",
}


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_input_is_parsed_or_refused(name):
    try:
        program_of(TEXTS[name])
    except (PtxSyntaxError, UnsupportedInstructionError) as error:
        assert len(str(error)) < 500


def test_a_function_called_by_too_many_kernels_is_refused(monkeypatch):
    monkeypatch.setattr("wmma_emu.ptx.program.build._MOST_REPEATED", 200)
    text = HEAD + ".func f { " + "ret;" * 50 + "}"
    assert len(program_of(text + "".join(f".entry k{i}() {{ call f; }}" for i in range(4))).kernels) == 4
    with pytest.raises(UnsupportedInstructionError, match="the functions called by 5 kernels have 250 instructions"):
        program_of(text + "".join(f".entry k{i}() {{ call f; }}" for i in range(5)))


def test_a_declaration_of_many_registers_creates_only_the_used_ones():
    count = 2**32 - 1
    (kernel,) = program_of(
        HEAD + f".entry k() {{ .reg .b32 %r<{count}>; mov.b32 %r{count - 1}, %r0; }}"
    ).kernels.values()
    assert [x.name for x in kernel.registers] == [f"%r{count - 1}", "%r0"]


def test_deep_nesting_uses_little_of_the_stack():
    texts = [KERNEL + "mov.b32 %r1, " + x * 1000 + "1;}" for x in ("(", "-", "(.s64)", "1?", "1?1:", "!(")]
    texts.append(KERNEL + "{" * 150 + "ret;" + "}" * 151)
    limit, depth, frame = sys.getrecursionlimit(), 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(depth + 250)
    try:
        for text in texts[:-1]:
            with pytest.raises(PtxSyntaxError):
                program_of(text)
        program_of(texts[-1])
    finally:
        sys.setrecursionlimit(limit)


def test_an_error_survives_a_process_boundary():
    error = PtxSyntaxError("found x", 3, 7, "  abc x")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.message, again.line, again.column, again.text) == ("found x", 3, 7, "  abc x")

# SPDX-License-Identifier: MIT
"""The parameters and variables through which a kernel may write memory."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.written import Written, written_by

HEAD = """
.version 8.0
.target sm_90
.address_size 64
.global .align 8 .b8 first[64];
.global .align 8 .b8 second[64];
"""


def written(body):
    text = (
        f"{HEAD}.visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2) {{ .reg .b32 %r<9>; .reg .b64 %a<9>; "
        f".reg .pred %p; .shared .align 8 .b8 tile[64]; .local .align 8 .b8 own[64]; {body} ret; }}"
    )
    program = program_of(text).kernels["k"]
    return written_by(program), {x.name: x.offset for x in program.symbols}


@pytest.mark.parametrize(
    ("body", "parameters", "anything"),
    [
        ("ld.param.u64 %a0, [p1]; st.global.u32 [%a0], 1;", {8}, False),
        ("ld.param.u64 %a0, [p0]; ld.global.u32 %r0, [%a0];", set(), False),
        ("ld.param.v2.u64 {%a0, %a1}, [p0]; red.global.add.u32 [%a1], 1;", {8}, False),
        ("ld.param.u64 %a0, [p0]; ld.param.u64 %a1, [p2]; selp.b64 %a2, %a0, %a1, %p; st.u32 [%a2], 1;", {0, 16}, 0),
        ("ld.param.u64 %a0, [p0]; L: add.s64 %a1, %a0, 4; mov.u64 %a0, %a1; st.u32 [%a0], 1; @%p bra L;", {0}, False),
        ("ld.param.u64 %a0, [p0]; ld.global.u64 %a1, [%a0]; st.global.u32 [%a1], 1;", set(), True),
        ("ld.param.u64 %a0, [p0]; st.local.u64 [own], %a0; ld.local.u64 %a1, [own]; st.u32 [%a1], 1;", set(), True),
        ("ld.param.u64 %a0, [p0]; atom.global.exch.b64 %a1, [%a0], 0; st.global.u32 [%a1], 1;", {0}, True),
        ("ld.param.u64 %a0, [p0]; ld.global.u64 %a1, [%a0]; add.s64 %a2, %a0, %a1; st.u32 [%a2], 1;", {0}, False),
        ("mov.u32 %r0, tile; st.shared.u32 [%r0], 1; st.local.u32 [own], 1;", set(), False),
        ("st.global.u32 [4096], 1;", set(), True),
    ],
    ids=[
        "a parameter", "only read", "one of a vector", "one of two", "in a loop", "a loaded pointer",
        "a pointer that was kept", "what an atomic operation gave", "an index that was loaded", "other spaces",
        "a number",
    ],
)  # fmt: skip
def test_addresses_of_stores_are_followed_to_their_origin(body, parameters, anything):
    assert written(body)[0] == Written(frozenset(parameters), frozenset(), anything)


def test_a_surface_in_a_parameter_is_not_followed():
    """The last modifier of a load from a parameter is its type; the last modifier here is ``trap``."""
    found, _ = written("suld.b.1d.b32.trap {%r0}, [p0, {%r1}]; ld.param.u64 %a0, [p1]; st.global.u32 [%a0], %r0;")
    assert found == Written(frozenset({8}), frozenset(), False)


def test_variables_that_are_written_are_named():
    found, _ = written("mov.u64 %a0, second; st.global.u32 [%a0+4], 1; ld.global.u32 %r0, [first];")
    assert found == Written(frozenset(), frozenset({64}), False)
    assert written("st.global.u32 [first], 1;")[0].variables == {0}


@pytest.mark.parametrize("load", ["ld.param.f16x2", "ld"], ids=["a type of two numbers", "no type"])
def test_a_load_that_ptx_does_not_have_is_refused_with_its_line(load):
    text = ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n.reg .b32 %r;\n"
    kernel = we.ptx.Module(f"{text}{load} %r, [p];\nret;\n}}\n", arch="sm_90")["k"]
    with pytest.raises(we.UnsupportedInstructionError, match="line 6"):
        kernel[1, 32](np.zeros(1, np.uint64))

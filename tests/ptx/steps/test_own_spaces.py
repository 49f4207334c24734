# SPDX-License-Identifier: MIT
"""The state space of an access without one: a variable's own space, as in ptxas 13.0; registers are generic."""

import numpy as np
import pytest

from tests.ptx.texts_of_kernels import launch, numbers, put
from wmma_emu.errors import UnsupportedInstructionError

VARIABLES = (
    ".shared .align 16 .b32 s[64];\n.global .align 16 .b32 g[64] = {7, 8, 9};\n"
    ".const .align 16 .b32 c[64] = {7, 8, 9};\n.extern .shared .align 16 .b32 dyn[];\n"
)
OWN = ".local .align 16 .b32 l[64];\n"


def run(body, *arrays, **options):
    return launch(OWN + body + "ret;", *arrays, before=VARIABLES, **options)


@pytest.mark.parametrize(
    "body",
    [
        "st.shared.u32 [s+4], 5;\nld.u32 %r2, [s+4];\n",
        "st.u32 [s+4], 5;\nld.shared.u32 %r2, [s+4];\n",
        "st.u32 [s+4], 5;\nld.volatile.u32 %r2, [s+4];\n",
        "st.u32 [s+4], 5;\nld.relaxed.cta.u32 %r2, [s+4];\n",
        "st.v2.u32 [s+8], {4, 5};\nld.shared.u32 %r2, [s+12];\n",
        "st.u32 [dyn+4], 5;\nld.shared.u32 %r2, [dyn+4];\n",
        "st.local.u32 [l+4], 5;\nld.u32 %r2, [l+4];\n",
        "st.u32 [l+4], 5;\nld.local.u32 %r2, [l+4];\n",
        "st.global.u32 [g+4], 5;\nld.u32 %r2, [g+4];\n",
        "st.u32 [g+4], 5;\nld.global.u32 %r2, [g+4];\n",
        "st.u32 [g+4], 5;\nmov.u64 %rd2, g;\nld.u32 %r2, [%rd2+4];\n",
        "st.u32 [s+4], 5;\ncvta.shared.u64 %rd2, s;\nld.u32 %r2, [%rd2+4];\n",
        "st.u32 [s], 2;\natom.add.u32 %r3, [s], 3;\nld.shared.u32 %r2, [s];\n",
        "st.u32 [s], 2;\nred.add.u32 [s], 3;\nld.shared.u32 %r2, [s];\n",
        "st.u32 [s], 2;\natom.cas.b32 %r3, [s], 2, 5;\nld.shared.u32 %r2, [s];\n",
        "st.global.u32 [g], 2;\nred.add.u32 [g], 3;\nld.global.u32 %r2, [g];\n",
        "prefetch.L1 [s];\nprefetch.L1 [l];\nprefetchu.L1 [g];\nmov.u32 %r2, 5;\n",
    ],
)  # fmt: skip
def test_a_variable_is_accessed_in_its_own_state_space(body):
    out = numbers()
    report = run(body + put("%r2"), out, block=1, shared=16)
    assert not report.findings
    assert out[0] == 5


def test_asynchronous_copies_use_the_state_space_of_the_variable():
    out = numbers(4)
    body = "cp.async.ca.shared.global [s], [g], 16, 12;\ncp.async.wait_all;\n"
    for i in range(4):
        body += f"ld.b32 %r2, [s+{4 * i}];\nst.global.b32 [%rd1+{4 * i}], %r2;\n"
    assert not run(body, out, block=1).findings
    assert out.tolist() == [7, 8, 9, 0]


def test_a_barrier_is_accessed_in_its_own_space():
    out = numbers()
    body = (
        "mbarrier.init.b64 [s], 1;\nmbarrier.arrive.b64 %rd2, [s];\nmbarrier.test_wait.b64 %p1, [s], %rd2;\n"
        "selp.u32 %r2, 5, 6, %p1;\n"
    )
    assert not run(body + put("%r2"), out, block=1).findings
    assert out[0] == 5


def test_matrices_are_read_from_their_own_space():
    out = numbers()
    body = (
        "mov.u32 %r3, s;\nshl.b32 %r4, %r0, 2;\nadd.u32 %r3, %r3, %r4;\nst.shared.u32 [%r3], %r0;\nbar.warp.sync -1;\n"
        "ldmatrix.sync.aligned.m8n8.x1.b16 {%r2}, [s];\n"
    )
    assert not run(body + put("%r2"), out).findings
    assert out.tolist() == [x % 4 for x in range(32)]


def test_an_address_in_a_register_is_generic_whatever_its_origin():
    for body in ("mov.u64 %rd2, s;\nld.u32 %r2, [%rd2];\n", "mov.u64 %rd2, l;\nst.u32 [%rd2], 5;\n"):
        assert "out of bounds" in {x.kind for x in run(body, numbers(), block=1).findings}


def test_races_are_found_in_accesses_without_a_state_space():
    report = run("st.u32 [s], %r0;\n", numbers(), block=64)
    assert {x.kind for x in report.findings} == {"race"}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("ld.u32 %r2, [c];", r"ld\.u32: c is a \.const variable; expected a variable of \.global or \.shared"),
        ("ld.u32 %r2, [p1];", r"p1 is a \.param variable"),
        ("st.u32 [p1], 5;", r"p1 is a \.param variable"),
        ("{ .param .b32 a; ld.u32 %r2, [a]; }", r"a is a \.param variable"),
        ("{ .param .b32 a; ld.local.u32 %r2, [a]; }", r"a is a \.param variable; expected a variable of \.local"),
        ("ld.param.u32 %r2, [l];", r"l is a \.local variable; expected a variable of \.param"),
        ("ld.global.u32 %r2, [s];", r"s is a \.shared variable; expected a variable of \.global"),
        ("ld.shared::cta.u32 %r2, [g+4];", r"g is a \.global variable; expected a variable of \.shared"),
        ("ld.const.u32 %r2, [g];", r"g is a \.global variable; expected a variable of \.const"),
        ("atom.add.u32 %r2, [l], 1;", r"l is a \.local variable; expected a variable of \.global or \.shared"),
        ("red.shared.add.u32 [g], 1;", r"g is a \.global variable; expected a variable of \.shared"),
        ("mbarrier.init.b64 [g], 1;", r"g is a \.global variable; expected a variable of \.shared"),
        ("ldmatrix.sync.aligned.m8n8.x1.b16 {%r2}, [g];", r"g is a \.global variable; expected a variable of \.shared"),
        ("cp.async.ca.shared.global [g], [g], 4;", r"g is a \.global variable; expected a variable of \.shared"),
        ("cp.async.ca.shared.global [s], [c], 4;", r"c is a \.const variable; expected a variable of \.global"),
        ("cvta.global.u64 %rd2, s;", r"s is a \.shared variable; expected a variable of \.global"),
        ("mapa.u64 %rd2, g, 0;", r"g is a \.global variable; expected a variable of \.shared"),
        ("prefetchu.L1 [s];", r"s is a \.shared variable; expected a variable of \.global"),
        ("ld.shared.u32 %r2, [16];", r"\[16\] cannot be an address: only \.local memory is addressed by numbers"),
        ("ld.u32 %r2, [16];", r"\[16\] cannot be an address: only \.local memory is addressed by numbers"),
        ("ld.u32 %r2, s;", r"expects an address, such as \[register \+ constant\]"),
    ],
)
def test_a_variable_of_another_space_is_refused(body, why):
    with pytest.raises(UnsupportedInstructionError, match=why):
        run(body, numbers())


def test_a_number_is_an_address_of_local_memory():
    out = numbers()
    assert not run("st.local.u32 [l], 5;\nld.local.u32 %r2, [0];\n" + put("%r2"), out, block=1).findings
    assert np.array_equal(out[:2], [5, 0])


def test_a_parameter_is_read_through_its_generic_address():
    read = "cvta.param.u64 %rd10, p1;\nld.u64 %rd11, [%rd10];\nld.param.u64 %rd12, [p1];\n"
    x = np.zeros(2, np.uint64)
    report = launch(f"{read}st.global.u64 [%rd1], %rd11;\nst.global.u64 [%rd1+8], %rd12;\nret;", x, block=1)
    assert not report.errors and x[0] == x[1] != 0

# SPDX-License-Identifier: MIT
"""Explanations of PTX, as text and as data."""

import json
from collections import Counter

import numpy as np
import pytest

import wmma_emu as we
from examples.ptx.texts import TEXTS, compiled
from tests.ptx.texts_of_launches import SCALE, SHIFT, entry


def test_an_explanation_has_a_line_for_each_fact_that_a_launch_needs():
    explanation = we.ptx.Module(SHIFT.replace("BARRIER", "bar.sync 0;"), name="shift.ptx").explain()
    lines = str(explanation).splitlines()
    assert lines[0] == "shift.ptx: PTX 8.0 for sm_80, on sm_90"
    assert lines[2:9] == [
        "kernel         shift",
        "parameters     0: .u64 x, 8 bytes at 0",
        "               1: .u64 y, 8 bytes at 8",
        'types          unknown: the name is not mangled (extern "C"), so it has no types',
        "shared memory  512 bytes",
        "local memory   0 bytes per thread",
        "instructions   16, on 12 registers",
    ]
    assert lines[-2:] == ["missing        nothing", "not bit-exact  nothing"]


def test_opcodes_are_counted_and_the_most_frequent_come_first():
    (kernel,) = we.ptx.Module(SCALE).explain().kernels
    assert kernel.opcodes["mov.u32"] == 3 and sum(kernel.opcodes.values()) == kernel.instructions == 15
    assert list(kernel.opcodes.values()) == sorted(kernel.opcodes.values(), reverse=True)


def test_a_quotient_that_is_fused_with_a_sum_is_counted_by_its_own_name():
    body = ".reg .b32 %a, %b, %c, %d; div.full.f32 %c, %a, %b; add.f32 %d, %c, %b; st.local.f32 [0], %d; ret;"
    (kernel,) = we.ptx.Module(entry("", body)).explain().kernels
    assert kernel.contracted != () and kernel.opcodes["div.full.f32"] == kernel.opcodes["fma.rn.f32"] == 1
    assert not any("%" in x for x in kernel.opcodes)


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("name", TEXTS)
def test_every_example_is_explained_and_nothing_is_missing(name):
    explanation = we.ptx.Module(compiled(name)).explain()
    assert [x.missing for x in explanation.kernels] == [()] * len(explanation.kernels) != []
    assert json.loads(json.dumps(explanation.to_dict()))["kernels"][0]["parameters"][0]["offset"] == 0


def test_blocks_variables_and_pointers_are_shown():
    text = entry(
        ".param .u64 .ptr .global .align 16 x",
        "ret;",
        ".maxntid 128",
        before=".global .align 4 .b8 table[40];\n.global .b8 spare;",
    ).replace("ret;", "    .reg .b64 %a; mov.u64 %a, table; ret;")
    shown = str(we.ptx.Module(text).explain())
    assert "variable       table: 40 bytes\n               and 1 that no kernel uses" in shown
    assert "0: .u64 pointer to global memory, aligned to 16 bytes x, 8 bytes at 0" in shown
    assert "block          at most 128 x 1 x 1 threads" in shown


def test_missing_instructions_are_listed_once_with_their_lines():
    body = ".reg .b32 %r<3>;\n frob.s32 %r0, %r1;\n frob.s32 %r1, %r2;\n ret;"
    shown = str(we.ptx.Module(entry("", body)).explain())
    found = [x for x in shown.splitlines() if x.startswith("missing")]
    assert found == ["missing        lines 8, 9: frob.s32 is not modelled"]
    assert Counter(shown.split())["frob.s32"] == 2
    assert np.array_equal([x.line for x in we.ptx.Module(entry("", body)).explain().kernels[0].missing], [8, 9])


def test_ptx_without_a_kernel_is_described_as_such():
    module = we.ptx.Module(".version 8.0\n.target sm_80\n.address_size 64\n")
    assert str(module.explain()).splitlines()[-1].startswith("no kernel: the PTX has no .entry")

# SPDX-License-Identifier: MIT
"""Every statement of the PTX ISA that an assembler accepts is executed, or refused with a reason of a table."""

import pytest

from tools.ptx_isa import answers, read_statements
from wmma_emu.ptx.steps.not_modelled import NOT_MODELLED, reason_not_modelled


@pytest.fixture(scope="module")
def answered():
    return answers(read_statements())


def test_no_statement_is_left_without_an_answer(answered):
    assert {one.text: answer.message for one, answer in answered.items() if answer.kind == "open"} == {}


def test_ordinary_arithmetic_of_new_chips_is_executed(answered):
    executed = {word for one, answer in answered.items() if answer.kind == "executes" for word in one.text.split()}
    assert executed >= {
        "add.f32x2", "fma.rz.ftz.f32x2", "min.abs.f32", "add.f32.bf16", "fma.rn.sat.f32.f16", "ld.global.v8.f32",
        "ld.global.b128", "cvt.rn.satfinite.relu.e2m3x2.bf16x2", "cvt.rn.scaled::n2::ue8m0.bf16x2.e5m2x2", "max.u8x4",
        "atom.global.max.noftz.v2.f16", "red.global.add.noftz.f32", "ld.mmio.acquire.sys.global.b32",
    }  # fmt: skip


def test_every_reason_is_needed(answered):
    refused = [one for one, answer in answered.items() if answer.kind == "refused"]
    used = {reason_not_modelled(x) for one in refused for x in one.text.replace(";", " ").split()}
    assert {x.pattern for x in NOT_MODELLED if x.why not in used} == set()

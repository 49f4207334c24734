# SPDX-License-Identifier: MIT
"""What a chip lacks, and what is not modelled, is said when a kernel is compiled: in `missing`."""

import pytest

import wmma_emu as we
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import ARCHS
from wmma_emu.ptx.program.program import PtxInstruction, Register
from wmma_emu.ptx.program.special import SPECIAL
from wmma_emu.ptx.steps.availability import FIRST_CHIPS, require_available
from wmma_emu.ptx.steps.table import MACHINE_STEPS, NOTHING

REGISTERS = (
    ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred %p<4>; .shared .b64 barrier;"
)


def missing(line: str, arch: str) -> list[tuple[str, str]]:
    target = f"{arch}a" if line.startswith("setmaxnreg") and arch >= "sm_90" else arch
    text = f".version 8.8\n.target {target}\n.address_size 64\n.visible .entry k() {{\n{REGISTERS}\n{line}\nret;\n}}\n"
    (kernel,) = we.ptx.Module(text, arch=arch).explain().kernels
    return [(x.opcode, x.reason) for x in kernel.missing]


@pytest.mark.parametrize(
    ("line", "before", "first"),
    [
        ("add.bf16 %h1, %h2, %h3;", "sm_89", "sm_90"),
        ("add.s16x2 %r1, %r2, %r3;", "sm_80", "sm_90"),
        ("fma.rn.bf16 %h1, %h2, %h3, %h4;", "sm_75", "sm_80"),
        ("fma.rn.relu.f16 %h1, %h2, %h3, %h4;", "sm_75", "sm_80"),
        ("max.NaN.f32 %f1, %f2, %f3;", "sm_75", "sm_80"),
        ("tanh.approx.f32 %f1, %f2;", "sm_70", "sm_75"),
        ("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", "sm_80", "sm_89"),
        ("cvt.rn.bf16.f32 %h1, %f1;", "sm_75", "sm_80"),
        ("cp.async.wait_all;", "sm_75", "sm_80"),
        ("mbarrier.init.shared.b64 [barrier], 1;", "sm_75", "sm_80"),
        ("mbarrier.try_wait.shared.b64 %p1, [barrier], %rd1;", "sm_80", "sm_90"),
        ("mbarrier.arrive.shared.b64 %rd1, [barrier], %r2;", "sm_80", "sm_90"),
        ("mbarrier.arrive.noComplete.shared.b64 %rd1, [barrier], %r2;", "sm_75", "sm_80"),
        ("atom.global.add.noftz.bf16 %h1, [%rd1], %h2;", "sm_89", "sm_90"),
        ("red.global.add.v2.f32 [%rd1], {%f1, %f2};", "sm_89", "sm_90"),
        ("ld.global.v4.b64 {%rd2, %rd3, %rd4, %rd5}, [%rd1];", "sm_90", "sm_100"),
        ("ld.global.L2::256B.b32 %r1, [%rd1];", "sm_75", "sm_80"),
        ("ld.acquire.cluster.global.b32 %r1, [%rd1];", "sm_89", "sm_90"),
        ("fence.proxy.async;", "sm_89", "sm_90"),
        ("barrier.cluster.wait;", "sm_89", "sm_90"),
        ("setmaxnreg.inc.sync.aligned.u32 96;", "sm_89", "sm_90"),
        ("redux.sync.add.s32 %r1, %r2, -1;", "sm_75", "sm_80"),
        ("elect.sync _|%p1, -1;", "sm_89", "sm_90"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];", "sm_70", "sm_75"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r1};", "sm_89", "sm_90"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {%r1, %r2, %r3, %r4}, [%rd1];", "sm_75", "sm_80"),
        ("mov.u32 %r1, %cluster_ctarank;", "sm_89", "sm_90"),
    ],
)  # fmt: skip
def test_an_instruction_of_a_later_chip_is_missing_on_an_older_one(line, before, first):
    ((opcode, reason),) = missing(line, before)
    assert line.startswith(opcode) and before in reason and first in reason
    assert missing(line, first) == []


@pytest.mark.parametrize("name", sorted(SPECIAL))
def test_every_special_register_is_modelled(name):
    mov = {"u32": "mov.u32 %r1", "u64": "mov.u64 %rd1", "pred": "mov.pred %p1"}[SPECIAL[name].type]
    assert missing(f"{mov}, %{name};", "sm_90") == []


def test_special_registers_in_a_vector_are_checked_too():
    ((_, reason),) = missing("st.global.v2.b32 [%rd1], {%r1, %reserved_smem_offset_1};", "sm_75")
    assert "has no %reserved_smem_offset_1" in reason and "sm_80" in reason


def test_no_instruction_is_available_on_the_chip_before_its_first_one():
    chips = list(ARCHS)
    for row in FIRST_CHIPS:
        words = [x.split("|")[0] for x in (row.words, row.types) if x]
        operands = (Register(0, "%r1", "b32"),) * row.operands
        mnemonic = row.mnemonics.split("|")[0] or "ld"
        what = PtxInstruction(".".join((mnemonic, *words)), mnemonic, tuple(words), operands, None, 1, 1)
        before = ARCHS[chips[chips.index(row.first) - 1]]
        with pytest.raises(UnsupportedInstructionError, match=f"the first chip that supports it is {row.first}"):
            require_available(what, before)
        require_available(what, ARCHS[row.first])
        assert row.source.startswith("PTX ISA 9.1") and row.status == "documented"
        assert not row.mnemonics or set(row.mnemonics.split("|")) <= {*MACHINE_STEPS, *NOTHING}


def test_operands_of_the_wrong_kind_are_reported_before_the_launch():
    for line in (
        "add.s32 %r1, [%rd1], 2;",
        "add.s32 %r1, {%r1, %r2}, 2;",
        "mov.b32 %r1, [%rd1];",
        "setp.eq.s32 %p1, %r1, _;",
        "shfl.sync.idx.b32 %r1, [%rd1], 0, 31, -1;",
        "vote.sync.all.pred %p1, [%rd1], -1;",
        "redux.sync.add.s32 %r1, {%r2, %r3}, -1;",
        "atom.global.add.u32 %r1, [%rd1], [%rd2];",
        "mbarrier.init.shared.b64 [barrier], [%rd1];",
        "cvta.global.u64 %rd1, {%rd2, %rd3};",
        "mapa.u64 %rd1, %rd2, [%rd3];",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r1, _;",
        "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r2], {%r1, _};",
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1, %r2}, {%r3}, {%r4}, {%r5, _};",
    ):
        assert len(missing(line, "sm_90")) == 1, line

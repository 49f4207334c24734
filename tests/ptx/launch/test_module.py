# SPDX-License-Identifier: MIT
"""Modules of PTX: chips, files, names, variables."""

import re

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import HEAD, SCALE, entry
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.ptx.launch.targets import arch_for


@pytest.mark.parametrize(("target", "arch"), [
    ("sm_80", "sm_80"), ("sm_80", "h200"), ("sm_90a", "sm_90"), ("sm_75", "sm_120"), ("sm_100f", "b200"),
    ("sm_87", "sm_89"), ("sm_100f", "b300"), ("sm_120f", "sm_121"), ("sm_103", "sm_120"),
])  # fmt: skip
def test_code_of_an_older_chip_and_of_the_same_one_runs(target, arch):
    text = SCALE.replace("sm_80", target)
    x = np.ones(4, np.float32)
    we.ptx.Module(text, arch)["scale"][1, 4](x, 3.0, 4)
    assert x.tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize(("target", "arch", "message"), [
    ("sm_90a", "sm_80", r"for sm_90a, and sm_80 \(Ampere\) is an older chip; compile it for sm_80, .*arch=\"sm_90\""),
    ("sm_86", "a100", "is an older chip"),
    ("sm_90a", "b200", r"its features exist only on that chip, not on sm_100"),
    ("sm_100a", "sm_120", "only on that chip"),
    ("sm_100a", "sm_103", "only on that chip"),
    ("sm_100f", "sm_120", r"that chip's family, to which sm_120 \(Blackwell, GB20x\) does not belong; compile"),
    ("sm_121f", "sm_120", "is an older chip"),
])  # fmt: skip
def test_code_of_a_later_chip_or_of_another_ones_features_is_refused(target, arch, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        we.ptx.Module(SCALE.replace("sm_80", target), arch)


def test_a_chip_is_chosen_that_runs_a_text():
    assert [arch_for(SCALE.replace("sm_80", x)).name for x in ("sm_70", "sm_90a", "sm_100a", "sm_120")] == [
        "sm_90", "sm_90", "sm_100", "sm_120",
    ]  # fmt: skip


@pytest.mark.parametrize(("keywords", "message"), [
    ({"contraction": "always"}, "contraction='always' is not one of 'rules', 'ptxas', 'never'"),
    ({"engine": "cuda"}, "there is no engine 'cuda'"),
    ({"findings": "ignore"}, "findings='ignore' is not 'warn', 'raise' or 'report', nor rules"),
    ({"max_steps": 0}, "max_steps must be an integer of at least 1, not 0"),
    ({"max_bytes": 0}, "max_bytes must be an integer of at least 1, not 0"),
    ({"schedules": 0}, "schedules must be an integer of at least 1, not 0"),
    ({"keep_bytes": -1}, "keep_bytes must be an integer of at least 0, not -1"),
    ({"schedule": -1}, "schedule must be an integer of at least 0, not -1"),
    ({"max_seconds": "1"}, "max_seconds='1' is not a positive number"),
    ({"fuse": 1}, "a launch has no option fuse; it has findings, schedule"),
    ({"contractions": "never"}, "did you mean 'contraction'[?] It has findings, .* a module has arch"),
])  # fmt: skip
def test_options_that_do_not_exist_are_refused(keywords, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        we.ptx.Module(SCALE, **keywords)


def test_the_least_of_each_option_is_taken():
    we.ptx.Module(SCALE, max_steps=1, max_bytes=1, schedules=1, keep_bytes=0, schedule=0)


def test_a_file_of_ptx_is_read_and_named(tmp_path):
    path = tmp_path / "scale.ptx"
    path.write_text(SCALE, encoding="utf-8")
    module = we.ptx.Module.from_file(path, "sm_80")
    assert repr(module) == "<module scale.ptx: scale on sm_80>" and list(module) == ["scale"] and len(module) == 1
    assert repr(module.kernel) == "<kernel scale(.u64, .f32, .u32) on sm_80>"
    with pytest.raises(UnsupportedInstructionError, match=r"scale\.ptx has no kernel 'scael'; did you mean 'scale'\?"):
        module["scael"]


def test_only_a_single_kernel_can_be_accessed_without_its_name():
    assert we.ptx.Module(SCALE).kernel.name == "scale"
    two = entry("") + entry("").replace("k()", "l()").removeprefix(HEAD)
    with pytest.raises(UnsupportedInstructionError, match=r"has 2 kernels; name one: module\['k'\]"):
        _ = we.ptx.Module(two).kernel
    with pytest.raises(UnsupportedInstructionError, match="has no kernel"):
        _ = we.ptx.Module(HEAD).kernel


VARIABLES = entry(
    ".param .u64 out",
    """.reg .b64 %a<3>; .reg .b32 %r<4>;
    ld.param.u64 %a0, [out];
    ld.const.u32 %r0, [factor];
    ld.global.u32 %r1, [count];
    add.s32 %r2, %r1, 1;
    st.global.u32 [count], %r2;
    mul.lo.s32 %r3, %r1, %r0;
    st.global.u32 [%a0], %r3;
    ret;""",
    before=".global .align 4 .u32 count = 5;\n.const .align 4 .u32 factor = 3;",
)


def test_variables_are_arrays_that_keep_their_values_between_launches():
    module, out = we.ptx.Module(VARIABLES), np.zeros(1, np.uint32)
    found = []
    for _ in range(2):
        module["k"][1, 1](out)
        found.append(int(out[0]))
    module.variable("factor", np.uint32)[...] = 100
    module["k"][1, 1](out)
    assert [*found, int(out[0])] == [15, 18, 700]
    assert module.variable("count", np.int32).tolist() == [8]
    with pytest.raises(UnsupportedInstructionError, match="the module has no variable 'counter'; it has count, factor"):
        module.variable("counter")
    with pytest.raises(FragmentMismatchError, match="count has 4 bytes, not a multiple of the size of float64"):
        module.variable("count", float)


def test_a_kernel_with_unsupported_instructions_is_rejected_before_it_runs():
    text = entry(".param .u64 x", ".reg .b32 %r<3>;\n    frobnicate.s32 %r0, %r1, %r2;\n    ret;")
    module = we.ptx.Module(text)
    (missing,) = module.explain().kernels[0].missing
    assert missing.opcode == "frobnicate.s32"
    with pytest.raises(UnsupportedInstructionError, match=r"k cannot run, line \d+: frobnicate\.s32 %r0, %r1, %r2;"):
        module["k"][1, 1](0)


@pytest.mark.parametrize(("opcode", "hint"), [
    ("ad.s32", "ad.s32 is not modelled[.] Nearest: add, and, mad$"),
    ("sept.s32", "sept.s32 is not modelled[.] Nearest: set, selp, setp$"),
    ("frobnicate.s32", "frobnicate.s32 is not modelled$"),
])  # fmt: skip
def test_an_unknown_mnemonic_is_rejected_with_the_nearest_one(opcode, hint):
    text = entry("", f".reg .b32 %r<3>;\n    {opcode} %r0, %r1, %r2;\n    ret;")
    (missing,) = we.ptx.Module(text).explain().kernels[0].missing
    assert re.search(hint, missing.reason), missing.reason

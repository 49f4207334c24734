# SPDX-License-Identifier: MIT
"""The tool that runs ZLUDA's tests, on a synthetic checkout."""

import numpy as np
import pytest

from tools.peers.zluda import array_of, cases_of, main, value_of

HEAD = ".version 7.0\n.target sm_60\n.address_size 64\n"

TWICE = (
    HEAD
    + """.visible .entry twice(.param .u64 input, .param .u64 output) {
.reg .b64 %a, %b; .reg .b32 %r, %t; ld.param.u64 %a, [input]; ld.param.u64 %b, [output];
mov.u32 %t, %tid.x; ld.u32 %r, [%a]; add.u32 %r, %r, %r; st.u32 [%b], %r; ret; }
"""
)
MACROS = """
macro_rules! test_ptx { ($fn_name:ident, $input:expr, $output:expr) => {}; }
test_ptx!(twice, [5u32, 6], [10u32]);
// test_ptx!(left_out, [5u32], [10u32]);
test_ptx_with_32!(
    wrong,
    [0x7fffffffu32], // a comment
    [0xFFFF_FFFFu32]
);
test_ptx!(no_text);
test_ptx_warp!(lanes, [0u32, 4u32, 8u32, 12u32]);
"""
LANES = (
    HEAD
    + """.visible .entry lanes(.param .u64 output) {
.reg .b64 %b; .reg .b32 %t; .reg .pred %p; ld.param.u64 %b, [output]; mov.u32 %t, %tid.x; setp.gt.u32 %p, %t, 3;
@%p ret; .reg .b64 %o; mul.wide.u32 %o, %t, 4; add.u64 %b, %b, %o; shl.b32 %t, %t, 2; st.u32 [%b], %t; ret; }
"""
)


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("0xFFu8", "ff"), ("-2i16", "feff"), ("0b101u32", "05000000"), ("1_000u16", "e803"), ("u32::MAX", "ffffffff"),
        ("i32::MIN", "00000080"), ("u64::max_value()", "ff" * 8), ("0.5f32", "0000003f"), ("1f64", "00" * 6 + "f03f"),
        ("f32::NAN", "0000c07f"), ("f32::NEG_INFINITY", "000080ff"), ("half::f16::NAN.to_bits()", "007e"),
        ("half::f16::from_f32(-0.0)", "0080"), ("half::f16::from_bits(0x35aa)", "aa35"),
        ("f32::from_bits(0x33800000)", "00008033"), ("std::f32::consts::PI", "db0f4940"),
        ("std::f32::consts::PI / 2f32", "db0fc93f"), ("0xff_u8", "ff"),
    ],
)  # fmt: skip
def test_values_are_parsed_like_rusts(text, bits):
    assert value_of(text).tobytes().hex() == bits


@pytest.mark.parametrize(
    ("text", "dtype", "values"),
    [
        ("[1u16, 2, 3]", "u2", [1, 2, 3]), ("[1, 2]", "i4", [1, 2]), ("[1.5, 2.0]", "f8", [1.5, 2]),
        ("[f32::from_bits(0x33800000), 1.0]", "f4", [2.0**-24, 1]), ("[1, 2,]", "i4", [1, 2]),
    ],
)  # fmt: skip
def test_the_elements_of_an_array_have_one_type(text, dtype, values):
    found = array_of(text)
    assert found.dtype == np.dtype(dtype)
    assert found.tolist() == values


def test_an_illegal_value_is_rejected():
    with pytest.raises(ValueError, match="'rand::random\\(\\)' is not a value of a test"):
        value_of("rand::random()")


def test_tests_are_read_from_their_macros():
    found = {x.name: x for x in cases_of(MACROS)}
    assert list(found) == ["twice", "wrong", "no_text", "lanes"]
    assert found["twice"].input.tolist() == [5, 6]
    assert (found["lanes"].threads, found["lanes"].input, found["no_text"].output) == (64, None, None)


def test_failures_have_a_line_and_successes_are_counted(tmp_path, capsys):
    folder = tmp_path / "ptx/src/test/spirv_run"
    folder.mkdir(parents=True)
    (folder / "mod.rs").write_text(MACROS)
    for name, text in (("twice", TWICE), ("wrong", TWICE.replace("twice", "wrong")), ("lanes", LANES)):
        (folder / f"{name}.ptx").write_text(text)
    (folder / "no_text.ptx").write_text(HEAD + ".entry k() { .reg .b33 x; }")
    assert main([str(tmp_path), "--ptxas", ""]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "| gives the expected bytes | 2 |" in lines
    assert "| fails | element 0 is 0xfffffffe, expected 0xffffffff | 1 | wrong |" in lines
    assert any(x.startswith("| fails | PtxSyntaxError") and x.endswith("| 1 | no_text |") for x in lines)
    assert main([str(tmp_path), "--only", "twice|lanes"]) == 0


def test_a_folder_that_does_not_contain_a_checkout_is_rejected(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "give a checkout of ZLUDA" in capsys.readouterr().err

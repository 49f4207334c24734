# SPDX-License-Identifier: MIT
"""The rules by which PTX source becomes a program, one for each test."""

import pytest

from wmma_emu.errors import PtxSyntaxError
from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.contraction import contract
from wmma_emu.ptx.program.operand_kinds import agrees
from wmma_emu.ptx.program.program import Immediate, LabelTarget, ParameterCopy, Predicate, Register, Symbol
from wmma_emu.ptx.program.written import written_by

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def module(text):
    return program_of(HEAD + text)


def kernel(body, parameters=""):
    return module(f".entry k({parameters}) {{\n{body}\n}}").kernels["k"]


def opcodes(program):
    return [x.opcode for x in program.instructions]


def test_registers_are_numbered_in_the_order_of_their_first_use():
    found = kernel(".reg .b32 %r<9>; add.s32 %r7, %r2, 1; ret;")
    assert found.registers == (Register(0, "%r7", "b32"), Register(1, "%r2", "b32"))
    assert found.instructions[0].operands == (*found.registers, Immediate("int", 1))


def test_a_label_is_the_index_of_the_next_instruction_and_a_guard_is_a_predicate():
    jump = kernel(".reg .pred %p; bar.sync 0; L: bar.sync 1; @!%p bra L; ret;").instructions[2]
    assert jump.operands == (LabelTarget(1, "L"),)
    assert jump.guard == Predicate(Register(0, "%p", "pred"), True)


def test_a_name_in_an_inner_scope_hides_the_outer_one():
    outer, inner, after = kernel(".reg .b32 a; op a; { .reg .b32 a; op a; } op a; ret;").instructions[:3]
    assert outer.operands == after.operands != inner.operands


def test_execution_cannot_fall_off_the_end_of_a_function():
    assert opcodes(kernel("bar.sync 0;")) == ["bar.sync", "ret"]


def test_parameters_are_laid_out_by_their_alignment():
    found = kernel("ret;", ".param .u8 a, .param .u64 b, .param .u16 c")
    assert [(x.name, x.offset) for x in found.parameters] == [("a", 0), ("b", 8), ("c", 16)]
    assert found.parameter_bytes == 18


def test_shared_variables_keep_their_gpu_alignment_but_are_separated_by_gaps():
    text = ".shared .align 4 .b8 a[4]; .shared .align 4 .b8 b[4]; .reg .b32 %r; mov.u32 %r, a; mov.u32 %r, b; ret;"
    found = kernel(text)
    a, b = found.symbols
    assert found.shared_bytes == 8  # of a GPU, where b follows a
    assert b.offset >= a.offset + 4 + 16 and b.offset % 128 == 4


def test_dynamic_shared_memory_follows_the_static_variables():
    found = module(".extern .shared .align 16 .b8 s[]; .entry k() { .shared .b8 a[20]; .reg .b32 %r; "
                   "mov.u32 %r, a; mov.u32 %r, s; ret; }").kernels["k"]  # fmt: skip
    assert (found.shared_bytes, found.dynamic_offset) == (20, 32)


def test_an_address_in_an_initial_value_is_a_relocation():
    found = module(".global .u32 x = 7; .global .u64 p = generic(x) + 4; .entry k() { ret; }")
    assert found.global_bytes == bytes([7] + [0] * 15)
    assert found.global_relocations == ((8, Symbol("global", 0, "x", 4), 4, True),)


def test_a_function_is_appended_once_after_the_kernels_that_call_it():
    found = module(".func f { trap; } .entry k() { call f; call f; ret; }").kernels["k"]
    assert opcodes(found) == ["call", "call", "ret", "trap"]
    assert [x.callee for x in found.instructions[:2]] == [3, 3]
    assert found.functions == (("k", 0, 3), ("f", 3, 4))


def test_an_argument_in_memory_is_copied_before_the_call():
    call = module(".func f(.param .b32 a) { ret; } .entry k() { .param .b32 b; call f, (b); ret; }")
    (call, *_) = call.kernels["k"].instructions
    assert call.copies_in == (ParameterCopy(0, 4, 4),)


def test_each_call_has_its_own_local_memory_if_a_function_calls_itself():
    body = ".func f { .local .b64 v[3]; call f; ret; } .entry k() { .local .b32 w; call f; ret; }"
    kernels = module(body + ".func g { ret; } .entry other() { call g; ret; }").kernels
    assert kernels["k"].frames == (("k", 4, 4), ("f", 24, 24))
    assert [(x.name, x.offset) for x in kernels["k"].symbols] == [("w", 0), ("v", 0)]
    assert kernels["other"].frames == ()


def test_a_call_to_an_address_lists_the_functions_of_its_prototype():
    functions = "".join(f".func (.param .b32 r) {x}(.param .b32 a) {{ ret; }} " for x in "fgh")
    call = ".callprototype (.param .b32 _) _ (.param .f32 _); call (q), a, (q), P;"
    body = f".global .b64 v[2] = {{h, other}}; {functions} .func other() {{ ret; }} .entry k() {{ .reg .b64 a; "
    found = module(body + f".param .b32 q; mov.b64 a, f; P: {call} ret; }}").kernels["k"]
    assert [x[0] for x in found.functions] == ["k", "h", "f"]  # the address of g is not taken
    assert found.instructions[1].targets == (3, 4)
    assert found.code == (("h", 48), ("f", 16))


def test_an_unknown_name_is_an_error_that_points_at_the_name():
    with pytest.raises(PtxSyntaxError) as error:
        kernel(".reg .b32 %r<3>; add.s32 %r1, %r2, %r9;")
    assert (error.value.line, error.value.column) == (5, 36)
    assert "%r9" in error.value.message


def test_bits_agree_with_every_type_of_their_width_and_floats_only_with_themselves():
    assert agrees("b32", "f32") and agrees("b32", "s32") and agrees("u32", "s32")
    assert not agrees("f32", "u32") and not agrees("b64", "f32")


def test_a_product_and_a_sum_without_a_rounding_are_fused():
    body = ".reg .f32 %f<5>; .reg .b64 %a; mul.f32 %f3, %f0, %f1; {} st.global.f32 [%a], %f4; ret;"
    fused = contract(kernel(body.format("add.f32 %f4, %f3, %f2;")))
    kept = contract(kernel(body.format("add.rn.f32 %f4, %f3, %f2;")))
    assert opcodes(fused.program) == ["fma.rn.f32", "st.global.f32", "ret"] and fused.lines == (5,)
    assert opcodes(kept.program) == ["mul.f32", "add.rn.f32", "st.global.f32", "ret"]


def test_stores_through_a_parameter_may_write_its_array():
    found = kernel(
        ".reg .b64 %a<2>; ld.param.u64 %a0, [x]; ld.param.u64 %a1, [y]; st.global.u64 [%a1], %a0; ret;",
        ".param .u64 x, .param .u64 y",
    )
    assert written_by(found).parameters == {8}

# SPDX-License-Identifier: MIT
"""Facts about compiled code, one at a time: what object code follows from, and that it computes."""

import ctypes

import pytest

pytest.importorskip("llvmlite")

from llvmlite import ir

from wmma_emu.llvm import cache
from wmma_emu.llvm.code import LONG, POINTER, Code
from wmma_emu.llvm.compile import load, object_code, processor


def called(code, name, *arguments):
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64 for _ in arguments))
    return function(load(object_code(str(code.function.module)), [name])[name])(*arguments)


def test_object_code_of_a_module_computes_what_the_module_says():
    code = Code(ir.Module(), "sum", LONG, [LONG, LONG])
    code.give(code.build.add(*code.arguments))
    assert called(code, "sum", 3, -5) == -2


def test_a_loop_repeats_until_it_is_left():
    code = Code(ir.Module(), "squares", LONG, [LONG])
    total = code.variable(LONG, 0)
    with code.repeat(code.arguments[0]) as number:
        total.set(code.build.add(total.value, code.build.mul(number, number)))
    code.give(total.value)
    assert called(code, "squares", 5) == 30
    assert called(code, "squares", 0) == 0


def test_memory_is_read_and_written_at_byte_offsets():
    words = (ctypes.c_int64 * 2)(7, 0)
    code = Code(ir.Module(), "copy", LONG, [LONG])
    pointer = code.build.inttoptr(code.arguments[0], POINTER)
    code.store(pointer, 8, code.load(pointer, 0, LONG), LONG)
    code.give(0)
    called(code, "copy", ctypes.addressof(words))
    assert [*words] == [7, 7]


def test_equal_modules_have_equal_object_code():
    text = "define i32 @f(i32 %x) { %y = mul i32 %x, 5 ret i32 %y }"
    assert object_code(text) == object_code(text)


def test_the_key_of_the_cache_depends_on_names_and_contents_of_sources(tmp_path):
    (tmp_path / "a.py").write_text("1")
    first = cache.key_of([tmp_path])
    assert cache.key_of([tmp_path]) == first
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    second = cache.key_of([tmp_path])
    (tmp_path / "b.py").write_text("2")
    assert len({first, second, cache.key_of([tmp_path])}) == 3
    assert "llvmlite" in processor()

# SPDX-License-Identifier: MIT
"""Facts about compiled code, one at a time: what object code follows from, and that it computes."""

import ctypes

import pytest

pytest.importorskip("llvmlite")

from wmma_emu.llvm import cache
from wmma_emu.llvm.compile import load, object_code, processor


def test_object_code_of_a_module_computes_what_the_module_says():
    text = "define i64 @sum(i64 %x, i64 %y) { %z = add i64 %x, %y ret i64 %z }"
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(load(object_code(text), ["sum"])["sum"])
    assert function(3, -5) == -2


def test_code_may_call_functions_of_this_process():
    text = """declare double @exp(double)
    define double @e(double %x) { %y = call double @exp(double %x) ret double %y }"""
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(load(object_code(text), ["e"])["e"])
    assert function(0.0) == 1.0


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

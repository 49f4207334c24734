# SPDX-License-Identifier: MIT
"""The rules of the demangler, one fact each: names, parameters, templates, and what it does not read.

The mangled names follow the Itanium C++ ABI, chapter 5.1, and are what nvcc writes.
"""

import pytest

from wmma_emu.ptx.cpp.demangle import demangle
from wmma_emu.ptx.cpp.tree import scopes_of, shown


def name_of(mangled):
    return shown(demangle(mangled).name)


def parameters_of(mangled):
    return [shown(x) for x in demangle(mangled).parameters]


def test_a_mangled_name_has_a_name_and_the_types_of_its_parameters():
    assert name_of("_Z5scalePfi") == "scale"
    assert parameters_of("_Z5scalePfi") == ["float*", "int"]


def test_a_function_without_parameters_has_an_empty_list_of_them():
    assert parameters_of("_Z5scalev") == []


def test_a_variable_has_no_parameters():
    assert demangle("_ZN3foo3barE").parameters is None


@pytest.mark.parametrize(("letter", "text"), [
    ("b", "bool"), ("a", "signed char"), ("h", "unsigned char"), ("s", "short"), ("j", "unsigned int"),
    ("l", "long"), ("y", "unsigned long long"), ("d", "double"), ("6__half", "__half"), ("Pv", "void*"),
])  # fmt: skip
def test_a_type_is_written_as_in_cpp(letter, text):
    assert parameters_of(f"_Z1k{letter}") == [text]


def test_const_precedes_the_type_and_follows_the_pointer():
    assert parameters_of("_Z1kPKf") == ["const float*"]
    assert parameters_of("_Z1kPKPf") == ["float* const*"]


def test_pointers_to_arrays_and_functions_have_brackets():
    assert parameters_of("_Z1kPA4_i") == ["int (*)[4]"]
    assert parameters_of("_Z1kPFifE") == ["int (*)(float)"]


def test_scopes_are_separate_parts_of_a_name():
    assert name_of("_ZN2my5scaleEf") == "my::scale"
    assert [shown(x) for x in scopes_of(demangle("_ZN2my5scaleEf").name)] == ["my", "scale"]


def test_template_arguments_are_types_and_values():
    assert name_of("_Z5scaleIfLi64ELb1EEvv") == "scale<float, 64, true>"
    assert name_of("_Z5scaleILin3EEvv") == "scale<-3>"


def test_a_parameter_that_is_a_template_parameter_has_the_type_of_the_argument():
    assert parameters_of("_Z5scaleIdEvPT_") == ["double*"]


def test_a_parameter_pack_is_expanded():
    assert parameters_of("_Z1kIJfiEEvDpPT_") == ["float*", "int*"]


def test_a_repeated_type_refers_to_the_first():
    assert parameters_of("_Z1kP3BoxS0_") == ["Box*", "Box*"]
    assert parameters_of("_Z1kP3BoxS_") == ["Box*", "Box"]


def test_a_plain_name_has_scopes_and_no_template_arguments():
    assert demangle("_ZN2my5scaleIfEEvPT_").plain_name == "my::scale"


def test_an_unnamed_namespace_is_called_anonymous():
    assert name_of("_ZN12_GLOBAL__N_11kEv") == "(anonymous namespace)::k"


def test_the_prefix_of_a_static_kernel_is_dropped():
    assert name_of("__nv_static_28__96626824_7_hard_cu_9660309f__Z1kPf") == "k"


@pytest.mark.parametrize("name", ["scale", "", "_Z", "_ZN3a", "_Z99short", "_Z1kf?", "_Z1kIfEvPT1_"])
def test_a_name_that_is_not_mangled_or_cannot_be_read_to_its_end_is_none(name):
    assert demangle(name) is None

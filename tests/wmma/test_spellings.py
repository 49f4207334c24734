# SPDX-License-Identifier: MIT
"""Names that `wmma` does not have: what the error says of those that C++, PTX or NumPy has."""

import importlib
import inspect

import pytest

from wmma_emu import wmma
from wmma_emu.wmma.names import ElementType
from wmma_emu.wmma.spellings import SPELLINGS, advice

MEANT = {
    "C++'s half is wmma.half": "__half nv_half float16 fp16 f16",
    "C++'s __nv_bfloat16 is wmma.bfloat16": "__nv_bfloat16 nv_bfloat16 bf16",
    "C++'s float is wmma.float32": "float fp32 f32",
    "C++'s double is wmma.double": "float64 fp64 f64",
    "C++'s signed char is wmma.int8": "signed_char int8_t i8 s8",
    "C++'s unsigned char is wmma.uint8": "unsigned_char uint8_t u8",
    "C++'s int is wmma.int32": "int int32_t i32 s32",
    "C++'s precision::tf32 is wmma.precision.tf32": "tf32",
    "C++'s experimental::precision::u4 is wmma.experimental.precision.u4": "u4 uint4",
    "C++'s experimental::precision::s4 is wmma.experimental.precision.s4": "s4 int4",
    "C++'s experimental::precision::b1 is wmma.experimental.precision.b1": "b1",
    "C++'s experimental::bmmaBitOpXOR is wmma.experimental.bmmaBitOpXOR": "bmmaBitOpXOR",
    "C++'s experimental::bmmaBitOpAND is wmma.experimental.bmmaBitOpAND": "bmmaBitOpAND",
    "C++'s experimental::bmmaAccumulateOpPOPC is wmma.experimental.bmmaAccumulateOpPOPC": "bmmaAccumulateOpPOPC",
    "C++'s __float_to_tf32 is wmma.float_to_tf32": "__float_to_tf32",
    "fragments hold signed char, wmma.int8, or unsigned char, wmma.uint8": "char",
}
CASES = [(name, text) for text, names in MEANT.items() for name in names.split()]


@pytest.mark.parametrize(("name", "text"), CASES)
def test_a_name_of_c_plus_plus_gets_its_python_equivalent(name, text):
    with pytest.raises(AttributeError) as caught:
        getattr(wmma, name)
    assert str(caught.value) == f"module 'wmma_emu.wmma' has no attribute {name!r}; {text}"
    assert not hasattr(wmma, name)


@pytest.mark.parametrize(("name", "text"), CASES)
def test_the_name_that_is_advised_exists(name, text):
    for word in text.replace(",", " ").split():
        if word.startswith("wmma."):
            assert eval(word, {"wmma": wmma}) is not None


def test_every_element_type_has_spellings_that_are_not_existing_names():
    assert list(SPELLINGS) == list(ElementType)
    for x, spellings in SPELLINGS.items():
        for name in spellings.split():
            assert advice(name) == f"C++'s {x.cpp} is {x}" and name not in vars(wmma)
        cpp = x.cpp.split("::")[-1].replace(" ", "_")
        assert cpp in (x.name, *spellings.split())


def test_any_other_name_gets_the_nearest_or_what_python_says():
    for name, near in (("flaot32", "float32"), ("matrix_c", "matrix_a"), ("Float", "float32")):
        with pytest.raises(AttributeError) as caught:
            getattr(wmma, name)
        assert str(caught.value) == f"module 'wmma_emu.wmma' has no attribute {name!r}; did you mean {near!r}?"
        assert caught.value.name == name
    for name in ("xyz", "__wrapped__", ""):
        with pytest.raises(AttributeError) as caught:
            getattr(wmma, name)
        assert str(caught.value) == f"module 'wmma_emu.wmma' has no attribute {name!r}"
        assert caught.value.name == name and caught.value.obj is wmma
    with pytest.raises(ImportError, match=r"cannot import name 'tf32' from 'wmma_emu\.wmma'"):
        exec("from wmma_emu.wmma import tf32")


def test_the_names_that_there_are_stay_reachable():
    assert all(hasattr(wmma, name) for name in wmma.__all__) and not hasattr(wmma, "__path")
    assert importlib.import_module("wmma_emu.wmma.tiles").__name__ == "wmma_emu.wmma.tiles"
    assert inspect.unwrap(wmma) is wmma

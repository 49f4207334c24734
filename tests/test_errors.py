# SPDX-License-Identifier: MIT
"""Errors can be caught by their class, by its built-in base, and by the class that older versions raised."""

import builtins
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_kernels import text_of
from wmma_emu import errors

VARIABLE = ".global .align 4 .b32 counter;"
HOSTILE = "\x1b]0;pwn\x07\x9b2J\u202e\x08\x00\r\u2066\x85"
"""What terminals obey: a title, a sequence of C1, a turn of direction, a backspace, NUL, a return, an isolate, NEL."""


def module(**options):
    return we.ptx.Module(text_of("ret;", 1, VARIABLE), **options)


def matrix(rows, columns):
    return np.zeros((rows, columns), np.float16)


def numbers():
    return np.zeros(4, np.uint32)


USES = {
    "UnknownNameError": (
        (KeyError, we.UnsupportedInstructionError),
        {
            "a misspelt kernel": lambda: module()["kk"],
            "a misspelt variable": lambda: module().variable("count"),
            "a chip that does not exist": lambda: we.gemm(matrix(16, 16), matrix(16, 16), arch="sm_91"),
            "a format that does not exist": lambda: we.format_of("f17"),
            "a block-scaled format that does not exist": lambda: we.quantise.quantise(np.ones(32, np.float32), "mx"),
            "a preset that does not exist": lambda: we.gemm(matrix(16, 16), matrix(16, 16), like="cublas"),
        },
    ),
    "LaunchConfigurationError": (
        (ValueError, we.OptionError),
        {
            "a grid of 0": lambda: module()["k"][0, 32],
            "a block of 0": lambda: module()["k"][1, 0],
            "a block of 2048": lambda: module()["k"][1, 2048](numbers()),
            "too many threads": lambda: module()["k"][1, (64, 64)](numbers()),
            "too much shared memory": lambda: module()["k"][1, 1, 1 << 20](numbers()),
            "no grid": lambda: module()["k"](numbers()),
            "a Python kernel on a grid of 0": lambda: we.kernel(lambda t: None)[0, 32](),
            "a Python kernel with half a warp": lambda: we.kernel(lambda t: None)[1, 16](),
        },
    ),
    "CallError": (
        (TypeError, we.OptionError),
        {
            "an option of a launch that does not exist": lambda: module()["k"][1, 1](numbers(), steps=3),
            "an option of a module that does not exist": lambda: module(steps=3),
            "a chip that is a number": lambda: module(arch=90),
            "an instruction that is a number": lambda: we.instruction(16816),
        },
    ),
    "ArgumentError": (
        (TypeError, we.FragmentMismatchError),
        {
            "a missing argument": lambda: module()["k"][1, 1](),
            "an argument too many": lambda: module()["k"][1, 1](numbers(), 1),
            "a string for a pointer": lambda: module()["k"][1, 1]("x"),
            "an array of objects": lambda: module()["k"][1, 1](np.array([object()])),
            "a variable as an unknown dtype": lambda: module().variable("counter", "float17"),
            "a file that is a number": lambda: we.ptx.Module.from_file(5),
            "CUDA C++ that is bytes": lambda: we.ptx.Module.from_cuda(b""),
            "options that are one string": lambda: we.ptx.Module.from_cuda("", options="-O3"),
            "an option that is a number": lambda: we.ptx.Module.from_cuda("", options=[3]),
            "a matrix that is a string": lambda: we.gemm(matrix(16, 16), "x"),
            "a Python kernel with an argument too few": lambda: we.kernel(lambda t, x: None)[1, 32](),
        },
    ),
    "ArgumentValueError": (
        (ValueError, TypeError, we.ArgumentError, we.FragmentMismatchError),
        {
            "a view with gaps": lambda: module()["k"][1, 1](numbers()[::2]),
            "a source with a NUL": lambda: we.ptx.Module.from_cuda("\0"),
            "a source with half of a pair": lambda: we.ptx.Module.from_cuda("\ud800"),
            "the name of no file": lambda: we.ptx.Module.from_file("a\0.ptx"),
        },
    ),
    "ShapeError": (
        (ValueError, TypeError, we.ArgumentValueError, we.FragmentMismatchError),
        {
            "matrices that do not fit": lambda: we.gemm(matrix(16, 16), matrix(8, 16)),
            "a variable as elements that do not fill it": lambda: module().variable("counter", np.float64),
            "an axis that blocks do not fill": lambda: we.quantise.quantise(np.ones(31, np.float32), "mxint8"),
        },
    ),
    "OptionError": (
        (ValueError, we.UnsupportedInstructionError),
        {
            "an engine that does not exist": lambda: module(engine="fast"),
            "a contraction that does not exist": lambda: module(contraction="always"),
            "an order of sums that does not exist": lambda: we.KOrder(splits=0),
            "steps of another type": lambda: module(max_steps="many"),
        },
    ),
}
ROWS = [
    pytest.param(name, bases, use, id=f"{what}: {name}")
    for name, (bases, uses) in USES.items()
    for what, use in uses.items()
]


@pytest.mark.parametrize(("name", "bases", "use"), ROWS)
def test_a_wrong_use_is_an_error_of_its_class_of_the_built_in_one_and_of_the_one_before(name, bases, use):
    with pytest.raises(we.WmmaEmuError) as caught:
        use()
    assert type(caught.value).__name__ == name
    assert isinstance(caught.value, (getattr(we, name), *bases)) and all(isinstance(caught.value, x) for x in bases)


def test_the_message_of_a_misspelt_name_is_shown_as_it_is_and_not_in_quotes_as_a_key_is():
    with pytest.raises(KeyError) as caught:
        module()["kk"]
    assert str(caught.value) == "the PTX text has no kernel 'kk'; did you mean 'k'? It has k"


def test_a_dictionary_of_kernels_is_read_with_the_except_clauses_of_a_dictionary():
    try:
        found = module()["missing"]
    except LookupError:
        found = None
    assert found is None


CLASSES = [x for x in map(errors.__dict__.get, errors.__all__) if isinstance(x, type)]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda x: x.__name__)
def test_every_class_of_errors_and_warnings_shows_no_character_that_a_terminal_obeys(kind):
    shown = str(kind(f"one {HOSTILE}\n\ttwo"))
    assert all(x.isprintable() or x == "\n" for x in shown)
    assert r"\x1b]0;pwn\x07\x9b2J\u202e\x08\x00\r\u2066\x85" in shown and "two" in shown


@pytest.mark.parametrize("kind", CLASSES, ids=lambda x: x.__name__)
def test_every_class_of_errors_and_warnings_is_pickled_with_its_message(kind):
    copy = pickle.loads(pickle.dumps(kind("one\ntwo")))
    assert type(copy) is kind and str(copy) == str(kind("one\ntwo"))


@pytest.mark.parametrize("kind", CLASSES, ids=lambda x: x.__name__)
def test_every_class_has_a_built_in_class_that_says_more_than_exception(kind):
    built_in = [x for x in kind.__mro__ if x.__module__ == "builtins"]
    assert kind is we.WmmaEmuError or len([x for x in built_in if x not in (Exception, BaseException, object)]) >= 1


def test_lines_of_a_compilers_message_stay_lines():
    said = errors.CompilationError("k.cu does not compile:\r\nk.cu(1): error\n\tfoo\x1b[2J\n\t^")
    assert str(said) == "k.cu does not compile:\nk.cu(1): error\n        foo\\x1b[2J\n        ^"


def test_the_table_of_the_reference_has_the_bases_of_each_class_and_no_class_of_these_kinds_is_missing():
    page = (Path(__file__).parents[1] / "docs/reference/api/top.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| `(\w+Error)` \|.*\| ([^|]*) \|$", page, re.MULTILINE)
    rows = {name: re.findall(r"\w+", bases) for name, bases in found}
    for name, bases in rows.items():
        assert all(issubclass(getattr(we, name), getattr(we, x, None) or getattr(builtins, x)) for x in bases), name
    families = (we.UnsupportedInstructionError, we.FragmentMismatchError)
    assert set(rows) == {x.__name__ for x in CLASSES if issubclass(x, families)}

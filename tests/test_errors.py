# SPDX-License-Identifier: MIT
"""Errors can be caught by their class, by its built-in base, and by the class that older versions raised."""

import builtins
import importlib
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_kernels import text_of
from wmma_emu import errors

FORMATS = "f64, f32, tf32, bf16, f16, e4m3, e5m2, e3m2, e2m3, e2m1, ue8m0, ue4m3, s32, s8, u8, s4, u4, b1"
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


MESSAGES = {
    "a module that is called": (
        lambda: we.quantise(matrix(2, 32), "nvfp4"), we.CallError,
        "wmma_emu.quantise is a module, not a function; call wmma_emu.quantise.quantise(...)",
    ),
    "a module that is called, in American spelling": (
        lambda: importlib.import_module("wmma_emu.quantize")(matrix(2, 32)), TypeError,
        "wmma_emu.quantize is a module, not a function; call wmma_emu.quantize.quantize(...)",
    ),
    "a name of a module": (
        lambda: we.ptx.Modules, AttributeError,
        "module 'wmma_emu.ptx' has no attribute 'Modules'; did you mean 'Module'?",
    ),
    "a name of a module with old names": (
        lambda: we.kernels.kernell, AttributeError,
        "module 'wmma_emu.kernels' has no attribute 'kernell'; did you mean 'kernel'?",
    ),
    "a kernel as an attribute": (
        lambda: module().kk, AttributeError,
        "a Module has no attribute 'kk', and the PTX text has no kernel 'kk'; did you mean 'k'? It has k",
    ),
    "a check": (
        lambda: module(checks="race"), we.OptionError,
        "checks='race' is not a check; did you mean 'races'? The checks are memory, undefined, races, synchronisation",
    ),
    "a number for checks": (
        lambda: module(checks=5), we.OptionError,
        "checks=5 is not a tuple of names; () disables every check, and without checks= all are enabled; the checks "
        "are memory, undefined, races, synchronisation",
    ),
    "an action for findings": (
        lambda: module(findings="ignore"), we.OptionError,
        "findings='ignore' is not 'warn', 'raise' or 'report', nor rules, such as ['warn:race', 'off:deadlock'] or "
        "{'race': 'warn'}; did you mean 'report'?",
    ),
    "a misspelt action for findings": (
        lambda: module(findings="rase"), we.OptionError,
        "findings='rase' is not 'warn', 'raise' or 'report', nor rules, such as ['warn:race', 'off:deadlock'] or "
        "{'race': 'warn'}; did you mean 'raise'?",
    ),
    "the name of a file as PTX": (
        lambda: we.ptx.Module("kernel.ptx"), we.PtxSyntaxError,
        "line 1, column 1: found the name of a file; expected the PTX itself, and Module.from_file reads a file\n"
        "    kernel.ptx\n    ^",
    ),
    "None as PTX": (
        lambda: we.ptx.Module(None), we.PtxSyntaxError,
        "line 1, column 1: expected PTX as a string, found NoneType\n    \n    ^",
    ),
    "a format with two meanings": (
        lambda: we.format_of("float"), we.UnknownNameError,
        f"there is no format 'float': float is f32 in C++ and f64 in Python and NumPy; the formats are {FORMATS}",
    ),
    "a name that means two formats": (
        lambda: we.format_of("FP8"), we.UnknownNameError,
        f"there is no format 'FP8'; did you mean 'e4m3' or 'e5m2'? The formats are {FORMATS}",
    ),
    "a dtype as a format": (
        lambda: we.format_of(np.float16), we.UnknownNameError,
        f"there is no format <class 'numpy.float16'>; did you mean 'f16'? The formats are {FORMATS}",
    ),
    "a number as a format": (
        lambda: we.format_of(16), we.UnknownNameError, f"there is no format 16; the formats are {FORMATS}",
    ),
    "an engine": (
        lambda: we.gemm(matrix(2, 2), matrix(2, 2), engine="natve"), we.OptionError,
        "there is no engine 'natve'; did you mean 'native'? The engines are 'auto', 'reference', 'numpy', 'native', "
        "'cupy'",
    ),
    "an engine on a GPU": (
        lambda: we.gemm(matrix(2, 2), matrix(2, 2), engine="gpu"), we.OptionError,
        "there is no engine 'gpu'; did you mean 'cupy'? The engines are 'auto', 'reference', 'numpy', 'native', 'cupy'",
    ),
    "a rule for scales": (
        lambda: we.quantise.quantise(np.ones((2, 32), np.float32), "nvfp4", rule="torchoa"), we.UnknownNameError,
        "there is no scale rule 'torchoa' for nvfp4; did you mean 'torchao'? Its rules are rne, torchao, torchao_cuda, "
        "division, transformer_engine",
    ),
    "a reference that is not compared": (
        lambda: we.compare_archs(matrix(2, 2), matrix(2, 2), archs=["a100"], reference="h100"), we.UnknownNameError,
        "reference='h100' (sm_90) is not compared; the chips are sm_80",
    ),
}  # fmt: skip
"""Wrong uses, each with the class and the whole text of its error."""


@pytest.mark.parametrize("use", MESSAGES)
def test_a_message_names_the_argument_and_the_legal_values_and_the_nearest_fix(use):
    function, cls, text = MESSAGES[use]
    with pytest.raises(cls) as error:
        function()
    assert str(error.value) == text

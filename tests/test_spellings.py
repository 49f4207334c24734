# SPDX-License-Identifier: MIT
"""Whatever a user types may be spelled as in Britain or as in America: names, keywords, words of options, commands."""

import inspect
from importlib import import_module
from types import ModuleType

import pytest

import wmma_emu as we
from tests.kernels.test_findings import launch, racing
from tests.optional_libraries import lacks_its_library
from wmma_emu.cli.command_table import COMMANDS
from wmma_emu.cli.options import parser_of
from wmma_emu.cli.spelling import command_of, options_of, respelled
from wmma_emu.ptx import CHECKS, KINDS, SEVERITIES, Silence
from wmma_emu.spellings import american, as_spelled
from wmma_emu.spellings import british as back

PAIRS = (
    ("behaviour", "behavior"), ("colours", "colors"), ("neighbouring", "neighboring"), ("initialised", "initialized"),
    ("synchronisation", "synchronization"), ("quantiser", "quantizer"), ("analyse", "analyze"), ("centre", "center"),
    ("metres", "meters"), ("fibre", "fiber"), ("catalogue", "catalog"), ("labelled", "labeled"),
    ("cancelling", "canceling"), ("modelled", "modeled"), ("licence", "license"), ("defence", "defense"),
    ("judgement", "judgment"), ("artefacts", "artifacts"), ("grey", "gray"), ("programmes", "programs"),
)  # fmt: skip

SAME = (
    "otherwise pairwise bitwise precise raise raised exercise promise advise devise revised noise comprise surprise "
    "basis analysis analyses called filled installed compelled controlled source hour four course difference evidence "
    "silence fence reference central island list parallel this size epilogue program"
).split()


@pytest.mark.parametrize(("british", "spelled"), PAIRS)
def test_a_word_is_spelled_as_in_america(british, spelled):
    assert american(british) == american(spelled) == spelled
    assert back(spelled) == back(british) == british or spelled == "programs"
    assert american(british.capitalize()) == spelled.capitalize() and american(british.upper()) == spelled.upper()


@pytest.mark.parametrize("word", SAME)
def test_words_with_one_spelling_are_unchanged(word):
    assert american(word) == word and back(word) == word


def test_a_word_that_matches_no_name_is_unchanged():
    assert as_spelled("synchronise", ["synchronisation"]) == "synchronise"


def _packages():
    modules = [x for name in we.__all__ if isinstance(x := getattr(we, name), ModuleType)]
    return [we, *(x for x in modules if not lacks_its_library(x))]


def _named():
    """Yield every public name with its module or class, and its value."""
    for package in _packages():
        for name in package.__all__:
            yield package, name, getattr(package, name)


MEMBERS = [
    (cls, name) for _, _, cls in _named() if inspect.isclass(cls) for name in dir(cls) if not name.startswith("_")
]


def test_every_public_name_can_be_spelled_as_in_america():
    missing = [
        f"{package.__name__}.{name}"
        for package, name, value in _named()
        if american(name) != name and getattr(package, american(name), None) is not value
        and not isinstance(value, ModuleType)
    ]  # fmt: skip
    assert missing == []


def test_every_public_module_can_be_spelled_as_in_america():
    modules = [name for name in we.__all__ if isinstance(getattr(we, name), ModuleType) and american(name) != name]
    assert modules == ["quantise"]
    for name in modules:
        other = import_module(f"wmma_emu.{american(name)}")
        assert all(getattr(other, x) is getattr(getattr(we, name), x) for x in getattr(we, name).__all__)


def test_every_public_attribute_and_method_can_be_spelled_as_in_america():
    assert MEMBERS
    missing = {f"{cls.__name__}.{name}" for cls, name in MEMBERS if not hasattr(cls, american(name))}
    assert missing == set()


def _parameters():
    functions = [value for _, _, value in _named() if callable(value)]
    functions += [x for cls, name in MEMBERS if callable(x := inspect.getattr_static(cls, name))]
    for function in functions:
        try:
            yield from ((function, x) for x in inspect.signature(function).parameters)
        except (TypeError, ValueError):
            continue


def test_every_keyword_can_be_spelled_either_way():
    both = {"color": "colour"}
    british = {name for _, name in _parameters() if american(name) != name}
    assert british == set(), "decorate the function with wmma_emu.spellings.in_either_spelling, and list it here"
    either = {x.__qualname__ for x, name in _parameters() if name in both}
    assert either == {"Finding.to_text", "Profile.to_text", "Report.to_text", "Silenced.to_text"}


def test_text_of_a_report_has_colour_under_either_name():
    report = launch(racing)
    assert report.findings
    assert report.to_text(colour=True) == report.to_text(color=True) != report.to_text()
    assert report.findings[0].to_text(colour=True) == report.findings[0].to_text(color=True)


def test_names_of_errors_are_one_class():
    assert we.UnspecifiedBehaviorWarning is we.errors.UnspecifiedBehaviorWarning is we.UnspecifiedBehaviourWarning
    assert we.UnmodeledArithmeticError is we.errors.UnmodeledArithmeticError is we.UnmodelledArithmeticError


@pytest.mark.parametrize("check", CHECKS)
def test_checks_are_taken_in_either_spelling(check):
    report = launch(racing, checks=[american(check)])
    assert check not in report.not_checked


@pytest.mark.parametrize("kind", [x for x, row in KINDS.items() if row.check])
def test_kinds_of_findings_are_taken_in_either_spelling(kind):
    from wmma_emu.ptx.launch.actions import rules_of
    from wmma_emu.ptx.launch.silencing_comments import silences_in

    assert Silence(american(kind), 3, "why").kind == kind
    assert str(rules_of([f"off:{american(kind)}"])[0]) == f"off:{kind}"
    (found,) = silences_in(f"x = y; // wmma-emu: ignore[{american(kind)}] why\n", "k.cu")
    assert found.kind == kind
    assert all(american(x) == x for x in SEVERITIES)


def test_commands_and_options_are_taken_in_either_spelling():
    for command in COMMANDS:
        assert command_of([american(command)])[:1] == [command.split()[0]]
        parser = parser_of(command)
        for option in options_of(parser):
            assert respelled([american(option)], parser) == [option]


def test_a_kind_is_explained_under_either_name(capsys):
    from wmma_emu.cli import main

    assert main(["finding", "uninitialized"]) == 0
    here = capsys.readouterr().out
    assert main(["finding", "uninitialised"]) == 0 and capsys.readouterr().out == here


def test_a_fragment_and_a_kernel_say_the_same_under_either_name():
    x = we.wmma.fragment(we.wmma.accumulator, 16, 16, 16, we.wmma.float32)
    assert x.is_initialized is x.is_initialised is False

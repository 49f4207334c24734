# SPDX-License-Identifier: MIT
"""Every public name is on a page of the Python API: documented by its docstring, or named in the text."""

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "docs/reference/api"
INDEX = (FOLDER / "index.md").read_text(encoding="utf-8")
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md") if path.stem != "index"}


def module_of(page):
    found = re.search(r"^# (wmma_emu[\w.]*)$", PAGES[page], re.MULTILINE)
    return import_module(found[1])


def documented(page):
    """The names that a page documents by their docstrings."""
    text = PAGES[page]
    explicit = set(re.findall(rf"\.\. auto\w+:: {re.escape(module_of(page).__name__)}\.(\w+)$", text, re.MULTILINE))
    if ".. automodule::" not in text:
        return explicit
    assert f".. automodule:: {module_of(page).__name__}\n" in text
    left_out = re.search(r":exclude-members: (.*)", text)
    return set(module_of(page).__all__) - set(left_out[1].split(", ") if left_out else [])


EVERYWHERE = [getattr(module_of(page), name) for page in PAGES for name in documented(page)]


@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_public_name_of_a_module_is_documented(page):
    module = module_of(page)
    assert documented(page) <= set(module.__all__)
    for name in set(module.__all__) - documented(page):
        value = getattr(module, name)
        elsewhere = isinstance(value, ModuleType) or any(value is x for x in EVERYWHERE)
        assert elsewhere or re.search(rf"`(\w+\.)*{name}`", PAGES[page].partition("```{eval-rst}")[0]), name


def test_every_page_is_in_the_tree_of_pages():
    assert set(re.findall(r"^(\w+)$", INDEX, re.MULTILINE)) == set(PAGES)
    assert {x.__name__ for x in map(module_of, PAGES)} >= {
        f"wmma_emu{x}"
        for x in ("", ".wmma", ".testing", ".testing.strategies", ".ptx", ".viz", ".gpu", ".quantise", ".tcgen05")
    }


def indexed():
    """The names of the index by task, in its order: those of its tables, then those of its list of constants."""
    return re.findall(r"^   ~(wmma_emu[\w.]+)$|^- `(wmma_emu[\w.]+)`:", INDEX, re.MULTILINE)


def value_of(name):
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


NAMES = [x or y for x, y in indexed()]


def test_the_index_begins_with_what_most_programs_need():
    assert NAMES[:3] == ["wmma_emu.gemm", "wmma_emu.instruction", "wmma_emu.ptx.Module"]


def test_the_index_has_no_name_twice():
    values = [value_of(x) for x in NAMES]
    assert len(set(NAMES)) == len(NAMES)
    shown = [(name, value) for name, value in zip(NAMES, values, strict=True) if callable(value)]
    assert [a for i, (a, x) in enumerate(shown) for b, y in shown[:i] if x is y] == []


@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_public_name_is_in_the_index(page):
    module = module_of(page)
    values = [value_of(x) for x in NAMES]
    missing = []
    for name in sorted(set(module.__all__) - {"__version__"}):
        value = getattr(module, name)
        named = f"`{name}`" in INDEX or f"{module.__name__}.{name}" in NAMES or f"`{module.__name__}.{name}`" in INDEX
        on_its_page = page == "wmma" and f"`{name}`" in PAGES[page].partition("```{eval-rst}")[0]
        if not (isinstance(value, ModuleType) or named or on_its_page or any(value is x for x in values)):
            missing.append(f"{module.__name__}.{name}")
    assert missing == []

# SPDX-License-Identifier: MIT
"""docs/explanation/blackwell.md leaves nothing out: alternatives of the arithmetic, and what is refused as unknown."""

import ast
from pathlib import Path

import pytest

from wmma_emu.arithmetic import MODELS
from wmma_emu.instructions import ARCHS

ROOT = Path(__file__).parents[2]
PAGE = " ".join((ROOT / "docs/explanation/blackwell.md").read_text(encoding="utf-8").split())
SOURCES = [*sorted((ROOT / "wmma_emu/tcgen05").glob("*.py")), ROOT / "wmma_emu/instructions/tensor.py"]
UNKNOWN = ("not documented", "not modelled", "figure")


def unknown_in(source):
    """Return the errors that a file raises for missing documentation: the longest constant part of each message."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise):
            pieces = [x.value for x in ast.walk(node) if isinstance(x, ast.Constant) and isinstance(x.value, str)]
            if any(word in piece for piece in pieces for word in UNKNOWN):
                yield max(pieces, key=len).strip()


REFUSALS = [piece for source in SOURCES for piece in unknown_in(source)]


def test_there_are_refusals():
    assert len(REFUSALS) > 8


@pytest.mark.parametrize("piece", REFUSALS)
def test_what_is_refused_as_unknown_is_shown_on_the_page(piece):
    assert piece in PAGE


def test_every_alternative_of_a_blackwell_chip_is_on_the_page():
    names = {row.name for row in MODELS if row.name and ARCHS[row.arch].number >= 100}
    assert names
    for name in names:
        assert f'"{name}": (' in PAGE, name

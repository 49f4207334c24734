# SPDX-License-Identifier: MIT
"""Thousands of uses that do not fit, of what kernels and launches can do: accepted, or refused with a message.

Each use is one value in one slot, one damage of one statement, one number that a kernel misuses, or one pair of
sources that are linked. A refusal is an error of this package that says what was given, and leaves the arrays as they
were.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.ptx.launch.hostile_programs import BODIES, DECLARATIONS, NUMBERS, USES, link, run
from tests.ptx.launch.hostile_statements import STATEMENTS, damaged
from tests.ptx.launch.hostile_values import SLOTS, values
from wmma_emu import errors
from wmma_emu.errors import WmmaEmuError, shorten

DAMAGES = 24
"""The number of damages of each statement."""

BUILT_IN = (ValueError, TypeError, RuntimeError, MemoryError, KeyError)
"""The built-in bases of the errors about a use."""


def fault_of(use: Callable[[Any], object], *words: str) -> str:
    """Return how a use ends badly, "" if it does not; the message of a refusal has to quote one of the ``words``."""
    x = np.zeros(64, np.uint32)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(x)
    except WmmaEmuError as error:
        message = str(error)
        if x.any():
            return f"refused, but the array changed: {message}"
        if type(error).__name__ not in errors.__all__ or not isinstance(error, BUILT_IN):
            return f"an error without a built-in base: {error!r}"
        if not all(c.isprintable() or c == "\n" for c in message):
            return f"control characters: {message!r}"
        if not any(word and word in message for word in words):
            return f"does not say what was given: {message}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def assert_none(faults: dict[str, str]) -> None:
    found = {use: fault for use, fault in faults.items() if fault}
    assert not found, "\n".join(f"{use}\n    {fault}" for use, fault in found.items())


@pytest.mark.sweep(keep=1 / 8)
@pytest.mark.parametrize("slot", SLOTS)
def test_any_value_is_accepted_or_refused(slot):
    use, words = SLOTS[slot]
    faults = {}
    for i, value in enumerate(values()):
        shown = shorten(value)
        faults[f"{slot}: value {i}, {shown}"] = fault_of(lambda x, value=value: use(value, x), *words, shown)
    assert_none(faults)


@pytest.mark.sweep(keep=1 / 8)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_damaged_statement_runs_or_is_refused(statement):
    faults = {}
    for one in damaged(statement, DAMAGES):
        quoted = ("line 2", "end of the source", "synchronises its grid")  # the statement is in line 20
        faults[f"{one.how}, {one.chip}: {one.statement!r}"] = fault_of(one.launch, *quoted)
    assert_none(faults)


@pytest.mark.sweep(keep=1 / 8)
@pytest.mark.parametrize("addresses", ["emulator", "host"])
@pytest.mark.parametrize("body", BODIES)
def test_a_number_as_what_it_is_not_ends_in_findings_or_at_a_limit(body, addresses):
    assert_none({
        f"{body} {number:#x}": fault_of(
            lambda x, number=number: run(BODIES[body], number, x, addresses=addresses), "k: the launch took more than"
        )
        for number in NUMBERS
    })  # fmt: skip


@pytest.mark.sweep(keep=1 / 8)
@pytest.mark.parametrize("one", DECLARATIONS)
def test_sources_that_declare_a_name_are_linked_or_refused(one):
    words = ("f", "h", "g", "line", "module 1")
    assert_none({
        f"{one!r} with {other!r}: {use!r}": fault_of(
            lambda x, other=other, use=use: link(one, use, other, x), *words
        )
        for other in DECLARATIONS
        for use in USES
    })  # fmt: skip

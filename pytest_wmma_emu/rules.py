# SPDX-License-Identifier: MIT
"""Validation of rules for findings, from the command line, the configuration and markers."""

from collections.abc import Sequence

import pytest

from wmma_emu.errors import OptionError
from wmma_emu.ptx.launch.actions import rules_of

__all__ = ["rules_of_markers", "wrong_rule"]


def wrong_rule(given: Sequence[object]) -> str:
    """Return what is wrong with rules; "" if they are valid."""
    try:
        rules_of(given)
    except OptionError as error:
        return str(error)
    return ""


def rules_of_markers(item: pytest.Item, name: str) -> tuple[str, ...]:
    """Return the rules of a test's markers: first the module's, last its own."""
    rules: list[str] = []
    for mark in reversed(list(item.iter_markers(name))):
        said = [*map(repr, mark.args), *(f"{key}={value!r}" for key, value in mark.kwargs.items())]
        example = f"write @pytest.mark.{name}('warn:race')"
        wrong = wrong_rule(list(mark.args))
        if mark.kwargs or not mark.args:
            wrong = f"it takes only rules; {example}" if mark.kwargs else f"it has no rule; {example}"
        if wrong:
            pytest.fail(f"@pytest.mark.{name}({', '.join(said)}): {wrong}", pytrace=False)
        rules += mark.args
    return tuple(rules)

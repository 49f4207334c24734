# SPDX-License-Identifier: MIT
"""Rules for findings, from the command line, the configuration and markers, and the check of their syntax."""

from collections.abc import Sequence

import pytest

from wmma_emu.errors import OptionError
from wmma_emu.ptx.launch.actions import rules_of

__all__ = ["rules_of_markers", "wrong_rule"]


def wrong_rule(given: Sequence[object]) -> str:
    """Return a message on faulty rules; "" if all are right."""
    try:
        rules_of(given)
    except OptionError as error:
        return str(error)
    return ""


def rules_of_markers(item: pytest.Item, name: str) -> tuple[str, ...]:
    """Return the rules of a test's markers: its module's first, its own last."""
    rules: list[str] = []
    for mark in reversed(list(item.iter_markers(name))):
        said = [*map(repr, mark.args), *(f"{key}={value!r}" for key, value in mark.kwargs.items())]
        example = f"write @pytest.mark.{name}('warn:race')"
        wrong = wrong_rule(list(mark.args))
        if mark.kwargs or not mark.args:
            wrong = f"it takes rules, and nothing else; {example}" if mark.kwargs else f"it has no rule; {example}"
        if wrong:
            pytest.fail(f"@pytest.mark.{name}({', '.join(said)}): {wrong}", pytrace=False)
        rules += mark.args
    return tuple(rules)

# SPDX-License-Identifier: MIT
"""The marker that silences findings in all launches of a test."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from wmma_emu.errors import OptionError
from wmma_emu.ptx.launch.silences import Silence, enforced

__all__ = ["silenced"]


@contextmanager
def silenced(item: pytest.Item, name: str) -> Iterator[None]:
    """Apply the silences of the test's markers to all launches in a ``with`` block."""
    silences, wrong = [], ""
    for mark in item.iter_markers(name):
        try:
            silences.append(Silence(*mark.args, **mark.kwargs))
        except (TypeError, OptionError) as error:
            given = [*map(repr, mark.args), *(f"{key}={value!r}" for key, value in mark.kwargs.items())]
            reason = str(error).removeprefix("Silence.__init__() ")
            wrong = f"@pytest.mark.{name}({', '.join(given)}) is not {name}(kind, line, reason): {reason}"
    if wrong:  # outside the handler, because pytest would show the handled error too
        pytest.fail(wrong, pytrace=False)
    with enforced(silences) as silencing:
        yield
    for unused in silencing.unused:
        item.warn(pytest.PytestWarning(f"this marker silenced nothing: {name} of {unused}"))

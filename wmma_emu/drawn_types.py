# SPDX-License-Identifier: MIT
"""Which strategy of Hypothesis draws which type of the package: noted without importing Hypothesis."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_strategies: dict[type, str] = {}


def drawn_by(strategy: str) -> Callable[[type[T]], type[T]]:
    """Name the function of `wmma_emu.testing.strategies` that draws a type, for ``strategies.from_type``.

    Hypothesis is told at once if it has been imported, and asked for such types through its entry point.

    Examples
    --------
    >>> from wmma_emu.formats import Format
    >>> _strategies[Format]
    'formats'
    """

    def note(kind: type[T]) -> type[T]:
        _strategies[kind] = strategy
        if getattr(sys.modules.get("hypothesis_wmma_emu"), "asked", False):
            _register(kind)
        return kind

    return note


def register_all() -> None:
    """Tell Hypothesis of the types that there are; once more does no harm.

    Examples
    --------
    >>> import wmma_emu as we
    >>> from hypothesis import Phase, find, settings, strategies as st
    >>> anew = settings(database=None, phases=[Phase.generate])
    >>> kind = we.Format
    >>> register_all()
    >>> print(find(st.from_type(kind), lambda fmt: True, settings=anew))
    f64
    """
    for kind in _strategies:
        _register(kind)


def _register(kind: type) -> None:
    from hypothesis.strategies import register_type_strategy

    register_type_strategy(kind, _drawn)


def _drawn(kind: type) -> Any:
    """Make the strategy when it is first needed: what it is made of takes its time to import."""
    from importlib import import_module

    return getattr(import_module("wmma_emu.testing.strategies"), _strategies[kind])()

# SPDX-License-Identifier: MIT
"""The Hypothesis strategies of the package's types, registered without importing Hypothesis."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_strategies: dict[type, str] = {}


def drawn_by(strategy: str) -> Callable[[type[T]], type[T]]:
    """Make a class decorator that names a function of `wmma_emu.testing.strategies` for ``strategies.from_type``.

    If Hypothesis is already imported, the type is registered at once; otherwise through its entry point.

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
    """Register all types with Hypothesis; repeated calls have no further effect.

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
    """Make the strategy when it is first needed, because its modules take long to import."""
    from importlib import import_module

    return getattr(import_module("wmma_emu.testing.strategies"), _strategies[kind])()

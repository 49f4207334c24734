# SPDX-License-Identifier: MIT
"""Packages whose public names are imported at their first use.

This module imports next to nothing, because ``import wmma_emu`` imports it.
"""

from __future__ import annotations

import sys
from types import ModuleType

TYPE_CHECKING = False  # as in typing, whose import would take longer than everything else here
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def on_first_use(
    package: str, public: Sequence[str], homes: Mapping[str, tuple[str, ...]],
    fallback: Callable[[str], object] | None = None,
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:  # fmt: skip
    """Make the ``__getattr__`` and the ``__dir__`` of a package (PEP 562).

    ``public`` is its ``__all__``, which ``dir()`` and completion show. ``homes`` maps modules, relative to the package,
    to the public names that each of them defines. Any other name is a module of the package, if it exists.

    Examples
    --------
    >>> get, names = on_first_use("wmma_emu", ["Format", "formats"], {"formats.spec": ("Format",)})
    >>> get("Format"), get("formats").__name__, names()
    (<class 'wmma_emu.formats.spec.Format'>, 'wmma_emu.formats', ['Format', 'formats'])
    >>> get("absent")
    Traceback (most recent call last):
        ...
    AttributeError: module 'wmma_emu' has no attribute 'absent'
    >>> get("formas")
    Traceback (most recent call last):
        ...
    AttributeError: module 'wmma_emu' has no attribute 'formas'; did you mean 'formats'?
    """
    home_of = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> object:
        from importlib import import_module

        if name in home_of:
            value = getattr(import_module(f"{package}.{home_of[name]}"), name)
            vars(sys.modules[package])[name] = value  # later accesses do not call this function
            return value
        if not name.startswith("_"):
            try:
                return import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
        if fallback is not None:
            return fallback(name)
        from wmma_emu.suggestions import missing_attribute

        raise missing_attribute(sys.modules[package], name)

    def names() -> list[str]:
        return sorted(public)

    if package in sys.modules:  # always, except in tests
        sys.modules[package].__class__ = _keeping(frozenset(home_of), package)
    return get, names


def named_later(module: str, name: str) -> object:
    """Return a reference to a class for annotations, without importing it until `typing.get_type_hints` resolves it.

    It is for modules that import a name only for type checkers.

    Examples
    --------
    >>> from typing import get_type_hints
    >>> Format = named_later("wmma_emu.formats", "Format")
    >>> def width(format: "Format") -> int: ...
    >>> get_type_hints(width)["format"]
    <class 'wmma_emu.formats.spec.Format'>
    """
    from typing import ForwardRef

    return ForwardRef(f"_member({module!r}, {name!r})", module=__name__)


def _member(module: str, name: str) -> object:
    from importlib import import_module

    return getattr(import_module(module), name)


def calling_fails(package: str, function: str) -> Callable[..., object]:
    """Make the ``__call__`` of a module's class that raises an error which names the function of the same name.

    Examples
    --------
    >>> calling_fails("wmma_emu.quantise", "quantise")(None, [1, 2])
    Traceback (most recent call last):
        ...
    wmma_emu.errors.CallError: wmma_emu.quantise is a module, not a function; call wmma_emu.quantise.quantise(...)
    """

    def call(_: object, *args: object, **kwargs: object) -> object:
        from wmma_emu.errors import CallError

        raise CallError(f"{package} is a module, not a function; call {package}.{function}(...)")

    return call


def _keeping(public: frozenset[str], package: str) -> type[ModuleType]:
    """Make a class of packages whose public names are not replaced when a module of the same name is imported.

    Python makes every module an attribute of its package: `wmma_emu.gemm` would be a function or a package, depending
    on the order of imports.
    """

    class Package(ModuleType):
        def __setattr__(self, name: str, value: object) -> None:
            if not (name in public and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

        def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
            """Pickle it by name, as cloudpickle does with modules, but not with objects of derived classes."""
            from importlib import import_module

            return import_module, (self.__name__,)

    own = package.rpartition(".")[2]
    if own in public:
        setattr(Package, "__call__", calling_fails(package, own))  # noqa: B010 - type checkers would find every module callable
    return Package

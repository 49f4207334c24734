# SPDX-License-Identifier: MIT
"""Old names of public classes, functions and keywords, which work with a warning for one version.

It imports next to nothing, because packages that ``import wmma_emu`` loads import it.
"""

from __future__ import annotations

import functools
import sys
import warnings

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    T = TypeVar("T")


def renamed_names(
    module: str, names: Mapping[str, str], home: str = "", frames: int = 0
) -> Callable[[str], object]:  # fmt: skip
    """Make the ``__getattr__`` of a module (PEP 562) whose ``names`` map old names to new ones.

    ``home`` is the module of the new names, if it is a different module; a new name with dots names its own module.
    ``frames`` counts the functions between this one and the line that uses a name.

    Examples
    --------
    >>> get = renamed_names("wmma_emu.kernels", {"Kernel": "PythonKernel"})
    >>> with warnings.catch_warnings(action="ignore"):
    ...     get("Kernel")
    <class 'wmma_emu.kernels.launch.PythonKernel'>
    >>> get("absent")
    Traceback (most recent call last):
        ...
    AttributeError: module 'wmma_emu.kernels' has no attribute 'absent'
    >>> get("kernal")
    Traceback (most recent call last):
        ...
    AttributeError: module 'wmma_emu.kernels' has no attribute 'kernal'; did you mean 'kernel'?
    """

    def get(name: str) -> object:
        from importlib import import_module

        if name not in names:
            from wmma_emu.suggestions import missing_attribute  # imported late, because only errors need it

            raise missing_attribute(sys.modules[module], name)
        place, _, new = names[name].rpartition(".")
        place = place or home or module
        warn_renamed(f"{module}.{name}", f"{place}.{new}", 2 + frames)
        return getattr(import_module(place), new)

    return get


def renamed_keywords(**names: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a decorator for a function that also takes keywords by their old names.

    Examples
    --------
    >>> @renamed_keywords(families="generators")
    ... def draw(generators=None):
    ...     return generators
    >>> with warnings.catch_warnings(action="ignore"):
    ...     draw(families=["normal"])
    ['normal']
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        return _with_old_keywords(function, names, function.__name__)

    return decorate


def renamed_fields(**names: str) -> Callable[[type[T]], type[T]]:
    """Make a decorator for a named tuple whose constructor and ``_replace`` also take fields by their old names.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> @renamed_fields(family="generator")
    ... class Sample(NamedTuple):
    ...     generator: str
    >>> with warnings.catch_warnings(action="ignore"):
    ...     Sample(family="ties")
    Sample(generator='ties')
    """

    def decorate(cls: type[T]) -> type[T]:
        new = _with_old_keywords(vars(cls)["__new__"].__func__, names, cls.__name__)
        replace = _with_old_keywords(vars(cls)["_replace"], names, f"{cls.__name__}._replace")
        setattr(cls, "__new__", staticmethod(new))  # noqa: B010 - type checkers refuse to assign methods
        setattr(cls, "_replace", replace)  # noqa: B010
        return cls

    return decorate


def _with_old_keywords(function: Callable[P, T], names: Mapping[str, str], called: str) -> Callable[P, T]:
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        for old in names.keys() & kwargs.keys():
            new = names[old]
            if new in kwargs:
                raise TypeError(f"{called}() got {old!r}, the old name of {new!r}, and {new!r}")
            warn_renamed(f"{called}({old}=...)", f"{new}=", 2)
            kwargs[new] = kwargs.pop(old)
        return function(*args, **kwargs)

    return call


def warn_renamed(old: str, new: str, stacklevel: int = 2) -> None:
    """Warn that a name is an old one, at the line that uses it."""
    warnings.warn(
        f"{old} is now {new}; the old name will be removed in the next version", DeprecationWarning, stacklevel + 1
    )

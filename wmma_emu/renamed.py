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

    ``home`` is the module of the new names, if it is a different module; ``frames`` counts the functions between this
    one and the line that uses a name.

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
    """

    def get(name: str) -> object:
        from importlib import import_module

        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules.get(module))
        warn_renamed(f"{module}.{name}", f"{home or module}.{names[name]}", 2 + frames)
        return getattr(import_module(home or module), names[name])

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
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            for old in names.keys() & kwargs.keys():
                new = names[old]
                if new in kwargs:
                    raise TypeError(f"{function.__name__}() got {old!r}, the old name of {new!r}, and {new!r}")
                warn_renamed(f"{function.__name__}({old}=...)", f"{new}=", 2)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def warn_renamed(old: str, new: str, stacklevel: int = 2) -> None:
    """Warn that a name is an old one, at the line that uses it."""
    warnings.warn(
        f"{old} is now {new}; the old name will be removed in the next version", DeprecationWarning, stacklevel + 1
    )

# SPDX-License-Identifier: MIT
"""Replace attributes of modules and classes for a while."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def replaced(owner: Any, attributes: Mapping[str, Any]) -> Iterator[None]:
    """Set attributes of a module or a class; those that were inherited, or did not exist, are deleted at the end.

    Examples
    --------
    >>> import string
    >>> with replaced(string, {"digits": "01"}):
    ...     string.digits
    '01'
    >>> string.digits
    '0123456789'
    """
    before = {name: vars(owner)[name] for name in attributes if name in vars(owner)}
    for name, value in attributes.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name in attributes:
            if name in before:
                setattr(owner, name, before[name])
            else:
                delattr(owner, name)

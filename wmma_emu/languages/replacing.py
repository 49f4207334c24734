# SPDX-License-Identifier: MIT
"""Replace attributes of a module or a class for some time."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def replaced(owner: Any, attributes: Mapping[str, Any]) -> Iterator[None]:
    """Set attributes of a module or a class; those that were inherited, or did not exist, are deleted at the end.

    Examples
    --------
    >>> class Chip:
    ...     cores = 0
    >>> with replaced(Chip, {"cores": 132, "name": "H100"}):
    ...     Chip.cores, Chip.name
    (132, 'H100')
    >>> Chip.cores, hasattr(Chip, "name")
    (0, False)
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

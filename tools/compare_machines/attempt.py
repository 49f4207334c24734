# SPDX-License-Identifier: MIT
"""Launches of a corpus that a worker makes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import wmma_emu as we

__all__ = ["Attempt", "launch"]

LIMITS = {"max_steps": 20_000, "max_seconds": 10}
"""The limits of altered kernels and random programs, many of which would never end."""


class Attempt(NamedTuple):
    """Some launches: their name, with which ``--only`` makes them again, and the function that makes them."""

    name: str
    perform: Callable[[], object]


def launch(text: str, kernel: str, shape: tuple[Any, Any, int], arguments: Any, **limits: Any) -> None:
    """Launch a kernel on sm_90, and report what is found; ``shape`` is grid, block, and bytes of shared memory."""
    module = we.ptx.Module(text, arch="sm_90", findings="report")
    module[kernel][shape](*arguments, **limits)

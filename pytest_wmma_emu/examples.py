# SPDX-License-Identifier: MIT
"""Which launches belong to which example of Hypothesis: a failure shows those of the examples that it reports."""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any

import pytest

from pytest_wmma_emu.launches import Launches, LaunchRecord

__all__ = ["seen_with", "separated_examples"]

_SEEN = "_wmma_emu_seen"


@contextmanager
def separated_examples(item: pytest.Item, launches: Launches) -> Iterator[None]:
    """Forget launches at the start of each example, and store an example's launches in its error.

    Hypothesis runs each failing example again after shrinking it, and raises the error of that run.
    """
    handle = item.obj.hypothesis  # type: ignore[attr-defined]
    inner = handle.inner_test
    handle.inner_test = _example(inner, launches)
    try:
        yield
    finally:
        handle.inner_test = inner


def _example(inner: Callable[..., Any], launches: Launches) -> Callable[..., Any]:
    @wraps(inner)
    def example(*arguments: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        launches.begin_example()
        # No line runs in failing examples alone: Hypothesis would explain the failure by it.
        try:
            return inner(*arguments, **keywords)
        finally:
            _keep(sys.exception(), launches.seen)

    @wraps(inner)
    async def awaited(*arguments: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        launches.begin_example()
        try:
            return await inner(*arguments, **keywords)
        finally:
            _keep(sys.exception(), launches.seen)

    return awaited if inspect.iscoroutinefunction(inner) else example


def _keep(error: BaseException | None, seen: LaunchRecord) -> None:
    with suppress(Exception):  # of classes that take no attributes: the test's own error is what counts
        setattr(Exception() if error is None else error, _SEEN, seen)


def seen_with(error: BaseException) -> LaunchRecord | None:
    """Return the launches of the example that ended with an error; None if the error is not of an example."""
    found = getattr(error, _SEEN, None)
    return found if isinstance(found, LaunchRecord) else None

# SPDX-License-Identifier: MIT
"""The launches of each Hypothesis example: a failure shows only the launches of the examples that it reports."""

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
    """Start a new record for each example, and attach the example's launches to its error.

    Hypothesis runs each failing example again in its smallest form, and raises the error of that run.
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
        # Hypothesis would explain a failure by lines that run only in failing examples: there are none.
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
    with suppress(Exception):  # if the class takes no attributes: the test's own error matters more
        setattr(Exception() if error is None else error, _SEEN, seen)


def seen_with(error: BaseException) -> LaunchRecord | None:
    """Return the launches of the example that ended with an error; None if the error is not of an example."""
    found = getattr(error, _SEEN, None)
    return found if isinstance(found, LaunchRecord) else None

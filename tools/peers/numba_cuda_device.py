# SPDX-License-Identifier: MIT
"""A plug-in of pytest for numba-cuda's tests: what their own `conftest.py` has, and the outcome of each test.

`tools.peers.numba_cuda` starts pytest with it. The emulation is switched on by `sitecustomize` in a folder of the tool,
so that the processes that tests start have it too.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tools.peers.outcomes import collect_outcomes, note_error


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request: pytest.FixtureRequest) -> Iterator[None]:
    """Give the classes of tests the option that the suite's own configuration gives them."""
    request.cls._dump_failed_filechecks = False
    yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    note_error(report, call)
    return report


def pytest_sessionstart(session: pytest.Session) -> None:
    collect_outcomes(session)

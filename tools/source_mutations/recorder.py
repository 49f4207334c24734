# SPDX-License-Identifier: MIT
"""A plugin of pytest: writes down which lines of the package each test executes, and how long it takes.

The variable SOURCE_MUTATIONS_MAP names the folder of two files: a database of `coverage` whose contexts are the names
of tests, and a line of JSON for each test. Cases of one test function execute much the same lines:
those after SOURCE_MUTATIONS_SECONDS of it are left out.
"""

import json
import os
import time
from collections import Counter
from pathlib import Path

import coverage
import pytest

from tools.source_mutations.points import PACKAGES

_folder = Path(os.environ["SOURCE_MUTATIONS_MAP"])
_seconds = float(os.environ.get("SOURCE_MUTATIONS_SECONDS", "inf"))
_coverage = coverage.Coverage(
    data_file=str(_folder / "lines"),
    source=[str(Path("wmma_emu", package).resolve()) for package in PACKAGES],
    config_file=False,
    messages=False,
)
_coverage.start()
_times = open(_folder / "times.jsonl", "a", encoding="utf-8")
_failed: set[str] = set()
_spent: Counter[str] = Counter()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    function = item.nodeid.partition("[")[0]
    if _spent[function] > _seconds:
        item.session._setupstate.teardown_exact(nextitem)
        return True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    _coverage.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        _coverage.switch_context("")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    item.stash[_START] = time.perf_counter()
    _coverage.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        _coverage.switch_context("")


_START = pytest.StashKey[float]()


def pytest_runtest_logreport(report):
    if report.failed:
        _failed.add(report.nodeid)


def pytest_runtest_teardown(item):
    seconds = time.perf_counter() - item.stash[_START]
    _spent[item.nodeid.partition("[")[0]] += seconds
    row = {"test": item.nodeid, "seconds": round(seconds, 4), "failed": item.nodeid in _failed}
    _times.write(json.dumps(row) + "\n")


def pytest_unconfigure():
    _coverage.stop()
    _coverage.save()
    _times.close()

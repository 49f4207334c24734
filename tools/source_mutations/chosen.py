# SPDX-License-Identifier: MIT
"""A plugin of pytest: runs the tests whose names are in a file, in that order, and writes down which fail.

SOURCE_MUTATIONS_CHOSEN names a folder: `chosen.json` has the names, all tests if the file does not exist;
`failed.jsonl` is written.
"""

import json
import os
from pathlib import Path

import pytest

_folder = Path(os.environ["SOURCE_MUTATIONS_CHOSEN"])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if not (_folder / "chosen.json").exists():
        return
    order = {name: i for i, name in enumerate(json.loads((_folder / "chosen.json").read_text(encoding="utf-8")))}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in order])
    items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])


def pytest_runtest_logreport(report):
    _note(report)


def pytest_collectreport(report):
    _note(report)


def _note(report):
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = str(crash.message if crash else report.longrepr)[-300:]
        row = {"test": report.nodeid, "message": message}
        with (_folder / "failed.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

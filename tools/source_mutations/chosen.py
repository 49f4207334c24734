# SPDX-License-Identifier: MIT
"""A plugin of pytest: runs the tests whose names are in the file that SOURCE_MUTATIONS_CHOSEN names, in that order."""

import json
import os
from pathlib import Path

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    order = {name: i for i, name in enumerate(json.loads(Path(os.environ["SOURCE_MUTATIONS_CHOSEN"]).read_text()))}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in order])
    items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])

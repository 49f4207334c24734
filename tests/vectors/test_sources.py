# SPDX-License-Identifier: MIT
"""Every file of recorded bits says where it comes from, and is the file that it says."""

import hashlib
import json
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data"
SOURCES = json.loads((DATA / "sources.json").read_text(encoding="utf-8"))

pytestmark = pytest.mark.vectors


def test_every_recording_has_an_entry():
    assert sorted(SOURCES) == sorted(path.name for path in DATA.glob("*.npz"))


@pytest.mark.parametrize("name", SOURCES)
def test_a_recording_is_the_file_that_its_entry_describes(name):
    entry = SOURCES[name]
    assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == entry["sha256"]
    assert all(entry[key] for key in ("contents", "date", "driver", "generator", "gpu"))

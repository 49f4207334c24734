# SPDX-License-Identifier: MIT
"""Files of a campaign: where the disk is full, the old one stays, and no part of a new one."""

import pytest

from wmma_emu.applications.campaign.files import replace_text
from wmma_emu.applications.campaign.rows import append_rows, load_rows


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "report.txt"
    for text in ("one", "two"):
        replace_text(path, text)
        assert path.read_text() == text
    assert [x.name for x in tmp_path.iterdir()] == ["report.txt"]


@pytest.mark.parametrize("write", [
    lambda path: replace_text(path, "x" * 10_000),
    lambda path: append_rows(path, [{"mnemonic": "y" * 10_000}]),
], ids=["text", "rows"])  # fmt: skip
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, write):
    resource = pytest.importorskip("resource")
    path = tmp_path / "rows.json"
    append_rows(path, [{"mnemonic": "old"}])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))  # what can be made to fail as a full disk does
    try:
        with pytest.raises(OSError) as raised:
            write(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert raised.value.filename == str(path) and raised.value.strerror
    assert load_rows(path) == [{"mnemonic": "old"}]
    assert [x.name for x in tmp_path.iterdir()] == ["rows.json"]

# SPDX-License-Identifier: MIT
"""Every decision says when it was taken and whether it still holds."""

import re
from datetime import date
from pathlib import Path

import pytest

DECISIONS = sorted(Path(__file__).parents[2].glob("docs/decisions/[0-9]*.md"))
STATUS = re.compile(
    r"Status: (accepted|amended|superseded), (\d{4}-\d\d-\d\d)"
    r"(\.|; \[decision \d+\]\((\d{4}-[\w-]+\.md)\).*)"
)


@pytest.mark.parametrize("page", DECISIONS, ids=lambda x: x.stem)
def test_a_decision_has_its_number_its_date_and_its_status(page):
    title, _, status, _after = page.read_text(encoding="utf-8").split("\n", 3)
    assert title.startswith(f"# {int(page.name[:4])}. ")
    found = STATUS.match(status)
    assert found, f"{page.name}: the third line is 'Status: accepted, 2026-11-21.', not {status!r}"
    assert date.fromisoformat(found[2])
    assert (found[1] == "accepted") == (found[4] is None), "what amends or supersedes it is linked"
    assert found[4] is None or (page.parent / found[4]).is_file()

# SPDX-License-Identifier: MIT
"""The map of the packages shows the imports of today."""

import re

import pytest

from tools.package_map import PICTURE, arrows, draw, imports, layers


@pytest.mark.thorough
def test_the_map_is_drawn_from_the_imports_of_today():
    assert PICTURE.read_text(encoding="utf-8") == draw(), "python -m tools.package_map draws it again"


@pytest.mark.thorough
def test_every_box_lies_within_the_picture():
    picture = draw()
    width = float(re.search(r'<svg[^>]* width="([\d.]+)"', picture)[1])
    boxes = re.findall(r'<rect x="(-?[\d.]+)" y="[\d.]+" width="([\d.]+)"', picture)
    assert len(boxes) == sum(map(len, layers()))
    assert all(0 <= float(x) and float(x) + float(w) <= width for x, w in boxes)


@pytest.mark.thorough
def test_every_package_is_in_one_row_and_imports_only_lower_rows():
    row_of = {name: i for i, row in enumerate(layers()) for name in row}
    found = imports()
    assert set(row_of) == set(found) - {"__init__", "__main__"}
    for package, row in row_of.items():
        assert all(row_of[x] > row for x in found[package] - {"__init__"}), package


@pytest.mark.thorough
def test_an_arrow_is_left_out_only_where_others_lead_the_same_way():
    rows, found = layers(), imports()
    drawn = arrows(rows, found)

    def reached(package):
        below = {y for x, y in drawn if x == package}
        return below.union(*(reached(x) for x in below))

    packages = {x for row in rows[:-1] for x in row}
    for package in packages:
        assert found[package] & packages <= reached(package)

# SPDX-License-Identifier: MIT
"""The tables on a page of the documentation, each generated between two comments.

    <!-- figures: sizes -->
    ...
    <!-- end of figures -->

"machine" is the machine and the date.
"""

import re
from typing import Any

from benchmarks.tables import TABLES, machine_line

_PLACE = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def filled(page: str, results: dict[str, Any]) -> str:
    """Return the text of a page with all of its tables regenerated."""

    def place(found: re.Match[str]) -> str:
        name = found[2]
        text = f"{machine_line(results)}." if name == "machine" else TABLES[name](results).markdown()
        return f"{found[1]}\n{text}\n\n{found[3]}"

    return _PLACE.sub(place, page)


def places(page: str) -> list[str]:
    """Return the tables of a page."""
    return [name for _, name, _ in _PLACE.findall(page)]

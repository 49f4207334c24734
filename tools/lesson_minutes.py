# SPDX-License-Identifier: MIT
"""How long a lesson takes: python -m tools.lesson_minutes; with --write, into its table of sections.

A section lasts as long as its words take at 200 a minute, half a minute for each cell that is run and looked at, half a
minute more for a picture, and what each of its exercises says.
"""

import argparse
import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LESSONS = Path(__file__).parents[1] / "docs/lessons"
WORDS_A_MINUTE = 200
MINUTES_OF_A_CELL = 0.5
MINUTES_OF_A_PICTURE = 1.0
MOST_MINUTES = 45
EXERCISE = re.compile(r"^### Exercise (\d+) \((\d+) minutes\)$", re.MULTILINE)
_FOLDED = {"hide-input", "hide-cell", "exercise"}
_RULE = (
    f"Reading at {WORDS_A_MINUTE} words a minute, half a minute for each cell that is run, a minute for each picture.\n"
    "Each exercise states its own minutes."
)


class Section(NamedTuple):
    """A section of a lesson, and its minutes."""

    title: str
    reading: int
    exercises: int

    @property
    def minutes(self) -> int:
        return self.reading + self.exercises


def sections_of(cells: Sequence[dict[str, Any]]) -> list[Section]:
    """Cut a lesson at its headings of the second rank; what comes before them is its introduction."""
    return [_section(title, part) for title, part in _parts(cells)]


def _parts(cells: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the title of each section and its cells; a cell of text is cut where a section begins within it."""
    title, part = "Introduction", list[dict[str, Any]]()
    for cell in cells:
        if cell["id"] == "plan":
            continue
        if cell["cell_type"] == "code":
            part.append(cell)
            continue
        before, *following = re.split(r"^## +", "".join(cell["source"]), flags=re.MULTILINE)
        part.append({**cell, "source": [before]})
        for text in following:
            yield title, part
            title, part = text.splitlines()[0], [{**cell, "source": [text]}]
    yield title, part


def _section(title: str, cells: Sequence[dict[str, Any]]) -> Section:
    reading, exercises = 0.0, 0
    for cell in cells:
        text = "".join(cell["source"])
        is_code = cell["cell_type"] == "code"
        if is_code and _FOLDED & set(cell["metadata"].get("tags", ())):
            continue
        reading += sum(any(x.isalnum() for x in word) for word in text.split()) / WORDS_A_MINUTE
        if is_code:
            reading += MINUTES_OF_A_PICTURE if "viz.draw_" in text else MINUTES_OF_A_CELL
        else:
            exercises += sum(int(minutes) for _, minutes in EXERCISE.findall(text))
    return Section(title, math.ceil(reading), exercises)


def total_of(sections: Sequence[Section]) -> int:
    """Return the minutes of a whole lesson."""
    return sum(x.minutes for x in sections)


def table_of(sections: Sequence[Section]) -> str:
    """Write the table of a lesson's sections, with the sum."""
    rows = [(x.title, x.reading, x.exercises or "", x.minutes) for x in sections]
    total = ("**Together**", sum(x.reading for x in sections), sum(x.exercises for x in sections), total_of(sections))
    lines = ["| Section | reading | exercises | minutes |", "|---|--:|--:|--:|"]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    lines += ["| " + " | ".join(map(str, (*total[:3], f"**{total[3]}**"))) + " |"]
    return "\n".join(lines) + "\n\n" + _RULE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write each lesson's table")
    options = parser.parse_args()
    for path in sorted(LESSONS.glob("*.ipynb")):
        book = json.loads(path.read_text(encoding="utf-8"))
        sections = sections_of(book["cells"])
        print(f"{path.stem}: {total_of(sections)} minutes, {sum(x.exercises for x in sections)} of them exercises")
        if options.write:
            plan = next(x for x in book["cells"] if x["id"] == "plan")
            plan["source"] = table_of(sections).splitlines(keepends=True)
            path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""The map of the packages on docs/explanation/architecture.md, drawn from their imports.

``python -m tools.package_map`` writes ``docs/explanation/packages.svg``. Rows are the layers of import-linter's
contract in ``pyproject.toml``. An arrow goes from a package to each that it imports, unless the way of other arrows
leads there anyway.
"""

import ast
import tomllib
from html import escape
from pathlib import Path

from wmma_emu.viz.svg import document, element, text_width

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/explanation/packages.svg"

_WIDTH, _HEIGHT, _ROW, _SIZE, _GAP, _ASIDE = 1120.0, 30.0, 62.0, 14.0, 22.0, 90.0
_DAY = """
.packages .box { fill: #ddf4ff; stroke: #54aeff; }
.packages .everywhere { fill: #f6f8fa; stroke: #8c959f; }
.packages .arrow { fill: none; stroke: #57606a; stroke-width: 1.2; }
.packages .head { fill: #57606a; }
"""
_NIGHT = """
.packages .box { fill: #0c2d6b; stroke: #388bfd; }
.packages .everywhere { fill: #161b22; stroke: #6e7681; }
.packages .arrow { stroke: #9da7b3; }
.packages .head { fill: #9da7b3; }
"""


def layers() -> list[list[str]]:
    """Read the layers of the packages, the highest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    rows = next(x["layers"] for x in contracts if x.get("containers") == ["wmma_emu"])
    return [[x.strip() for x in row.replace(":", "|").split("|")] for row in rows]


def imports() -> dict[str, set[str]]:
    """Find which package imports which, in functions and for type checkers too."""
    found: dict[str, set[str]] = {}
    package = ROOT / "wmma_emu"
    for path in package.rglob("*.py"):
        first = path.relative_to(package).parts[0].removesuffix(".py")
        asked = found.setdefault(first, set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("wmma_emu"):
                under = node.module.split(".")[1:2]
                asked.update(under or (x.name for x in node.names))
            elif isinstance(node, ast.Import):
                asked.update(x.name.split(".")[1] for x in node.names if x.name.startswith("wmma_emu."))
    return {x: {y for y in asked if y != x} for x, asked in found.items()}


def arrows(rows: list[list[str]], found: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Leave out packages that every package imports, and arrows that others imply."""
    *upper, _ = rows
    packages = [x for row in upper for x in row]
    direct = {x: {y for y in found.get(x, ()) if y in packages} for x in packages}
    reached: dict[str, set[str]] = {}
    for x in reversed(packages):
        reached[x] = direct[x].union(*(reached[y] for y in direct[x]))
    return [
        (x, y) for x in packages for y in sorted(direct[x], key=packages.index)
        if not any(y in reached[z] for z in direct[x])
    ]  # fmt: skip


def draw() -> str:
    """Draw the map."""
    rows = layers()
    boxes = _boxes(rows)
    body = [_arrow(boxes[x], boxes[y]) for x, y in arrows(rows, imports())]
    for name, (x, y, width) in boxes.items():
        kind = "everywhere" if name in rows[-1] else "box"
        body.append(element("rect", x=x, y=y, width=width, height=_HEIGHT, rx=5, class_=kind))
        middle = {"x": x + width / 2, "y": y + _HEIGHT / 2 + _SIZE / 3, "text_anchor": "middle", "font_size": _SIZE}
        body.append(element("text", escape(name), **middle))
    note = "Arrows to the last row, and those that follow from others, are left out."
    height = _ROW * len(rows) + _GAP + 20
    body.append(element("text", note, x=_WIDTH / 2, y=height - 14, text_anchor="middle", font_size=12, class_="quiet"))
    description = "; ".join(f"{x} imports {y}" for x, y in arrows(rows, imports()))
    return document("packages", _WIDTH, height, "The packages and their imports", description, _DAY, _NIGHT, body)


def _boxes(rows: list[list[str]]) -> dict[str, tuple[float, float, float]]:
    """Stack the rows, alternately left and right of the middle, so that arrows pass between them."""
    found = {}
    for i, row in enumerate(rows):
        widths = [text_width(name, _SIZE) + 16 for name in row]
        gap = _GAP / 2 if row is rows[-1] else 4 * _GAP
        x = (_WIDTH - sum(widths) - gap * (len(row) - 1)) / 2
        if row is not rows[-1]:
            x += (-_ASIDE, _ASIDE)[i % 2]
        for name, width in zip(row, widths, strict=True):
            found[name] = (x, _GAP + i * _ROW, width)
            x += width + gap
    return found


def _arrow(start: tuple[float, float, float], end: tuple[float, float, float]) -> str:
    x, y = start[0] + start[2] / 2, start[1] + _HEIGHT
    u, v = end[0] + end[2] / 2, end[1] - 6
    bend = (v - y) / 2
    path = f"M{x:.6g} {y:.6g}C{x:.6g} {y + bend:.6g} {u:.6g} {v - bend:.6g} {u:.6g} {v:.6g}"
    head = f"M{u - 4:.6g} {v:.6g}L{u + 4:.6g} {v:.6g}L{u:.6g} {v + 6:.6g}Z"
    return element("path", d=path, class_="arrow") + element("path", d=head, class_="head")


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")

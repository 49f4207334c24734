# SPDX-License-Identifier: MIT
"""A picture's SVG parsed into plain shapes: rectangles, paths and lines of text, with their light colours.

It supports the part of SVG that `svg.py` writes: translated groups, classes, and a list of style rules.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple
from xml.etree import ElementTree

from wmma_emu.errors import ArgumentValueError

_NAMESPACE = "{http://www.w3.org/2000/svg}"
_INHERITED = ("fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-weight", "font-family",
              "text-anchor", "opacity", "fill-opacity")  # fmt: skip
_SKIPPED = ("title", "desc", "style")
_COMMAND = re.compile(r"([MmLlHhVvZz])|(-?\d*\.?\d+(?:e-?\d+)?)")


class Shape(NamedTuple):
    """One drawn shape.

    ``kind`` is ``"rect"`` (points are two corners), ``"path"`` (``lines`` are its strokes, one list of points each) or
    ``"text"`` (one point, on the base line, and the text).
    """

    kind: str
    lines: tuple[tuple[tuple[float, float], ...], ...]
    text: str
    style: dict[str, str]

    def number(self, name: str, default: float) -> float:
        """Return a length of the style, in pixels."""
        return float(self.style.get(name, str(default)).removesuffix("px"))


@dataclass(frozen=True, slots=True)
class Drawing:
    """The size of a picture in pixels, and its shapes in painting order."""

    width: float
    height: float
    shapes: tuple[Shape, ...]


class _PathStep(NamedTuple):
    """An element on the path to another, or a step of a selector, whose tag is optional."""

    tag: str
    classes: frozenset[str]


class _Rule(NamedTuple):
    """One style rule with its selector: the steps from the outermost element to the styled one."""

    steps: tuple[_PathStep, ...]
    declarations: tuple[tuple[str, str], ...]
    weight: tuple[int, int, int]


def drawing_of(svg: str) -> Drawing:
    """Read the shapes of a picture.

    Examples
    --------
    >>> drawing = drawing_of('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="5">'
    ...                      '<g transform="translate(1 2)"><text x="3" y="1" font-size="8">T0</text></g></svg>')
    >>> drawing.width, drawing.shapes[0].lines, drawing.shapes[0].text, drawing.shapes[0].style["font-size"]
    (9.0, (((4.0, 3.0),),), 'T0', '8')
    """
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ArgumentValueError(f"this picture is not SVG: {error}") from None
    style = "".join(x.text or "" for x in root.iter(f"{_NAMESPACE}style"))
    rules = _rules_of(style.partition("@media")[0])
    sizes = [float(root.get(name, "0")) for name in ("width", "height")]
    return Drawing(sizes[0], sizes[1], tuple(_shapes(root, (), {}, (0.0, 0.0), rules)))


@cache
def _rules_of(style: str) -> tuple[_Rule, ...]:
    found = []
    for number, (selectors, body) in enumerate(re.findall(r"([^{}]+)\{([^{}]*)\}", style)):
        declarations = tuple(
            (name.strip(), value.strip()) for name, _, value in (x.partition(":") for x in body.split(";")) if value
        )
        for selector in selectors.split(","):
            steps = tuple(
                _PathStep(re.match(r"[\w-]*", x)[0], frozenset(re.findall(r"\.([\w-]+)", x)))  # type: ignore[index]
                for x in selector.split()
            )
            weight = (sum(len(classes) for _, classes in steps), sum(bool(tag) for tag, _ in steps), number)
            found.append(_Rule(steps, declarations, weight))
    return tuple(sorted(found, key=lambda rule: rule.weight))


def _shapes(
    element: ElementTree.Element, way: tuple[_PathStep, ...], inherited: dict[str, str], at: tuple[float, float],
    rules: tuple[_Rule, ...],
) -> Iterator[Shape]:  # fmt: skip
    tag = element.tag.removeprefix(_NAMESPACE)
    if tag in _SKIPPED:
        return
    here = (*way, _PathStep(tag, frozenset(element.get("class", "").split())))
    style = {**inherited, **{x: element.get(x, "") for x in _INHERITED if element.get(x)}}
    style |= {name: value for rule in rules if _holds(rule.steps, here) for name, value in rule.declarations}
    x, y = _moved(element, at)
    if tag in ("svg", "g"):
        for child in element:
            yield from _shapes(child, here, style, (x, y), rules)
        return
    if tag == "text":
        yield from _letters(element, x, y, style)
        return
    left, top = x + float(element.get("x", "0")), y + float(element.get("y", "0"))
    if tag == "rect":
        corner = left + float(element.get("width", "0")), top + float(element.get("height", "0"))
        yield Shape("rect", (((left, top), corner),), "", style)
    elif tag == "path":
        yield Shape("path", tuple(_strokes(element.get("d", ""), x, y)), "", style)
    else:
        raise ArgumentValueError(
            f"<{tag}> does not occur in pictures of wmma_emu.viz; convert other SVG with other tools"
        )


def _letters(element: ElementTree.Element, x: float, y: float, style: dict[str, str]) -> Iterator[Shape]:
    """Yield a line of text, letter by letter if every letter has its own position."""
    text = " ".join("".join(element.itertext()).split())
    places, top = element.get("x", "0").split(), y + float(element.get("y", "0"))
    parts = [text] if len(places) == 1 else list(text)
    for part, place in zip(parts, places, strict=False):
        yield Shape("text", (((x + float(place), top),),), part, style)


def _moved(element: ElementTree.Element, at: tuple[float, float]) -> tuple[float, float]:
    given = element.get("transform", "")
    found = re.fullmatch(r"\s*translate\(\s*([-\d.]+)[\s,]*([-\d.]+)?\s*\)\s*", given)
    if given and not found:
        raise ArgumentValueError(
            f"{given[:40]!r} does not occur in pictures of wmma_emu.viz, whose groups are only translated"
        )
    return (at[0] + float(found[1]), at[1] + float(found[2] or 0)) if found else at


def _holds(steps: tuple[_PathStep, ...], way: tuple[_PathStep, ...]) -> bool:
    if not steps or not _is(steps[-1], way[-1]):
        return False
    rest = list(steps[:-1])
    for place in reversed(way[:-1]):
        if rest and _is(rest[-1], place):
            rest.pop()
    return not rest


def _is(step: _PathStep, place: _PathStep) -> bool:
    return step.tag in ("", place.tag) and step.classes <= place.classes


def _strokes(commands: str, x: float, y: float) -> Iterator[tuple[tuple[float, float], ...]]:
    """Return the points of a path of straight lines."""
    tokens = _COMMAND.findall(commands)
    if re.sub(r"[\s,]", "", commands) != "".join(letter or number for letter, number in tokens):
        raise ArgumentValueError(
            f"{commands[:40]!r} does not occur in pictures of wmma_emu.viz, whose paths are straight lines"
        )
    points: list[tuple[float, float]] = []
    at, start, command = (0.0, 0.0), (0.0, 0.0), "M"
    numbers = iter(tokens)
    for letter, number in numbers:
        command = letter or {"M": "L", "m": "l"}.get(command, command)
        if command in "Zz":
            points.append((start[0] + x, start[1] + y))
            at = start
            continue
        first = float(number or next(numbers)[1])
        base = at if command.islower() else (0.0, 0.0)
        if command in "Hh":
            at = base[0] + first, at[1]
        elif command in "Vv":
            at = at[0], base[1] + first
        else:
            at = base[0] + first, base[1] + float(next(numbers)[1])
        if command in "Mm":
            if len(points) > 1:
                yield tuple(points)
            points, start = [], at
        points.append((at[0] + x, at[1] + y))
    if len(points) > 1:
        yield tuple(points)

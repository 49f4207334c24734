# SPDX-License-Identifier: MIT
"""Indigo: codes on graphs, generated from sources with tags by the suite's own rules; here the integers, all tags."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tools.labelled_suites.case import LabelledLaunch, LabelledProgram

__all__ = ["FOLDER", "cases"]

FOLDER = "IndigoSuite"

_TAG = r"/\*@[a-zA-Z]*[0-9]*@\*/"
_OTHER_TYPES = {"long", "float", "double", "char", "short"}


def cases(folder: Path, _: str) -> Iterator[LabelledProgram]:
    for file in sorted((folder / "Generators/CUDA_sources").glob("*.idg")):
        lines = file.read_text().splitlines(keepends=True)
        for chosen in itertools.product(*_choices(lines)):
            name = "_".join([file.stem, *filter(None, chosen)])
            if _OTHER_TYPES.intersection(chosen) or ("syncbug" in name.lower() and "shfl" in name.lower()):
                continue
            label = " ".join(x for x in chosen if "bug" in x.lower() or "race" in x.lower())
            text = "".join(_line(x, chosen) for x in lines)
            yield LabelledProgram("indigo", name, "", label, _device_code(text), _launches)


def _tags(line: str) -> list[str]:
    return [x[3:-3] for x in re.findall(_TAG, line)]


def _choices(lines: list[str]) -> list[list[str]]:
    """Return the choices of each group: no tag, or one of its tags; a group is named by its first tag."""
    groups: dict[str, list[str]] = {}
    for tags in filter(None, map(_tags, lines)):
        groups.setdefault(tags[0], ["", *tags])
    return list(groups.values())


def _line(line: str, chosen: tuple[str, ...]) -> str:
    """Return the part of a line that belongs to the last chosen tag."""
    parts, tags = re.split(_TAG, line), ["", *_tags(line)]
    if len(tags) == 1:
        return line
    return next((parts[i].strip() for i in reversed(range(len(tags))) if tags[i] in chosen), "") + "\n"


def _device_code(text: str) -> str:
    text = text.replace('#include "indigo_cuda.h"', "")
    return text[: text.index("void serial_code")].rpartition("\n")[0] + "\n"


def _graphs() -> Iterator[list[list[int]]]:
    """Yield the neighbours of each vertex, for each graph.

    In the first graph the first and the last neighbour are above most vertices and shared by them, so that every form
    meets its bug. The second is of that kind, but threads of several warps and blocks have a vertex. In the third, the
    first and the last vertex have no neighbours.
    """
    yield [
        [7, 4, 3, 6], [7, 3, 2, 4, 6], [7, 5, 0, 6], [6, 1, 0, 5, 7], [7, 0, 1, 5, 6], [7, 2, 3, 4, 6], [7, 0, 1, 3, 5],
        [0, 3, 4, 5, 6],
    ]  # fmt: skip
    rng, n = np.random.default_rng(9), 96
    yield [
        [95 if i != 95 else 0, *sorted(rng.choice(94, 2, replace=False).tolist()), 94 if i != 94 else 1]
        for i in range(n)
    ]
    yield [[], [2, 3, 5, 6], [1, 3, 4], [1, 2, 4, 6], [2, 3, 5, 6], [1, 4, 6], [1, 3, 4, 5], []]


def _launches(module: Any) -> list[LabelledLaunch]:
    rng, made = np.random.default_rng(1), []
    for graph in _graphs():
        vertices, places = len(graph), np.cumsum([0, *map(len, graph)]).astype(np.int32)
        neighbours = np.array(list(itertools.chain(*graph)), np.int32)
        edges, size = len(neighbours), max(vertices, len(neighbours))
        first = rng.integers(0, vertices, size).astype(np.int32)
        second = rng.integers(0, edges, size).astype(np.int32)
        first[0] = second[0] = 0
        made.append(LabelledLaunch("test_kernel", 8, 64, [places, neighbours, first, second, np.int32(vertices)]))
    return made

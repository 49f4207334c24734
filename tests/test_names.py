# SPDX-License-Identifier: MIT
"""Class names: no public name means two classes; no name is used for many in the package, its tests and tools."""

import ast
import importlib
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import wmma_emu
from tests.optional_libraries import lacks_its_library

ROOT = Path(wmma_emu.__file__).parent
HERE = Path(__file__).parent
FOLDERS = (ROOT, HERE, HERE.parent / "tools")

CLASS = re.compile(r"^[ ]*class (\w+)(?:\(.*\))?:", re.MULTILINE)


def _classes() -> dict[str, list[str]]:
    """Return the modules that define each class name, once for each class, whether or not a function contains it."""
    found: dict[str, list[str]] = defaultdict(list)
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*.py")):
            for name in CLASS.findall(path.read_text(encoding="utf-8")):
                found[name].append(str(path.relative_to(folder.parent)))
    return found


def _exported() -> dict[str, set[str]]:
    """Return the names in each package's ``__all__``."""
    return {
        str(path.relative_to(ROOT)): set(ast.literal_eval(node.value))
        for path in sorted(ROOT.rglob("__init__.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and [x.id for x in node.targets if isinstance(x, ast.Name)] == ["__all__"]
    }


@cache
def _public_classes() -> dict[str, set[str]]:
    """Return the modules of all classes that a package exports, by their names."""
    found: dict[str, set[str]] = defaultdict(set)
    for init, names in _exported().items():
        package = importlib.import_module(".".join(("wmma_emu", *Path(init).parent.parts)))
        if lacks_its_library(package):
            continue
        for name in names:
            value = getattr(package, name)
            if isinstance(value, type) and value.__module__.startswith("wmma_emu"):
                found[name].add(f"{value.__module__}.{value.__qualname__}")
    return found


def test_every_public_class_name_means_one_class():
    shared = {name: sorted(found) for name, found in _public_classes().items() if len(found) > 1}
    assert shared == {}


def test_no_class_name_is_used_for_more_than_three_classes():
    classes = _classes()
    assert {"Instruction", "PublicKernel", "EmulatedGpu"} <= classes.keys()
    assert {name: found for name, found in classes.items() if len(found) > 3} == {}

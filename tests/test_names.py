# SPDX-License-Identifier: MIT
"""Class names: no public name means two classes, and no name is used for many classes."""

import ast
import importlib
from collections import defaultdict
from functools import cache
from pathlib import Path

import wmma_emu

ROOT = Path(wmma_emu.__file__).parent


@cache
def _modules() -> dict[str, ast.Module]:
    files = sorted(ROOT.rglob("*.py"))
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in files}


def _classes(modules: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Return the modules that define each top-level class name."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, tree in modules.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name)
    return found


def _exported(modules: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Return the names in each package's ``__all__``."""
    return {
        name: set(ast.literal_eval(node.value))
        for name, tree in modules.items()
        if name.endswith("__init__.py")
        for node in tree.body
        if isinstance(node, ast.Assign) and [x.id for x in node.targets if isinstance(x, ast.Name)] == ["__all__"]
    }


@cache
def _public_classes() -> dict[str, set[str]]:
    """Return the modules of all classes that a package exports, by their names."""
    found: dict[str, set[str]] = defaultdict(set)
    for init, names in _exported(_modules()).items():
        package = importlib.import_module(".".join(("wmma_emu", *Path(init).parent.parts)))
        for name in names:
            value = getattr(package, name)
            if isinstance(value, type) and value.__module__.startswith("wmma_emu"):
                found[name].add(f"{value.__module__}.{value.__qualname__}")
    return found


def test_every_public_class_name_means_one_class():
    shared = {name: sorted(found) for name, found in _public_classes().items() if len(found) > 1}
    assert shared == {}


def test_no_class_name_is_used_for_more_than_three_classes():
    common = {name: found for name, found in _classes(_modules()).items() if len(found) > 3}
    assert common == {}

# SPDX-License-Identifier: MIT
"""Run the quick tests of what changed since its last green run: for daily work; the gate runs all of them.

    python -m tools.changed_tests [--list] [options of pytest]

A package's tests are its docstrings and the folder of its name in ``tests``. They are run again when one of their
files changed, or a file that they import, through any number of packages, or ``pyproject.toml``,
``tests/conftest.py`` or ``tests/data``. Tests of pages, tools and the whole tree, which read files by their names, are
run every time.
What was green is noted in ``.pytest_cache/green.json``.
"""

import ast
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STATE = ".pytest_cache/green.json"
EVERYWHERE = ("pyproject.toml", "tests/conftest.py", "tests/data")
ALWAYS = re.compile(r"tests/(docs|evidence|examples|tools|browser|benchmarks|test_\w+\.py)$")


def unit_of(path: str) -> str:
    """Name the package or the folder of tests that a file belongs to, the file where it is in none.

    >>> unit_of("wmma_emu/gemm/presets.py"), unit_of("wmma_emu/chips.py"), unit_of("tools/nvrtc.py")
    ('wmma_emu/gemm', 'wmma_emu/chips.py', 'tools')
    """
    parts = path.split("/")
    return "/".join(parts[: 2 if parts[0] in ("wmma_emu", "tests") else 1])


def units(root: Path) -> dict[str, list[Path]]:
    """Find the files of each."""
    found: dict[str, list[Path]] = {}
    for top in ("wmma_emu", "tests", "tools", "docs", "examples", "benchmarks"):
        for path in sorted((root / top).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                found.setdefault(unit_of(path.relative_to(root).as_posix()), []).append(path)
    return found


def imported(tree: ast.AST, names: dict[str, str]) -> Iterator[str]:
    """Name the modules that a file imports, in functions and for type checkers too, and what ``we.NAME`` comes from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "wmma_emu":
                yield from (names.get(x.name, f"wmma_emu.{x.name}") for x in node.names)
            yield from (f"{node.module}.{x.name}" for x in node.names)
        elif isinstance(node, ast.Import):
            yield from (x.name for x in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("we", "wmma_emu"):
            yield names.get(node.attr, f"wmma_emu.{node.attr}")


def public_names(root: Path) -> dict[str, str]:
    """Find the module that each name of ``wmma_emu`` comes from."""
    tree = ast.parse((root / "wmma_emu/__init__.py").read_text(encoding="utf-8"))
    found = [x for x in ast.walk(tree) if isinstance(x, ast.ImportFrom) and x.module and "." in x.module]
    return {name.name: node.module for node in found for name in node.names if node.module}


def needs(root: Path, files: dict[str, list[Path]]) -> dict[str, set[str]]:
    """Find the direct and indirect imports of each unit, including itself."""
    names, direct = public_names(root), {}
    for unit, paths in files.items():
        asked = set()
        for path in (x for x in paths if x.suffix == ".py"):
            for module in imported(ast.parse(path.read_text(encoding="utf-8")), names):
                name = unit_of(module.replace(".", "/"))
                asked |= {x for x in (name, f"{name}.py") if x in files}
        direct[unit] = asked
    reached = {}
    for unit in files:
        found, new = {unit}, [unit]
        while new:
            new = [x for x in {y for z in new for y in direct[z]} if x not in found]
            found |= set(new)
        reached[unit] = found
    return reached


def fingerprints(root: Path) -> dict[str, str]:
    """Return the digest of every unit with tests: its files, the files of all imports, and files that affect all."""
    files = units(root)
    everywhere = [x for name in EVERYWHERE for x in files.get(name, [root / name])]
    digests = {unit: _digest(root, paths) for unit, paths in {**files, "": everywhere}.items()}
    own = {x: y for x, y in needs(root, files).items() if x.startswith("wmma_emu/") or _has_tests(files[x])}
    return {x: _digest_of(digests[y] for y in ("", *sorted(reached))) for x, reached in own.items()}


def _has_tests(paths: list[Path]) -> bool:
    return any(path.name.startswith("test_") for path in paths)


def _digest(root: Path, paths: list[Path]) -> str:
    return _digest_of(f"{x.relative_to(root)} {hashlib.sha256(x.read_bytes()).hexdigest()}" for x in paths)


def _digest_of(texts: Iterator[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def changed(now: dict[str, str], green: dict[str, str]) -> list[str]:
    """Name the units to run: those that always are, and those that are not as they were when they were green."""
    return [unit for unit, digest in now.items() if ALWAYS.match(unit) or green.get(unit) != digest]


class Failures:
    """A plug-in of pytest that notes which units had a failure."""

    def __init__(self) -> None:
        self.units: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            self.units.add(unit_of(report.nodeid.partition("::")[0]))


def main(arguments: list[str]) -> int:
    """Run them, and note what is green."""
    state = ROOT / STATE
    green = json.loads(state.read_text(encoding="utf-8")) if state.exists() else {}
    now = fingerprints(ROOT)
    asked = changed(now, green)
    print(f"{len(asked)} of {len(now)} are run: {', '.join(asked)}")
    if "--list" in arguments:
        return 0
    failures = Failures()
    status = pytest.main([*asked, *arguments], plugins=[failures])
    if status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        done = {unit: now[unit] for unit in asked if unit not in failures.units}
        state.parent.mkdir(exist_ok=True)
        kept = {unit: digest for unit, digest in green.items() if unit in now and unit not in asked}
        state.write_text(json.dumps({**kept, **done}, indent=1), encoding="utf-8")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

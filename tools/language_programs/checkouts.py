# SPDX-License-Identifier: MIT
"""Modules of checkouts: without the packages around them, or cut before the launches of a script."""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

__all__ = ["absent", "bare_package", "beginning_of", "given"]


def bare_package(name: str, folder: Path, **contents: Any) -> None:
    """Make a package, and the packages around it, without what its ``__init__.py`` imports.

    ``folder`` holds the outermost package. Modules of the package are imported as usual, from their own files.
    """
    parts = name.split(".")
    for i in range(len(parts)):
        part = ".".join(parts[: i + 1])
        if part not in sys.modules:
            module = ModuleType(part)
            module.__path__ = [str(folder.joinpath(*parts[: i + 1]))]
            sys.modules[part] = module
            if i:
                setattr(sys.modules[".".join(parts[:i])], parts[i], module)
    vars(sys.modules[name]).update(contents)


def given(name: str, **contents: Any) -> None:
    """Make a module with some contents, instead of one with many dependencies."""
    if name not in sys.modules:
        sys.modules[name] = module = ModuleType(name)
        vars(module).update(contents)
        around, _, last = name.rpartition(".")
        if around in sys.modules:
            setattr(sys.modules[around], last, module)


def absent(*names: str) -> None:
    """Let modules that host code imports, but these kernels do not need, be mocks, as all of their attributes are."""
    if not any(isinstance(x, _Absent) and x.names == names for x in sys.meta_path):
        sys.meta_path.insert(0, _Absent(names))


class _Absent(MetaPathFinder, Loader):
    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        known = any(name == x or name.startswith(f"{x}.") for x in self.names)
        return ModuleSpec(name, self, is_package=True) if known else None

    def create_module(self, spec: ModuleSpec) -> Any:
        module = mock.MagicMock(name=spec.name)
        module.__path__, module.__spec__, module.__name__, module.__file__ = [], spec, spec.name, spec.name
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


def beginning_of(path: Path, ends: Sequence[str], name: str = "") -> ModuleType:
    """Import a script up to its first line that begins with one of ``ends``, where it begins to launch or measure."""
    name = name or f"beginning_of_{path.stem.replace('-', '_')}"
    if name not in sys.modules:
        loader = _Beginning(name, str(path))
        loader.ends = tuple(ends)
        module = importlib.util.module_from_spec(ModuleSpec(name, loader, origin=str(path)))
        module.__file__ = str(path)  # where a language reads the source of a kernel again
        sys.modules[name] = module
        try:
            loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


class _Beginning(SourceFileLoader):
    ends: tuple[str, ...] = ()

    def get_data(self, path: str) -> bytes:
        lines = super().get_data(path).splitlines(keepends=True)
        ends = tuple(x.encode() for x in self.ends)
        first = next((i for i, x in enumerate(lines) if ends and x.startswith(ends)), len(lines))
        return b"".join(lines[:first])

    def path_stats(self, path: str) -> Any:
        raise OSError("compiled anew")  # never from a cache, which holds the whole script

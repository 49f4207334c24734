# SPDX-License-Identifier: MIT
"""Modules of checkouts: without the packages around them, or cut before the launches of a script."""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["bare_package", "beginning_of"]


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


def beginning_of(path: Path, ends: Sequence[str], name: str = "") -> ModuleType:
    """Import a script up to its first line that begins with one of ``ends``, where it begins to launch or to measure."""
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

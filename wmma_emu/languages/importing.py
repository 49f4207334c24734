# SPDX-License-Identifier: MIT
"""Call a function after a module has been imported, whenever that happens."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


@contextmanager
def after_import(actions: Mapping[str, Callable[[], None]]) -> Iterator[None]:
    """Call the action of each module now, if it has been imported, or else after its import in a ``with`` block.

    Examples
    --------
    >>> with after_import({"sys": lambda: print("sys is imported")}):
    ...     pass
    sys is imported
    """
    finder = _Finder(dict(actions))
    sys.meta_path.insert(0, finder)
    try:
        for name in [x for x in actions if x in sys.modules]:
            finder.run(name)
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder(MetaPathFinder):
    """Finds the modules that are waited for with the other finders, and wraps their loaders."""

    def __init__(self, actions: dict[str, Callable[[], None]]) -> None:
        self._actions = actions
        self._searched: set[str] = set()

    def run(self, name: str) -> None:
        """Call the action of a module, once."""
        action = self._actions.pop(name, None)
        if action is not None:
            action()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:  # fmt: skip
        if fullname not in self._actions or fullname in self._searched:
            return None
        self._searched.add(fullname)  # the search below asks this finder again
        try:
            spec = find_spec(fullname)
        finally:
            self._searched.discard(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, fullname, self)
        return spec


class _Loader(Loader):
    def __init__(self, loader: Loader, name: str, finder: _Finder) -> None:
        self._loader, self._name, self._finder = loader, name, finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module keeps its own loader, which importlib.resources and others ask for.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._finder.run(self._name)

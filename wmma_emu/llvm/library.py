# SPDX-License-Identifier: MIT
"""Native functions by name: found in this process, in the cache on disk, or compiled now."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from llvmlite import ir

from wmma_emu.display import progress_bar
from wmma_emu.llvm.cache import ObjectCache
from wmma_emu.llvm.compile import Compilers, load

Define = Callable[[ir.Module], object]
"""A function that adds the native function of a name, and what it needs, to a module."""

_BATCH = 8
"""The number of functions that are compiled as one module."""

_MOST_PROCESSES = 15

_INTERVAL = 0.02
"""The seconds after which a thread that waits for another looks for limits and interrupts."""


class NativeLibrary:
    """Native functions by name; equal names mean equal code. Threads may use it at the same time.

    ``sources`` are the folders with the Python files that define the functions.
    """

    def __init__(self, sources: Iterable[Path]) -> None:
        self._addresses: dict[str, int] = {}
        self._begin_locking()
        if hasattr(os, "register_at_fork"):  # a thread of the parent may hold the lock
            os.register_at_fork(after_in_child=self._begin_locking)
        self._sources = tuple(sources)
        self._cache: ObjectCache | None = None

    def _begin_locking(self) -> None:
        self._lock = threading.RLock()

    def addresses(
        self, wanted: Mapping[str, Define], check: Callable[[], object] = lambda: None
    ) -> Mapping[str, int]:  # fmt: skip
        """Return the addresses of functions, after compiling those that no process has compiled before.

        ``check`` is called meanwhile, and may raise an error: what is compiled until then is kept.
        """
        while not self._lock.acquire(timeout=_INTERVAL):
            check()
        try:
            if any(x not in self._addresses for x in wanted):
                self._cache = self._cache or ObjectCache(self._sources)
                self._load(self._cache, [x for x in wanted if x not in self._addresses])
                self._compile(self._cache, {x: y for x, y in wanted.items() if x not in self._addresses}, check)
        finally:
            self._lock.release()
        return self._addresses

    def has(self, names: Sequence[str]) -> bool:
        """Return whether functions need not be compiled: they are loaded, or in the cache."""
        with self._lock:
            missing = [x for x in names if x not in self._addresses]
            self._cache = self._cache or ObjectCache(self._sources)
            return sum(map(len, self._cache.find(missing).values())) == len(missing)

    def _load(self, cache: ObjectCache, names: Sequence[str]) -> None:
        for batch, found in cache.find(names).items():
            code = cache.load(batch)
            if code is not None:
                with suppress(RuntimeError):  # not what this processor's linker reads: the functions are compiled again
                    self._addresses.update(load(code, found))

    def _compile(self, cache: ObjectCache, wanted: Mapping[str, Define], check: Callable[[], object]) -> None:
        names = [*wanted]
        batches = [names[i : i + _BATCH] for i in range(0, len(names), _BATCH)]
        processes = min((os.cpu_count() or 1), len(batches), _MOST_PROCESSES) - 1
        with Compilers(max(processes, 0), check) as compilers, progress_bar("compiling native functions") as progress:
            for i, batch in enumerate(batches):
                module = ir.Module()
                for name in batch:
                    check()
                    wanted[name](module)
                compilers.submit(str(module))
                if progress is not None:
                    progress((i + 1) / len(batches) / 2)
            for done, (number, code) in enumerate(compilers.results()):
                self._addresses.update(load(code, batches[number]))
                cache.store(batches[number], code)
                if progress is not None:
                    progress(0.5 + (done + 1) / len(batches) / 2)

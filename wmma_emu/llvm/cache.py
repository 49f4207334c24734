# SPDX-License-Identifier: MIT
"""The cache of object code on disk: batches of functions, each a file that names them.

A file has a line for its format, a line with the digest of what follows, a line with the names of the functions in
JSON, and the object code. The first lines of all files are the index.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from wmma_emu.caches import cache_folder, remove_oldest
from wmma_emu.llvm.compile import processor
from wmma_emu.version import __version__

_FORMAT = b"wmma_emu object code 1\n"

_LARGEST = 256 << 20
"""The maximum size of the cache in bytes; the least recently used batches are removed first."""


class ObjectCache:
    """The batches of functions whose code follows from some sources; several processes may use it at a time.

    ``sources`` are folders with Python files, which define the functions. A batch is lost if the sources, llvmlite or
    the processor change. Without a folder, or if it cannot be written, nothing is kept.
    """

    def __init__(self, sources: Iterable[Path]) -> None:
        folder = cache_folder("native")
        self.folder = None if folder is None else folder / key_of(sources)
        self._batches: dict[str, Path] = {}
        self._read: set[Path] = set()

    def find(self, names: Iterable[str]) -> dict[Path, list[str]]:
        """Return the batches that contain some of the functions, each with those functions."""
        self._index()
        found: dict[Path, list[str]] = {}
        for name in names:
            if name in self._batches:
                found.setdefault(self._batches[name], []).append(name)
        return found

    def _index(self) -> None:
        """Read the names in the batches that other processes, or earlier ones, have written."""
        try:
            files = [] if self.folder is None else sorted(self.folder.glob("*.batch"))
        except OSError:
            return
        for path in files:
            if path in self._read:
                continue
            self._read.add(path)
            try:
                with open(path, "rb") as file:
                    if file.readline(100) == _FORMAT and file.readline(100):
                        self._batches.update(dict.fromkeys(json.loads(file.readline()), path))
            except (OSError, ValueError, TypeError):
                continue

    def load(self, batch: Path) -> bytes | None:
        """Return the object code of a batch; None, and forget it, if it is damaged or was removed."""
        try:
            with open(batch, "rb") as file:
                intact = _is_own(file) and file.readline(100) == _FORMAT
                digest, rest = file.readline(100).strip(), file.read()
            os.utime(batch)
        except OSError:
            intact = False
        if not intact or hashlib.sha256(rest).hexdigest().encode() != digest:
            self._batches = {name: path for name, path in self._batches.items() if path != batch}
            return None
        return rest[rest.index(b"\n") + 1 :]

    def store(self, names: Sequence[str], code: bytes) -> None:
        """Store a batch atomically; nothing is stored if the folder is not writable."""
        if self.folder is None:
            return
        rest = json.dumps([*names]).encode() + b"\n" + code
        digest = hashlib.sha256(rest).hexdigest()
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=self.folder, suffix=".part")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_FORMAT + digest.encode() + b"\n" + rest)
                os.replace(name, self.folder / f"{digest[:32]}.batch")
            except OSError:
                os.unlink(name)
                raise
            remove_oldest(self.folder.parent.glob("*/*"), _LARGEST)
        except OSError:
            return


def _is_own(file: IO[bytes]) -> bool:
    """Return whether a file belongs to this user: code of others must not run, whatever folder is the cache."""
    return not hasattr(os, "getuid") or os.fstat(file.fileno()).st_uid in (os.getuid(), 0)


def key_of(sources: Iterable[Path]) -> str:
    """Return a digest of everything on which object code depends: the sources, this version, LLVM, the processor."""
    digest = hashlib.sha256(f"{__version__} {processor()}".encode())
    for folder in sources:
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder)}\n".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:32]

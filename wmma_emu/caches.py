# SPDX-License-Identifier: MIT
"""The folder in which the package keeps compiled code between processes, and its size."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

_OFF = ("0", "off", "no", "none")


def cache_folder(kind: str) -> Path | None:
    """Return the cache folder of a kind of files, which might not exist yet.

    It is in the folder that WMMA_EMU_CACHE names, or in the system's cache. The result is None if WMMA_EMU_CACHE is
    "off".

    Examples
    --------
    >>> folder = cache_folder("cuda")
    >>> folder is None or folder.name
    'cuda'
    """
    named = os.environ.get("WMMA_EMU_CACHE", "")
    if named.lower() in _OFF:
        return None
    if named:
        return Path(named, kind)
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return Path(base, "wmma-emu", kind)


def remove_oldest(files: Iterable[Path], largest: int) -> None:
    """Remove the files that were changed first until the others have at most ``largest`` bytes.

    Examples
    --------
    >>> remove_oldest([], 0)
    """
    found = []
    for path in files:
        try:
            about = path.stat()
        except OSError:
            continue
        found.append((about.st_mtime, about.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= largest:
            break
        path.unlink(missing_ok=True)
        total -= size

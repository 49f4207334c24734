# SPDX-License-Identifier: MIT
"""The cache of compiled PTX on disk, keyed by the source text and the compilers."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from wmma_emu import caches
from wmma_emu.errors import BackendUnavailableError
from wmma_emu.ptx.cuda.include_files import SEARCHED, inclusions_of, searched_folders
from wmma_emu.ptx.cuda.nvcc import find_nvcc
from wmma_emu.ptx.cuda.nvrtc import library_file
from wmma_emu.ptx.cuda.options import folders_in, may_read_more
from wmma_emu.ptx.cuda.packages import include_folders
from wmma_emu.ptx.cuda.request import CompiledSource, Request

_LARGEST = 256 << 20
"""The maximum size of the cache in bytes; the least recently used entries are removed first."""

_FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
_ENVIRONMENT = ("NVCC_CCBIN", *_FLAGS, *SEARCHED)
"""Environment variables that affect compilers."""

_SYSTEM_FOLDERS = (Path("/usr/include"), Path("/usr/local/include"))
"""Folders of system headers, which belong to the host compiler."""


def cache_folder() -> Path | None:
    """Return the folder of compiled PTX; None if the cache is disabled."""
    return caches.cache_folder("cuda")


def key_of(request: Request, compiler: str) -> str:
    """Return the key of a compilation: a digest of the source, all included files, the options and the compilers.

    The key is "" if the compilation cannot be cached, because its included files are not known in advance.
    """
    if cache_folder() is None:
        return ""
    compilers, given = include_folders(), [*request.options, *_words_of(_FLAGS)]
    folders = [*request.include, *folders_in(_words_of(_FLAGS)), *searched_folders()]
    found = inclusions_of(request.source, [Path(x) for x in folders], [*compilers, *_SYSTEM_FOLDERS])
    if not found.is_complete or may_read_more(given):
        return ""
    listed = (x for words in request[3:] for x in (str(len(words)), *words))
    # The compilers, their headers, and this package, each by the state of its files.
    said = (os.environ.get(x, "") for x in _ENVIRONMENT)
    made_by = _compiler_stamps(os.environ.get("PATH", ""), os.environ.get("CUDA_HOME", ""))
    words = [
        compiler, *request[:3], *listed, *found.missing, str(Path.cwd()), *said, *made_by, *_package_stamps(),
    ]  # fmt: skip
    for file in sorted(found.files, key=lambda x: (x.name, str(x.path))):
        words += [file.name, str(file.path), file.text]
    digest = hashlib.sha256()
    for word in words:
        digest.update(f"{len(word)}:".encode() + word.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def load(key: str) -> CompiledSource | None:
    """Return the compilation with a key; None if it is not cached, or the entry is damaged."""
    folder = cache_folder()
    if not key or folder is None:
        return None
    path = folder / f"{key}.json"
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        os.utime(path)
        return CompiledSource(**{**fields, "notes": tuple(fields["notes"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def store(key: str, compiled: CompiledSource) -> None:
    """Store a compilation atomically; nothing is stored if the folder is not writable."""
    folder = cache_folder()
    if not key or folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(compiled._asdict(), file)
            os.replace(name, folder / f"{key}.json")
        except OSError:
            os.unlink(name)
            raise
        caches.remove_oldest(folder.iterdir(), _LARGEST)
    except OSError:
        return


@cache
def _compiler_stamps(path: str, home: str) -> tuple[str, ...]:
    del path, home
    files = [folder / "cuda_runtime_api.h" for folder in include_folders()]
    files += [folder / "cuda/version" for folder in include_folders()]
    found = []
    with suppress(BackendUnavailableError):
        files.append(library_file())
    with suppress(BackendUnavailableError):
        nvcc = find_nvcc()
        files.append(nvcc.program)
        found += [nvcc.version, nvcc.host]
    return (*found, *map(_stamp, files))


@cache
def _package_stamps() -> tuple[str, ...]:
    return tuple(_stamp(x) for x in sorted(Path(__file__).parent.glob("*.py")))


def _stamp(path: Path) -> str:
    try:
        about = path.stat()
    except OSError:
        return f"{path}: none"
    return f"{path.resolve()}: {about.st_size} {about.st_mtime_ns}"


def _words_of(names: Iterable[str]) -> list[str]:
    return [y for x in names for y in os.environ.get(x, "").split()]

# SPDX-License-Identifier: MIT
"""The files that a source includes: the user's files, and the compiler's."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

SEARCHED = ("CPATH", "CPLUS_INCLUDE_PATH")
"""Environment variables that name folders of headers for host compilers."""

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_INCLUDE = re.compile(
    r"^[ \t]*(?:\#|%:)[ \t]*include[ \t]*(?:(?P<mark>[<\"])(?P<name>[^>\"\n]+)[>\"]|(?P<macro>\w+))", re.MULTILINE
)
_CONTINUED = re.compile(r"\\\r?\n")
_MOST = 4000
_LARGEST = 1 << 24


class Included(NamedTuple):
    """A user's file: its name in ``#include``, its path, and its text."""

    name: str
    path: Path
    text: str


class Inclusions(NamedTuple):
    """The files that a source includes, whatever the preprocessor's conditions are.

    ``files`` are the user's files, ``provided`` the names of headers in the compiler's folders, and ``missing`` the
    names that no folder contains; ``is_complete`` is False if a macro makes a name. ``deeper`` are missing headers that
    the compiler's headers include, ``quoted`` those of the missing names that are written only in quotation marks.
    """

    files: tuple[Included, ...]
    provided: tuple[str, ...]
    missing: tuple[str, ...]
    is_complete: bool
    deeper: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()


def searched_folders() -> list[str]:
    """Return the folders that these variables name."""
    return [y for x in SEARCHED for y in os.environ.get(x, "").split(os.pathsep) if y]


def inclusions_of(source: str, folders: Sequence[Path], compilers: Sequence[Path]) -> Inclusions:
    """Follow every ``#include`` of a source through the user's folders; the compiler's headers are only looked up."""
    files: dict[tuple[str, Path], Included] = {}
    provided: dict[str, None] = {}
    missing: dict[str, set[str]] = {}
    made_by: set[str] = set()
    waiting: list[tuple[str, Path | None]] = [(source, None)]
    while waiting and len(files) < _MOST:
        text, home = waiting.pop()
        for mark, name in _includes(text):
            if not mark:
                made_by.add(name)
                continue
            near = [home] if home is not None and mark == '"' else []
            path = next((x for folder in (*near, *folders) if (x := folder / name).is_file()), None)
            if path is not None:
                if (name, path) not in files:
                    files[name, path] = Included(name, path, _text(path))
                    waiting.append((files[name, path].text, path.parent))
            elif any((folder / name).is_file() for folder in compilers):
                provided[name] = None
            else:
                missing.setdefault(name, set()).add(mark)
    texts = [source, *(x.text for x in files.values())]
    is_complete = (
        len(files) < _MOST and not any("__has_include" in x for x in texts)
        and _are_the_compilers(made_by, texts, compilers)
    )  # fmt: skip
    return Inclusions(
        tuple(files.values()), tuple(provided), tuple(missing), is_complete, _deeper(provided, compilers),
        tuple(x for x, marks in missing.items() if marks == {'"'}),
    )  # fmt: skip


def _deeper(provided: Iterable[str], compilers: Sequence[Path]) -> tuple[str, ...]:
    """Return headers of the host library that the compiler's top-level headers include: ``cuda.h``.

    Includes are followed, as from ``cudaTypedefs.h`` to ``cuda.h``, but not into the folders of libraries, which
    include no host headers when NVRTC compiles them.
    """
    waiting = [x for x in provided if "/" not in x]
    seen, missing = set(waiting), set()
    while waiting:
        name = waiting.pop()
        for path in (folder / name for folder in compilers if (folder / name).is_file()):
            for _, asked in _includes(_text(path)):
                if not any((folder / asked).is_file() for folder in compilers):
                    missing.add(asked)
                elif "/" not in asked and asked not in seen:
                    seen.add(asked)
                    waiting.append(asked)
    return tuple(sorted(missing))


def _are_the_compilers(macros: set[str], texts: Sequence[str], compilers: Sequence[Path]) -> bool:
    """Return whether the macros that make header names only name the compiler's headers: ``<cuda/std/NAME>``."""
    for macro in macros:
        define = re.compile(rf"^[ \t]*\#[ \t]*define[ \t]+{macro}\b(?:\([^)\n]*\))?[ \t]+(.*)$", re.MULTILINE)
        found = [x for text in texts if macro in text for x in define.findall(text)]
        names = [re.fullmatch(r"<((?:\w+/)+)\w+>[ \t\r]*", x) for x in found]
        if not names or not all(x and any((folder / x[1]).is_dir() for folder in compilers) for x in names):
            return False
    return True


def _includes(text: str) -> Iterator[tuple[str, str]]:
    text = _CONTINUED.sub("", text)
    if "include" not in text:
        return
    code = _COMMENT.sub(lambda x: x[0] if x[0][0] == '"' else " ", text)
    for found in _INCLUDE.finditer(code):
        yield (found["mark"] or ""), (found["name"] or found["macro"]).strip()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape") if path.stat().st_size < _LARGEST else ""
    except OSError:
        return ""

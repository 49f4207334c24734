# SPDX-License-Identifier: MIT
"""The request to a compiler, and its result."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from wmma_emu.errors import ArgumentError, ArgumentValueError, shorten
from wmma_emu.instructions import Arch, arch_of


class Request(NamedTuple):
    """A source and the options of its compilation; ``target`` has the form ``compute_90a``."""

    source: str
    target: str
    name: str
    options: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    instantiate: tuple[str, ...] = ()


class CompiledSource(NamedTuple):
    """The PTX of a source, the kernel names of the requested instantiations, and the compiler.

    ``notes`` describe omissions and assumptions, and ``warnings`` are the compiler's; ``seconds`` is the processor time
    of the original compilation.
    """

    ptx: str
    names: Mapping[str, str]
    compiler: str
    notes: tuple[str, ...] = ()
    warnings: str = ""
    seconds: float = 0.0


def virtual_architecture(arch: str | Arch) -> str:
    """Return the target to compile for; chip-specific features only if the chip's name requests them.

    Examples
    --------
    >>> virtual_architecture("sm_90"), virtual_architecture("sm_90a"), virtual_architecture("A100")
    ('compute_90', 'compute_90a', 'compute_80')
    """
    entry = arch_of(arch)
    asked = re.fullmatch(r"(?:sm|compute)_?\d+([af]?)", str(arch).strip().lower())
    return f"compute_{entry.number}{asked[1] if asked else ''}"


def bytes_of(source: str) -> bytes:
    """Return the bytes of a source; bytes that are not UTF-8 were read with "surrogateescape", and are restored."""
    return source.encode("utf-8", "surrogateescape")


def readable(source: str) -> str:
    r"""Return a source as readable text: bytes that are not UTF-8 are interpreted as Latin-1.

    Examples
    --------
    >>> readable(b"// caf\xe9".decode("utf-8", "surrogateescape"))
    '// café'
    """
    return re.sub("[\udc80-\udcff]", lambda x: chr(ord(x[0]) - 0xDC00), source)


def require_texts(source: object, name: object, **lists: object) -> None:
    """Reject values that are not strings, and characters that the compiler would stop at or that cannot be encoded."""
    if not isinstance(source, str):
        raise ArgumentError(
            f"a CUDA source is a str, not {type(source).__name__} {shorten(source)}; Module.from_file reads files"
        )
    texts = [("the source", source), ("name", name)]
    for what, words in lists.items():
        if not isinstance(words, list | tuple):
            raise ArgumentError(f"{what} is a list or a tuple, {what}=[...], not {shorten(words)}")
        texts += [(what, str(x) if what == "include" else x) for x in words]
    for what, text in texts:
        if not isinstance(text, str):
            raise ArgumentError(f"{what} has {shorten(text)}; expected a str")
        text = readable(text) if what == "the source" else text
        if "\0" in text or any("\ud800" <= x <= "\udfff" for x in text):
            raise ArgumentValueError(f"{what} has a NUL or an unpaired surrogate")


def octal(path: Path) -> str:
    """Write a path as the compiler does: non-ASCII characters as UTF-8 bytes in octal."""
    return "".join(x if x.isascii() else "".join(f"\\{byte:03o}" for byte in x.encode()) for x in str(path))

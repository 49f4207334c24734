# SPDX-License-Identifier: MIT
"""What a compiler is asked, and what it answers."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from wmma_emu.errors import ArgumentError, ArgumentValueError, shorten
from wmma_emu.instructions import Arch, arch_of


class Request(NamedTuple):
    """A source, and how it is to be compiled; ``target`` is as in ``compute_90a``."""

    source: str
    target: str
    name: str
    options: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    instantiate: tuple[str, ...] = ()


class CompiledSource(NamedTuple):
    """The PTX of a source, what the names that were asked for are called in it, and who compiled it.

    ``notes`` say what was left out or taken for granted, and ``warnings`` are the compiler's; ``seconds`` is what
    compiling took of a processor, when it was done.
    """

    ptx: str
    names: Mapping[str, str]
    compiler: str
    notes: tuple[str, ...] = ()
    warnings: str = ""
    seconds: float = 0.0


def virtual_architecture(arch: str | Arch) -> str:
    """Name what to compile for: features of one chip alone only where the chip's name asks for them.

    Examples
    --------
    >>> virtual_architecture("sm_90"), virtual_architecture("sm_90a"), virtual_architecture("A100")
    ('compute_90', 'compute_90a', 'compute_80')
    """
    row = arch_of(arch)
    asked = re.fullmatch(r"(?:sm|compute)_?\d+([af]?)", str(arch).strip().lower())
    return f"compute_{row.number}{asked[1] if asked else ''}"


def bytes_of(source: str) -> bytes:
    """The bytes of a source: those that are no UTF-8 were read by "surrogateescape", and stay what they are."""
    return source.encode("utf-8", "surrogateescape")


def readable(source: str) -> str:
    r"""Write a source for people: bytes that are no UTF-8 as Latin-1 has them.

    Examples
    --------
    >>> readable(b"// caf\xe9".decode("utf-8", "surrogateescape"))
    '// café'
    """
    return re.sub("[\udc80-\udcff]", lambda x: chr(ord(x[0]) - 0xDC00), source)


def require_texts(source: object, name: object, **lists: object) -> None:
    """Refuse what is no text, and characters at which the compiler would stop to read, or that have no encoding."""
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
            raise ArgumentError(f"{what} has {shorten(text)}, which is no str")
        text = readable(text) if what == "the source" else text
        if "\0" in text or any("\ud800" <= x <= "\udfff" for x in text):
            raise ArgumentValueError(f"{what} has a NUL, or half of a surrogate pair, which is no character")


def octal(path: Path) -> str:
    """Write a path as the compiler does: what is not ASCII as bytes of UTF-8, each an octal number."""
    return "".join(x if x.isascii() else "".join(f"\\{byte:03o}" for byte in x.encode()) for x in str(path))

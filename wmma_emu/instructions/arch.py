# SPDX-License-Identifier: MIT
"""Lookup of a chip by name: PTX target, generation or product."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from wmma_emu.chips import ARCHS, Arch
from wmma_emu.errors import CallError, UnknownNameError, shorten
from wmma_emu.instructions.other_chips import why_not
from wmma_emu.suggestions import likeness, listed, nearest

__all__ = [
    "ARCHS", "DEFAULT_ARCH", "NAME_PATTERNS", "arch_of", "default_arch", "launching_on", "plain_names", "usual_chip",
]  # fmt: skip

DEFAULT_ARCH = "sm_90"
"""The chip with the most measurements."""

_GEFORCE = re.compile(r"(?:rtx)?([2345]0)[5-9]0(?:ti|super|d)*")
"""A GeForce model, ``rtx4090ti`` or ``4090``: the first two digits identify the generation. Models that end in 00 are
workstation boards of other generations."""

_MAKERS = ("nvidia", "geforce", "tesla")

_BOARD = re.compile(
    r"sxm\d?|pcie|nvl\d*|hbm\d?e?|\d+gb|laptop|mobile|tensor|core|gpus?|superchip|maxq|generation|edition|workstation"
    r"|server|sff"
)
"""Words of a product's full name, as reported by a driver, for the chip's socket, memory and case."""

_SOCKET = re.compile(r"(?:sxm\d?|pcie|nvl\d*|laptop)$")
"""The same words at the end of a name without a space before them: ``h100sxm``."""

NAME_PATTERNS = {
    "maker": "|".join(_MAKERS), "board": _BOARD.pattern, "socket": _SOCKET.pattern, "geforce": _GEFORCE.pattern,
}  # fmt: skip
"""The regular expressions that reduce chip names, for programs in other languages."""

_LONGEST_NAME = 100
_MOST_NAMES = 4


def _words(name: str) -> list[str]:
    """Split a name into lower-case words, without the maker and the board unless nothing else remains."""
    words = [x for x in re.split(r"[\s_-]+", name.lower()) if x]
    kept = [x for x in words if x not in _MAKERS and not _BOARD.fullmatch(x)]
    return kept or words


def _plain(name: str) -> str:
    """Reduce a name to its distinguishing part: lower case, no spaces, dashes, underscores, no maker, no board."""
    plain = "".join(_words(name))
    for maker in _MAKERS:
        plain = plain.removeprefix(maker) or plain
    plain = _SOCKET.sub("", plain) or plain
    if match := _GEFORCE.fullmatch(plain):
        return f"rtx{match[1]}xx"
    return plain


@cache
def _names() -> dict[str, Arch]:
    """Return the table entry of every plain name."""
    return {_plain(x): entry for entry in ARCHS.values() for x in (entry.name, *entry.aliases, *entry.products)}


def plain_names() -> dict[str, str]:
    """Return every reduced name of a chip with its PTX target.

    Examples
    --------
    >>> plain_names()["rtx40xx"], plain_names()["hopper"]
    ('sm_89', 'sm_90')
    """
    return {plain: entry.name for plain, entry in _names().items()}


def _named(name: str) -> Arch | None:
    """Find an entry by a plain name, with or without ``rtx``, with or without the generation after it."""
    plain, words = _plain(name), _words(name)
    entry = _names().get(plain) or _names().get(f"rtx{plain}")
    if entry is None and len(words) > 1:
        entry = _names().get(_plain(" ".join(words[:-1])))
        entry = entry if entry is not None and words[-1] in entry.generation.lower().replace(",", "").split() else None
    return entry


def arch_of(name: "str | Arch") -> Arch:
    """Return the table entry of a chip, given its PTX target, its generation or a product's name.

    Case, spaces, dashes, underscores, a leading ``NVIDIA``, and the memory and socket in a product's full name are
    ignored, so the name that a driver reports for a GPU is accepted. An `Arch` is returned unchanged.

    Raises
    ------
    UnknownNameError
        If no chip has the name; the message lists the chips and the nearest name.
    CallError
        If the argument is not a name.

    Examples
    --------
    >>> arch_of("sm_90a").name, arch_of("NVIDIA H100 80GB HBM3").name, arch_of("4090").name
    ('sm_90', 'sm_90', 'sm_89')
    >>> arch_of("hoper")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnknownNameError: there is no chip 'hoper'; did you mean 'hopper' (sm_90)?
    The chips are sm_70 (Volta), sm_72 (Volta, Xavier), sm_75 (Turing), sm_80 (Ampere), sm_86 (Ampere, GA10x),
    sm_89 (Ada Lovelace), sm_90 (Hopper), sm_100 (Blackwell), sm_103 (Blackwell Ultra), sm_120 (Blackwell, GB20x),
    sm_121 (Blackwell, GB10)
    """
    if isinstance(name, Arch):
        return name
    if isinstance(name, str) and name in ARCHS:
        return ARCHS[name]
    chips = "The chips are " + ", ".join(f"{entry.name} ({entry.generation})" for entry in ARCHS.values())
    if not isinstance(name, str):
        raise CallError(
            f"a chip is named by a string such as 'sm_90' or 'h200', not by {type(name).__name__} "
            f"{shorten(name)}. {chips}"
        )
    if len(name) > _LONGEST_NAME:
        raise UnknownNameError(f"no chip has a name of {len(name)} characters. {chips}")
    if entry := _named(name):
        return entry
    plain = _plain(name)
    raise UnknownNameError(f"there is no chip {shorten(name)}; {why_not(plain) or _hint(plain)} {chips}")


_launched: ContextVar[Arch | None] = ContextVar("launched", default=None)


def default_arch() -> Arch:
    """Return the default chip: the chip of the running kernel, else the one with the most measurements.

    Examples
    --------
    >>> with launching_on(arch_of("v100")):
    ...     print(default_arch())
    sm_70
    >>> print(default_arch())
    sm_90
    """
    return _launched.get() or arch_of(DEFAULT_ARCH)


def usual_chip(archs: Sequence[str]) -> Arch:
    """Choose one of several chips: the one with the most measurements, or the first one.

    Examples
    --------
    >>> print(usual_chip(("sm_80", "sm_90")), usual_chip(("sm_100", "sm_103")))
    sm_90 sm_100
    """
    return ARCHS[DEFAULT_ARCH if DEFAULT_ARCH in archs else archs[0]]


@contextmanager
def launching_on(arch: Arch) -> Iterator[None]:
    """Make a chip the default while a kernel runs on it, in this thread only."""
    token = _launched.set(arch)
    try:
        yield
    finally:
        _launched.reset(token)


def _hint(plain: str) -> str:
    if match := re.fullmatch(r"(?:sm|compute)([0-9]{2,3})[a-z]?", plain):
        number = int(match[1])
        before = [entry for entry in ARCHS.values() if entry.number <= number]
        if not before:
            return f"tensor cores begin with {next(iter(ARCHS))}."
        near = before[-1]
        if near.number == number:
            return f"did you mean {near.name!r}?"
        return f"sm_{number} is not modelled; the nearest modelled chip is {near.name} ({near.generation})."
    # "10.0", a compute capability, is not similar to a name with letters.
    names = [x for x in reversed(_names()) if x[0].isalpha() or not plain[:1].isalpha()]
    alike = nearest(plain, names, count=_MOST_NAMES)
    best = [x for x in alike if likeness(x, plain) == likeness(alike[0], plain)]
    chips = {_names()[x].name: x for x in reversed(best)}  # one name for each chip: the newest
    if not best:
        return "no name is similar to it."
    return f"did you mean {listed((_spelled(x) for x in reversed(chips.values())), 'or')}?"


def _spelled(plain: str) -> str:
    """Write a plain name as the table does, with its chip."""
    entry = _names()[plain]
    spelled = next(x for x in (entry.name, *entry.aliases, *entry.products) if _plain(x) == plain)
    return f"{spelled!r} ({entry.name})"

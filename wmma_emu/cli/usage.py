# SPDX-License-Identifier: MIT
"""What is wrong with a command line, in one line: what was given, what is legal, what comes nearest."""

from argparse import Namespace
from collections.abc import Iterable, Sequence

from wmma_emu.errors import WmmaEmuError, printable
from wmma_emu.suggestions import nearest, question

_LONGEST_LINE = 1000
_LONGEST_VALUE = 80


class UsageError(WmmaEmuError):
    """A command line that cannot be carried out: an option, a value or a file."""


class SeveralError(UsageError):
    """A name that several things have; its lines list them."""


def did_you_mean(given: str, legal: Iterable[str]) -> str:
    """Name the legal word nearest to what was given, as the end of a sentence; nothing if none is near."""
    word, legal = given[:100].casefold(), list(legal)
    near = [x for x in _formats(word) if x in legal]
    return question(near or nearest(word, legal), show=str)


def _formats(word: str) -> tuple[str, ...]:
    """Name the formats that a word means; here, because most command lines need none of it."""
    from wmma_emu.instructions.notation import formats_called

    return formats_called(word)


def _two_meanings(word: str, legal: Sequence[str]) -> str:
    """Say what a word means here and there, if formats are wanted; nothing if it means one thing."""
    from wmma_emu.formats.names import TWO_MEANINGS

    return TWO_MEANINGS.get(word.strip().casefold(), "") if _formats(word) and _formats(word)[0] in legal else ""


def check_choice(
    option: str, given: str | None, legal: Iterable[str], shown: Iterable[str] | None = None
) -> str | None:
    """Return what was given if it is legal, in any case of letters, or left out; an error names the nearest.

    ``shown`` is what an error lists, where everything that is legal would be too much.

    Examples
    --------
    >>> check_choice("--format", "JSON", ("csv", "json"))
    'json'
    >>> check_choice("--format", "jsn", ("csv", "json"))
    Traceback (most recent call last):
        ...
    wmma_emu.cli.usage.UsageError: --format 'jsn' is not one of csv, json; did you mean json?
    """
    legal = tuple(dict.fromkeys(legal))
    if given is None:
        return None
    for word in legal:
        if word.casefold() == given.strip().casefold():
            return word
    if clash := _two_meanings(given, legal):
        raise UsageError(f"{option} {given[:80]!r} is {clash}; write the one that is meant")
    familiar = [x for x in _formats(given) if x in legal]
    if len(familiar) == 1:
        return familiar[0]
    listed = ", ".join(legal if shown is None else dict.fromkeys(shown))
    raise UsageError(f"{option} {given[:80]!r} is not one of {listed}{did_you_mean(given, legal)}")


def check_number(option: str, given: str, first: int = 0) -> int:
    """Return the whole number that an option gives; ``first`` is the least that is legal, which an error names.

    Examples
    --------
    >>> check_number("--row", "1.5")
    Traceback (most recent call last):
        ...
    wmma_emu.cli.usage.UsageError: --row '1.5' is no whole number; the first is 0
    """
    try:
        return int(given)
    except ValueError:  # of thousands of digits too
        raise UsageError(f"{option} {quoted(given)} is no whole number; the first is {first}") from None


def from_words(arguments: Namespace, names: Sequence[str], numbers: Sequence[str]) -> None:
    """Take numbers that stand without their options for those options that are not given, in their order."""
    free = [x for x in names if getattr(arguments, x, "") is None]
    if len(numbers) > len(free):
        options = " and ".join(f"--{x}" for x in names)
        raise UsageError(f"{len(numbers)} numbers are given beside {options}; give each once")
    for name, number in zip(free, numbers, strict=False):
        setattr(arguments, name, number)


def names_in(text: str) -> list[str]:
    """Take names apart that stand with commas between."""
    return [x.strip() for x in text.split(",") if x.strip()]


def quoted(given: str) -> str:
    """Repeat what was given in quotes, or bare if it is an integer; not more of it than fits a line.

    Examples
    --------
    >>> print(quoted("-1"), quoted("x"), quoted(""))
    -1 'x' ''
    """
    text = given.strip()
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()):
        return repr(given[:_LONGEST_VALUE])
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def one_line(message: str) -> str:
    """Put a message on one line: spaces for line breaks, escapes for what cannot be printed."""
    text = " ".join(message.split())
    if len(text) > _LONGEST_LINE:
        text = text[:_LONGEST_LINE] + "..."
    return printable(text)

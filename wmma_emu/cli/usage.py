# SPDX-License-Identifier: MIT
"""One-line errors of a command line: the given value, the legal values and the nearest legal one."""

from argparse import Namespace
from collections.abc import Iterable, Sequence

from wmma_emu.errors import WmmaEmuError, printable
from wmma_emu.suggestions import nearest, question

_LONGEST_LINE = 1000
_LONGEST_VALUE = 80


class UsageError(WmmaEmuError):
    """An error in a command line: in an option, a value or a file."""


class SeveralError(UsageError):
    """An ambiguous name; the lines of the message list its meanings."""


def did_you_mean(given: str, legal: Iterable[str]) -> str:
    """Return a question that names the nearest legal word, to end a message; empty if no word is near."""
    word, legal = given[:100].casefold(), list(legal)
    near = [x for x in _formats(word) if x in legal]
    return question(near or nearest(word, legal), show=str)


def _formats(word: str) -> tuple[str, ...]:
    """List the formats that a word names; imported late, as most command lines do not need them."""
    from wmma_emu.instructions.notation import formats_called

    return formats_called(word)


def _two_meanings(word: str, legal: Sequence[str]) -> str:
    """Return the two meanings of an ambiguous format name, or an empty string."""
    from wmma_emu.formats.other_names import TWO_MEANINGS

    return TWO_MEANINGS.get(word.strip().casefold(), "") if _formats(word) and _formats(word)[0] in legal else ""


def check_choice(
    option: str, given: str | None, legal: Iterable[str], shown: Iterable[str] | None = None
) -> str | None:
    """Return the legal word that equals the given one, ignoring case; None for None; errors suggest the nearest.

    ``shown`` are the words that an error lists, if all legal ones would be too many.

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
        raise UsageError(f"{option} {given[:80]!r} is {clash}; write the format itself")
    familiar = [x for x in _formats(given) if x in legal]
    if len(familiar) == 1:
        return familiar[0]
    listed = ", ".join(legal if shown is None else dict.fromkeys(shown))
    raise UsageError(f"{option} {given[:80]!r} is not one of {listed}{did_you_mean(given, legal)}")


def check_number(option: str, given: str, first: int = 0) -> int:
    """Return the integer that an option gives; error messages name ``first``, the least legal one.

    Examples
    --------
    >>> check_number("--row", "1.5")
    Traceback (most recent call last):
        ...
    wmma_emu.cli.usage.UsageError: --row '1.5' is not an integer; legal integers begin at 0
    """
    try:
        return int(given)
    except ValueError:  # of thousands of digits too
        raise UsageError(f"{option} {quoted(given)} is not an integer; legal integers begin at {first}") from None


def from_words(arguments: Namespace, names: Sequence[str], numbers: Sequence[str]) -> None:
    """Assign numbers given as plain words to the options that are missing, in order."""
    free = [x for x in names if getattr(arguments, x, "") is None]
    if len(numbers) > len(free):
        options = " and ".join(f"--{x}" for x in names)
        raise UsageError(f"{len(numbers)} numbers are given in addition to {options}; give each only once")
    for name, number in zip(free, numbers, strict=False):
        setattr(arguments, name, number)


def names_in(text: str) -> list[str]:
    """Split a comma-separated list of names."""
    return [x.strip() for x in text.split(",") if x.strip()]


def quoted(given: str) -> str:
    """Quote a given value, except an integer; truncate a long one.

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
    """Put a message on one line: replace line breaks by spaces, and unprintable characters by escapes."""
    text = " ".join(message.split())
    if len(text) > _LONGEST_LINE:
        text = text[:_LONGEST_LINE] + "..."
    return printable(text)

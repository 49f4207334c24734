# SPDX-License-Identifier: MIT
"""British and American spellings of one word: names in this package are British, and American ones are accepted.

It imports next to nothing, because `wmma_emu.first_use` asks it.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # false at run time, like typing.TYPE_CHECKING
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    F = TypeVar("F", bound=Callable[..., object])

_RULES = (
    # -ise, and -yse; not after a vowel (raise), w (otherwise) or v (devise), nor the words of _WITH_S.
    (r"([a-z]{2}[^\Waeouwv_\d])is(e[drs]?|ers|ing|ations?|able)$", r"\1iz\2"),
    (r"(anal|catal|paral|electrol)ys(e[dr]?|ers|ing)$", r"\1yz\2"),
    (r"(behavi|col|fav|flav|harb|hon|hum|lab|neighb|rig|sav|vap)our", r"\1or"),
    (r"^((?:kilo|centi|milli|micro|nano|epi)?(?:cent|fib|lit|met|theat))re(s?)$", r"\1er\2"),
    (r"^centred$", "centered"),
    (r"(anal|catal|dial)ogue", r"\1og"),
    # A consonant that is doubled after a vowel without stress.
    (r"([aeiou][^\Waeiou_\d]+[ae])ll(ed|ing|ers?)$", r"\1l\2"),
    (r"(def|lic|off|pret)ence(s?)$", r"\1ense\2"),
    (r"(acknowledg|judg)ement", r"\1ment"),
    (r"^arte(fact)", r"arti\1"),
    (r"^grey", "gray"),
    (r"^(program)me(s?)$", r"\1\2"),
)

_WITH_S = re.compile(
    r"^(advert|compr|comprom|conc|dem|desp|enterpr|exc|exerc|expert|franch|inc|merchand|parad|prec|prem|prom|sunr|surpr"
    r"|upr|treat|bas|cris|oas)is"
)
_ONE_L = re.compile(r"^(?:(?:re|un|fore)?call|inst|comp|exp|prop|exc|reb|imp|disp|(?:mis|re)?sp|(?:un|re)?sh|dist)")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def american(text: str) -> str:
    """Spell the words of a sentence or of a name as in America.

    Examples
    --------
    >>> american("UnspecifiedBehaviourWarning"), american("LANE_COLOURS"), american("partly uninitialised")
    ('UnspecifiedBehaviorWarning', 'LANE_COLORS', 'partly uninitialized')
    >>> american("modelled, cancelling, otherwise, precise, called, source, promise, raised")
    'modeled, canceling, otherwise, precise, called, source, promise, raised'
    """
    return _WORD.sub(lambda found: _american(found[0]), text)


def british(text: str) -> str:
    """Spell the words of a sentence or of a name as in Britain.

    Examples
    --------
    >>> british("quantize_all"), british("lane_color"), british("modeled sizes of the centers")
    ('quantise_all', 'lane_colour', 'modelled sizes of the centres')
    """
    return _WORD.sub(lambda found: _british(found[0]), text)


_BACK = (
    (r"iz(e[drs]?|ers|ing|ations?|able)$", r"is\1"), (r"yz(e[dr]?|ers|ing)$", r"ys\1"), (r"or", "our"),
    (r"er(s?)$", r"re\1"), (r"^centered$", "centred"), (r"log(s?)$", r"logue\1"), (r"l(ed|ing|ers?)$", r"ll\1"),
    (r"ense(s?)$", r"ence\1"), (r"gment(s?)$", r"gement\1"), (r"^arti(fact)", r"arte\1"), (r"^gray", "grey"),
)  # fmt: skip
"""The inverse rules, from American to British spelling; `_british` keeps a result only if `american` inverts it."""


def _british(word: str) -> str:
    plain = word.lower()
    for pattern, spelled in _BACK:
        other = re.sub(pattern, spelled, plain)
        if other != plain and _american(other) == plain:
            return other.upper() if word.isupper() else other.capitalize() if word[0].isupper() else other
    return word


def _american(word: str) -> str:
    plain = word.lower()
    if _WITH_S.match(plain):
        return word
    for pattern, spelled in _RULES:
        if spelled.startswith(r"\1l") and _ONE_L.match(plain):
            continue
        other = re.sub(pattern, spelled, plain)
        if other != plain:
            return other.upper() if word.isupper() else other.capitalize() if word[0].isupper() else other
    return word


def as_spelled(given: str, names: Iterable[str]) -> str:
    """Return the name that a word spells, British or American; return the word itself if it matches no name.

    Examples
    --------
    >>> as_spelled("synchronization", ["races", "synchronisation"]), as_spelled("colour", ["color"])
    ('synchronisation', 'color')
    """
    legal = list(names)
    if given in legal:
        return given
    plain = american(given)
    return next((name for name in legal if american(name) == plain), given)


def in_either_spelling(function: F) -> F:
    """Let a function take its keywords in either spelling.

    Examples
    --------
    >>> @in_either_spelling
    ... def paint(*, color):
    ...     return color
    >>> paint(colour="red"), paint(color="red")
    ('red', 'red')
    """
    from functools import wraps
    from inspect import signature

    own = tuple(signature(function).parameters)

    @wraps(function)
    def called(*arguments: object, **keywords: object) -> object:
        return function(*arguments, **{as_spelled(x, own): value for x, value in keywords.items()})

    return called  # type: ignore[return-value]

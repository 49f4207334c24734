# SPDX-License-Identifier: MIT
"""Suggestions for misspelled words: the nearest legal words, and their wording in error messages."""

from collections.abc import Callable, Iterable, Sequence
from os.path import commonprefix
from types import ModuleType

_LONGEST = 100
"""The maximum number of characters that are compared, because the time grows with its square."""


def nearest(given: object, legal: Iterable[str], count: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return the legal words with the most similar spelling, ignoring case.

    If words are equally similar, those with the longest common beginning come first. ``cutoff`` is the minimum
    similarity: 1 requires equality, 0 accepts any word. The result is empty if the argument is not a string.

    Examples
    --------
    >>> nearest("rase", ["race", "trap", "deadlock"]), nearest("F23", ["f16", "f32"], 2), nearest(3, ["f16"])
    (['race'], ['f32'], [])
    """
    if not isinstance(given, str):
        return []
    plain = given.casefold()
    alike = {word: likeness(word.casefold(), plain) for word in legal}
    near = [word for word in alike if alike[word] >= cutoff]
    begins = {word: len(commonprefix([word.casefold(), plain])) for word in near}  # noqa: RUF071 (of letters it is)
    return sorted(near, key=lambda word: (-alike[word], -begins[word]))[:count]


def likeness(one: str, other: str) -> float:
    """Return the similarity of two spellings, from 0 to 1.

    Examples
    --------
    >>> likeness("f16", "f16"), likeness("f16", "f32") < likeness("f16", "bf16")
    (1.0, True)
    """
    from difflib import SequenceMatcher  # imported late, because only errors need it

    return SequenceMatcher(None, one[:_LONGEST], other[:_LONGEST]).ratio()


def question(near: Sequence[str], then: str = "", show: Callable[[str], str] = repr) -> str:
    """Return the end of a sentence: the question whether a similar word was meant, and the legal words.

    Examples
    --------
    >>> question(["f16", "bf16"]), question([], "there is f32")
    ("; did you mean 'f16' or 'bf16'?", '; there is f32')
    >>> question(["race"], "there are race, trap", str)
    '; did you mean race? There are race, trap'
    """
    if not near:
        return f"; {then}" if then else ""
    asked = f"; did you mean {listed(map(show, near), 'or')}?"
    return f"{asked} {then[0].upper()}{then[1:]}" if then else asked


def listed(words: Iterable[object], conjunction: str = "and") -> str:
    """List several things in a sentence.

    Examples
    --------
    >>> listed([0, 4, 8]), listed(["A", "B"], "or"), listed(["A"]), listed([])
    ('0, 4 and 8', 'A or B', 'A', '')
    """
    *most, last = list(map(str, words)) or [""]
    return f"{', '.join(most)} {conjunction} {last}" if most else last


def did_you_mean(given: object, legal: Iterable[str], then: str = "") -> str:
    """Return the end of a sentence: the nearest legal word, if there is a similar one, and the legal words.

    Examples
    --------
    >>> did_you_mean("rase", ["race", "trap"]), did_you_mean("xyz", ["race", "trap"])
    ("; did you mean 'race'?", '')
    """
    return question(nearest(given, legal), then)


def missing_attribute(module: ModuleType, name: str) -> AttributeError:
    """Return the error for a name that a module does not have, with the nearest of its public names.

    Examples
    --------
    >>> import wmma_emu.gpu
    >>> missing_attribute(wmma_emu.gpu, "croscheck")
    AttributeError("module 'wmma_emu.gpu' has no attribute 'croscheck'; did you mean 'crosscheck'?")
    """
    names = vars(module).get("__all__", [x for x in dir(module) if not x.startswith("_")])
    near = "" if name.startswith("_") else did_you_mean(name, names)
    # With a module as obj, Python would suggest a name in tracebacks for a second time.
    return AttributeError(
        f"module {module.__name__!r} has no attribute {name!r}{near}", name=name, obj=None if near else module
    )


def nearest_are(names: Iterable[str], chip: str = "") -> str:
    """Return a sentence with the nearest instructions to one that does not exist.

    Examples
    --------
    >>> print(nearest_are(["shfl.sync.up.b32", "shfl.sync.bfly.b32"], "sm_90"))
    Nearest on sm_90: shfl.sync.up.b32, shfl.sync.bfly.b32
    """
    return f"Nearest{f' on {chip}' if chip else ''}: {', '.join(names)}"


def first_chip(archs: Sequence[str], chips: Iterable[str]) -> str:
    """Describe the chips that have something: by the first one if all later ones have it, else by a list.

    Examples
    --------
    >>> first_chip(["sm_89", "sm_90"], ["sm_80", "sm_89", "sm_90"])
    'the first chip that supports it is sm_89'
    >>> first_chip(["sm_80"], ["sm_80", "sm_89", "sm_90"])
    'the only chip that supports it is sm_80'
    """
    order = list(chips)
    if list(archs) == order[order.index(archs[0]) :]:
        return f"the first chip that supports it is {archs[0]}"
    if len(archs) == 1:
        return f"the only chip that supports it is {archs[0]}"
    return f"chips that support it are {', '.join(archs)}"

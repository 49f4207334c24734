# SPDX-License-Identifier: MIT
"""Lints of other people, on the project's prose: proselint's phrases and codespell's misspellings."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources

CHECKS = {
    "archaism": True,
    "cliches": True,
    "hedging": True,
    "malapropisms": True,
    "mixed_metaphors": True,
    "mondegreens": True,
    "needless_variants": True,
    "nonwords": True,
    "oxymorons": True,
    "redundancy": True,
    "skunked_terms": True,
    "uncomparables": True,
    "weasel_words": True,
    "annotations": False,  # "TODO" is ruff's business
    "dates_times": False,  # dates are ISO 8601
    "industrial_language": False,  # takes b4, a format's short name, for chat
    "lexical_illusions": False,  # takes "long long" for a slip; `repeated` finds words that are written twice
    "misc": False,  # takes "multiply-add" for an adverb, and "ne" for French
    "psychology": False,
    "restricted": False,
    "social_awareness": False,
    "spelling": False,  # codespell, and `tools/english/spelling.py`
    "terms": False,
    "typography": False,  # sources are in ASCII: straight quotes, three periods
}
"""The checks of proselint that are on, and why the others are off."""

TERMS = frozenset(
    {
        "in a word",  # of 32 bits
        "first of all",  # of all columns
    }
)
"""Phrases for proselint that this project means literally."""

NAMES = frozenset({"abd", "blok", "ue", "fo", "te", "ot", "ans", "nd", "shwo", "normall"})
"""Names, abbreviations and the slips of tests, in lower case, that codespell takes for misspellings."""

_REPEATED = re.compile(r"(?<![\w-])([a-z]{2,})\s\1(?![\w-])")
_MAY_REPEAT = frozenset({"long", "that", "had", "xx", "mul", "mad", "off", "warn", "race", "error", "os"})


def proselint_results(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the faults that proselint finds: start, end and message."""
    registry, config = _proselint()
    for check in registry.get_all_enabled(config):
        for result in check.check_with_flags(f"\n{text}\n"):
            start, end = result.span[0] - 1, result.span[1] - 1
            words = text[start:end].strip()
            at = text.find(words, max(start, 0))
            if words.lower() not in TERMS and not text[at + len(words) : at + len(words) + 1].isalpha():
                yield at, at + len(words), f"a plain word, or nothing (proselint: {result.check_path})"


@cache
def _proselint():  # type: ignore[no-untyped-def]
    """Return proselint's registry, and the checks that are on; imported late, because only the gate needs it."""
    from proselint.checks import __register__
    from proselint.registry import CheckRegistry

    registry = CheckRegistry()
    registry.register_many(__register__)
    return registry, CHECKS


def misspelled(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the words that codespell corrects: start, end and correction."""
    corrections = _corrections()
    for match in re.finditer(r"(?<![\w.`/@-])[A-Za-z]{3,}(?:'[a-z]+)?(?![\w`/-]|\.\w)", text):
        word = match[0].lower()
        if word in corrections and word not in NAMES and not match[0][1:].isupper():
            yield match.start(), match.end(), corrections[word]


@cache
def _corrections() -> dict[str, str]:
    table = resources.files("codespell_lib").joinpath("data/dictionary.txt").read_text(encoding="utf-8")
    pairs = (line.split("->") for line in table.splitlines() if "->" in line)
    return {wrong.lower(): right.rstrip(",") for wrong, right in pairs}


def repeated(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the words that are written twice in succession: start, end and the one word."""
    for match in _REPEATED.finditer(text):
        if match[1] not in _MAY_REPEAT and set(match[1]) != {"x"}:
            yield match.start(), match.end(), match[1]


LONGEST = 40
"""The number of words after which a sentence is hard to read."""


def long_sentences(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the sentences, or their parts between colons and semicolons, that have too many words."""
    for match in re.finditer(r"[^.:;!?|\n][^:;!?|\n]*?(?:[.:;!?](?=\s)|$)", text, re.MULTILINE):
        count = len(re.findall(r"(?<!\S)[\w'(\"*-]\S*", match[0]))
        if count > LONGEST:
            yield match.start(), match.start() + 40, f"sentences of at most {LONGEST} words: this one has {count}"

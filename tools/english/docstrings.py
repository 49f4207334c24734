# SPDX-License-Identifier: MIT
"""Rules of docstrings: a function's begins with a verb in the imperative, and says more than its name."""

import ast
import re
from collections.abc import Iterator

from tools.english.verbs import VERBS

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FRAGMENT = re.compile(
    r"(?:What|Whether|How|Where|When|Who|Whom|Whose|Which|Why|That|Those|These|Of|All that|All of|As|For|In|With|From"
    r"|By|To|At|On|If|None|Nothing|So|Such|Like)\b"
)
_NOUN = re.compile(r"(?:What|Whether|How|Where|When|Who|Whom|Whose|Which|Why|That|Those|Of|All that)\b")
_STOP_WORDS = frozenset(
    "a an the of to in for and or is are be by with from on at it its that this all each one return whether as".split()
)
_RESTATES = 0.8


def faults(text: str, owner: ast.AST, *, strict: bool = True) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a docstring: a phrase, and what to write.

    ``strict`` asks for the imperative in functions; without it only fragments of sentences are found.
    """
    first = re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0]
    summary = " ".join(first.split())
    if not summary or summary[0] in "`{<":
        return
    word = summary.split()[0].rstrip(".,:;")
    if isinstance(owner, _Function):
        if not _is_property(owner):
            yield from _of_function(summary, word, owner, strict)
        elif (found := _NOUN.match(summary)) and found[0] != "Whether":
            yield found[0] + " ...", 'a noun phrase, "Whether ..." or a sentence: "The number of ..."'
        if owner.name.startswith("_") and "\n" not in text.strip() and _restates(owner.name, summary):
            yield summary, f"nothing: the name `{owner.name}` says it all"
    elif not isinstance(owner, ast.Module) and (found := _NOUN.match(summary)) and found[0] != "Whether":
        yield found[0] + " ...", 'a noun phrase: "The X that ..."'
    elif isinstance(owner, ast.Module) and (found := re.match(r"(?:What|Who|Whose|That|Those|Of|All that)\b", summary)):
        yield found[0] + " ...", 'a noun phrase: "The X that ..."'


def _of_function(summary: str, word: str, owner: _Function, strict: bool) -> Iterator[tuple[str, str]]:
    fragment = _FRAGMENT.match(summary)
    if fragment:
        yield f"{fragment[0]} ...", 'a verb in the imperative: "Return ...", "Return whether ..."'
    elif strict and (word.lower() not in VERBS or re.match(r"\w+ of\b", summary)):
        base = word.lower()
        third = next((b for b in (base[:-1], base[:-2], base[:-3] + "y") if base.endswith("s") and b in VERBS), None)
        if third:
            yield word, f'the imperative: "{third.capitalize()}"'
        else:
            yield f"{word} ...", 'a verb in the imperative: "Return ..."'
    if strict and not owner.name.startswith("_") and not summary.endswith((".", ":", "::", "!")):
        yield summary[-40:], "a period at the end of the first paragraph"


def _is_property(owner: _Function) -> bool:
    names = [ast.unparse(x) for x in owner.decorator_list]
    return any(re.search(r"property|\bsetter$|fixture\b|composite\b", x) for x in names)


def _restates(name: str, summary: str) -> bool:
    """Return whether most words of a docstring are in the name of its function."""
    words = [_stem(x) for x in re.findall(r"[a-z]+", summary.lower()) if x not in _STOP_WORDS]
    named = {_stem(x) for x in re.findall(r"[a-z]+", name.lower())}
    return bool(words) and sum(x in named for x in words) >= _RESTATES * len(words)


def _stem(word: str) -> str:
    return re.sub(r"(?:ies|es|s|ed|ing|y)$", "", word)

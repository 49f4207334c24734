# SPDX-License-Identifier: MIT
"""The declarations in C++ source: their extent, their kind, and the names that they declare."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from wmma_emu.ptx.cuda.tokens import Token

_OPEN = {"(": ")", "[": "]", "{": "}"}
_CLOSE = set(_OPEN.values())
_CLASSES = {"class", "struct", "union", "enum"}
_WITH_BRACKETS = {
    "__launch_bounds__", "__attribute__", "__declspec", "__align__", "alignas", "decltype", "noexcept", "explicit",
    "__cluster_dims__", "__block_size__", "__maxnreg__", "requires", "asm", "__asm__",
}  # fmt: skip
_NO_NAMES = {"final", "const", "volatile", "constexpr", "static", "inline", "typename", "class", "struct"}


class Declaration(NamedTuple):
    """One declaration: its tokens from ``first`` to before ``last``, and its properties.

    ``kind`` is "function", "class", "alias", "variable", "using namespace", "assertion" or "instantiation"; ``start``
    is the first token after ``template <...>``; ``body`` is the opening brace of a class, 0 for other kinds.
    """

    kind: str
    first: int
    last: int
    start: int
    names: frozenset[str]
    head: frozenset[str]
    body: int = 0


def declarations_of(tokens: Sequence[Token], first: int = 0, last: int | None = None) -> Iterator[Declaration]:
    """Yield the declarations of a scope, including those in namespaces, but not those in classes.

    If ``#if`` and ``#else`` divide a declaration, the first part counts.

    Examples
    --------
    >>> from wmma_emu.ptx.cuda.tokens import tokens_of
    >>> text = "namespace a { struct S { int x; }; } const int N = 3; template <int M> __global__ void k(S s) { }"
    >>> [(x.kind, *sorted(x.names)) for x in declarations_of(tokens_of(text))]
    [('class', 'S'), ('variable', 'N'), ('function', 'k')]
    """
    i, last = first, len(tokens) if last is None else last
    while i < last:
        word = tokens[i].text
        brace = _scope(tokens, i, last)
        if brace:
            end = _matching(tokens, brace, last)
            yield from declarations_of(tokens, brace + 1, end)
            i = end + 1
        elif tokens[i].kind == "directive" or word in (";", "}"):
            i += 1
        elif word in ("public", "private", "protected") and i + 1 < last and tokens[i + 1].text == ":":
            i += 2
        else:
            found = _declaration(tokens, i, last)
            yield found
            i = found.last


def _scope(tokens: Sequence[Token], i: int, last: int) -> int:
    """Return the position of the brace of a namespace or of ``extern "C"``, 0 if there is none."""
    texts = [x.text for x in tokens[i : min(i + 40, last)] if x.kind != "directive"]
    words = texts[1:] if texts[:1] == ["inline"] else texts
    is_scope = words[:1] == ["namespace"] or (words[:1] == ["extern"] and len(words) > 2 and words[1][:1] == '"'
                                              and words[2] == "{")  # fmt: skip
    if not is_scope:
        return 0
    for k in range(i, min(i + 40, last)):
        if tokens[k].text == "{":
            return k
        if tokens[k].text in (";", "="):
            return 0
    return 0


def _matching(tokens: Sequence[Token], opening: int, last: int) -> int:
    """Return the position of the matching bracket; if ``#else`` divides the code, the first part counts."""
    depth, k = 0, opening
    while k < last:
        text = tokens[k].text
        if tokens[k].kind == "directive":
            k = _after_directive(tokens, k, last)
            continue
        if tokens[k].kind == "mark":
            depth += (text in _OPEN) - (text in _CLOSE)
            if depth == 0:
                return k
        k += 1
    return last


def _after_directive(tokens: Sequence[Token], k: int, last: int) -> int:
    """Return the next token, or the token after ``#endif`` for ``#else`` and ``#elif``, whose code is skipped."""
    if not _is(tokens[k], "else", "elif"):
        return k + 1
    depth = 0
    for j in range(k + 1, last):
        if tokens[j].kind == "directive":
            depth += _is(tokens[j], "if")
            if _is(tokens[j], "endif"):
                if depth == 0:
                    return j + 1
                depth -= 1
    return last


def _is(token: Token, *names: str) -> bool:
    return token.text.lstrip("# \t").startswith(names)


def _after_angles(tokens: Sequence[Token], k: int, last: int) -> int:
    """Return the position after ``<...>``; the given position if there is none."""
    if k >= last or tokens[k].text != "<":
        return k
    depth, first = 0, k
    while k < last:
        text = tokens[k].text
        if text in ("(", "["):
            k = _matching(tokens, k, last)
        depth += (text == "<" and not _is_less(tokens, first, k)) - (text == ">" and tokens[k - 1].text != "-")
        k += 1
        if depth == 0:
            return k
    return k


def _is_less(tokens: Sequence[Token], first: int, k: int) -> bool:
    """Return whether ``<`` compares: after a number or brackets, or between a template parameter and a number."""
    before = tokens[k - 1]
    if k == first:
        return False
    if before.kind == "number" or before.text == ")":
        return True
    is_number = k + 1 < len(tokens) and tokens[k + 1].kind == "number"
    return is_number and any(x.text == before.text for x in tokens[first : k - 1])


def _declaration(tokens: Sequence[Token], first: int, last: int) -> Declaration:
    i = first
    while i < last and tokens[i].text == "template" and i + 1 < last and tokens[i + 1].text == "<":
        i = _after_angles(tokens, i + 1, last)
    behind = i
    outer: list[int] = []  # tokens outside all brackets, including opening brackets
    end, k, is_class, brace = last, i, False, 0
    while k < last:
        token = tokens[k]
        if token.kind == "directive":
            k = _after_directive(tokens, k, last)
            continue
        text = token.text
        if text in _CLOSE and token.kind == "mark":
            end = k
            break
        outer.append(k)
        if text == ";":
            end = k + 1
            break
        if text in _OPEN and token.kind == "mark":
            closing = _matching(tokens, k, last)
            if text == "{":
                brace = brace or k
                is_class = is_class or _names_a_class(tokens, outer)
                if not is_class and _is_body(tokens, outer):
                    end = min(closing + 1, last)
                    break
            k = closing
        k += 1
    end = max(end, first + 1)
    return _described(tokens, first, end, behind, outer, brace if is_class else 0)


def _names_a_class(tokens: Sequence[Token], outer: Sequence[int]) -> bool:
    """Return whether the brace at the end starts a class: after its keyword, and without parameters."""
    texts = [tokens[x].text for x in outer[:-1]]
    if not _CLASSES & set(texts) or "=" in texts:
        return False
    return not any(x == "(" and i and texts[i - 1] not in _WITH_BRACKETS for i, x in enumerate(texts))


def _is_body(tokens: Sequence[Token], outer: Sequence[int]) -> bool:
    """Return whether the brace at the end starts a function body, not the value of a variable or of a member."""
    texts = [tokens[x].text for x in outer[:-1]]
    if "(" not in texts or ("=" in texts[: texts.index("(")] and "operator" not in texts):
        return False
    colons = [i for i, x in enumerate(texts) if x == ":" and ":" not in (texts[i - 1], *texts[i + 1 : i + 2])]
    if colons and colons[-1] > texts.index("("):
        return texts[-1] in ("(", "{")  # members have their initial values in brackets
    return True


def _described(
    tokens: Sequence[Token], first: int, last: int, behind: int, outer: Sequence[int], body: int
) -> Declaration:
    texts = [tokens[x].text for x in outer]
    head = frozenset(texts[: texts.index("=")] if "=" in texts and "operator" not in texts else texts)
    start = texts[0] if texts else ""

    def made(kind: str, names: set[str] | frozenset[str]) -> Declaration:
        return Declaration(kind, first, last, behind, frozenset(names - _NO_NAMES), head, body)

    if start == "static_assert":
        return made("assertion", set())
    if start == "using" and texts[1:2] == ["namespace"]:
        return made("using namespace", set(texts[2:]))
    if start == "using":
        is_alias = "=" in texts
        return made("alias", {texts[1]} if is_alias else {x for x in texts[1:] if x[0].isalpha() or x[0] == "_"})
    if start == "namespace" or start == "typedef":
        inner = {x.text for x in tokens[behind:last] if x.kind == "word"} if start == "typedef" else set()
        words = [x for x in texts if x[0].isalpha() or x[0] == "_"]
        return made("alias", ({texts[1]} if start == "namespace" else {words[-1]} | _pointed(tokens, outer)
                              | (inner if body else set())))  # fmt: skip
    if start in ("concept", "template"):
        return made("instantiation" if start == "template" else "alias", _names_before(texts, "(=;<"))
    if body:
        names = {tokens[x].text for x in range(body, last) if tokens[x].kind == "word"} if "enum" in texts else set()
        return made("class", names | _class_names(tokens, outer, body))
    if _is_function(texts):
        return made("function", _function_names(texts))
    if _CLASSES & set(texts) and len([x for x in texts if x[0].isalpha()]) == 2:
        return made("class", {texts[-2]} if len(texts) > 1 else set())  # a forward declaration
    return made("variable", _names_before(texts, "=[{;,("))


def _pointed(tokens: Sequence[Token], outer: Sequence[int]) -> set[str]:
    """Return the names in the first parentheses: ``typedef void (*name)(int)``."""
    k = next((x for x in outer if tokens[x].text == "("), None)
    if k is None:
        return set()
    return {x.text for x in tokens[k : _matching(tokens, k, len(tokens))] if x.kind == "word"}


def _class_names(tokens: Sequence[Token], outer: Sequence[int], body: int) -> set[str]:
    """Return the name after ``struct`` and its attributes, and the names declared after the closing brace."""
    before = [tokens[x].text for x in outer if x < body]
    after = {tokens[x].text for x in outer if x > body and tokens[x].kind == "word"}
    at = max(i for i, x in enumerate(before) if x in _CLASSES)
    words = [x for x in before[at + 1 :] if (x[0].isalpha() or x[0] == "_") and x not in _WITH_BRACKETS]
    return {*words[:1], *after}


def _is_function(texts: Sequence[str]) -> bool:
    for i, text in enumerate(texts):
        if text in ("=", "[", "{") and i + (text != "[") and "operator" not in texts[:i]:
            return False
        if text == "(" and i and (texts[i - 1] not in _WITH_BRACKETS):
            return True
    return False


def _function_names(texts: Sequence[str]) -> set[str]:
    """Return the name before the parameters; for a definition outside its class or namespace, that scope's name."""
    if "operator" in texts:
        return {"operator"}
    at = next(i for i, x in enumerate(texts) if x == "(" and i and texts[i - 1] not in _WITH_BRACKETS)
    j = _name_before_angles(texts, at - 1)
    name, scopes = texts[j], set()
    while j >= 3 and texts[j - 1] == texts[j - 2] == ":":
        j = _name_before_angles(texts, j - 3)
        scopes.add(texts[j])
    return scopes or {name}


def _name_before_angles(texts: Sequence[str], j: int) -> int:
    """Return the position of the name before ``<...>`` that ends at a position; or the position itself."""
    depth = 0
    for k in range(j, -1, -1):
        depth += (texts[k] == ">") - (texts[k] == "<")
        if depth == 0:
            return k if k == j else max(k - 1, 0)
    return j


def _names_before(texts: Sequence[str], marks: str) -> set[str]:
    return {x for x, mark in pairwise(texts) if mark in marks and (x[0].isalpha() or x[0] == "_")}

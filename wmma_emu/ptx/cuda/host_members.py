# SPDX-License-Identifier: MIT
"""Declarations of a class's host functions, which stay because they determine the layout and traits of the class."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from zlib import crc32

from wmma_emu.ptx.cuda.declarations import Declaration
from wmma_emu.ptx.cuda.tokens import Token, joined

PLACEHOLDER = "wmma_emu_host_only"
"""An undefined class template, for parameters whose types do not exist in the device code."""

_BUILT_IN = set(
    "auto bool char class const decltype double explicit false float int long nullptr short signed sizeof struct "
    "template true typename unsigned void volatile char16_t char32_t wchar_t size_t dim3 "
    "int8_t int16_t int32_t int64_t uint8_t "
    "uint16_t uint32_t uint64_t uint ushort".split()
)
_VECTOR = re.compile(r"(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]")
_QUALIFIERS = {"const", "volatile", "noexcept", "override", "final", "&"}
_CV = {"const", "volatile"}

Known = Callable[[str], bool]


def is_built_in(word: str) -> bool:
    """Return whether CUDA C++ defines a word without any header."""
    return word in _BUILT_IN or bool(_VECTOR.fullmatch(word))


def declared_alone(tokens: Sequence[Token], member: Declaration, owners: Collection[str], is_known: Known) -> str:
    """Return the declaration of a special or virtual function without its body, "" for any other function.

    ``owners`` are the names of the class, and ``is_known`` returns whether a word exists in the device code; types
    with unknown words are replaced.

    Examples
    --------
    >>> from wmma_emu.ptx.cuda.declarations import declarations_of
    >>> from wmma_emu.ptx.cuda.tokens import tokens_of
    >>> tokens = tokens_of("explicit A(int n, const A& a) : x(n) { work(); } A(Host h = 1) { } void run() { }")
    >>> for x in declarations_of(tokens):
    ...     print(repr(declared_alone(tokens, x, ["A"], lambda word: word == "A")))
    '__host__ __device__ explicit A(int, const A&);'
    '__host__ __device__ A(wmma_emu_host_only<931847777>* = nullptr);'
    ''
    """
    own = template_parameters(tokens, member)

    def knows(part: Sequence[Token]) -> bool:
        words = {x.text for x in part if x.kind == "word"} - own
        return all(is_built_in(x) or is_known(x) for x in words)

    here = [x for x in tokens[member.start : member.last] if x.kind != "directive"]
    place = _parameters_begin(here)
    if not place:
        return ""
    head, end = here[:place], _closing(here, place)
    given = [_parameter(x, knows) for x in _split(here[place + 1 : end])]
    template = tokens[member.first : member.start]
    if not knows(template):
        template, given = [], [_placeholder(template)]
    start = f"{_joined(template)} __host__ __device__ ".lstrip()
    behind = _qualifiers(here[end + 1 :])
    name = _name(head, owners, knows, "override" in behind or "final" in behind)
    return f"{start}{name}({', '.join(given)}){behind};" if name else ""


def template_parameters(tokens: Sequence[Token], what: Declaration) -> set[str]:
    """Return the words that ``template <...>`` declares."""
    part = tokens[what.first : what.start]
    return {
        x.text for before, x, after in zip(part, part[1:], part[2:], strict=False)
        if x.kind == "word" and (before.text in ("class", "typename", ".") or after.text in (",", ">", "="))
    }  # fmt: skip


def _joined(part: Sequence[Token]) -> str:
    return joined([x.text for x in part])


def _parameters_begin(here: Sequence[Token]) -> int:
    k = 0
    while k < len(here):
        if here[k].text == "(":
            if k and here[k - 1].text not in ("explicit", "__attribute__", "alignas", "noexcept", "decltype"):
                return k + 2 if here[k - 1].text == "operator" else k
            k = _closing(here, k)
        k += 1
    return 0


def _name(
    head: Sequence[Token], owners: Collection[str], knows: Callable[[Sequence[Token]], bool], overrides: bool
) -> str:
    """Return the words before the parameters of a constructor, a destructor, an assignment, or a virtual function."""
    texts = [x.text for x in head]
    virtual = "virtual " if "virtual" in texts else ""
    if texts[-1] in owners and "~" in texts[-2:]:
        return f"{virtual}~{texts[-1]}"
    if texts[-1] in owners:
        return f"explicit {texts[-1]}" if "explicit" in texts else texts[-1]
    at = texts.index("operator") if "operator" in texts else len(texts) - 1
    if not virtual and not overrides and texts[at:] != ["operator", "="]:
        return ""
    result = [x for x in head[:at] if x.text not in ("virtual", "inline", "static")]
    if not knows(head[at:][:-1] if at == len(texts) - 1 else head[at + 1 :]):
        return ""
    return f"{virtual}{_joined(result) if knows(result) else 'void'} {_joined(head[at:])}"


def _parameter(part: Sequence[Token], knows: Callable[[Sequence[Token]], bool]) -> str:
    texts = [x.text for x in part]
    at = texts.index("=") if "=" in texts else len(part)
    kind, value = list(part[:at]), part[at + 1 :]
    if len(kind) > 1 and kind[-1].kind == "word" and kind[-2].text != ":":
        # The last word is the name, unless the remaining words are not a type.
        if any(x.kind == "word" and x.text not in _CV for x in kind[:-1]):
            kind = kind[:-1] if kind[-1].text not in _BUILT_IN else kind
    if knows([*kind, *value]):
        return _joined(kind) + (f" = {_joined(value)}" if value else "")
    return _placeholder(kind) + (" = nullptr" if value else "")


def _placeholder(kind: Sequence[Token]) -> str:
    return f"{PLACEHOLDER}<{crc32(_joined(kind).encode('utf-8', 'surrogateescape')) >> 1}>*"


def _qualifiers(here: Sequence[Token]) -> str:
    """Return the part of the type between the parameters and the body: ``const``, ``override``, ``= 0``."""
    texts = [x.text for x in here]
    end = next((k for k, x in enumerate(texts) if x in ("{", ";", ":", "=", "try")), len(texts))
    found = "".join(f" {x}" for x in texts[:end] if x in _QUALIFIERS).replace("& &", "&&")
    if "noexcept" in texts[:end] and "false" in texts[:end]:
        found = found.replace(" noexcept", "")
    return f"{found} = 0" if texts[end : end + 2] == ["=", "0"] else found


def _closing(here: Sequence[Token], k: int) -> int:
    depth = 0
    for i in range(k, len(here)):
        depth += (here[i].text in "([{") - (here[i].text in ")]}") if here[i].kind == "mark" else 0
        if depth == 0:
            return i
    return len(here) - 1


def _split(part: Sequence[Token]) -> Iterator[Sequence[Token]]:
    depth = first = 0
    for k, x in enumerate(part):
        if x.kind == "mark":
            depth += (x.text in "([{<") - (x.text in ")]}>")
        if x.text == "," and depth == 0:
            yield part[first:k]
            first = k + 1
    if part[first:]:
        yield part[first:]

# SPDX-License-Identifier: MIT
"""Which parts of a source are the host's: what no kernel uses is blanked out, and lines stay where they are.

A declaration is kept where a kernel or a variable of the device needs it, by its own words or by those of macros.
Functions without ``__device__`` are the host's, those that are constexpr aside, which get it.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from wmma_emu.ptx.cuda.declarations import Declaration, declarations_of
from wmma_emu.ptx.cuda.tokens import Token, tokens_of

__all__ = ["DeviceCode", "device_code_of", "without_host_functions"]

_DEVICE = {"__device__", "__global__"}
_STORED = {"__device__", "__constant__", "__managed__", "__shared__"}
_CONSTANT = {"const", "constexpr", "constinit"}
_MACRO = re.compile(r"#[ \t]*define[ \t]+(?P<name>\w+)(?P<arguments>\([^)]*\))?(?P<body>.*)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NO_FUNCTION = ("default", "delete")


class DeviceCode(NamedTuple):
    """What is left of some texts, by their names; which words it uses, and which functions were left out.

    ``left_out`` has the file and the line of each function; ``namespaces`` are used as a whole (``using namespace``),
    and ``launches`` are the templates that the host launches, as it writes them.
    """

    texts: Mapping[str, str]
    words: frozenset[str]
    left_out: Mapping[str, tuple[str, int]]
    namespaces: tuple[tuple[str, ...], ...]
    launches: tuple[str, ...]


class _Part(NamedTuple):
    """A declaration of a text, with its tokens."""

    file: str
    tokens: Sequence[Token]
    what: Declaration

    @property
    def key(self) -> tuple[str, int]:
        """Which of all declarations it is."""
        return self.file, self.what.first


def device_code_of(texts: Mapping[str, str]) -> DeviceCode:
    r"""Leave out of some texts, a source and the headers that it includes, what is the host's.

    Examples
    --------
    >>> found = device_code_of({"k.cu": '''const int N = 4, M = 5;
    ... float at(float* x) { return x[0]; }
    ... template <int B> __global__ void k(int* x) { x[0] = B + N; }
    ... int main() { k<2 * 8><<<1, 1>>>(nullptr); }'''})
    >>> print(*map(repr, found.texts["k.cu"].splitlines()), sep="\n")
    'const int N = 4, M = 5;'
    '                                   '
    'template <int B> __global__ void k(int* x) { x[0] = B + N; }'
    '                                           '
    >>> sorted(found.left_out), found.launches
    (['at', 'main'], ('k<2 * 8>',))
    """
    tokens = {name: tokens_of(text) for name, text in texts.items()}
    macros = _macros(x for found in tokens.values() for x in found)
    parts = [_Part(file, found, x) for file, found in tokens.items() for x in declarations_of(found)]
    kept, words = _reached(parts, macros)
    of_file: dict[str, list[_Part]] = {file: [] for file in texts}
    for part in parts:
        of_file[part.file].append(part)
    changed = {file: _blanked(text, of_file[file], kept, macros) for file, text in texts.items()}
    left_out = {
        name: (x.file, texts[x.file].count("\n", 0, x.tokens[x.what.first].start) + 1)
        for x in parts if x.what.kind == "function" and x.key not in kept
        for name in x.what.names
    }  # fmt: skip
    hosts = [x for x in parts if x.what.kind == "function" and x.key not in kept]
    namespaces = {tuple(y.text for y in x.tokens[x.what.first : x.what.last] if y.kind == "word")[2:]
                  for x in parts if x.what.kind == "using namespace"}  # fmt: skip
    return DeviceCode(
        changed, frozenset(words), left_out, tuple(sorted(namespaces)), _launches(hosts, texts, macros)
    )  # fmt: skip


def _macros(tokens: Iterable[Token]) -> dict[str, str]:
    """The bodies of macros, by their names."""
    found: dict[str, str] = {}
    for token in tokens:
        macro = _MACRO.match(token.text) if token.kind == "directive" else None
        if macro:
            found[macro["name"]] = f"{found.get(macro['name'], '')} {macro['body']}"
    return found


def _expanded(words: set[str] | frozenset[str], macros: Mapping[str, str]) -> set[str]:
    """Words, and those that macros among them stand for."""
    found, waiting = set(words), [x for x in words if x in macros]
    while waiting:
        for word in _WORD.findall(macros[waiting.pop()]):
            if word not in found:
                found.add(word)
                waiting += [word] if word in macros else []
    return found


def _is_root(part: _Part, macros: Mapping[str, str]) -> bool:
    """Whether a declaration is a kernel, or a variable of the device."""
    head = _expanded(part.what.head, macros)
    return "__global__" in head or (part.what.kind == "variable" and bool(_STORED & head))


def _may_be_kept(what: Declaration, macros: Mapping[str, str]) -> bool:
    """Whether code of the device may use a declaration at all."""
    head = _expanded(what.head, macros)
    if what.kind in ("function", "instantiation"):
        return bool((_DEVICE | {"constexpr", "consteval"}) & head) or what.kind == "instantiation"
    if what.kind == "variable":
        return bool((_CONSTANT | _STORED) & head) or not what.names
    return what.kind in ("class", "alias")


def _reached(parts: Sequence[_Part], macros: Mapping[str, str]) -> tuple[set[tuple[str, int]], set[str]]:
    """The declarations that kernels need, and the words that they use."""
    waiting = [x for x in parts if _is_root(x, macros)]
    kept, words = {x.key for x in waiting}, set[str]()
    # Functions of the device that are in std have names of their own.
    kept |= {x.key for x in parts if x.what.kind == "using namespace" and "std" not in x.what.names}
    candidates = [x for x in parts if x.key not in kept and _may_be_kept(x.what, macros)]
    while waiting:
        for part in waiting:
            words |= _expanded(_words(part, macros), macros)
        waiting = [x for x in candidates if x.what.names & words or "operator" in x.what.names]
        kept |= {x.key for x in waiting}
        candidates = [x for x in candidates if x.key not in kept]
    return kept, words


def _words(part: _Part, macros: Mapping[str, str]) -> set[str]:
    """The words of a declaration; of a class without those of its functions that are the host's."""
    what = part.what
    left_out = {k for x in _host_members(part, macros) for k in range(x.first, x.last)}
    return {
        word for k in range(what.first, what.last) if k not in left_out
        for word in ([part.tokens[k].text] if part.tokens[k].kind == "word" else
                     _WORD.findall(part.tokens[k].text) if part.tokens[k].kind == "directive" else ())
    }  # fmt: skip


def _members(part: _Part) -> Iterator[Declaration]:
    """The declarations in a class, and in those within it."""
    waiting = [part.what]
    while waiting:
        what = waiting.pop()
        if not what.body or "enum" in what.head:
            continue
        last = max((k for k in range(what.body, what.last) if part.tokens[k].text == "}"), default=what.last)
        for member in declarations_of(part.tokens, what.body + 1, last):
            waiting.append(member)
            yield member


def _host_members(part: _Part, macros: Mapping[str, str]) -> Iterator[Declaration]:
    """Functions of a class that the device cannot call."""
    for member in _members(part):
        if member.kind == "function" and not _is_for_device(part, member, macros) and "virtual" not in member.head:
            yield member


def _is_for_device(part: _Part, what: Declaration, macros: Mapping[str, str]) -> bool:
    head = _expanded(what.head, macros)
    last = {x.text for x in part.tokens[max(what.last - 3, what.first) : what.last]}
    return bool((_DEVICE | {"constexpr", "consteval", "friend"}) & head) or bool(last.intersection(_NO_FUNCTION))


def _needs_word(part: _Part, what: Declaration, macros: Mapping[str, str]) -> bool:
    """Whether a function that is kept has to be called one of the device."""
    return what.kind == "function" and not _DEVICE & _expanded(what.head, macros)


def without_host_functions(text: str, lines: Collection[int]) -> str:
    r"""Leave out of a header the functions of the host at some lines.

    Templates and declarations, whose types others ask for, and what is constexpr become functions of the device, too.

    Examples
    --------
    >>> print(without_host_functions("struct S { constexpr int a() { return 1; }\n  int b() { return 2; } };", [1, 2]))
    struct S { __host__ __device__ constexpr int a() { return 1; }
                            };
    """
    tokens = tokens_of(text)
    gone, added = [], []
    for what in declarations_of(tokens):
        part = _Part("", tokens, what)
        for x in (what, *_members(part)):
            first, last = tokens[x.first].start, tokens[x.last - 1].end
            here = range(text.count("\n", 0, first) + 1, text.count("\n", 0, last) + 2)
            if x.kind == "function" and not _DEVICE & x.head and any(line in here for line in lines):
                if x.behind > x.first or tokens[x.last - 1].text == ";" or _is_for_device(part, x, {}):
                    added.append(tokens[x.behind].start)
                else:
                    gone.append((first, last))
    return _edited(text, [(x.start, x.end) for x in tokens if x.kind == "directive"], gone, added)


def _blanked(text: str, parts: Sequence[_Part], kept: Collection[tuple[str, int]], macros: Mapping[str, str]) -> str:
    """Blank out what is not kept, and say ``__device__`` where that is missing."""
    gone: list[tuple[int, int]] = []
    added: list[int] = []
    for part in parts:
        what, tokens = part.what, part.tokens
        if part.key not in kept:
            gone.append((tokens[what.first].start, tokens[what.last - 1].end))
            continue
        hosts = list(_host_members(part, macros))
        gone += [(tokens[x.first].start, tokens[x.last - 1].end) for x in hosts]
        wanting = [what, *(x for x in _members(part) if x not in hosts)]
        added += [tokens[x.behind].start for x in wanting if _needs_word(part, x, macros)]
    directives = [(x.start, x.end) for part in parts[:1] for x in part.tokens if x.kind == "directive"]
    return _edited(text, directives, gone, added)


def _edited(
    text: str, directives: Sequence[tuple[int, int]], gone: Sequence[tuple[int, int]], added: Sequence[int]
) -> str:
    """Blank out some places but for the preprocessor's lines, and write what makes functions the device's at others."""
    letters = list(text)
    for first, last in gone:
        for k in range(first, last):
            if letters[k] != "\n":
                letters[k] = " "
    for first, last in directives:
        letters[first:last] = text[first:last]
    for place in sorted(added, reverse=True):
        letters.insert(place, "__host__ __device__ ")
    return "".join(letters)


# What the host launches


def _launches(hosts: Sequence[_Part], texts: Mapping[str, str], macros: Mapping[str, str]) -> tuple[str, ...]:
    """Templates that functions of the host launch: ``k<A, 32><<<``, with their constants in the places of names."""
    found: dict[str, None] = {}
    for part in hosts:
        tokens = part.tokens[part.what.first : part.what.last]
        values = _constants(tokens, texts[part.file])
        for name, arguments in _launched(tokens):
            words = [values.get(x.text, x.text) if x.kind == "word" else x.text for x in arguments]
            found[f"{name}<{_joined(words)}>"] = None
    return tuple(found)


def _launched(tokens: Sequence[Token]) -> Iterator[tuple[str, Sequence[Token]]]:
    for k in range(len(tokens) - 2):
        if all(x.text == "<" for x in tokens[k : k + 3]) and k and tokens[k - 1].text == ">":
            depth, j = 0, k - 1
            while j >= 0:
                depth += (tokens[j].text == ">") - (tokens[j].text == "<")
                if depth == 0:
                    break
                j -= 1
            if j > 0 and tokens[j - 1].kind == "word":
                first = j - 1
                while first >= 3 and tokens[first - 1].text == tokens[first - 2].text == ":":
                    first -= 3
                yield "".join(x.text for x in tokens[first:j]), tokens[j + 1 : k - 1]


def _constants(tokens: Sequence[Token], text: str) -> dict[str, str]:
    """Constants of a function: ``const int N = 32, M = 2 * N;``."""
    values: dict[str, str] = {}
    k = 0
    while k < len(tokens):
        if tokens[k].text in _CONSTANT:
            end = next((j for j in range(k, len(tokens)) if tokens[j].text == ";"), len(tokens))
            for j in range(k, end):
                if tokens[j].text == "=" and tokens[j - 1].kind == "word":
                    stop = next((i for i in range(j, end) if tokens[i].text == ","), end)
                    words = [values.get(x.text, x.text) if x.kind == "word" else x.text for x in tokens[j + 1 : stop]]
                    values.setdefault(tokens[j - 1].text, f"({_joined(words)})")
            k = end
        k += 1
    return values


def _joined(words: Sequence[str]) -> str:
    """Write words with the blanks that keep them apart."""
    text = ""
    for word in words:
        wants = bool(text) and (word[0].isalnum() or word[0] in "_(") and (text[-1].isalnum() or text[-1] in "_,*+-/")
        text += (" " if wants or (text and word in "*+-/" and text[-1].isalnum()) else "") + word
    return text

# SPDX-License-Identifier: MIT
"""Removal of host code from a source: declarations that no kernel uses are blanked out, and lines do not move.

A declaration is kept if a kernel or a device variable needs it, by its own words or through macros. Functions without
``__device__`` are host functions, except constexpr functions, which become device functions.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from wmma_emu.ptx.cuda.declarations import Declaration, declarations_of
from wmma_emu.ptx.cuda.host_members import declared_alone, is_built_in, template_parameters
from wmma_emu.ptx.cuda.tokens import Token, joined, tokens_of

_DEVICE = {"__device__", "__global__"}
_STORED = {"__device__", "__constant__", "__managed__", "__shared__"}
_CONSTANT = {"const", "constexpr", "constinit"}
_MACRO = re.compile(r"#[ \t]*define[ \t]+(?P<name>\w+)(?P<arguments>\([^)]*\))?(?P<body>.*)", re.DOTALL)
_INCLUDE = re.compile(r"#[ \t]*include[ \t]*[<\"](?P<name>[^>\"\n]+)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_TYPES = {
    "template", "typename", "class", "int", "bool", "unsigned", "long", "char", "short", "float", "double", "auto",
}  # fmt: skip
_NO_FUNCTION = ("default", "delete")


class DeviceCode(NamedTuple):
    """The remaining code of some files, by name, the words in it, and the functions that were removed.

    ``left_out`` contains the file and line of each function; ``within`` are the names of files that are included
    within a declaration, such as the values of an array. ``unparsed_kernels`` are the files and lines of ``__global__``
    outside all recognised declarations. ``namespaces`` are used as a whole (``using namespace``), ``launches`` are the
    templates that the host launches, as written there, and ``deduced`` those whose arguments are unknown.
    """

    texts: Mapping[str, str]
    words: frozenset[str]
    left_out: Mapping[str, tuple[str, int]]
    namespaces: tuple[tuple[str, ...], ...]
    launches: tuple[str, ...]
    deduced: tuple[str, ...] = ()
    within: frozenset[str] = frozenset()
    unparsed_kernels: tuple[tuple[str, int], ...] = ()


class _FileDeclaration(NamedTuple):
    file: str
    tokens: Sequence[Token]
    what: Declaration

    @property
    def key(self) -> tuple[str, int]:
        return self.file, self.what.first


_Keys = Collection[tuple[str, int]]
_Macros = Mapping[str, str]
_Change = tuple[int, int, str]
"""The start and end of a removed part of the text, and its replacement."""


def device_code_of(texts: Mapping[str, str], pieces: Iterable[str] = ()) -> DeviceCode:
    r"""Remove the host code from a source and the headers that it includes.

    ``pieces`` are included within declarations: their words count as used, and nothing is removed from them.

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
    tokens = {name: _with_macros_resolved(found, macros) for name, found in tokens.items()}
    parts = [_FileDeclaration(file, found, x) for file, found in tokens.items() for x in declarations_of(found)]
    used = {x.text for piece in pieces for x in tokens_of(piece) if x.kind == "word"}
    kept, words = _needed(parts, macros, used)
    of_file: dict[str, list[_FileDeclaration]] = {file: [] for file in texts}
    for part in parts:
        of_file[part.file].append(part)
    known = {name for x in parts if x.key in kept and x.what.kind in ("class", "alias") for name in x.what.names}
    changed = {file: _blanked(text, of_file[file], kept, macros, known) for file, text in texts.items()}
    left_out = {
        name: (x.file, texts[x.file].count("\n", 0, x.tokens[x.what.first].start) + 1)
        for x in parts if x.what.kind == "function" and not _may_be_kept(x.what, macros)
        for name in x.what.names
    }  # fmt: skip
    hosts = [x for x in parts if x.what.kind == "function" and x.key not in kept]
    namespaces = {tuple(y.text for y in x.tokens[x.what.first : x.what.last] if y.kind == "word")[2:]
                  for x in parts if x.what.kind == "using namespace"}  # fmt: skip
    launches = _launches(hosts)
    return DeviceCode(
        changed, frozenset(words), left_out, tuple(sorted(namespaces)), launches,
        _deduced(parts, kept, macros, launches),
        frozenset(x for part in parts for _, x in _includes_within(part)), tuple(_unparsed_kernels(parts, kept, texts)),
    )  # fmt: skip


def _includes_within(part: _FileDeclaration) -> Iterator[tuple[Token, str]]:
    depth = 0
    for token in part.tokens[part.what.first : part.what.last]:
        if token.kind == "mark":
            depth += (token.text in "([{") - (token.text in ")]}")
        elif token.kind == "directive" and depth > 0 and (found := _INCLUDE.match(token.text)):
            yield token, found["name"].strip()


def _unparsed_kernels(
    parts: Sequence[_FileDeclaration], kept: _Keys, texts: Mapping[str, str]
) -> Iterator[tuple[str, int]]:
    """Yield the positions of ``__global__`` in removed code, whose declarations were not understood."""
    for part in parts:
        if part.key not in kept and part.what.kind != "class" and "using" not in part.what.kind:
            for x in part.tokens[part.what.first : part.what.last]:
                if x.text == "__global__":
                    yield part.file, texts[part.file].count("\n", 0, x.start) + 1


def _macros(tokens: Iterable[Token]) -> dict[str, str]:
    found: dict[str, str] = {}
    for token in tokens:
        macro = _MACRO.match(token.text) if token.kind == "directive" else None
        if macro:
            found[macro["name"]] = f"{found.get(macro['name'], '')} {macro['body']}"
    return found


def _with_macros_resolved(tokens: list[Token], macros: _Macros) -> list[Token]:
    """Treat macros that open or close a brace, such as ``LIBRARY_NAMESPACE_BEGIN``, as directives.

    A semicolon is inserted after macros that end a declaration: ``KERNEL(k) KERNEL(l) int main()``.
    """
    texts = {name: [x.text for x in tokens_of(body)] for name, body in macros.items() if "{" in body or "}" in body}
    opening = {name for name, x in texts.items() if x.count("{") != x.count("}")}
    ending = {name for name, body in macros.items() if body.rstrip().endswith(("}", ";"))}
    found, k = [], 0
    while k < len(tokens):
        name = tokens[k].text if tokens[k].kind == "word" else ""
        end = _last_of_use(tokens, k) if name in opening or name in ending else k
        last = tokens[end].end
        if name in opening:
            found.append(Token("directive", f"# {name}", tokens[k].start, last))
        else:
            found += [*tokens[k : end + 1], *([Token("mark", ";", last, last)] if name in ending else ())]
        k = end + 1
    return found


def _last_of_use(tokens: Sequence[Token], k: int) -> int:
    """Return the last token of a macro's arguments; the macro itself if it has none."""
    depth = 0
    for i in range(k + 1, len(tokens)):
        depth += (tokens[i].text == "(") - (tokens[i].text == ")")
        if depth <= 0:
            return i if depth == 0 and tokens[i].text == ")" else k
    return k


def _expanded(words: set[str] | frozenset[str], macros: _Macros) -> set[str]:
    found, waiting = set(words), [x for x in words if x in macros]
    while waiting:
        for word in _WORD.findall(macros[waiting.pop()]):
            if word not in found:
                found.add(word)
                waiting += [word] if word in macros else []
    return found


def _is_root(part: _FileDeclaration, macros: _Macros) -> bool:
    head = _expanded(part.what.head, macros)
    return "__global__" in head or (part.what.kind == "variable" and bool(_STORED & head))


def _may_be_kept(what: Declaration, macros: _Macros) -> bool:
    """Return whether device code may use a declaration at all."""
    head = _expanded(what.head, macros)
    if what.kind in ("function", "instantiation"):
        return bool((_DEVICE | {"constexpr", "consteval"}) & head) or what.kind == "instantiation"
    if what.kind == "variable":
        return bool((_CONSTANT | _STORED) & head) or not what.names
    return what.kind in ("class", "alias")


def _needed(
    parts: Sequence[_FileDeclaration], macros: _Macros, used: Collection[str]
) -> tuple[set[tuple[str, int]], set[str]]:
    waiting = [x for x in parts if _is_root(x, macros)]
    kept, words = {x.key for x in waiting}, _expanded(set(used), macros)
    # Device functions in std have separate names.
    kept |= {x.key for x in parts if x.what.kind == "using namespace" and "std" not in x.what.names}
    candidates = [x for x in parts if x.key not in kept and _may_be_kept(x.what, macros)]
    while waiting:
        for part in waiting:
            words |= _expanded(_words(part, macros), macros)
        waiting = [x for x in candidates if x.what.names & words or "operator" in x.what.names]
        kept |= {x.key for x in waiting}
        candidates = [x for x in candidates if x.key not in kept]
    return kept, words


def _words(part: _FileDeclaration, macros: _Macros) -> set[str]:
    """Return the words of a declaration; for a class, without the words of its host functions."""
    what = part.what
    left_out = {k for x in _host_members(part, macros) for k in range(x.first, x.last)}
    return {
        word for k in range(what.first, what.last) if k not in left_out
        for word in ([part.tokens[k].text] if part.tokens[k].kind == "word" else
                     _WORD.findall(part.tokens[k].text) if part.tokens[k].kind == "directive" else ())
    }  # fmt: skip


def _members(part: _FileDeclaration) -> Iterator[Declaration]:
    return (member for _, member in _owned_members(part))


def _owned_members(part: _FileDeclaration) -> Iterator[tuple[Declaration, Declaration]]:
    waiting = [part.what]
    while waiting:
        what = waiting.pop()
        if not what.body or "enum" in what.head:
            continue
        last = max((k for k in range(what.body, what.last) if part.tokens[k].text == "}"), default=what.last)
        for member in declarations_of(part.tokens, what.body + 1, last):
            waiting.append(member)
            yield what, member


def _host_members(part: _FileDeclaration, macros: _Macros) -> Iterator[Declaration]:
    for member in _members(part):
        if member.kind == "function" and not _is_for_device(part, member, macros):
            yield member


def _host_declarations(
    part: _FileDeclaration, hosts: Collection[Declaration], macros: _Macros, known: Collection[str]
) -> Iterator[_Change]:
    within = {x for what, member in _owned_members(part) for x in (what, member) if x.kind in ("class", "alias")}
    own = {x for what in (part.what, *within) for x in (*what.names, *template_parameters(part.tokens, what))}

    def is_known(word: str) -> bool:
        return all(x in macros or x in own or x in known or is_built_in(x) for x in _expanded({word}, macros))

    for what, member in _owned_members(part):
        if member in hosts:
            text = declared_alone(part.tokens, member, what.names, is_known)
            yield part.tokens[member.first].start, part.tokens[member.last - 1].end, text


def _is_for_device(part: _FileDeclaration, what: Declaration, macros: _Macros) -> bool:
    head = _expanded(what.head, macros)
    last = {x.text for x in part.tokens[max(what.last - 3, what.first) : what.last]}
    is_friend = "friend" in head and "}" not in last
    return bool((_DEVICE | {"constexpr", "consteval"}) & head) or is_friend or bool(last.intersection(_NO_FUNCTION))


def without_host_functions(text: str, lines: Collection[int]) -> str:
    r"""Remove the host functions at some lines of a header.

    Templates, declarations, whose types other code may need, and constexpr functions become device functions.

    Examples
    --------
    >>> print(without_host_functions("struct S { constexpr int a() { return 1; }\n  int b() { return 2; } };", [1, 2]))
    struct S { __host__ __device__ constexpr int a() { return 1; }
                            };
    """
    tokens = tokens_of(text)
    gone, added = [], []
    for what in declarations_of(tokens):
        part = _FileDeclaration("", tokens, what)
        instead = {x: found for x in _members(part) for found in _host_declarations(part, [x], {}, ())}
        for x in (what, *_members(part)):
            first, last = tokens[x.first].start, tokens[x.last - 1].end
            here = range(text.count("\n", 0, first) + 1, text.count("\n", 0, last) + 2)
            if x.kind == "function" and not _DEVICE & x.head and any(line in lines for line in here):
                if x.start > x.first or tokens[x.last - 1].text == ";" or _is_for_device(part, x, {}):
                    added.append(tokens[x.start].start)
                else:
                    gone.append(instead.get(x, (first, last, "")))
    return _edited(text, [(x.start, x.end) for x in tokens if x.kind == "directive"], gone, added)


def _blanked(text: str, parts: Sequence[_FileDeclaration], kept: _Keys, macros: _Macros, known: Collection[str]) -> str:
    """Replace the declarations that are not kept by spaces, and insert missing ``__device__``."""
    gone: list[_Change] = []
    added: list[int] = []
    for part in parts:
        what, tokens = part.what, part.tokens
        if part.key not in kept:
            gone.append((tokens[what.first].start, tokens[what.last - 1].end, ""))
            continue
        hosts = list(_host_members(part, macros))
        gone += _host_declarations(part, hosts, macros, known)
        wanting = [what, *(x for x in _members(part) if x not in hosts)]
        functions = [x for x in wanting if x.kind == "function"]
        added += [tokens[x.start].start for x in functions if not _DEVICE & _expanded(x.head, macros)]
    unused = {x.start for part in parts if part.key not in kept for x, _ in _includes_within(part)}
    directives = [
        (x.start, x.end) for part in parts[:1] for x in part.tokens if x.kind == "directive" and x.start not in unused
    ]
    return _edited(text, directives, gone, added)


def _edited(text: str, directives: Sequence[tuple[int, int]], gone: Sequence[_Change], added: Sequence[int]) -> str:
    """Replace parts of the text except preprocessor lines, and insert ``__host__ __device__`` at some positions."""
    letters = list(text)
    for first, last, instead in gone:
        for k in range(first, last):
            if letters[k] != "\n":
                letters[k] = " "
        letters[first] = instead or letters[first]
    for first, last in directives:
        letters[first:last] = text[first:last]
    for place in sorted(added, reverse=True):
        letters.insert(place, "__host__ __device__ ")
    return "".join(letters)


# Launches in host code


def _launches(hosts: Sequence[_FileDeclaration]) -> tuple[str, ...]:
    """Return the templates that host functions launch, ``k<A, 32><<<``, with constants substituted for names.

    Templates are omitted if their arguments are the function's own template parameters, or ambiguous constants.
    """
    found: dict[str, None] = {}
    for part in hosts:
        what = part.what
        unknown = {x.text for x in part.tokens[what.first : what.start] if x.kind == "word"} - _TYPES
        tokens = part.tokens[what.first : what.last]
        for place, name, arguments in _launched(tokens):
            values = _constants(tokens[:place])
            words = [values.get(x.text, x.text) if x.kind == "word" else x.text for x in arguments]
            own = {x.text for x in arguments if x.kind == "word" and x.text not in values}
            if None not in words and not unknown & own:
                found[f"{name}<{joined([x for x in words if x is not None])}>"] = None
    return tuple(found)


def _deduced(parts: Sequence[_FileDeclaration], kept: _Keys, macros: _Macros, made: Collection[str]) -> tuple[str, ...]:
    """Return the templates that host code launches without arguments, or with unknown arguments."""
    templates = {
        name for x in parts if x.what.start > x.what.first and "__global__" in _expanded(x.what.head, macros)
        for name in x.what.names
    }  # fmt: skip
    names = {x.split("<")[0].split(":")[-1] for x in made}
    found: dict[str, None] = {}
    for part in parts:
        hosts = [part.what] if part.key not in kept else _host_members(part, macros)
        for what in hosts:
            tokens = part.tokens[what.first : what.last]
            plain = [tokens[k - 1].text for k in range(1, len(tokens)) if _is_launch(tokens, k)]
            found.update({x: None for x in plain if x in templates})
            for _, name, arguments in _launched(tokens):
                last = name.split(":")[-1]
                if last in templates and last not in names:
                    found[f"{name}<{joined([x.text for x in arguments])}>"] = None
    return tuple(found)


def _is_launch(tokens: Sequence[Token], k: int) -> bool:
    return [x.text for x in tokens[k : k + 3]] == ["<"] * 3


def _launched(tokens: Sequence[Token]) -> Iterator[tuple[int, str, Sequence[Token]]]:
    for k in range(len(tokens) - 2):
        if _is_launch(tokens, k) and k and tokens[k - 1].text == ">":
            depth, j = 0, k - 1
            while j >= 0:
                depth += (tokens[j].text == ">") - (tokens[j].text == "<")
                if depth == 0:
                    break
                j -= 1
            if j > 0 and tokens[j - 1].kind == "word":
                first = j - 1
                while first >= 2 and tokens[first - 1].text == tokens[first - 2].text == ":":
                    is_qualified = first >= 3 and tokens[first - 3].kind == "word"
                    first -= 3 if is_qualified else 2  # a leading :: names the global namespace
                    if not is_qualified:
                        break
                yield first, "".join(x.text for x in tokens[first:j]), tokens[j + 1 : k - 1]


def _constants(tokens: Sequence[Token]) -> dict[str, str | None]:
    """Return the constants of a function: ``const int N = 32, M = 2 * N;``; None for a name with several values."""
    values: dict[str, str | None] = {}
    k = 0
    while k < len(tokens):
        if tokens[k].text in _CONSTANT:
            end = next((j for j in range(k, len(tokens)) if tokens[j].text == ";"), len(tokens))
            for j in range(k, end):
                if tokens[j].text == "=" and tokens[j - 1].kind == "word":
                    name = tokens[j - 1].text
                    stop = next((i for i in range(j, end) if tokens[i].text == ","), end)
                    words = [values.get(x.text, x.text) if x.kind == "word" else x.text for x in tokens[j + 1 : stop]]
                    known = [x for x in words if x is not None]
                    value = f"({joined(known)})" if len(known) == len(words) else None
                    values[name] = value if values.get(name, value) == value else None
            k = end
        k += 1
    return values

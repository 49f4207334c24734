# SPDX-License-Identifier: MIT
"""Link PTX sources into one: names that are local to a source stay so, and external names find their definitions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from wmma_emu.errors import ArgumentValueError, shorten
from wmma_emu.ptx.syntax.parser import Contents, header, read_item
from wmma_emu.ptx.syntax.tokens import END, Reader
from wmma_emu.ptx.syntax.tree import FunctionText, VariableText

_GLOBAL = frozenset(("visible", "extern", "weak", "common"))
_WEAK = frozenset(("weak", "common"))


@dataclass(slots=True)
class _Item:
    """A declaration or definition, and the indices of its first token and of the token after it."""

    first: int
    behind: int
    node: FunctionText | VariableText

    @property
    def is_definition(self) -> bool:
        if isinstance(self.node, FunctionText):
            return self.node.body is not None
        return "extern" not in self.node.attributes

    @property
    def is_weak(self) -> bool:
        return not _WEAK.isdisjoint(self.node.attributes)


@dataclass(slots=True)
class _Source:
    """A source, its declarations, and the edits that make it a part of the linked source.

    ``size_at`` is the index of ``.address_size``, -1 without one; ``first`` of the first token after the header.
    """

    name: str
    text: str
    reader: Reader
    version: str
    target: list[str]
    address_size: int = 64
    size_at: int = -1
    files: int = 0
    first: int = 0
    items: list[_Item] = field(default_factory=list)
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    def names(self) -> set[str]:
        """Return the names that the source declares outside of functions."""
        return {x.node.name for x in self.items}

    def local_names(self) -> set[str]:
        """Return the names that no other source can use."""
        kernels = {x.node.name for x in self.items if isinstance(x.node, FunctionText) and x.node.is_kernel}
        return self.names() - kernels - {x.node.name for x in self.items if not _GLOBAL.isdisjoint(x.node.attributes)}

    def replace(self, first: int, behind: int, new: str = "") -> None:
        """Replace tokens; the line breaks between them stay, so that line numbers do."""
        start, end = self.reader.span(first)[0], self.reader.span(behind - 1)[1]
        self.edits.append((start, end, new + "\n" * self.text.count("\n", start, end)))

    def edited(self) -> str:
        """Return the text with all edits."""
        pieces, done = [], 0
        for start, end, new in sorted(self.edits):
            if start >= done:
                pieces += [self.text[done:start], new]
                done = end
        return "".join([*pieces, self.text[done:]])


def linked(sources: Sequence[tuple[str, str]]) -> str:
    r"""Return one source that contains several, given as (name, text), in this order.

    As in nvlink, a name that is ``.visible``, ``.weak`` or ``.common`` is the same in all sources, and defines the
    ``.extern`` names of the others; a definition that is not weak takes precedence over weak ones. Names without a
    linking directive are local to their source: a name that occurs in several sources gets a number. Lines keep their
    order, one source after another.

    Raises
    ------
    ArgumentValueError
        If two sources define a name, and neither definition is weak.
    PtxSyntaxError
        If a source is not PTX.

    Examples
    --------
    >>> head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    >>> print(linked([("a", head + ".extern .func f;\n.func g { call f; }"), ("b", head + ".visible .func f { }\n"
    ...               ".func g { }")]))
    .version 8.0
    .target sm_80
    .address_size 64
    .visible .func f;
    .func g { call f; }
    <BLANKLINE>
    <BLANKLINE>
    <BLANKLINE>
    .visible .func f { }
    .func g$1 { }
    """
    read = [_read(name, text) for name, text in sources]
    chosen = _definitions(read)
    for source in read:
        _resolve(source, chosen)
    _separate_local_names(read)
    _number_files(read)
    _join_headers(read)
    return "\n".join(x.edited() for x in read)


def _read(name: str, text: str) -> _Source:
    reader = Reader(text)
    version, target = header(reader)
    source = _Source(name, text.rstrip("\0"), reader, version, target, first=reader.index)
    while reader.tokens[reader.index] != END:
        first, contents = reader.index, Contents()
        is_size = reader.tokens[first] == ".address_size"
        read_item(reader, contents)
        nodes: list[FunctionText | VariableText] = [*contents.functions, *contents.variables]
        source.items += [_Item(first, reader.index, x) for x in nodes]
        source.files = max([source.files, *contents.files])
        if is_size:
            source.address_size = contents.address_size
            source.size_at = first
    return source


def _definitions(sources: Sequence[_Source]) -> dict[str, _Item]:
    """Return the definition of each global name."""
    chosen: dict[str, _Item] = {}
    homes: dict[str, str] = {}
    for source in sources:
        local = source.local_names()
        for item in source.items:
            name = item.node.name
            if not item.is_definition or name in local:
                continue
            known = chosen.get(name)
            if known is not None and not known.is_weak and not item.is_weak:
                raise ArgumentValueError(
                    f"{shorten(name, str)} is defined in {homes[name]} and in {source.name}, line {item.node.line}; "
                    "declare it .extern in one of them, or .weak"
                )
            if known is None or (known.is_weak and not item.is_weak):
                chosen[name], homes[name] = item, source.name
    return chosen


def _resolve(source: _Source, chosen: dict[str, _Item]) -> None:
    """Remove what a definition elsewhere replaces: external declarations of variables, and weak definitions."""
    local = source.local_names()
    for item in source.items:
        winner = chosen.get(item.node.name)
        if winner is None or winner is item or item.node.name in local:
            continue
        if isinstance(item.node, VariableText):
            source.replace(item.first, item.behind)
            continue
        tokens = source.reader.tokens
        if item.is_definition:
            brace = next(i for i in range(item.first, item.behind) if tokens[i] == "{")
            source.replace(brace, item.behind, ";")
        if ".extern" in tokens[item.first : item.behind]:
            at = tokens.index(".extern", item.first, item.behind)
            source.replace(at, at + 1, ".weak" if winner.is_weak else ".visible")


def _separate_local_names(sources: Sequence[_Source]) -> None:
    """Rename local names that occur in several sources."""
    taken: set[str] = set().union(*(x.names() for x in sources))
    used: set[str] = set()
    for number, source in enumerate(sources):
        local = source.local_names()
        others: set[str] = set().union(*(x.names() - x.local_names() for x in sources if x is not source))
        new = {x: _fresh(f"{x}${number}", taken) for x in sorted(local & (used | others))}
        used |= local
        if new:
            _edit_tokens(source, lambda index, token, new=new: new.get(token))  # type: ignore[misc]


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "$"
    taken.add(name)
    return name


def _number_files(sources: Sequence[_Source]) -> None:
    """Number the files of ``.file`` and ``.loc`` through all sources."""
    before = 0
    for source in sources:
        if before and source.files:
            tokens, added = source.reader.tokens, before

            def numbered(index: int, token: str, tokens: list[str] = tokens, added: int = added) -> str | None:
                is_file = tokens[index - 1] in (".file", ".loc", "inlined_at") and token.isdigit()
                return str(int(token) + added) if is_file else None

            _edit_tokens(source, numbered)
        before += source.files


def _edit_tokens(source: _Source, new: Callable[[int, str], str | None]) -> None:
    for index in range(source.first, len(source.reader.tokens) - 3):
        token = new(index, source.reader.tokens[index])
        if token is not None:
            source.edits.append((*source.reader.span(index), token))


def _join_headers(sources: Sequence[_Source]) -> None:
    """Write the highest version and target to the first source, and remove the headers of the others."""
    for other in sources[1:]:
        if other.address_size != sources[0].address_size:
            first = f"{sources[0].name} has addresses of {sources[0].address_size} bits"
            raise ArgumentValueError(f"{first}, {other.name} of {other.address_size}: they cannot be linked")
    version = max((x.version for x in sources), key=lambda x: [int(y) for y in x.split(".")])
    target = max((x.target for x in sources), key=lambda x: (int("0" + "".join(filter(str.isdigit, x[0]))), len(x[0])))
    for number, source in enumerate(sources):
        if number and source.size_at >= 0:
            source.replace(source.size_at, source.size_at + 2)
        start, end = source.reader.span(0)[0], source.reader.span(source.first - 1)[1]
        lines = "\n" * source.text.count("\n", start, end)
        head = f".version {version}{lines or ' '}.target {', '.join(target)}"
        source.edits.append((start, end, lines if number else head))

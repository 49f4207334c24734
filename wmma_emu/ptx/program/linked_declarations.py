# SPDX-License-Identifier: MIT
"""Declarations of one name in several sources that are linked: they have to agree, as nvlink requires."""

from collections.abc import Sequence
from typing import NamedTuple

from wmma_emu.errors import ArgumentValueError
from wmma_emu.ptx.program.faults import short_name
from wmma_emu.ptx.program.sizes import bytes_of
from wmma_emu.ptx.syntax.parser import parse
from wmma_emu.ptx.syntax.tree import FunctionText, VariableText
from wmma_emu.suggestions import listed

_SHARED = frozenset(("visible", "extern", "weak", "common"))
"""The directives of names that are the same in all sources."""


class _Declared(NamedTuple):
    """The kind of a name, the bytes that it needs, if they are known, and the line of its declaration."""

    kind: str
    sizes: str
    where: str

    def agrees_with(self, other: "_Declared") -> bool:
        return self.kind == other.kind and (self.sizes == other.sizes or not self.sizes or not other.sizes)


def require_compatible(sources: Sequence[tuple[str, str]]) -> None:
    """Check the names that several sources share; ``sources`` are names and PTX.

    Raises
    ------
    ArgumentValueError
        If a name is a function in one source and a variable in another, or has another space, size or prototype.

    Examples
    --------
    >>> head = ".version 8.0 .target sm_80 .address_size 64 "
    >>> require_compatible([("a", head + ".extern .global .b32 v;"), ("b", head + ".visible .global .b32 v[4];")])
    Traceback (most recent call last):
        ...
    wmma_emu.errors.ArgumentValueError: v is a .global variable of 4 bytes in a, line 1, and a .global variable of 16
    bytes in b, line 1; sources that are linked have to declare it alike
    """
    known: dict[str, _Declared] = {}
    for source, text in sources:
        tree = parse(text)
        nodes: list[FunctionText | VariableText] = [*tree.functions, *tree.variables]
        for node in nodes:
            is_kernel = isinstance(node, FunctionText) and node.is_kernel
            if not is_kernel and _SHARED.isdisjoint(node.attributes):
                continue
            here = _declared(node, source)
            first = known.setdefault(node.name, here)
            if not first.agrees_with(here):
                raise ArgumentValueError(
                    f"{short_name(node.name)} is {first.kind}{first.sizes}{first.where}, and {here.kind}{here.sizes}"
                    f"{here.where}; sources that are linked have to declare it alike"
                )
            if not first.sizes:
                known[node.name] = here


def _declared(node: FunctionText | VariableText, source: str) -> _Declared:
    where = f" in {source}, line {node.line}"
    if isinstance(node, VariableText):
        size = bytes_of(node)
        return _Declared(f"a .{node.space} variable", f" of {size} bytes" if size else "", where)
    if node.is_kernel:
        return _Declared("a kernel", "", where)
    needs = f"{_sizes_of('parameters', node.parameters)} and {_sizes_of('results', node.results)}"
    return _Declared("a function", f" with {needs}", where)


def _sizes_of(what: str, values: Sequence[VariableText]) -> str:
    return f"{what} of {listed(bytes_of(x) for x in values)} bytes" if values else f"no {what}"

# SPDX-License-Identifier: MIT
"""Names and types from the symbols and PTX declarations of variables without debug information."""

from collections.abc import Iterable, Iterator

from wmma_emu.errors import printable
from wmma_emu.ptx.cpp.demangle import demangle
from wmma_emu.ptx.cpp.tree import scopes_of, shown
from wmma_emu.ptx.names.types import Member, Type
from wmma_emu.ptx.program.sizes import BYTES
from wmma_emu.ptx.syntax.tree import Scope, Statement, VariableText


def plain_symbol(symbol: str) -> str:
    """Return the source name of a variable, without the function that contains it and without unnamed namespaces.

    Examples
    --------
    >>> [plain_symbol(x) for x in ("_ZZ8reversedE4tile", "_ZN3foo3barE", "_ZZ1kPfE3one_0", "global_smem")]
    ['tile', 'foo::bar', 'one', 'global_smem']
    """
    found = demangle(symbol)
    if found is None:
        return printable(symbol)
    scopes = [shown(x).partition("[abi:")[0] for x in scopes_of(found.name)]
    if "_ZZ" in symbol[: symbol.find("_Z") + 3]:  # the first scope is the function, with its scopes
        scopes = scopes[1:] or scopes
    shown_scopes = [x for x in scopes if x != "(anonymous namespace)" and not x.startswith("_INTERNAL_")]
    return printable("::".join(shown_scopes or scopes))


def declared_type(variable: VariableText) -> Type | None:
    """Return the type of a PTX declaration; None for an array of bytes, because compilers declare all arrays as bytes.

    Examples
    --------
    >>> from wmma_emu.ptx.syntax.parser import parse
    >>> text = ".version 8.0 .target sm_80 .shared .f32 s[4][64]; .shared .v4 .f32 v; .shared .align 4 .b8 raw[1024];"
    >>> [(x and x.name) for x in map(declared_type, parse(text).variables)]
    ['f32 [4][64]', 'v4 .f32', None]
    """
    size = BYTES.get(variable.type)
    if size is None or (variable.sizes and variable.type in ("b8", "u8", "s8")):
        return None
    element = Type(variable.type, size)
    if variable.vector > 1:
        members = tuple(Member("xyzw"[i], i * size, element) for i in range(variable.vector))
        element = Type(f"v{variable.vector} .{variable.type}", size * variable.vector, members=members)
    return element.array(*variable.sizes)


def declarations(statements: Iterable[Statement]) -> Iterator[VariableText]:
    """Yield the variables that a function declares, in all its scopes."""
    waiting = [iter(statements)]
    while waiting:
        for statement in waiting[-1]:
            if isinstance(statement, VariableText):
                yield statement
            elif isinstance(statement, Scope):
                waiting.append(iter(statement.body))
                break
        else:
            waiting.pop()

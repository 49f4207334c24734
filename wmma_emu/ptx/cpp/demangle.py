# SPDX-License-Identifier: MIT
"""Demangle the names of functions (Itanium C++ ABI, chapter 5.1)."""

import re
from functools import cache
from typing import NamedTuple

from wmma_emu.ptx.cpp.text import UnreadableError
from wmma_emu.ptx.cpp.tree import Node, scopes_of, shown
from wmma_emu.ptx.cpp.types_and_values import MangledNameReader

_STATIC = re.compile(r"__nv_static_\d+__.*?(?=_Z)")
"""The prefix that nvcc gives the name of a static kernel that is linked later."""


class Demangled(NamedTuple):
    """A function: its name with scopes and template arguments, and the types of its parameters.

    ``parameters`` is None for a name that does not contain parameter types.
    """

    name: Node
    parameters: tuple[Node, ...] | None

    @property
    def plain_name(self) -> str:
        """The name with its scopes, without template arguments and tags."""
        return "::".join(x for x in _plain(self.name) if not x.startswith("_INTERNAL_"))


def _plain(name: Node) -> list[str]:
    return [
        y for x in scopes_of(name)
        for y in (_plain(x.parts[0]) if x.kind == "template" else [shown(x).partition("[abi:")[0]])
    ]  # fmt: skip


@cache
def demangle(mangled: str) -> Demangled | None:
    """Demangle a name; return None for a name that is not mangled (``extern "C"``) or that this module cannot read.

    Examples
    --------
    >>> found = demangle("_ZN2my5scaleILi64EfEEvPKT0_P6__halfj")
    >>> shown(found.name), [shown(x) for x in found.parameters], found.plain_name
    ('my::scale<64, float>', ['const float*', '__half*', 'unsigned int'], 'my::scale')
    >>> demangle("scale")
    """
    text = _STATIC.sub("", mangled, count=1)
    if not text.startswith("_Z"):
        return None
    reader = MangledNameReader(text)
    try:
        name, _, parameters = reader.encoding()
    except (UnreadableError, RecursionError):
        return None
    return Demangled(name, parameters) if reader.at_end() else None


def plain_name(mangled: str) -> str | None:
    """Return a function's name with its namespaces, without parameters and template arguments.

    Return None for a name that is not mangled (``extern "C"``), or is mangled in an unsupported way.

    Examples
    --------
    >>> plain_name("_Z9tile_gemmPK6__halfS1_Pf"), plain_name("_ZN2my5scaleILi64EfEEvPT0_"), plain_name("scale")
    ('tile_gemm', 'my::scale', None)
    """
    found = demangle(mangled)
    return None if found is None else found.plain_name

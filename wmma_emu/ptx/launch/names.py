# SPDX-License-Identifier: MIT
"""How kernels are called: plain names of C++ in the names that a compiler makes of them."""

import difflib
import re
from collections.abc import Iterable, Mapping

from wmma_emu.errors import UnsupportedInstructionError, shorten

__all__ = ["find", "plain_name"]

_LENGTH = re.compile(r"(\d+)")
_SKIPPED = re.compile(r"S[0-9A-Z]*_|S[a-z]|T[0-9]*_|A\d*_|[a-zPKRO]|D[a-zA-SU-Z]")
"""What neither begins nor ends anything in template arguments: substitutions, parameters, arrays, qualifiers, built-in
types."""

_NUMBER = re.compile(r"L[a-z]n?\d+E")
"""An integer as a template argument: ``Li64E``."""


def plain_name(mangled: str) -> str | None:
    """Return a function's name with its namespaces, without parameters and template arguments.

    None for what is not mangled (``extern "C"``), or in a way that this does not read (Itanium C++ ABI, Mangling).

    Examples
    --------
    >>> plain_name("_Z9tile_gemmPK6__halfS1_Pf"), plain_name("_ZN2my5scaleILi64EfEEvPT0_"), plain_name("scale")
    ('tile_gemm', 'my::scale', None)
    """
    if not mangled.startswith("_Z"):
        return None
    position = 2
    nested = mangled[position : position + 1] == "N"
    parts: list[str] = []
    if nested:
        position += 1
    while position < len(mangled):
        found = _LENGTH.match(mangled, position)
        if found:
            start = found.end()
            position = start + int(found[1])
            if position > len(mangled):
                return None
            parts.append(mangled[start:position])
            if not nested:
                break
        elif mangled[position] == "I" and parts:
            after = _behind_arguments(mangled, position)
            if after is None:
                return None
            position = after
        elif mangled[position] == "E":
            break
        else:
            return None
    return "::".join("(anonymous namespace)" if x.startswith("_GLOBAL__N") else x for x in parts) or None


def _behind_arguments(text: str, position: int) -> int | None:
    """Where the template arguments that begin at a position end; None if that cannot be told."""
    depth = 0
    while position < len(text):
        number = _NUMBER.match(text, position)
        skipped = number or _SKIPPED.match(text, position)
        if skipped:
            position = skipped.end()
        elif found := _LENGTH.match(text, position):
            position = found.end() + int(found[1])
        elif text[position] in "INLXJF":
            depth, position = depth + 1, position + 1
        elif text[position] == "E":
            depth, position = depth - 1, position + 1
            if depth == 0:
                return position
        else:
            return None
    return None


def find(names: Iterable[str], wanted: object, expressions: Mapping[str, str], where: str) -> str:
    """Find the kernel that a name means: its own, one that the compiler was asked for, or its plain name of C++.

    Raises
    ------
    UnsupportedInstructionError
        If there is none, or more than one.
    """
    names = list(names)
    if isinstance(wanted, str):
        if wanted in names:
            return wanted
        if expressions.get(wanted) in names:
            return expressions[wanted]
        plain = {name: plain_name(name) for name in names}
        fitting = [name for name, text in plain.items() if text is not None and _is_end(wanted, text)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise UnsupportedInstructionError(
                f"{len(fitting)} kernels of {where} are called {wanted}; name one in full: {', '.join(fitting)}"
            )
    if not names:
        raise UnsupportedInstructionError(f"{where} has no kernel; __global__ (.entry) makes one of a function")
    shown = [plain_name(name) or name for name in names]
    near = difflib.get_close_matches(str(wanted)[:100], shown, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    listed = ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")
    raise UnsupportedInstructionError(f"{where} has no kernel {shorten(wanted)}; it has {listed}{hint}")


def _is_end(wanted: str, name: str) -> bool:
    """Whether a name is meant: in full, or without its outer namespaces."""
    return name == wanted or name.endswith(f"::{wanted}")

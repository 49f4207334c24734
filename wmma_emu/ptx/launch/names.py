# SPDX-License-Identifier: MIT
"""How kernels are found: by their own names, or by the plain names of C++ in them."""

import difflib
from collections.abc import Iterable, Mapping

from wmma_emu.errors import UnknownNameError, shorten
from wmma_emu.ptx.cpp.demangle import demangle

__all__ = ["find", "plain_name"]


def plain_name(mangled: str) -> str | None:
    """Return a function's name with its namespaces, without parameters and template arguments.

    None for what is not mangled (``extern "C"``), or in a way that nobody here reads.

    Examples
    --------
    >>> plain_name("_Z9tile_gemmPK6__halfS1_Pf"), plain_name("_ZN2my5scaleILi64EfEEvPT0_"), plain_name("scale")
    ('tile_gemm', 'my::scale', None)
    """
    found = demangle(mangled)
    return None if found is None else found.plain_name


def find(names: Iterable[str], wanted: object, expressions: Mapping[str, str], where: str) -> str:
    """Find the kernel that a name means: its own, one that the compiler was asked for, or its plain name of C++.

    Raises
    ------
    UnknownNameError
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
            raise UnknownNameError(
                f"{len(fitting)} kernels of {where} are called {wanted}; name one in full: {', '.join(fitting)}"
            )
    if not names:
        raise UnknownNameError(f"{where} has no kernel; __global__ (.entry) makes one of a function")
    shown = [plain_name(name) or name for name in names]
    near = difflib.get_close_matches(str(wanted)[:100], shown, n=1, cutoff=0.5)
    hint = f": did you mean {near[0]}? It has" if near else "; it has"
    listed = ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")
    raise UnknownNameError(f"{where} has no kernel {shorten(wanted)}{hint} {listed}")


def _is_end(wanted: str, name: str) -> bool:
    """Whether a name is meant: in full, or without its outer namespaces."""
    return name == wanted or name.endswith(f"::{wanted}")

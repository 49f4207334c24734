# SPDX-License-Identifier: MIT
"""Look-up of kernels by their own names, or by the plain C++ names in them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from wmma_emu.errors import UnknownNameError, shorten
from wmma_emu.ptx.cpp.demangle import demangle, plain_name
from wmma_emu.ptx.cpp.tree import shown as shown_node
from wmma_emu.ptx.launch.source_types import familiar_name
from wmma_emu.suggestions import nearest, question


def find(
    names: Iterable[str], wanted: object, expressions: Mapping[str, str], where: str, notes: Iterable[str] = ()
) -> str:
    """Find a kernel by its own name, by an instantiation that was requested, or by its plain C++ name.

    ``notes`` are the compiler's notes on kernels that it did not compile.
    """
    names = list(names)
    if isinstance(wanted, str):
        if wanted in names:
            return wanted
        if expressions.get(wanted) in names:
            return expressions[wanted]
        plain = {name: plain_name(name) for name in names}
        fitting = [name for name, text in plain.items() if text is not None and _matches(wanted, text)]
        if len(fitting) == 1:
            return fitting[0]
        full = {name: _full_name(name) for name in names}
        made = [name for name, text in full.items() if text and _matches(_normalised(wanted), _normalised(text))]
        if len(made) == 1:
            return made[0]
        if fitting := (fitting or made):
            texts = [full[x] for x in fitting]
            told = texts if all(texts) and len({_normalised(x) for x in texts}) == len(fitting) else fitting
            raise UnknownNameError(
                f"{len(fitting)} kernels of {where} are called {wanted}; use a full name: {', '.join(told)}"
            )
    if not names:
        raise UnknownNameError(no_kernel(where, notes))
    shown = [plain_name(name) or name for name in names]
    listed = ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")
    unmade = "".join(f"; {x}" for x in notes if isinstance(wanted, str) and _says_not_instantiated(x, wanted))
    hint = question(nearest(wanted, shown, cutoff=0.5), f"it has {listed}")
    raise UnknownNameError(f"{where} has no kernel {shorten(wanted)}{hint}{unmade}")


def _says_not_instantiated(note: str, wanted: str) -> bool:
    name = re.escape(wanted.split("<")[0])
    return note.startswith("not instantiated") and re.search(rf"\b{name}\b", note) is not None


def no_kernel(where: str, notes: Iterable[str]) -> str:
    """Return the message that a module has no kernel, with the kernels that were not compiled."""
    unmade = [x for x in notes if x.startswith("not instantiated")]
    return "; ".join([f"{where} has no kernel", *(unmade or ["declare one with __global__ (.entry)"])])


def attribute_names(names: Iterable[str]) -> list[str]:
    """Return the plain names of single kernels that are valid attribute names in Python.

    Examples
    --------
    >>> attribute_names(["scale", "_Z4gemmILi64EEvPf", "_Z4gemmILi32EEvPf", "_ZN2my3addEPf"])
    ['add', 'scale']
    """
    plain = Counter((plain_name(x) or x).rpartition("::")[2] for x in names)
    return sorted(x for x, count in plain.items() if count == 1 and x.isidentifier())


@lru_cache
def distinct_name(name: str, names: tuple[str, ...]) -> str:
    """Return the plain C++ name of a kernel; its full name if other kernels of the module have the same plain name.

    Examples
    --------
    >>> both = "_Z1kILi1EEvPi", "_Z1kILi4EEvPi"
    >>> distinct_name(both[1], both), distinct_name(both[1], both[1:])
    ('k<4>', 'k')
    """
    plain = plain_name(name) or name
    if sum((plain_name(x) or x) == plain for x in names) == 1:
        return plain
    full = _full_name(name)
    return full if full and sum(_full_name(x) == full for x in names) == 1 else name


def _full_name(mangled: str) -> str:
    """Return the name with its template arguments, as in C++: ``gemm<64, float>``."""
    found = demangle(mangled)
    return "" if found is None else shown_node(found.name)


def _normalised(name: str) -> str:
    """Remove optional parts: spaces, casts of numbers, suffixes of literals, namespaces of files."""
    text = re.sub(r"\b(?:_INTERNAL_|_GLOBAL__N_)\w*::|\(anonymous namespace\)::", "", name)
    text = re.sub(r"\b\w+\b", lambda x: familiar_name(x[0]), text)
    text = re.sub(r"\((?:bool|int|unsigned int|long|unsigned long|char|short|size_t)\)(?=-?\d)", "", text)
    text = re.sub(r"(?<=\d)[uUlL]+\b", "", re.sub(r"\btrue\b", "1", re.sub(r"\bfalse\b", "0", text)))
    return re.sub(r"\bunsigned(?! int| long| char| short)", "unsigned int", text).replace(" ", "")


def _matches(wanted: str, name: str) -> bool:
    """Return whether a wanted name matches: in full, or without its outer namespaces."""
    return name == wanted or name.endswith(f"::{wanted}")

# SPDX-License-Identifier: MIT
"""A mutation put into existing functions, in a process that has imported the package.

Code that runs at import (tables, constants, classes, values that arguments have unless given) cannot be exchanged so.
"""

import functools
import gc
from pathlib import Path
from types import CodeType, FunctionType

from tools.source_mutations.points import Mutation

Functions = dict[tuple[str, int, str], list[FunctionType]]


def changed_functions(original: str, mutated: str, file: str) -> list[tuple[CodeType, CodeType]] | None:
    """Return the code of functions before and after, the outer ones first; None if code that runs at import differs."""
    pairs: list[tuple[CodeType, CodeType]] = []
    old, new = compile(original, file, "exec"), compile(mutated, file, "exec")
    return pairs if _compare(old, new, False, pairs) else None


def _compare(old: CodeType, new: CodeType, function: bool, pairs: list[tuple[CodeType, CodeType]]) -> bool:
    """Return whether all differences are in functions."""
    if old == new:
        return True
    if function:
        pairs.append((old, new))
    if not function and _own(old) != _own(new):
        return False
    before, after = ([x for x in code.co_consts if isinstance(x, CodeType)] for code in (old, new))
    # A function's code is optimised; that of a module or of a class is not.
    return all(_compare(a, b, function or bool(a.co_flags & 1), pairs) for a, b in zip(before, after, strict=True))


def _own(code: CodeType) -> tuple[object, ...]:
    """Return the code of a module or a class without its functions."""
    constants = tuple((type(x), x) for x in code.co_consts if not isinstance(x, CodeType))
    return code.co_code, constants, code.co_names


def can_be_exchanged(root: Path, mutation: Mutation) -> bool:
    """Return whether a mutation can be put into a process that runs."""
    text = (root / mutation.file).read_text(encoding="utf-8")
    changed = changed_functions(text, mutation.mutate(text), mutation.file)
    return bool(changed)


def live_functions(package: str) -> Functions:
    """Return all functions of the package that there are, by file, first line and name."""
    found: Functions = {}
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and f"/{package}/" in thing.__code__.co_filename:
            code = thing.__code__
            found.setdefault((code.co_filename, code.co_firstlineno, code.co_qualname), []).append(thing)
    return found


def exchange(root: Path, mutation: Mutation, functions: Functions) -> int:
    """Put the mutation into all functions that have the code; how many they were."""
    file = root / mutation.file
    text = file.read_text(encoding="utf-8")
    count = 0
    for old, new in changed_functions(text, mutation.mutate(text), str(file)) or ():
        for function in functions.get((old.co_filename, old.co_firstlineno, old.co_qualname), ()):
            if function.__code__ == old:
                function.__code__ = new
                count += 1
    return count


def forget_results(package: str) -> None:
    """Clear all caches of functions of the package: they hold what code without the mutation found."""
    for thing in gc.get_objects():
        if isinstance(thing, functools._lru_cache_wrapper) and str(thing.__module__).partition(".")[0] == package:
            thing.cache_clear()

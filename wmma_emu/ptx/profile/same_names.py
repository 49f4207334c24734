# SPDX-License-Identifier: MIT
"""Names of source files: different sources of one name, such as two strings of CUDA C++, have different names."""

import re
from collections.abc import Iterable, Mapping
from itertools import count

from wmma_emu.ptx.reports.frames import short_path

_NUMBER = re.compile(r" \(\d+\)(?=(\.[^./\\]*)?$)")


def first_name(file: str) -> str:
    """Return the name of a file before `other_names` has changed it.

    Examples
    --------
    >>> first_name("kernel (2).cu"), first_name("kernel.cu")
    ('kernel.cu', 'kernel.cu')
    """
    return _NUMBER.sub("", file)


def _numbered(file: str, number: int) -> str:
    folder, slash, name = file.rpartition("/")
    stem, dot, suffix = name.rpartition(".") if "." in name else (name, "", "")
    return f"{folder}{slash}{stem} ({number}){dot}{suffix}" if number > 1 else file


def other_names(known: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Return new names for files of ``more`` that have another content in ``known``, or have it under another name.

    Examples
    --------
    >>> other_names({"kernel.cu": "one"}, {"kernel.cu": "two"}), other_names({"kernel.cu": "one"}, {"kernel.cu": "one"})
    ({'kernel.cu': 'kernel (2).cu'}, {})
    >>> other_names({"kernel.cu": "one", "kernel (2).cu": "two"}, {"kernel.cu": "two", "kernel (2).cu": "one"})
    {'kernel.cu': 'kernel (2).cu', 'kernel (2).cu': 'kernel.cu'}
    """
    contents = dict(known)
    found: dict[str, str] = {}
    for file, content in more.items():
        names = (_numbered(first_name(file), n) for n in count(1))
        name = next(x for x in names if contents.get(x, content) == content)
        if name not in contents and file not in contents:
            name = file
        contents[name] = content
        if name != file:
            found[file] = name
    return found


def shown_names(files: Iterable[str]) -> dict[str, str]:
    """Return the name of each file in tables: its last part, or its path where another file has the same last part.

    Examples
    --------
    >>> list(shown_names(["a/k.cu", "b/k.cu", "/home/me/gemm.cu"]).values())
    ['a/k.cu', 'b/k.cu', 'gemm.cu']
    """
    short = {file: short_path(file) for file in files}
    given = list(short.values())
    return {file: name if given.count(name) == 1 else file for file, name in short.items()}

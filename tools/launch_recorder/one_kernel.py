# SPDX-License-Identifier: MIT
"""The text of one kernel of a module with hundreds."""

import re

__all__ = ["kernels_in", "only_kernel"]

_ENTRY = re.compile(r"^(?:\.(?:visible|weak|extern)\s+)?\.entry\s+([\w$%]+)", re.MULTILINE)
_BRACE = re.compile(r'//[^\n]*|"[^"\n]*"|[{}]')


def kernels_in(text: str) -> list[str]:
    """Return the names of the kernels that a PTX text defines.

    Examples
    --------
    >>> kernels_in(".visible .entry one(){ ret; }\\n.entry two(.param .u64 x)\\n{\\nret;\\n}")
    ['one', 'two']
    """
    return [x[1] for x in _ENTRY.finditer(text)]


def only_kernel(text: str, name: str) -> str:
    """Return the text without the other kernels. Variables and functions stay.

    Examples
    --------
    >>> only_kernel(".visible .entry one(){ ret; }\\n.entry two(.param .u64 x)\\n{\\nret;\\n}", "two").strip()
    '.entry two(.param .u64 x)\\n{\\nret;\\n}'
    """
    kept, end = [], 0
    for entry in _ENTRY.finditer(text):
        if entry[1] == name:
            continue
        kept.append(text[end : entry.start()])
        end = _end_of_body(text, entry.end())
    return "".join([*kept, text[end:]])


def _end_of_body(text: str, start: int) -> int:
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if brace[0] == "}" and not depth:
            return brace.end()
    return len(text)

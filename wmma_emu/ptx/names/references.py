# SPDX-License-Identifier: MIT
"""References to shared variables, written into a source so that a compiler describes their types.

NVRTC (13.5 was looked at) leaves shared variables of functions out of its debug information, but not references to
them: where a kernel has ``__shared__ float As[2][32];`` it is given ``auto& wmma_emu_0_As = As;`` in the same line.
Nobody runs what is compiled so.
"""

import re

_PREFIX = "wmma_emu_"

_REFERENCE = re.compile(rf"{_PREFIX}(\d{{1,9}})_(\w+)")

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)           # comments
    |^[ \t]*\#(?:\\\r?\n|[^\n])*           # the preprocessor's lines
    |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'  # texts
    |[A-Za-z_]\w*|[0-9][\w.']*|\S""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)

_OPEN, _CLOSE = "([{", ")]}"


def name_of_reference(name: str) -> tuple[int, str] | None:
    """Return the number of a reference and what it refers to; None for what is no reference of this module.

    Examples
    --------
    >>> name_of_reference("wmma_emu_3_As"), name_of_reference("As")
    ((3, 'As'), None)
    """
    found = _REFERENCE.fullmatch(name)
    return None if found is None else (int(found[1]), found[2])


def with_references(source: str) -> str:
    """Give every shared variable of a function a reference; lines stay where they are.

    Examples
    --------
    >>> with_references("void k() { __shared__ float a[4], *b; extern __shared__ int s[]; }")[11:80]
    '__shared__ float a[4], *b; auto& wmma_emu_0_a = a; auto& wmma_emu_1_b'
    """
    tokens = [x for x in _TOKEN.finditer(source) if not x[0].lstrip().startswith(("//", "/*", "#"))]
    texts = [x[0] for x in tokens]
    pieces, done, number = [], 0, 0
    functions: list[bool] = []  # of each open brace: whether it is in a function
    i = start = 0  # start: of the statement
    while i < len(texts):
        text = texts[i]
        if text == "{":
            functions.append(bool(functions and functions[-1]) or ")" in texts[start:i])
        elif text == "}" and functions:
            functions.pop()
        if text == "__shared__" and functions and functions[-1] and "extern" not in texts[start:i]:
            end = _end(texts, i)
            names = _names(texts[i + 1 : end])
            if end < len(texts) and "extern" not in texts[i:end] and names:
                place = tokens[end].end()
                added = "".join(f" auto& {_PREFIX}{number + k}_{name} = {name};" for k, name in enumerate(names))
                pieces += [source[done:place], added]
                done, number = place, number + len(names)
                i = start = end + 1
                continue
        i += 1
        if text in (";", "{", "}"):
            start = i
    return "".join([*pieces, source[done:]])


def _end(texts: list[str], i: int) -> int:
    depth = 0
    while i < len(texts):
        depth += (texts[i] in _OPEN) - (texts[i] in _CLOSE)
        if depth < 0 or (depth == 0 and texts[i] == ";"):
            return i if depth == 0 else len(texts)
        i += 1
    return i


def _names(texts: list[str]) -> list[str]:
    """Names that a declaration declares: in each part between commas the last name before its brackets."""
    found, name, depth, angles = [], "", 0, 0
    for text in [*texts, ","]:
        if depth == 0 and angles <= 0 and text == ",":
            found.append(name)
            name = ""
        if depth == 0:
            angles += (text == "<") - (text == ">")
            is_name = text[0].isalpha() or text[0] == "_"
            name = text if is_name and angles <= 0 else name
        depth += (text in _OPEN) - (text in _CLOSE)
    return [x for x in found if x]

# SPDX-License-Identifier: MIT
"""References to shared variables, inserted into source so that the compiler describes their types.

NVRTC (13.5 was checked) omits shared variables of functions from its debug information, but not references to them:
after ``__shared__ float As[2][32];`` in a kernel, ``auto& wmma_emu_0_As = As;`` is inserted in the same line. The
result is compiled only for its debug information, and never run.
"""

import re

_PREFIX = "wmma_emu_"

_REFERENCE = re.compile(rf"{_PREFIX}(\d{{1,9}})_(\w+)")

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)           # comments
    |^[ \t]*\#(?:\\\r?\n|[^\n])*           # preprocessor lines
    |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'  # strings and characters
    |[A-Za-z_]\w*|[0-9][\w.']*|\S""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)

_OPEN, _CLOSE = "([{", ")]}"


def name_of_reference(name: str) -> tuple[int, str] | None:
    """Return the number and the variable of an inserted reference; None for any other name.

    Examples
    --------
    >>> name_of_reference("wmma_emu_3_As"), name_of_reference("As")
    ((3, 'As'), None)
    """
    found = _REFERENCE.fullmatch(name)
    return None if found is None else (int(found[1]), found[2])


def with_references(source: str) -> str:
    """Insert a reference to every shared variable of a function; line numbers do not change.

    Examples
    --------
    >>> with_references("void k() { __shared__ float a[4], *b; extern __shared__ int s[]; }")[11:80]
    '__shared__ float a[4], *b; auto& wmma_emu_0_a = a; auto& wmma_emu_1_b'
    """
    tokens = [x for x in _TOKEN.finditer(source) if not x[0].lstrip().startswith(("//", "/*", "#"))]
    texts = [x[0] for x in tokens]
    pieces, done, number = [], 0, 0
    functions: list[bool] = []  # for each open brace, whether it is in a function
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
    """Return the declared names: in each part between commas, the last name before its brackets."""
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

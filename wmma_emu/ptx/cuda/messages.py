# SPDX-License-Identifier: MIT
"""Compiler messages: errors in the user's terms, separate warnings, and lines quoted as the user wrote them."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_HEAD = re.compile(
    r"^(?P<file>[^\s(][^(\n]*?)\((?P<line>\d+)\): "
    r"(?P<kind>catastrophic error|internal error|error|warning|note|remark)"
)
_GNU_HEAD = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?P<kind>fatal error|error|warning|note): ")
_END = re.compile(r"^(?:\d+ (?:catastrophic )?errors? (?:and .*)?detected|Compilation terminated|Remark: The warnings)")
_MISSING = (
    re.compile(r'cannot open source file "(?P<name>[^"]+)"'),
    re.compile(r"fatal error: (?P<name>\S+): No such file"),
    re.compile(r"fatal error: '(?P<name>[^']+)' file not found"),
)


class Message(NamedTuple):
    """One message: its file and line, its kind, and its text."""

    file: str
    line: int
    kind: str
    text: str

    @property
    def is_error(self) -> bool:
        """Whether the compiler rejects the source because of it."""
        return self.kind.endswith("error")


def messages_of(log: str) -> Iterator[Message]:
    """Split a log into messages; a line that does not start a message continues the previous one."""
    messages: list[tuple[tuple[str, int, str], list[str]]] = [(("", 0, ""), [])]
    for line in log.splitlines():
        if _END.match(line):
            continue
        found = _HEAD.match(line) or _GNU_HEAD.match(line)
        if found:
            messages.append(((found["file"], int(found["line"]), found["kind"]), []))
        messages[-1][1].append(line.rstrip())
    for head, lines in messages:
        text = "\n".join(lines).strip("\n")
        if text.strip():
            yield Message(*head, text)


def errors_of(log: str, sources: Mapping[str, str]) -> str:
    r"""Return the text of an error: the errors with their notes, then the warnings about the same lines.

    Examples
    --------
    >>> print(errors_of('''k.cu(1): warning #550-D: variable "n" was set but never used
    ... k.cu(2): error: identifier "y" is undefined
    ...   __attribute__((global)) void k() { y; }
    ...                                      ^
    ... 1 error detected in the compilation of "k.cu".''', {"k.cu": "int n = 1;\n__global__ void k() { y; }"}))
    k.cu(2): error: identifier "y" is undefined
      __global__ void k() { y; }
                            ^
    """
    found = list(messages_of(log))
    wrong = {(x.file, x.line) for x in found if x.is_error}
    chosen: list[Message] = []
    behind_error = False
    for message in found:
        behind_error = message.is_error or (behind_error and message.kind == "note")
        if behind_error or not message.kind or (message.file, message.line) in wrong:
            chosen.append(message)
    # Warnings come last: both those about a line, and those about options, ``nvcc warning : ...``.
    chosen.sort(key=lambda x: x.kind == "warning" or (not x.kind and "warning" in x.text))
    return "\n\n".join(_quoted(x, sources.get(x.file, "")) for x in chosen) if wrong else log.strip()


def warnings_of(log: str) -> str:
    """Return only the warnings."""
    return "\n\n".join(x.text for x in messages_of(log) if x.kind == "warning")


def missing_header(log: str) -> str:
    """Return the header that cannot be opened, "" if this is not the fault."""
    return next((found["name"] for x in _MISSING if (found := x.search(log))), "")


def _quoted(message: Message, source: str) -> str:
    """Quote the line as the user wrote it, not as preprocessed; the caret stays at its word."""
    lines, own = message.text.splitlines(), source.splitlines()
    caret = next((i for i, x in enumerate(lines) if x.strip() == "^"), 0)
    if caret < 2 or not 0 < message.line <= len(own):
        return message.text
    shown, mine = lines[caret - 1], own[message.line - 1].strip()
    if shown.strip() == mine or "\t" in mine:
        return message.text
    column = lines[caret].index("^")
    word = re.match(r"\w+|\S", shown[column:])
    if word is None:
        return message.text
    pattern = re.compile(rf"(?<!\w){re.escape(word[0])}(?!\w)" if word[0][0].isalnum() else re.escape(word[0]))
    behind = len(pattern.findall(shown[column:]))
    places = [x.start() for x in pattern.finditer(mine)]
    lines[caret - 1] = f"  {mine}"
    lines[caret : caret + 1] = [" " * (2 + places[-behind]) + "^"] if len(places) >= behind else []
    return "\n".join(lines)

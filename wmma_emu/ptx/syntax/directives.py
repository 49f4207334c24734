# SPDX-License-Identifier: MIT
"""Directives inside functions, and debug sections, read as lists of words without further checks."""

import re

from wmma_emu.ptx.syntax.declarations import parameters
from wmma_emu.ptx.syntax.tokens import END, Reader, is_name
from wmma_emu.ptx.syntax.tree import Directive

_OCTAL = re.compile(r"(?:\\[2-3][0-7]{2})+")

_AFTER_PROTOTYPE = (".noreturn", ".abi_preserve", ".abi_preserve_control")

_LONGEST_SIZE = 18
"""The largest number of digits in the size of a file."""


def directive(reader: Reader, label: str | None = None) -> Directive:
    """Read ``.loc``, ``.pragma``, ``.branchtargets``, ``.calltargets``, ``.callprototype``, ``.section``, ``.file``."""
    index = reader.index
    line, column = reader.position(index)
    token = reader.tokens[index]
    if token == ".loc":
        return Directive("loc", _location(reader), line, label, column)
    if token in (".branchtargets", ".calltargets", ".callprototype"):
        if label is None:
            reader.fail(f"a label before {token}, as in 'targets: {token} ...'")
        if token == ".callprototype":
            return _prototype(reader, label)
        return Directive(token[1:], _words(reader), line, label, column)
    if token == ".pragma":
        return Directive("pragma", _words(reader), line, label, column)
    if token == ".section":
        skip_section(reader)
        return Directive("section", (), line, label, column)
    if token == ".file":
        number, name, _ = file_entry(reader)
        return Directive("file", (str(number), name), line, label, column)
    reader.fail("an instruction, or a directive of function bodies: .reg, .local, .param, .shared, .loc, ...")


def _prototype(reader: Reader, label: str) -> Directive:
    """Read ``.callprototype (results) _ (parameters)``; the words after the parameters are dropped."""
    line, column = reader.position(reader.index)
    reader.index += 1
    results = parameters(reader) if reader.tokens[reader.index] == "(" else ()
    reader.name("_, instead of the name of a function")
    inputs = parameters(reader) if reader.tokens[reader.index] == "(" else ()
    while reader.tokens[reader.index] in _AFTER_PROTOTYPE:
        reader.index += 1
        if reader.tokens[reader.index].isdigit():
            reader.index += 1
    reader.take(";", "after a prototype")
    return Directive("callprototype", (), line, label, column, results, inputs)


def _location(reader: Reader) -> tuple[str, ...]:
    """Read ``.loc file line column``, and ``, function_name label + offset, inlined_at file line column``."""
    reader.index += 1
    words = list(_numbers(reader, 3, ".loc"))
    while reader.tokens[reader.index] == ",":
        reader.index += 1
        token = reader.tokens[reader.index]
        words.append(token)
        if token == "function_name":
            reader.index += 1
            words.append(reader.name("a label after function_name"))
            if reader.accept("+"):
                words += ["+", *_numbers(reader, 1, "function_name")]
        elif token == "inlined_at":
            reader.index += 1
            words += _numbers(reader, 3, "inlined_at")
        else:
            reader.fail("function_name or inlined_at")
    return tuple(words)


def _numbers(reader: Reader, count: int, where: str) -> list[str]:
    found = reader.tokens[reader.index : reader.index + count]
    for token in found:
        if not (token.isdigit() and token.isascii() and len(token) < 12):
            reader.fail(f"a number after {where}")
        reader.index += 1
    return found


def _words(reader: Reader) -> tuple[str, ...]:
    reader.index += 1
    try:
        end = reader.tokens.index(";", reader.index)
    except ValueError:
        reader.fail("';' after a directive")
    found = tuple(reader.tokens[reader.index : end])
    for token in found:
        if token in ("{", "}"):
            reader.fail("';' after a directive, before the next brace")
        reader.index += 1
    reader.index = end + 1
    return found


def skip_section(reader: Reader) -> None:
    """Read ``.section name { ... }`` and discard it: it describes the source to a debugger."""
    reader.take(".section")
    token = reader.tokens[reader.index]
    if not (is_name(token) or (token[0] == "." and len(token) > 1)):
        reader.fail("the name of a section")
    reader.index += 1
    reader.take("{", "after the name of a section")
    try:
        reader.index = reader.tokens.index("}", reader.index) + 1
    except ValueError:
        reader.index = reader.tokens.index(END, reader.index)
        reader.fail("'}' at the end of a section")


def file_entry(reader: Reader) -> tuple[int, str, int]:
    """Read ``.file number "path", timestamp, size``; return the number, the path, and the size, or 0 without one."""
    reader.take(".file")
    number = int(_numbers(reader, 1, ".file")[0])
    name = _plain(reader.string("the path of a file, in quotation marks"))
    size = 0
    for is_size in (False, True):
        if reader.accept(","):
            token = reader.tokens[reader.index]
            if not token[0].isdigit():
                reader.fail("a number: time or size of the file")
            if is_size and token.isdecimal() and len(token) <= _LONGEST_SIZE:
                size = int(token)
            reader.index += 1
    return number, name, size


def _plain(path: str) -> str:
    r"""Decode the octal escapes that compilers write for the UTF-8 bytes of characters outside ASCII.

    Examples
    --------
    >>> _plain(r"/home/j\303\266rg/k.cu")
    '/home/jörg/k.cu'
    """

    def decoded(found: "re.Match[str]") -> str:
        return bytes(int(x, 8) for x in found[0].split("\\")[1:]).decode(errors="replace")

    return _OCTAL.sub(decoded, path)

# SPDX-License-Identifier: MIT
"""A whole PTX module: its header, its variables, and its kernels and functions."""

from dataclasses import dataclass, field

from wmma_emu.errors import PtxSyntaxError
from wmma_emu.ptx.syntax.body import body
from wmma_emu.ptx.syntax.declarations import SPACES, attribute_words, linking_words, parameters, variables
from wmma_emu.ptx.syntax.directives import file_entry, skip_section
from wmma_emu.ptx.syntax.expressions import integer
from wmma_emu.ptx.syntax.tokens import END, Reader
from wmma_emu.ptx.syntax.tree import Directive, FunctionText, ModuleText, Statement, VariableText

_NUMBERS = {
    ".reqntid": 3, ".maxntid": 3, ".reqnctapercluster": 3, ".minnctapersm": 1, ".maxnctapersm": 1, ".maxnreg": 1,
    ".maxclusterrank": 1, ".abi_preserve": 1, ".abi_preserve_control": 1,
    ".noreturn": 0, ".explicitcluster": 0, ".blocksareclusters": 0, ".unified": 0,
}  # fmt: skip
"""The directives between the name of a function and its body, with the largest number of their arguments."""


@dataclass(slots=True)
class Contents:
    """The part of a module that was read; the fields have the meaning of those in `ModuleText`."""

    address_size: int = 64
    variables: list[VariableText] = field(default_factory=list)
    functions: list[FunctionText] = field(default_factory=list)
    files: dict[int, str] = field(default_factory=dict)
    aliases: list[tuple[str, str, int, int]] = field(default_factory=list)
    file_sizes: dict[str, int] = field(default_factory=dict)


def parse(text: str) -> ModuleText:
    r"""Parse PTX source (PTX ISA 9.1, Syntax and Directives) without resolving names.

    Parsing takes linear time for any input. Source that is not PTX raises a `PtxSyntaxError` with line and column.

    Examples
    --------
    >>> module = parse(".version 8.0\n.target sm_80\n.visible .entry k() { add.s32 %r1, %r2, 0x10; ret; }")
    >>> module.functions[0].body[0].operands
    (Name(text='%r1'), Name(text='%r2'), Literal(kind='int', value=16))
    """
    if not isinstance(text, str):
        fix = "; decode bytes first" if isinstance(text, bytes | bytearray) else ""
        raise PtxSyntaxError(f"expected PTX as a string, found {type(text).__name__}{fix}")
    if text.endswith((".ptx", ".cu")) and "\n" not in text:
        raise PtxSyntaxError("found the name of a file; expected the PTX itself, and Module.from_file reads a file",
                             text=text)  # fmt: skip
    reader = Reader(text)
    version, target = header(reader)
    module = Contents()
    while reader.tokens[reader.index] != END:
        read_item(reader, module)
    return ModuleText(
        version, tuple(target), module.address_size, tuple(module.variables), tuple(module.functions), module.files,
        reader.lines, tuple(module.aliases), module.file_sizes,
    )  # fmt: skip


def read_item(reader: Reader, module: Contents) -> None:
    """Read one directive, declaration or definition of a module, after its header."""
    token = reader.tokens[reader.index]
    if token == ".address_size":
        reader.index += 1
        index = reader.index
        module.address_size = integer(reader, "an address size", 32, 64)
        if module.address_size not in (32, 64):
            raise reader.error(f"found {module.address_size}; expected an address size, 32 or 64", index)
    elif token == ".file":
        number, path, size = file_entry(reader)
        module.files[number] = path
        if size:
            module.file_sizes[path] = size
    elif token == ".section":
        skip_section(reader)
    elif token == ".pragma":
        _pragma(reader)
    elif token == ".alias":
        module.aliases.append(_alias(reader))
    else:
        _definition(reader, module.variables, module.functions)


def header(reader: Reader) -> tuple[str, list[str]]:
    """Read ``.version`` and ``.target``; return the version, and the target with its options."""
    version = _version(reader)
    reader.take(".target", "after .version")
    target = [reader.name("a target, such as sm_80")]
    while reader.accept(","):
        target.append(reader.name("an option of .target"))
    return version, target


def _version(reader: Reader) -> str:
    reader.take(".version", "at the start of the source")
    token = reader.tokens[reader.index]
    major, point, minor = token.partition(".")
    if not (point and major.isdigit() and minor.isdigit() and token.isascii() and len(token) < 12):
        reader.fail("a version of PTX, such as 8.0")
    reader.index += 1
    return token


def _pragma(reader: Reader) -> tuple[str, ...]:
    reader.index += 1
    words = [reader.string("a pragma, in quotation marks")]
    while reader.accept(","):
        words.append(reader.string("a pragma, in quotation marks"))
    reader.take(";", "after a pragma")
    return tuple(words)


def _alias(reader: Reader) -> tuple[str, str, int, int]:
    line, column = reader.position(reader.index)
    reader.index += 1
    name = reader.name("the alias")
    reader.take(",", "after the alias")
    function = reader.name("the function that the alias names")
    reader.take(";", "after .alias")
    return name, function, line, column


def _definition(reader: Reader, declared: list[VariableText], functions: list[FunctionText]) -> None:
    attributes = tuple(linking_words(reader))
    token = reader.tokens[reader.index]
    if token in (".entry", ".func"):
        functions.append(_function(reader, attributes))
    elif token[0] == "." and token[1:] in SPACES:
        declared += variables(reader, attributes)
    else:
        reader.fail("a kernel (.entry), a function (.func), a variable (.global, ...) or the end of the source")


def _function(reader: Reader, attributes: tuple[str, ...]) -> FunctionText:
    line, column = reader.position(reader.index)
    is_kernel = reader.tokens[reader.index] == ".entry"
    reader.index += 1
    results: tuple[VariableText, ...] = ()
    if not is_kernel:
        if reader.accept(".attribute"):
            attributes = (*attributes, *attribute_words(reader))
        if reader.tokens[reader.index] == "(":
            results = parameters(reader)
    index = reader.index
    name = reader.name("the name of a function")
    if "." in name or name[0] == "%":
        raise reader.error(f"found {name[:80]!r}; expected the name of a function", index)
    inputs = parameters(reader) if reader.tokens[reader.index] == "(" else ()
    directives = _directives(reader)
    statements: tuple[Statement, ...] | None = None
    if not reader.accept(";"):
        if reader.tokens[reader.index] != "{":
            reader.fail("'{' and the body of the function, ';', or a directive such as .reqntid")
        statements = body(reader)
    last = reader.position(reader.index - 1)[0]
    return FunctionText(name, is_kernel, results, inputs, directives, statements, attributes, line, column, last)


def _directives(reader: Reader) -> tuple[Directive, ...]:
    found = []
    while (token := reader.tokens[reader.index])[0] == ".":
        line, column = reader.position(reader.index)
        if token == ".pragma":
            found.append(Directive("pragma", _pragma(reader), line, None, column))
            continue
        if token not in _NUMBERS:
            reader.fail("'{' and the body of the function, ';', or a directive such as .reqntid")
        reader.index += 1
        numbers: list[str] = []
        while len(numbers) < _NUMBERS[token]:
            numbers.append(str(integer(reader, f"a number of {token}", 0, 2**32 - 1)))
            if not reader.accept(","):
                break
        found.append(Directive(token[1:], tuple(numbers), line, None, column))
    return tuple(found)

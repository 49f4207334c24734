# SPDX-License-Identifier: MIT
"""The nodes of the syntax tree that the parser returns; names are not resolved yet."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Name:
    """A register, a variable, a label, a function, a special register (``%tid.x``) or the sink ``_``."""

    text: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: ``kind`` is "int" (value: its number), "f32" or "f64" (value: its bit pattern)."""

    kind: str
    value: int


@dataclass(frozen=True, slots=True)
class Negated:
    """``!p``, the complement of a predicate."""

    operand: Name


@dataclass(frozen=True, slots=True)
class Pair:
    """``p|q`` or ``{a, b}|q``: two results of one instruction."""

    first: "Name | Vector"
    second: Name


@dataclass(frozen=True, slots=True)
class Vector:
    """``{a, b, c, d}``."""

    elements: "tuple[OperandText, ...]"


@dataclass(frozen=True, slots=True)
class Address:
    """``[base + offset]``; ``coordinates`` are the coordinates of an access through a tensor map.

    ``form`` is "memory", or the notation of an address without brackets around it: "sum" (``variable + offset``),
    "element" (``variable[offset]``, counted in elements), "generic" (``generic(variable) + offset``, in initial
    values).
    """

    base: Name | Literal
    offset: int = 0
    coordinates: "tuple[OperandText, ...]" = ()
    form: str = "memory"


@dataclass(frozen=True, slots=True)
class Call:
    """The operands of ``call``: results, function, arguments, and the list of targets or prototype after them."""

    results: tuple[Name, ...]
    function: Name
    arguments: "tuple[OperandText, ...]"
    prototype: Name | None = None


OperandText = Name | Literal | Negated | Pair | Vector | Address | Call


@dataclass(frozen=True, slots=True)
class Guard:
    """``@p`` or ``@!p``."""

    register: str
    negated: bool


@dataclass(frozen=True, slots=True)
class InstructionText:
    """One instruction: ``add`` with modifiers ``("s32",)``; ``::`` stays inside a modifier (``shared::cta``)."""

    mnemonic: str
    modifiers: tuple[str, ...]
    operands: tuple[OperandText, ...]
    guard: Guard | None
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Label:
    """A label: a name for the instruction after it."""

    name: str
    line: int
    column: int = 1


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive between instructions: ``.loc``, ``.pragma``, ``.branchtargets``, ``.callprototype``.

    A ``.callprototype`` has the ``results`` and ``parameters`` of a function.
    """

    name: str
    arguments: tuple[str, ...]
    line: int
    label: str | None = None
    column: int = 1
    results: "tuple[VariableText, ...]" = ()
    parameters: "tuple[VariableText, ...]" = ()


@dataclass(frozen=True, slots=True)
class VariableText:
    """A declaration: ``.shared .align 16 .b8 tile[2][64];`` or ``.reg .b32 %r<5>;`` (count 5).

    ``initial`` contains literals and names (of variables whose address is meant) in row-major order, and ``positions``
    the element that each initialises (rows may be shorter than declared). ``sizes`` are the sizes in brackets, 0 for an
    empty pair. ``attributes`` contains the other words: ``extern``, ``visible``, ``weak``, ``common``; ``ptr``, ``ptr
    global``, ``ptr align 16``; ``managed``.
    """

    space: str
    type: str
    name: str
    alignment: int | None
    sizes: tuple[int, ...]
    count: int | None
    vector: int
    initial: tuple[OperandText, ...] | None
    attributes: tuple[str, ...]
    line: int
    column: int
    positions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """``{ ... }``: names declared inside are visible only inside."""

    body: "tuple[Statement, ...]"
    line: int


Statement = InstructionText | Label | Directive | VariableText | Scope


@dataclass(frozen=True, slots=True)
class FunctionText:
    """An ``.entry`` (a kernel) or a ``.func``; ``body`` is None for a declaration, and ends in line ``last_line``."""

    name: str
    is_kernel: bool
    results: tuple[VariableText, ...]
    parameters: tuple[VariableText, ...]
    directives: tuple[Directive, ...]
    body: tuple[Statement, ...] | None
    attributes: tuple[str, ...]
    line: int
    column: int
    last_line: int = 0


@dataclass(frozen=True, slots=True)
class ModuleText:
    """A PTX module; ``aliases`` are further names of functions, as (name, function, line, column).

    ``file_sizes`` are the sizes in bytes of the ``files`` whose ``.file`` directive states one.
    """

    version: str
    target: tuple[str, ...]
    address_size: int
    variables: tuple[VariableText, ...]
    functions: tuple[FunctionText, ...]
    files: dict[int, str]
    lines: tuple[str, ...]
    aliases: tuple[tuple[str, str, int, int], ...] = ()
    file_sizes: dict[str, int] = field(default_factory=dict)

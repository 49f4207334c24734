# SPDX-License-Identifier: MIT
"""The names of a module: functions, global and constant variables, and shared variables of all kernels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from wmma_emu.ptx.program.faults import Positioned, TextPosition, fault, short_name
from wmma_emu.ptx.program.program import Symbol
from wmma_emu.ptx.program.sizes import bytes_of, element_bytes
from wmma_emu.ptx.program.undefined_functions import what_defines
from wmma_emu.ptx.program.variables import VariableSpace, lay_out
from wmma_emu.ptx.syntax.tree import (
    Address,
    FunctionText,
    InstructionText,
    ModuleText,
    Name,
    Scope,
    Statement,
    VariableText,
)

_MOST_VECTOR_BYTES = 16

CODE_STEP = 16
"""The distance of the addresses of two functions in bytes; a GPU's instructions have 16 bytes."""

OF_A_KERNEL = "is a kernel; kernels cannot be launched from kernels"
"""The reason why the address of a kernel is refused."""


@dataclass(slots=True)
class ModuleSymbols:
    """The names of a module.

    ``functions`` contains definitions, else declarations, also under their aliases; ``inner`` the symbols of global and
    constant variables declared in functions, by `id` of the declaration; ``elements`` the size of an element in bytes.
    ``code`` are the symbols of all functions, and ``addressed`` the functions whose address the module takes.
    """

    lines: tuple[str, ...]
    functions: dict[str, FunctionText] = field(default_factory=dict)
    symbols: dict[str, Symbol] = field(default_factory=dict)
    shared: dict[str, VariableText] = field(default_factory=dict)
    inner: dict[int, Symbol] = field(default_factory=dict)
    elements: dict[Symbol, int] = field(default_factory=dict)
    code: dict[str, Symbol] = field(default_factory=dict)
    addressed: dict[str, None] = field(default_factory=dict)
    memories: dict[str, VariableSpace] = field(
        default_factory=lambda: {x: VariableSpace(x) for x in ("global", "const")}
    )

    def allocate(self, variable: VariableText) -> Symbol:
        """Allocate a global or constant variable."""
        symbol = lay_out(self.memories[variable.space], variable, self.lines)
        self.elements[symbol] = element_bytes(variable)
        return symbol

    def address(self, name: str) -> Symbol | str:
        """Return the symbol of a global or constant variable, or the reason why it is not available."""
        if name in self.symbols:
            return self.symbols[name]
        if name in self.functions:
            return self.address_of_function(name)
        if name in self.shared:
            return "is in shared memory, whose address is known only in a kernel"
        return "is not declared"

    def address_of_function(self, name: str) -> Symbol | str:
        """Return the symbol of a function, or the reason why its address is not available."""
        function = self.functions[name]
        if function.is_kernel:
            return OF_A_KERNEL
        if function.body is None:
            return f"is a function without a body; {what_defines(name)}"
        return self.code[function.name]


def symbols_of_module(tree: ModuleText) -> ModuleSymbols:
    """Collect the names of a module; a name that is defined twice is an error."""
    module = ModuleSymbols(tree.lines)
    declared = {x.name: x for x in tree.variables if "extern" in x.attributes}
    defined: dict[str, Positioned] = {}
    for variable in tree.variables:
        if "extern" not in variable.attributes:
            _require_new(module, defined, variable.name, variable)
    for name, variable in declared.items():
        defined.setdefault(name, variable)
    for variable in tree.variables:
        if defined[variable.name] is variable:
            _add_variable(module, variable)
    for function in tree.functions:
        _add_function(module, defined, function)
    for name, meant, line, column in tree.aliases:
        where = TextPosition(line, column)
        prototype = module.functions.get(name)
        if prototype is not None and prototype.body is None and defined[name] is prototype:
            del defined[name]  # an alias may have a declaration before it, as LLVM writes
        _require_new(module, defined, name, where)
        if meant not in module.functions:
            raise fault(
                tree.lines, where, f"the alias {short_name(name)} names {short_name(meant)}; expected a function"
            )
        module.functions[name] = module.functions[meant]
    for i, function in enumerate(module.functions.values(), 1):
        module.code.setdefault(function.name, Symbol("code", i * CODE_STEP, function.name, 0))
    for function in tree.functions:
        _add_inner(module, function)
    module.addressed = {x: None for x in _named(tree) if _is_callable(module.functions.get(x))}
    return module


def _is_callable(function: FunctionText | None) -> bool:
    return function is not None and function.body is not None and not function.is_kernel


def _named(tree: ModuleText) -> Iterator[str]:
    """Yield the names in initial values and in the operands of ``mov``, which may be functions."""
    waiting: list[Sequence[Statement]] = [tree.variables, *(x.body or () for x in tree.functions)]
    for statements in waiting:
        for statement in statements:
            if isinstance(statement, Scope):
                waiting.append(statement.body)
            elif isinstance(statement, VariableText):
                for value in statement.initial or ():
                    base = value.base if isinstance(value, Address) else value
                    if isinstance(base, Name):
                        yield base.text
            elif isinstance(statement, InstructionText) and statement.mnemonic == "mov":
                yield from (x.text for x in statement.operands if isinstance(x, Name))


def _require_new(module: ModuleSymbols, defined: dict[str, Positioned], name: str, where: Positioned) -> None:
    if name in defined:
        raise fault(module.lines, where, f"{short_name(name)} is declared twice, first in line {defined[name].line}")
    defined[name] = where


def _add_variable(module: ModuleSymbols, variable: VariableText) -> None:
    require_complete(module.lines, variable)
    if variable.space in module.memories:
        module.symbols[variable.name] = module.allocate(variable)
    elif variable.space == "shared":
        module.shared[variable.name] = variable
    else:
        raise fault(
            module.lines, variable, f"{short_name(variable.name)} is .{variable.space}; outside of functions, "
            f"a variable is .global, .const or .shared"
        )  # fmt: skip


def require_complete(lines: tuple[str, ...], variable: VariableText) -> None:
    """Check the size and kind of a declaration."""
    if bytes_of(variable) >= 2**63:
        raise fault(lines, variable, f"{short_name(variable.name)} is larger than the 64-bit address space")
    if variable.count is not None and variable.space != "reg":
        message = f"{short_name(variable.name)}<...> is .{variable.space}; only registers are declared by number"
        raise fault(lines, variable, message)
    if variable.type == "pred" and variable.space != "reg":
        raise fault(lines, variable, f"{short_name(variable.name)} is a predicate, which has to be a register")
    if variable.vector > 1:
        _require_vector(lines, variable)
    unsized = bool(variable.sizes) and variable.sizes[0] == 0 and variable.initial is None
    if unsized and "extern" not in variable.attributes and variable.space != "param":
        message = f"{short_name(variable.name)} has no size; expected [number], or .extern before the declaration"
        raise fault(lines, variable, message)


def _require_vector(lines: tuple[str, ...], variable: VariableText) -> None:
    what = f"{short_name(variable.name)}, .v{variable.vector} .{variable.type}"
    if variable.type == "pred":
        raise fault(lines, variable, f"{what}: a vector cannot have predicates as elements")
    if variable.space == "param":
        bytes_each = element_bytes(variable)
        message = f"{what}: a .param variable cannot be a vector; write .align {bytes_each} .b8 [{bytes_each}]"
        raise fault(lines, variable, message)
    if element_bytes(variable) > _MOST_VECTOR_BYTES:
        raise fault(lines, variable, f"{what}: a vector has at most {8 * _MOST_VECTOR_BYTES} bits")


def _add_function(module: ModuleSymbols, defined: dict[str, Positioned], function: FunctionText) -> None:
    known = module.functions.get(function.name)
    if known is None:
        _require_new(module, defined, function.name, function)
        module.functions[function.name] = function
    elif known.body is not None and function.body is not None:
        raise fault(module.lines, function, f"{short_name(function.name)} is defined twice, first in line {known.line}")
    elif function.body is not None:
        module.functions[function.name] = function


def _add_inner(module: ModuleSymbols, function: FunctionText) -> None:
    """Allocate the global and constant variables that a function declares."""
    waiting = [function.body or ()]
    while waiting:
        for statement in waiting.pop():
            if isinstance(statement, Scope):
                waiting.append(statement.body)
            elif isinstance(statement, VariableText) and statement.space in module.memories:
                require_complete(module.lines, statement)
                module.inner[id(statement)] = module.allocate(statement)

# SPDX-License-Identifier: MIT
"""What the whole module knows by name: functions, global and constant variables, shared ones that kernels may use."""

from dataclasses import dataclass, field

from wmma_emu.ptx.program.faults import Positioned, TextPosition, fault, short_name
from wmma_emu.ptx.program.program import Symbol
from wmma_emu.ptx.program.sizes import bytes_of, element_bytes
from wmma_emu.ptx.program.variables import VariableSpace, lay_out
from wmma_emu.ptx.syntax.tree import FunctionText, ModuleText, Scope, VariableText

_MOST_VECTOR_BYTES = 16


@dataclass(slots=True)
class ModuleSymbols:
    """Names of a module.

    ``functions`` has definitions where there are any, else declarations, also by their aliases; ``inner`` the symbols
    of global and constant variables that functions declare, by `id` of the declaration; ``elements`` the bytes of an
    element.
    """

    lines: tuple[str, ...]
    functions: dict[str, FunctionText] = field(default_factory=dict)
    symbols: dict[str, Symbol] = field(default_factory=dict)
    shared: dict[str, VariableText] = field(default_factory=dict)
    inner: dict[int, Symbol] = field(default_factory=dict)
    elements: dict[Symbol, int] = field(default_factory=dict)
    memories: dict[str, VariableSpace] = field(
        default_factory=lambda: {x: VariableSpace(x) for x in ("global", "const")}
    )

    def allocate(self, variable: VariableText) -> Symbol:
        """Lay out a global or constant variable."""
        symbol = lay_out(self.memories[variable.space], variable, self.lines)
        self.elements[symbol] = element_bytes(variable)
        return symbol

    def address(self, name: str) -> Symbol | str:
        """Symbol of a global or constant variable; a text says why there is none."""
        if name in self.symbols:
            return self.symbols[name]
        if name in self.functions:
            return "is a function; calls through addresses are not supported"
        if name in self.shared:
            return "is in shared memory, whose address is known only in a kernel"
        return "is not declared"


def symbols_of_module(tree: ModuleText) -> ModuleSymbols:
    """Collect the names; a name that stands for two things is an error."""
    names = ModuleSymbols(tree.lines)
    declared = {x.name: x for x in tree.variables if "extern" in x.attributes}
    defined: dict[str, Positioned] = {}
    for variable in tree.variables:
        if "extern" not in variable.attributes:
            _require_new(names, defined, variable.name, variable)
    for name, variable in declared.items():
        defined.setdefault(name, variable)
    for variable in tree.variables:
        if defined[variable.name] is variable:
            _add_variable(names, variable)
    for function in tree.functions:
        _add_function(names, defined, function)
    for name, meant, line, column in tree.aliases:
        where = TextPosition(line, column)
        _require_new(names, defined, name, where)
        if meant not in names.functions:
            raise fault(
                tree.lines, where, f"the alias {short_name(name)} stands for {short_name(meant)}, which is no function"
            )
        names.functions[name] = names.functions[meant]
    for function in tree.functions:
        _add_inner(names, function)
    return names


def _require_new(names: ModuleSymbols, defined: dict[str, Positioned], name: str, where: Positioned) -> None:
    if name in defined:
        raise fault(names.lines, where, f"{short_name(name)} is declared twice, first in line {defined[name].line}")
    defined[name] = where


def _add_variable(names: ModuleSymbols, variable: VariableText) -> None:
    require_complete(names.lines, variable)
    if variable.space in names.memories:
        names.symbols[variable.name] = names.allocate(variable)
    elif variable.space == "shared":
        names.shared[variable.name] = variable
    else:
        raise fault(
            names.lines, variable, f"{short_name(variable.name)} is .{variable.space}; outside of functions a variable is "
            f".global, .const or .shared"
        )  # fmt: skip


def require_complete(lines: tuple[str, ...], variable: VariableText) -> None:
    """Refuse what has no size or none that an address reaches, and registers declared by number that are none."""
    if bytes_of(variable) >= 2**63:
        raise fault(lines, variable, f"{short_name(variable.name)} has more bytes than an address of 64 bits reaches")
    if variable.count is not None and variable.space != "reg":
        raise fault(
            lines, variable, f"{short_name(variable.name)}<...> declares registers, not .{variable.space} variables"
        )
    if variable.type == "pred" and variable.space != "reg":
        raise fault(lines, variable, f"{short_name(variable.name)} is a predicate, which only a register can be")
    if variable.vector > 1:
        _require_vector(lines, variable)
    unsized = bool(variable.sizes) and variable.sizes[0] == 0 and variable.initial is None
    if unsized and "extern" not in variable.attributes and variable.space != "param":
        raise fault(
            lines, variable, f"{short_name(variable.name)} has no size; expected [number], or .extern before it"
        )


def _require_vector(lines: tuple[str, ...], variable: VariableText) -> None:
    what = f"{short_name(variable.name)}, .v{variable.vector} .{variable.type}"
    if variable.type == "pred":
        raise fault(lines, variable, f"{what}: predicates have no vectors")
    if variable.space == "param":
        bytes_each = element_bytes(variable)
        raise fault(
            lines, variable, f"{what}: .param variables are no vectors; write .align {bytes_each} .b8 [{bytes_each}]"
        )
    if element_bytes(variable) > _MOST_VECTOR_BYTES:
        raise fault(lines, variable, f"{what}: a vector has {8 * _MOST_VECTOR_BYTES} bits at most")


def _add_function(names: ModuleSymbols, defined: dict[str, Positioned], function: FunctionText) -> None:
    known = names.functions.get(function.name)
    if known is None:
        _require_new(names, defined, function.name, function)
        names.functions[function.name] = function
    elif known.body is not None and function.body is not None:
        raise fault(names.lines, function, f"{short_name(function.name)} is defined twice, first in line {known.line}")
    elif function.body is not None:
        names.functions[function.name] = function


def _add_inner(names: ModuleSymbols, function: FunctionText) -> None:
    """Lay out the global and constant variables that a function declares."""
    waiting = [function.body or ()]
    while waiting:
        for statement in waiting.pop():
            if isinstance(statement, Scope):
                waiting.append(statement.body)
            elif isinstance(statement, VariableText) and statement.space in names.memories:
                require_complete(names.lines, statement)
                names.inner[id(statement)] = names.allocate(statement)

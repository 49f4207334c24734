# SPDX-License-Identifier: MIT
"""The functions of a kernel: their parameters, and the order in which they are appended."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from wmma_emu.ptx.program.faults import short_name
from wmma_emu.ptx.program.frames import Frame
from wmma_emu.ptx.program.link_state import Callee, LinkState
from wmma_emu.ptx.program.module_symbols import require_complete
from wmma_emu.ptx.program.program import AddressOperand, Operand, Register, Symbol
from wmma_emu.ptx.program.scopes import ScopeStack
from wmma_emu.ptx.program.sizes import alignment_of, bytes_of
from wmma_emu.ptx.syntax.tree import Call, FunctionText, InstructionText, VariableText


def enter_function(linker: LinkState, function: FunctionText) -> Callee:
    """Return a function of the kernel; its first call allocates its parameters."""
    callee = linker.callees.get(function.name)
    if callee is None:
        callee = linker.callees[function.name] = linker.callee(function)
        if function.body is not None:
            enter_formals(linker, callee)
            linker.bodies.append(callee)
    return callee


def enter_formals(linker: LinkState, callee: Callee) -> None:
    """Allocate registers and local memory for a function's parameters and results."""
    outer, linker.storage.frame = linker.storage.frame, callee.frame
    callee.results = [_formal(linker, callee, x) for x in callee.function.results]
    callee.parameters = [_formal(linker, callee, x) for x in callee.function.parameters]
    linker.storage.frame = outer


def _formal(linker: LinkState, callee: Callee, variable: VariableText) -> Operand:
    require_complete(linker.module.lines, variable)
    if variable.count is not None:
        linker.resolver.fault(variable, f"{short_name(variable.name)}<...>: a parameter has to be one register")
    if variable.space == "reg":
        enter(linker, callee.scopes, variable, None)
        outer, linker.resolver.scopes = linker.resolver.scopes, callee.scopes
        found = linker.resolver.name(variable.name, variable)
        linker.resolver.scopes = outer
        return found
    symbol = linker.storage.local(stored(variable))
    enter(linker, callee.scopes, variable, symbol)
    if is_variadic(variable):
        linker.variadic.add(symbol)
    return symbol


def is_variadic(variable: VariableText) -> bool:
    """Return whether a parameter contains variable arguments, ``.param .align 8 .b8 va[]``."""
    return variable.space == "param" and bool(variable.sizes) and variable.sizes[0] == 0


def stored(variable: VariableText) -> VariableText:
    """Return a parameter as it is stored: of variable arguments, their address in the caller's memory."""
    return replace(variable, type="b64", sizes=(), alignment=None) if is_variadic(variable) else variable


def variables_in(operands: Iterable[Operand | None]) -> list[Symbol]:
    """Return the variables among operands, also as addresses."""
    found = (x.base if isinstance(x, AddressOperand) else x for x in operands)
    return [x for x in found if isinstance(x, Symbol)]


def enter(linker: LinkState, names: ScopeStack, variable: VariableText, symbol: Symbol | None) -> None:
    """Declare a variable in a scope, with its symbol if it has one."""
    twice = names.declare(variable)
    if twice is not None:
        linker.resolver.fault(variable, f"{short_name(twice)} is declared twice in this scope")
    if symbol is not None:
        linker.resolver.declared[id(variable), variable.name] = symbol


@dataclass(slots=True)
class Prototype(Callee):
    """The parameters and results of a call to the address in ``register``, and the functions that it may call."""

    register: Operand | None = None
    candidates: list[Callee] = field(default_factory=list)


def prototype_of(linker: LinkState, call: Call, text: InstructionText) -> Prototype:
    """Read the prototype of a call to an address, and add the functions that it may call to the kernel.

    These are the functions of ``.calltargets``, or the functions of the module whose address is taken and whose
    parameters have the sizes that ``.callprototype`` gives: the address may come from memory that another kernel wrote.
    """
    resolver, name = linker.resolver, call.function.text
    table = None if call.prototype is None else resolver.scopes.table(call.prototype.text)
    if table is None or table.text.name not in ("callprototype", "calltargets"):
        message = "a list of functions (.calltargets) or a .callprototype has to follow"
        resolver.unsupported(text, f"the call goes to the address in {short_name(name)}: {message}", name)
    if table.text.name == "calltargets":
        functions = [_listed(linker, x, text) for x in table.text.arguments[::2]]
        results, parameters = functions[0].results, functions[0].parameters
    else:
        results, parameters = table.text.results, table.text.parameters
        kind = _sizes(results), _sizes(parameters)
        taken = (linker.module.functions[x] for x in linker.module.addressed)
        functions = [x for x in taken if (_sizes(x.results), _sizes(x.parameters)) == kind]
    if any(x.space == "reg" for x in (*results, *parameters)):
        resolver.unsupported(text, "a function with .reg parameters is called through an address; declare them .param")
    shown = FunctionText("", False, results, parameters, (), None, (), text.line, text.column)
    found = Prototype(shown, Frame(), register=resolver.operand(call.function, text))
    if not isinstance(found.register, Register) or found.register.type[1:] != "64" or found.register.type[0] == "f":
        resolver.fault(text, f"{short_name(name)} cannot be the address of a function: expected a .b64 register", name)
    found.results = [_passed(found.frame, x) for x in results]
    found.parameters = [_passed(found.frame, x) for x in parameters]
    found.candidates = [enter_function(linker, x) for x in functions]
    return found


def _listed(linker: LinkState, name: str, text: InstructionText) -> FunctionText:
    function = linker.module.functions.get(name)
    if function is None or function.is_kernel:
        linker.resolver.fault(text, f"{short_name(name)}, in a list of functions, is not a function (.func)", name)
    if function.body is None:
        linker.resolver.unsupported(text, f"{short_name(name)}, in a list of functions, is not defined in this source")
    return function


def _sizes(variables: tuple[VariableText, ...]) -> list[tuple[str, int, int]]:
    return [(x.space, bytes_of(x), alignment_of(x)) for x in map(stored, variables)]


def _passed(frame: Frame, variable: VariableText) -> Symbol:
    """Return the variable of a parameter or result in the local memory of the function that is called."""
    variable = stored(variable)
    return Symbol("local", frame.allocate(variable), variable.name, bytes_of(variable), is_parameter=True)

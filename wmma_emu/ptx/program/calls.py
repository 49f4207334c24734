# SPDX-License-Identifier: MIT
"""Calls: the function called, and the transfer of arguments and results."""

from dataclasses import dataclass, field

from wmma_emu.ptx.program.callees import Prototype, enter_function, is_variadic, prototype_of, stored
from wmma_emu.ptx.program.faults import short_name
from wmma_emu.ptx.program.link_state import Callee, LinkState
from wmma_emu.ptx.program.operand_kinds import reason_against_constant, reason_against_register
from wmma_emu.ptx.program.program import (
    AddressOperand,
    Immediate,
    Operand,
    ParameterCopy,
    Predicate,
    PtxInstruction,
    Register,
    SourceLine,
    SpecialRegister,
    Symbol,
    VectorOperand,
)
from wmma_emu.ptx.program.resolve import name_of
from wmma_emu.ptx.program.sizes import BYTES
from wmma_emu.ptx.syntax.tree import Call, InstructionText, OperandText, VariableText
from wmma_emu.ptx.widths import bits_of_type


def _callee_of(linker: LinkState, call: Call, text: InstructionText) -> Callee:
    """Return the function of a call, or the prototype of a call to an address."""
    name = call.function.text
    resolver = linker.resolver
    function = linker.module.functions.get(name)
    declared = resolver.scopes.lookup(name)
    if declared is not None and declared.text.space == "reg":
        return prototype_of(linker, call, text)
    if declared is not None or function is None:
        resolver.fault(text, f"{short_name(name)} is not a function; declare it with .func before the call", name)
    if function.is_kernel:
        resolver.fault(text, f"{short_name(name)} is a kernel (.entry), which cannot be called", name)
    return enter_function(linker, function)


@dataclass(slots=True)
class _ValueTransfer:
    """The transfer of values before or after a call: copies of memory, and instructions for registers."""

    linker: LinkState
    text: InstructionText
    guard: Predicate | None
    source: SourceLine | None
    copies: list[ParameterCopy] = field(default_factory=list)
    instructions: list[PtxInstruction] = field(default_factory=list)

    def pass_arguments(self, arguments: list[Operand | None], callee: Callee) -> None:
        """Transfer the arguments to a function."""
        formals = zip(callee.parameters, callee.function.parameters, strict=True)
        for i, (argument, (target, declared)) in enumerate(zip(arguments, formals, strict=True), 1):
            if argument is None:
                self.linker.resolver.fault(self.text, "the sink _ cannot be an argument of a call")
            if is_variadic(declared):
                argument, declared = self._address_of(argument, i), stored(declared)
            self._transfer(argument, target, declared, i)

    def _address_of(self, argument: Operand, number: int) -> Register:
        """Return a register with the address of variable arguments, a .param variable of the caller."""
        if not isinstance(argument, Symbol):
            message = f"argument {number}: variable arguments are an array, .param .align 8 .b8 name[size]"
            self.linker.resolver.fault(self.text, message)
        register = self.linker.storage.new_register("%va", "b64")
        self._add("mov", ("u64",), (register, argument))
        return register

    def return_results(self, results: list[Operand | None], callee: Callee) -> None:
        """Transfer the results to the caller; a result for the sink is dropped."""
        formals = zip(callee.results, callee.function.results, strict=True)
        for i, (result, (origin, declared)) in enumerate(zip(results, formals, strict=True), 1):
            if result is None:
                continue
            if not isinstance(result, Register | Symbol | VectorOperand):
                self.linker.resolver.fault(self.text, "the result of a call has to be a register or a .param variable")
            self._transfer(origin, result, declared, i)

    def _transfer(self, source: Operand, target: Operand, formal: VariableText, number: int) -> None:
        """Transfer one value with the type that the function declares for it."""
        if isinstance(source, VectorOperand) or isinstance(target, VectorOperand):
            self._transfer_vector(source, target, formal, number)
            return
        self._require_type(source, formal, number)
        self._require_type(target, formal, number)
        kind = "b" + str(8 * BYTES[formal.type]) if formal.type not in ("f32", "f64", "pred") else formal.type
        if isinstance(source, Symbol) and isinstance(target, Symbol):
            if source.bytes != target.bytes:
                self.linker.resolver.fault(
                    self.text, f"argument or result {number}: {short_name(source.name)} has {source.bytes} bytes, "
                    f"{short_name(target.name)} has {target.bytes}"
                )  # fmt: skip
            self.copies.append(ParameterCopy(source.offset, target.offset, source.bytes))
        elif isinstance(target, Symbol):
            self._add("st", ("param", kind), (AddressOperand(self._passed_in(target, formal, is_result=False)), source))
        elif isinstance(source, Symbol):
            self._add("ld", ("param", kind), (target, AddressOperand(self._passed_in(source, formal, is_result=True))))
        else:
            self._add("mov", (kind,), (target, source))

    def _passed_in(self, symbol: Symbol, formal: VariableText, *, is_result: bool) -> Symbol:
        """Return the memory for a value in a register: the function's, or a copy of it if each call has its own."""
        if not self.linker.has_frames:
            return symbol
        own = self.linker.storage.local(formal)
        places = (symbol, own) if is_result else (own, symbol)
        self.copies.append(ParameterCopy(places[0].offset, places[1].offset, symbol.bytes))
        return own

    def _require_type(self, operand: Operand, formal: VariableText, number: int) -> None:
        reason = None
        if isinstance(operand, Register):
            reason = reason_against_register(operand, formal.type)
        elif isinstance(operand, SpecialRegister):
            reason = f"the special register %{operand.name} cannot be passed to a function: read it with mov first"
        elif isinstance(operand, Immediate) and formal.type[0] != "b":
            reason = reason_against_constant(operand, formal.type)
        if reason is not None:
            self.linker.resolver.unsupported(self.text, f"argument or result {number}: {reason}")

    def _transfer_vector(self, source: Operand, target: Operand, formal: VariableText, number: int) -> None:
        """Transfer a vector to a vector with the same elements, or to one register with the same number of bits."""
        given, wanted = _widths(source), _widths(target)
        if given == wanted:
            self._add("mov", (f"v{len(given)}", f"b{given[0]}"), (target, source))
        elif isinstance(source, Immediate) or (1 in (len(given), len(wanted)) and sum(given) == sum(wanted)):
            self._add("mov", (f"b{sum(wanted)}",), (target, source))
        else:
            self.linker.resolver.fault(
                self.text, f"argument or result {number}: the parameter {short_name(formal.name)} is "
                f"{f'.v{formal.vector} ' if formal.vector > 1 else ''}.{formal.type}; "
                "expected a vector with the same elements, or one register with the same number of bits"
            )  # fmt: skip

    def _add(self, mnemonic: str, modifiers: tuple[str, ...], operands: tuple[Operand, ...]) -> None:
        self.instructions.append(
            PtxInstruction(
                ".".join((mnemonic, *modifiers)), mnemonic, modifiers, operands, self.guard, self.text.line,
                self.text.column, self.source,
            )
        )  # fmt: skip


def _widths(operand: Operand) -> list[int]:
    """Return the widths of the registers of an operand; none for an operand in memory."""
    parts = operand.elements if isinstance(operand, VectorOperand) else (operand,)
    return [bits_of_type(x.type) for x in parts if isinstance(x, Register)]


def add_call(
    linker: LinkState, text: InstructionText, call: Call, guard: Predicate | None, source: SourceLine | None
) -> None:
    """Append a call, with the transfer of its arguments before it and of its results after it."""
    callee = _callee_of(linker, call, text)
    function = callee.function
    results = [_actual(linker, x, text) for x in call.results]
    arguments = [_actual(linker, x, text) for x in call.arguments]
    for what, given, formals in (("result", results, function.results), ("argument", arguments, function.parameters)):
        if len(given) != len(formals):
            linker.resolver.fault(
                text,
                f"the call has {len(given)} {what}{'s' * (len(given) != 1)}; "
                f"{short_name(function.name)} declares {len(formals)}",
            )
    before, after = _ValueTransfer(linker, text, guard, source), _ValueTransfer(linker, text, guard, source)
    operands: tuple[Operand | None, ...] = (callee.register,) if isinstance(callee, Prototype) else ()
    is_defined = function.body is not None or isinstance(callee, Prototype)
    if is_defined:
        before.pass_arguments(arguments, callee)
        after.return_results(results, callee)
    else:
        if any(isinstance(x, VectorOperand) for x in (*results, *arguments)):
            message = f"{short_name(function.name)} is declared without a body; vectors cannot be passed to it"
            linker.resolver.unsupported(text, message)
        operands = (*results, *arguments)
    linker.instructions += before.instructions
    _note_call(linker, callee)
    linker.instructions.append(
        PtxInstruction(
            ".".join((text.mnemonic, *text.modifiers)), text.mnemonic, text.modifiers, operands, guard, text.line,
            text.column, source, callee=None if function.body is None else 0, callee_name=function.name,
            copies_in=tuple(before.copies), copies_out=tuple(after.copies),
        )
    )  # fmt: skip
    linker.instructions += after.instructions


def _note_call(linker: LinkState, callee: Callee) -> None:
    """Note the function, or the functions, that the next instruction calls."""
    index = len(linker.instructions)
    if isinstance(callee, Prototype):
        linker.needs_frames = True
        linker.indirect_calls.append((index, callee.candidates))
        linker.caller.calls += [x.function.name for x in callee.candidates]
    elif callee.function.body is not None:
        linker.calls.append((index, callee))
        linker.caller.calls.append(callee.function.name)


def _actual(linker: LinkState, text: OperandText, where: InstructionText) -> Operand | None:
    """Resolve an argument or result of a call: a register, a number, or a .param variable of the caller."""
    found = linker.resolver.operand(text, where)
    if isinstance(found, Symbol) and found.space != "local":
        what = "a parameter of the kernel" if found.space == "param" else f"a .{found.space} variable"
        message = (
            f"{short_name(found.name)} is {what}; "
            "arguments and results are registers, numbers and .param variables of the function"
        )
        linker.resolver.fault(where, message, name_of(text))
    is_vector = isinstance(found, VectorOperand) and all(isinstance(x, Register) for x in found.elements)
    if found is not None and not (is_vector or isinstance(found, Symbol | Register | Immediate | SpecialRegister)):
        name = name_of(text)
        message = f"{short_name(name) or 'this operand'} is not a register, a number or a .param variable"
        linker.resolver.fault(where, message, name)
    return found

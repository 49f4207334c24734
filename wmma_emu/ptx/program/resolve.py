# SPDX-License-Identifier: MIT
"""Resolve operands: names become registers, special registers, variables and labels."""

import re
from dataclasses import dataclass, field
from typing import NoReturn

from wmma_emu.ptx.program.faults import Positioned, fault, short_name, unsupported
from wmma_emu.ptx.program.module_symbols import ModuleSymbols
from wmma_emu.ptx.program.program import (
    AddressOperand,
    Immediate,
    Operand,
    PairOperand,
    Predicate,
    Register,
    SpecialRegister,
    Symbol,
    VectorOperand,
)
from wmma_emu.ptx.program.scopes import ScopeStack
from wmma_emu.ptx.program.special import SPECIAL
from wmma_emu.ptx.program.storage import Storage
from wmma_emu.ptx.syntax.tree import Address, Call, InstructionText, Literal, Name, Negated, OperandText, Pair, Vector
from wmma_emu.ptx.widths import bits_of_type

_SINK = "_"

_WARP_SIZE = 32

_SUMMED = frozenset("b16 b32 b64 u16 u32 u64 s16 s32 s64".split())
"""The register types to which an operand may add a number."""

PARTS_OF_REGISTERS = "selects a part of a register, which is not modelled; extract it with bfe"
"""The reason why selectors of video instructions, ``%r1.b0``, are refused."""

_SELECTOR = re.compile(r"[bh][0-7]{1,4}\Z")
"""Selectors of the bytes and halves of a register (PTX ISA 9.1, Video Instructions)."""


@dataclass(slots=True)
class Resolver:
    """A resolver of names: of the scopes, of the module and of special registers.

    ``scopes`` are the scopes of the function that is being read; ``declared`` the resolved declarations, by their `id`
    and name. ``sums`` contains each ``register + number`` among the operands since it was last emptied, as (register of
    the sum, register, number), and ``used`` the global and constant variables that were resolved.
    """

    module: ModuleSymbols
    storage: Storage
    scopes: ScopeStack = field(default_factory=ScopeStack)
    declared: dict[tuple[int, str], Operand] = field(default_factory=dict)
    sums: list[tuple[Register, Register, int]] = field(default_factory=list)
    used: dict[Symbol, None] = field(default_factory=dict)

    def fault(self, where: Positioned, message: str, name: str = "") -> NoReturn:
        """Raise an error in the source; it points at ``name``, or at the statement."""
        raise fault(self.module.lines, where, message, name)

    def unsupported(self, where: Positioned, message: str, name: str = "") -> NoReturn:
        """Raise an error for valid source that the emulator cannot run."""
        raise unsupported(self.module.lines, where, message, name)

    def operand(self, text: OperandText, where: Positioned) -> Operand | None:
        """Resolve an operand; the sink ``_`` becomes None."""
        if isinstance(text, Name):
            return None if text.text == _SINK else self.scopes.resolved.get(text.text) or self.name(text.text, where)
        if isinstance(text, Literal):
            return Immediate(text.kind, text.value)
        if isinstance(text, Address):
            return self._address(text, where)
        if isinstance(text, Vector):
            return self._vector(text, where)
        if isinstance(text, Negated):
            return Predicate(self.predicate(text.operand.text, where), True)
        if isinstance(text, Pair):
            one, other = text.first, text.second
            first = self._vector(one, where) if isinstance(one, Vector) else self._result(one, where)
            return PairOperand(first, self._result(other, where))
        raise TypeError(f"{Call.__name__} is not an operand to resolve; calls are resolved with their callee")

    def _vector(self, text: Vector, where: Positioned) -> VectorOperand:
        found = self.scopes.resolved
        elements = []
        for x in text.elements:
            known = found.get(x.text) if type(x) is Name else None
            elements.append(known if type(known) is Register else self._element(x, where))
        return VectorOperand(tuple(elements))

    def predicate(self, name: str, where: Positioned) -> Register:
        """Resolve the name of a predicate register."""
        found = self.scopes.resolved.get(name) or self.name(name, where)
        if not isinstance(found, Register) or found.type != "pred":
            self.fault(where, f"{short_name(name)} is {_describe(found)}; expected a predicate register (.pred)", name)
        return found

    def name(self, name: str, where: Positioned) -> Operand:
        """Resolve a name that is not in the cache."""
        found = self._find(name)
        if found is None:
            return self._function(name, where) if name in self.module.functions else self._unknown(name, where)
        self.scopes.resolved[name] = found
        return found

    def _function(self, name: str, where: Positioned) -> Symbol:
        """Resolve the name of a function, whose address ``mov`` takes."""
        if not (isinstance(where, InstructionText) and where.mnemonic == "mov"):
            self.fault(where, f"{short_name(name)} is a function; mov.u64 takes its address", name)
        found = self.module.address_of_function(name)
        if isinstance(found, str):
            self.unsupported(where, f"the address of {short_name(name)} is used, which {found}", name)
        return found

    def _find(self, name: str) -> Operand | None:
        vector, point, part = name.partition(".") if "." in name else (name, "", "")
        declared = self.scopes.lookup(vector)
        if declared is not None:
            key = id(declared.text), vector
            found = self.declared.get(key)
            if found is None:
                if declared.text.space == "shared":
                    found = self.storage.shared(declared.text)
                elif declared.text.space in self.module.memories:
                    found = self._use(self.module.inner[id(declared.text)])
                else:
                    found = self.storage.register(declared)
                self.declared[key] = found
            return found if not point else _part(found, part)
        if name in self.module.symbols:
            return self._use(self.module.symbols[name])
        if name in self.module.shared:
            return self.storage.shared(self.module.shared[name])
        if name == "WARP_SZ":
            return Immediate("int", _WARP_SIZE)
        if name[0] == "%" and name[1:] in SPECIAL:
            return self._special(name[1:])
        if name[0] == "%" and f"{name[1:]}.x" in SPECIAL:
            return VectorOperand(tuple(self._special(f"{name[1:]}.{x}") for x in "xyzw"))
        return None

    def _special(self, name: str) -> SpecialRegister:
        self.storage.specials.add(name)
        return SpecialRegister(name)

    def _use(self, symbol: Symbol) -> Symbol:
        self.used[symbol] = None
        return symbol

    def _unknown(self, name: str, where: Positioned) -> NoReturn:
        if self.scopes.has_label(name):
            self.fault(where, f"{short_name(name)} is a label; expected a register, a variable or a number", name)
        whole, _, part = name.partition(".")
        declared = self.scopes.lookup(whole)
        if part and declared is not None and declared.text.vector > 1 and declared.text.space == "reg":
            count = declared.text.vector
            elements = " ".join(f".{x}" for x in "xyzw"[:count])
            self.fault(
                where, f"{short_name(name)} is not an element of {short_name(whole)}; its elements are {elements} "
                f"(or {' '.join(f'.{x}' for x in 'rgba'[:count])})", name,
            )  # fmt: skip
        if _SELECTOR.match(part) and declared is not None:
            self.unsupported(where, f"{short_name(name)} {PARTS_OF_REGISTERS}", name)
        kind = "register" if name[0] == "%" else "name"
        message = f"the {kind} {short_name(name)} is not declared here, nor is it a special register or a variable"
        self.fault(where, message, name)

    def _element(self, text: OperandText, where: Positioned) -> Register | Immediate | SpecialRegister | Symbol | None:
        found = self.operand(text, where)
        if found is not None and not isinstance(found, Register | Immediate | SpecialRegister | Symbol):
            self.fault(where, "an element of a vector has to be a register, a variable or a number", name_of(text))
        return found

    def _result(self, text: Name, where: Positioned) -> Register | None:
        found = self.operand(text, where)
        if found is not None and not isinstance(found, Register):
            message = f"{short_name(text.text)} is {_describe(found)}; expected a register on each side of '|'"
            self.fault(where, message, text.text)
        return found

    def _address(self, text: Address, where: Positioned) -> Operand:
        base = self.operand(text.base, where)
        if "." in name_of(text.base) and isinstance(base, Register):
            self.fault(
                where, f"{_describe(base)} is an element of a vector, which cannot be an address or have an offset; "
                "copy it to a register with mov", name_of(text.base),
            )  # fmt: skip
        if text.form == "sum" or text.form == "element":
            if text.form == "sum" and isinstance(base, Register):
                return self._sum(base, text, where)
            if not isinstance(base, Symbol):
                message = f"an offset outside of [ ] is added to {_describe(base)}; expected a variable"
                self.fault(where, message, name_of(text.base))
            steps = self.storage.elements.get(base) or self.module.elements[base] if text.form == "element" else 1
            shift = text.offset * steps
            left, name = max(0, base.bytes - shift), f"{base.name}{shift:+d}"
            return Symbol(base.space, base.offset + shift, name, left, base.is_parameter)
        if not isinstance(base, Register | Symbol | Immediate) or (isinstance(base, Register) and base.type == "pred"):
            message = f"{_describe(base)} cannot be an address; expected a register, a variable or a number in [ ]"
            self.fault(where, message, name_of(text.base))
        if not text.coordinates:
            return AddressOperand(base, text.offset)
        coordinates = []
        for x in text.coordinates:
            coordinate = self.operand(x, where)
            if coordinate is None:
                self.fault(where, "the sink _ cannot be a coordinate; expected a register or a number")
            coordinates.append(coordinate)
        return AddressOperand(base, text.offset, tuple(coordinates))

    def _sum(self, base: Register, text: Address, where: Positioned) -> Register:
        """Create the register for ``register + number``: ptxas adds before the instruction, in the register's width."""
        if base.type not in _SUMMED:
            self.fault(
                where, f"an offset outside of [ ] is added to {_describe(base)}; "
                "expected an integer register or a variable",
                name_of(text.base),
            )  # fmt: skip
        target = self.storage.new_register(f"{base.name}{text.offset:+d}", f"b{bits_of_type(base.type)}")
        self.sums.append((target, base, text.offset))
        return target


def name_of(text: OperandText) -> str:
    """Return the name of an operand that is a name, else ""."""
    return text.text if isinstance(text, Name) else ""


def _part(found: Operand, part: str) -> Operand | None:
    if not isinstance(found, VectorOperand) or len(part) != 1:
        return None
    index = "xyzw".find(part) if part in "xyzw" else "rgba".find(part)
    return found.elements[index] if 0 <= index < len(found.elements) else None


def _describe(found: Operand | None) -> str:
    if isinstance(found, Register):
        return f"the register {short_name(found.name)} (.{found.type})"
    if isinstance(found, Symbol):
        return f"the variable {short_name(found.name)} (.{found.space})"
    if isinstance(found, SpecialRegister):
        return f"the special register %{found.name}"
    if isinstance(found, Immediate):
        return "a number"
    return "_" if found is None else "a vector"

# SPDX-License-Identifier: MIT
"""The parameters and variables through which a kernel may write memory, from the origins of store addresses."""

from typing import NamedTuple

from wmma_emu.ptx.program.flow import registers_in, writes
from wmma_emu.ptx.program.program import (
    AddressOperand,
    KernelProgram,
    PtxInstruction,
    Register,
    Symbol,
    VectorOperand,
)
from wmma_emu.ptx.widths import bits_of_type

_WRITES = ("st", "atom", "red", "sust", "sured")
_NO_GLOBALS = ("shared", "shared::cta", "shared::cluster", "local", "param", "param::func")

_LOADED = "loaded"
"""The origin of a value loaded from memory, which may be any address."""

_Origin = int | str
_Origins = dict[int, set[_Origin]]


class Written(NamedTuple):
    """The possible origins of the addresses of a kernel's stores and atomics.

    ``parameters`` are the offsets of kernel parameters, ``variables`` the offsets of global variables; ``anything`` is
    set if an address was itself loaded from memory.
    """

    parameters: frozenset[int]
    variables: frozenset[int]
    anything: bool


def written_by(program: KernelProgram) -> Written:
    """Follow parameters through registers to the addresses of stores and atomics.

    A loaded number that is added to a parameter counts as an index: only an address without any parameter or variable
    may be anywhere.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import Register
    >>> pointer, place = Register(0, "%rd1", "b64"), Symbol("param", 8, "k_param_1", 8)
    >>> load = PtxInstruction("ld.param.u64", "ld", ("param", "u64"), (pointer, AddressOperand(place)), None, 1, 1)
    >>> store = PtxInstruction("st.global.u64", "st", ("global", "u64"), (AddressOperand(pointer), pointer), None, 2, 1)
    >>> program = KernelProgram("k", (), 16, (pointer,), (load, store), (), 0, None, 0, None, None, ())
    >>> written_by(program).parameters
    frozenset({8})
    """
    origins: _Origins = {}
    flows = [(targets, sources, own) for x in program.instructions for targets, sources, own in _flow(x)]
    changed = True
    while changed:
        changed = False
        for targets, sources, own in flows:
            found = own.union(*(origins[s] for s in sources if s in origins))
            for target in targets:
                known = origins.setdefault(target, set())
                if not found <= known:
                    known |= found
                    changed = True
    parameters, variables, anything = set[int](), set[int](), False
    for address in (_origins_of_address(x, origins) for x in program.instructions if _may_write_globals(x)):
        named = {x for x in address if isinstance(x, int)}
        parameters |= {x for x in named if x >= 0}
        variables |= {~x for x in named if x < 0}
        anything |= not named
    return Written(frozenset(parameters), frozenset(variables), anything)


def _may_write_globals(instruction: PtxInstruction) -> bool:
    if instruction.mnemonic == "cp":
        return "bulk_group" in instruction.modifiers
    stores = instruction.mnemonic in _WRITES or (instruction.mnemonic == "wmma" and "store" in instruction.modifiers)
    return stores and not any(x in _NO_GLOBALS for x in instruction.modifiers)


def _origins_of_address(instruction: PtxInstruction, origins: _Origins) -> set[_Origin]:
    address = next((x for x in instruction.operands if isinstance(x, AddressOperand)), None)
    if address is None:
        return set()
    if isinstance(address.base, Symbol):
        return _origins_of_symbol(address.base) or {_LOADED}
    return origins.get(address.base.index, set()) if isinstance(address.base, Register) else set()


def _origins_of_symbol(symbol: Symbol) -> set[_Origin]:
    """Return the origin of a variable's address; offsets of global variables are stored as their complement.

    A parameter whose address is used is a tensor map, which begins with the address of its tensor.
    """
    if symbol.space == "param":
        return {symbol.offset}
    return {~symbol.offset} if symbol.space == "global" else set()


def _flow(instruction: PtxInstruction) -> list[tuple[tuple[int, ...], tuple[int, ...], set[_Origin]]]:
    if not instruction.operands:
        return []
    first, *rest = instruction.operands
    targets = writes(instruction)
    if not targets:
        return []
    address = next((x for x in rest if isinstance(x, AddressOperand)), None)
    if address is not None:
        base = address.base
        if not (instruction.mnemonic == "ld" and isinstance(base, Symbol) and base.space == "param"):
            return [(registers_in(first), (), {_LOADED})]
        if not instruction.modifiers:  # it has no type, and is refused when its step is built
            return []
        elements = first.elements if isinstance(first, VectorOperand) else (first,)
        size = bits_of_type(instruction.modifiers[-1]) // 8
        return [(registers_in(x), (), {base.offset + address.offset + k * size}) for k, x in enumerate(elements)]
    own = set[_Origin]().union(*(_origins_of_symbol(x) for x in rest if isinstance(x, Symbol)))
    return [(targets, tuple(r for x in rest for r in registers_in(x)), own)]

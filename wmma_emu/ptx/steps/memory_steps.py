# SPDX-License-Identifier: MIT
"""The steps of loads, stores, address conversions, fences and cache hints."""

import numpy as np

from wmma_emu.ptx.causality import fence_of, threads_in
from wmma_emu.ptx.definedness.undefined import Undefined, computed
from wmma_emu.ptx.memory.address_map import BASES
from wmma_emu.ptx.memory.generic import is_in
from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.operand_kinds import describe
from wmma_emu.ptx.program.program import Immediate, Operand, PtxInstruction, Register, SpecialRegister, Symbol
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import address_operand, addresses_of, require_own_space, space_of
from wmma_emu.ptx.steps.cluster_stores import async_store
from wmma_emu.ptx.steps.collectives import note, operands_of
from wmma_emu.ptx.steps.lane_operations import Active, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.loads import Access, extended, parse_access, require_values, written_register
from wmma_emu.ptx.steps.proxy_fences import proxy_fence
from wmma_emu.ptx.threads import Array
from wmma_emu.ptx.widths import bits_of_type


def _load(instruction: PtxInstruction, context: CompileContext) -> Step:
    access = parse_access(instruction, 1, 0)
    length = used_length(instruction.used_bytes, access)
    registers = [_register(instruction, element) for element in access.elements][:length]
    base, offset = access.address.base, access.address.offset
    if access.space.startswith("param") and isinstance(base, Symbol):
        return _load_parameter(access, registers, base.offset + offset, instruction)

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, access.address, active, "the address")
        values, undefined = state.memory.load(
            instruction, access.space, addresses_of(state, access.address), access.size, length, active,
            alignment=access.size * access.length, ordering=access.ordering,
        )  # fmt: skip
        _write(state, registers, values, undefined, active, access.signed)

    return step


def used_length(used_bytes: int, access: Access) -> int:
    """Return the number of elements up to the last one that the kernel uses; bytes after it need not exist."""
    return min(-(-used_bytes.bit_length() // access.size), access.length) if used_bytes else access.length


def _write(
    state: State, registers: list[Register | None], values: Array, undefined: Undefined | None, active: Active,
    signed: bool,
) -> None:  # fmt: skip
    for k, register in enumerate(registers):
        if register is not None:
            lost = None
            if undefined is not None:
                bits, origin = undefined.bits[k], undefined.origin[k]
                wide = extended(bits, register, signed)
                lost = Undefined(wide, origin if wide.dtype == bits.dtype else computed(origin))
            state.write(register, extended(values[k], register, True) if signed else values[k], active, lost)


def _load_parameter(access: Access, registers: list[Register | None], offset: int, instruction: PtxInstruction) -> Step:
    """Build the load of a kernel parameter, which has the same value for all threads."""

    def step(state: State, active: Active) -> None:
        values = state.memory.parameter(offset, access.size, access.length)
        if values is None:
            address = np.full((1, 1, 1), offset % (1 << 64), np.uint64)
            values, _ = state.memory.load(instruction, "param", address, access.size, access.length, active)
        _write(state, registers, values, None, active, access.signed)

    return step


def _register(instruction: PtxInstruction, element: Operand | None) -> Register | None:
    if element is None or isinstance(element, Register):
        if element is not None and element.type == "pred":
            raise refusal(instruction, "cannot load a predicate; load an integer and compare it with setp")
        return element
    raise refusal(instruction, f"expects registers as its results, not {describe(element)}")


SOME_ELEMENTS = "stores only some elements of a vector of 256 bits, which is not modelled; store them one by one"
"""The reason why the sink is refused in stores in which ptxas accepts it."""


def _store(instruction: PtxInstruction, context: CompileContext) -> Step:
    if instruction.modifiers[:1] == ("async",):
        return async_store(instruction)
    access = parse_access(instruction, 0, 1)
    if access.space in ("const",):
        raise refusal(instruction, "cannot write constant memory")
    if access.space.startswith("param") and isinstance(access.address.base, Symbol):
        raise refusal(instruction, f"{access.address.base.name} is a parameter of the kernel, which is read-only")
    sources = access.elements
    for source in sources:
        if source is None and access.size * access.length == 32:
            raise refusal(instruction, SOME_ELEMENTS)
        if not isinstance(source, Register | Immediate | SpecialRegister | Symbol):
            raise refusal(instruction, f"cannot store {describe(source)}; expected a register, a number or a variable")
        if isinstance(source, Register) and source.type == "pred":
            raise refusal(instruction, "cannot store a predicate; convert it to an integer with selp")

    registers = tuple(x.index for x in sources if isinstance(x, Register))

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, access.address, active, "the address")
        if not state.watched.isdisjoint(registers):
            state.require_arrived(instruction, registers, active)
        parts = [state.read(source, access.type) for source in sources]
        values = parts[0][None] if len(parts) == 1 else np.stack(np.broadcast_arrays(*parts))
        lost = not state.watched.isdisjoint(registers)
        undefined = state.undefined_of(sources, values.dtype, active) if lost else None
        state.memory.store(
            instruction, access.space, addresses_of(state, access.address), values, active,
            ordering=access.ordering, undefined=undefined,
        )  # fmt: skip

    return step


def _cvta(instruction: PtxInstruction, context: CompileContext) -> Step:
    target, source = _target_and_source(instruction)
    space = space_of(instruction).split("::")[0]
    if not space:
        raise refusal(instruction, "needs a state space: .global, .shared, .local, .const or .param")
    if isinstance(source, Symbol):
        require_own_space(instruction, source, (space,))
    window = np.uint64(BASES.get(space, 0))
    back = "to" in instruction.modifiers

    def step(state: State, active: Active) -> None:
        value = state.read(source, "u64")
        if window:
            value = value - window if back else value + window
        state.write(target, value, active, state.undefined_in(source, value.dtype, active))

    return step


def _isspacep(instruction: PtxInstruction, context: CompileContext) -> Step:
    target, source = _target_and_source(instruction)
    space = space_of(instruction).split("::")[0]

    def step(state: State, active: Active) -> None:
        value = state.read(source, "u64")
        if space == "const":
            found = state.memory.heap.is_constant(value)
        elif space == "global":
            found = is_in("global", value) & ~state.memory.heap.is_constant(value)
        else:
            found = is_in(space, value)
        lost = state.undefined_in(source, value.dtype, active)
        state.write(target, found, active, None if lost is None else lost._replace(bits=lost.bits != 0))

    return step


def _target_and_source(instruction: PtxInstruction) -> tuple[Register | None, Operand | None]:
    if len(instruction.operands) != 2:
        raise refusal(instruction, "expects two operands")
    target, source = instruction.operands
    require_values(instruction, source)
    return written_register(instruction, target), source


def _mapa(instruction: PtxInstruction, context: CompileContext) -> Step:
    # Without clusters, each block is a cluster of one block, whose rank is 0.
    if len(instruction.operands) != 3:
        raise refusal(instruction, "expects a register, an address and the rank of a block")
    target, source, rank = instruction.operands
    if isinstance(source, Symbol):
        require_own_space(instruction, source, ("shared",))
    require_values(instruction, source)
    require_values(instruction, rank)
    width = instruction.modifiers[-1]

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, rank, active, "the rank of a block")
        ranks = state.read(rank, "u32")
        wrong = (ranks != 0) & (state.live if active is None else active)
        text = "the rank is not 0, but the clusters of this launch have one block"
        note(state, instruction, "illegal operand", wrong, text)
        value = state.read(source, "u64")
        lost = state.undefined_in(source, value.dtype, active)
        state.write(target, value.astype(f"u{bits_of_type(width) // 8}"), active, lost)  # type: ignore[arg-type]

    return step


def _getctarank(instruction: PtxInstruction, context: CompileContext) -> Step:
    target, source = _target_and_source(instruction)
    if isinstance(source, Symbol):
        require_own_space(instruction, source, ("shared",))
    return lambda state, active: state.write(target, np.zeros((1, 1, 1), np.uint32), active)


def _nothing(state: State, active: Active) -> None:
    """Change nothing: each access of a thread is complete when the next begins."""


def _hint(instruction: PtxInstruction, context: CompileContext) -> Step:
    return _nothing


def _fence(instruction: PtxInstruction, context: CompileContext) -> Step:
    # Threads execute in program order and see each other's stores at once, so a fence does not change any value; the
    # ordering is recorded for the race checks.
    if "proxy" in instruction.modifiers:
        return proxy_fence(instruction)
    ordering = fence_of(instruction)
    if ordering is None:
        return _nothing

    def step(state: State, active: Active) -> None:
        if state.causality.uses_memory_order:
            who = state.live if active is None else np.broadcast_to(active, state.shape)
            state.causality.fence(who, ordering)
            if state.memory.locks is not None:
                state.memory.locks.fence(threads_in(who), ordering)

    return step


_LONGEST_SLEEP = 1_000_000
"""The longest sleep in nanoseconds (PTX ISA 9.1, nanosleep)."""


def _nanosleep(instruction: PtxInstruction, context: CompileContext) -> Step:
    """Let the longest sleep of the active threads pass; a sleep lasts between 0 and twice the given time."""
    (time,) = operands_of(instruction, 1)

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, time, active, "the time of the sleep")
        given = state.read(time, "u32")
        longest = int(given.max() if active is None else np.where(active, given, given.dtype.type(0)).max())
        state.clock.sleep(min(longest, _LONGEST_SLEEP))

    return step


def _prefetch(instruction: PtxInstruction, context: CompileContext) -> Step:
    spaces = ("global",) if instruction.mnemonic == "prefetchu" else None
    address_operand(instruction, instruction.operands[0] if instruction.operands else None, spaces)
    return _nothing


def _discard(instruction: PtxInstruction, context: CompileContext) -> Step:
    # The bytes are undefined afterwards, so keeping them is legal. The address is checked.
    address = address_operand(instruction, instruction.operands[0] if instruction.operands else None)
    space = space_of(instruction, address)

    def step(state: State, active: Active) -> None:
        addresses = addresses_of(state, address)
        state.memory.load(instruction, space, addresses, 8, 16, active, alignment=128)

    return step


def _createpolicy(instruction: PtxInstruction, context: CompileContext) -> Step:
    # Only cache hints read the result.
    target = instruction.operands[0] if instruction.operands else None
    if not isinstance(target, Register):
        raise refusal(instruction, "expects a 64-bit register as its result")
    return lambda state, active: state.write(target, np.zeros((1, 1, 1), np.uint64), active)


MACHINE_STEPS: dict[str, MachineStep] = {
    "ld": _load, "ldu": _load, "st": _store,
    "cvta": _cvta, "isspacep": _isspacep, "mapa": _mapa, "getctarank": _getctarank,
    "membar": _fence, "fence": _fence, "griddepcontrol": _hint, "nanosleep": _nanosleep,
    "prefetch": _prefetch, "prefetchu": _prefetch, "applypriority": _prefetch, "discard": _discard,
    "createpolicy": _createpolicy,
}  # fmt: skip
"""The builders of the steps of memory instructions, by mnemonic."""

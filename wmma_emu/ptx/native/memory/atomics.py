# SPDX-License-Identifier: MIT
"""``atom`` and ``red``: the operations of the lanes of a warp, one after another."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from llvmlite import ir

from wmma_emu.layouts.spec import LANES
from wmma_emu.llvm.values import NotTraceableError, Symbol
from wmma_emu.ptx.memory.address_map import WINDOWS
from wmma_emu.ptx.native.body import Bits, Body, internal, native
from wmma_emu.ptx.native.context import Flag
from wmma_emu.ptx.native.memory.access import access, slot_of
from wmma_emu.ptx.native.memory.loads_and_stores import in_spaces
from wmma_emu.ptx.native.memory.log import SHARED, EntryKind
from wmma_emu.ptx.native.memory.operands import address_of, addresses, source_of, target_of, word
from wmma_emu.ptx.native.memory.stamps import raise_flag, state_of
from wmma_emu.ptx.native.memory.state import AtomicChecks, Checks, checks_of
from wmma_emu.ptx.native.memory.time import log_event
from wmma_emu.ptx.native.refusals import reason_for
from wmma_emu.ptx.native.rows import POINTER, WORD, NotNativeError, Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.flow import reads
from wmma_emu.ptx.program.program import AddressOperand, KernelProgram, Operand, PtxInstruction, Register
from wmma_emu.ptx.steps.addresses import space_of
from wmma_emu.ptx.steps.atomic_table import operation_of
from wmma_emu.ptx.steps.atomics import name_and_type
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.ptx.steps.loads import elements_of
from wmma_emu.ptx.widths import bits_of_type

_AT_ONCE = {
    "add": "add", "and": "and", "or": "or", "xor": "xor",
    "min.u": "umin", "max.u": "umax", "min.s": "min", "max.s": "max",
}  # fmt: skip
"""The operations whose order changes nothing, and LLVM's names: blocks of several workers may do them at a time."""

_SLOT, _ADDRESS, _OPERANDS = 0, 1, 4
"""The words of a record: the slot of the last range, the address, the registers of the operands and the targets, and
the number of the instruction in logs."""


class Operation(NamedTuple):
    """An operation: its name and type, its elements, and the bits of the targets' and the operands' registers.

    The bits of a target are 0 if the old value is not used; ``operands`` has the bits for all elements of each operand.
    ``keeps`` is whether sums keep subnormal numbers, and ``order`` is as in `Stamp.ATOMIC`.
    """

    name: str
    kind: str
    length: int
    targets: tuple[int, ...]
    operands: tuple[int, ...]
    keeps: bool
    order: int

    @property
    def size(self) -> int:
        """The bytes of an element."""
        return bits_of_type(self.kind) // 8

    def __str__(self) -> str:
        registers = "_".join(map(str, (*self.targets, "from", *self.operands)))
        return f"{self.name}_{self.kind}_{self.length}_{registers}_{int(self.keeps)}{self.order}"


def atomic(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``atom`` or ``red``."""
    if instruction.modifiers[:1] == ("async",):
        raise NotNativeError(reason_for("red.async"))
    name, kind = name_and_type(instruction)
    operands = list(instruction.operands)
    if "L2::cache_hint" in instruction.modifiers:
        operands.pop()
    targets: tuple[Operand | None, ...] = elements_of(operands.pop(0)) if instruction.mnemonic == "atom" else ()
    operand = operands.pop(0)
    if not isinstance(operand, AddressOperand):
        raise NotNativeError(f"the address of {instruction.opcode} has no native code")
    vectors = [elements_of(x) for x in operands]
    address = address_of(layout, operand)
    found = [target_of(layout, x if _is_read(layout.program, x) else None) for x in targets]
    sources = [source_of(layout, x, kind) for vector in vectors for x in vector]
    space, checks = space_of(instruction, operand).split("::")[0] or "generic", checks_of(layout.program)
    order = 3 if any(x.bits for x in found) else _order(instruction, layout.program)
    operation = Operation(
        name, kind, len(vectors[0]), tuple(x.bits for x in found), tuple(x.bits for x in sources),
        "noftz" in instruction.modifiers, order,
    )  # fmt: skip
    full = f"memory_atomic_{space}_{address.bits}_{operation}_{checks.granule}{checks.atomics:d}"
    write_body = partial(_write, space=space, bits=address.bits, operation=operation, checks=checks)
    registers = [x.offset for x in (*sources, *found)]
    record = (slot_of(instruction.line), *address.words, *registers, layout.log_number(instruction))
    return Row(full, lambda module: native(full, module, write_body), record)


def _is_read(program: KernelProgram, target: Operand | None) -> bool:
    """Return whether any instruction reads the old value."""
    if not isinstance(target, Register):
        return False
    return any(target.index in reads(x) for x in program.instructions)


def _at_once(instruction: PtxInstruction) -> str:
    """Return LLVM's name of an operation if the order among such operations changes no bits, else ""."""
    name, kind = name_and_type(instruction)
    narrow = {"cta", "cluster"} & set(instruction.modifiers)  # a race, if other blocks take part
    if kind[0] == "f" or kind.startswith("bf") or (narrow and "shared" not in instruction.modifiers):
        return ""
    return _AT_ONCE.get(name) or _AT_ONCE.get(f"{name}.{kind[0]}", "")


def _order(instruction: PtxInstruction, program: KernelProgram) -> int:
    """Return the number of an operation among those of the kernel: `Stamp.ATOMIC`."""
    atomics = [x for x in program.instructions if x.mnemonic in ("atom", "red") and x.modifiers[:1] != ("async",)]
    names = list(dict.fromkeys(found for x in atomics if (found := _at_once(x))))
    found = _at_once(instruction)
    return min(names.index(found) + 1, 3) if found else 3


def _write(
    body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, *, space: str, bits: int, operation: Operation,
    checks: Checks,
) -> None:  # fmt: skip
    each = body.variable(ir.IntType(64), LANES, alignment=64)
    each.store(addresses(body, warp, record, _ADDRESS, bits), 64)
    for name, lanes in in_spaces(body, each, mask, space, tuple(WINDOWS)):
        if name in ("global", "shared"):
            do_atomics(body, context, warp, record, each, lanes, space=name, operation=operation, checks=checks)
        else:
            raise_flag(body, context, body.constant(WORD, Flag.BOUNDS))


@internal(ir.VoidType(), POINTER, POINTER, POINTER, POINTER, WORD)
def do_atomics(
    body: Body, context: Bits, warp: Bits, record: Bits, addresses: Bits, mask: Bits, *, space: str,
    operation: Operation, checks: Checks,
) -> None:  # fmt: skip
    """Execute the operations of the lanes of a mask in one space."""
    hosts = body.variable(POINTER, LANES, alignment=64)
    size, length = operation.size, operation.length
    logs = bool(checks.atomics & AtomicChecks.LOGGED)
    if logs:
        log_event(body, context, warp, EntryKind.BEFORE_WRITE, mask)
    good = access(
        body, context, warp, addresses, hosts, state_of(context).at(word(record, _SLOT)), mask, space=space,
        size=size * length, alignment=size * length, kind=f"atomic{operation.order}", granule=checks.granule,
        atomics=checks.atomics,
    )  # fmt: skip
    registers = [
        (warp.at(word(record, _OPERANDS + k)), bits) for k, bits in enumerate((*operation.operands, *operation.targets))
    ]
    for element in range(length):
        sources = registers[element : len(operation.operands) : length]
        targets = registers[len(operation.operands) :][element : element + 1]
        with body.lanes(good) as lane:
            host = hosts.at(lane << 3).load(POINTER, 8).at(element * size)
            _do_one(body, operation, space, host, lane, sources, targets)
        if logs:
            number = word(record, _OPERANDS + len(registers)) | (SHARED if space == "shared" else 0)
            log_event(body, context, warp, EntryKind.UPDATE, good, number, addresses, LANES)


def _do_one(
    body: Body, operation: Operation, space: str, host: Bits, lane: Bits, sources: Sequence[tuple[Bits, int]],
    targets: Sequence[tuple[Bits, int]],
) -> None:  # fmt: skip
    """Execute the operation of a lane on an element; registers are pointers, and bits."""
    size = operation.size
    values = [
        place.at(lane * (bits // 8)).load(ir.IntType(bits), bits // 8).cast(8 * size) for place, bits in sources
    ]  # fmt: skip
    if operation.order < 3 and space == "global":  # other workers may change the bytes at the same time
        at_once = _AT_ONCE.get(operation.name) or _AT_ONCE[f"{operation.name}.{operation.kind[0]}"]
        body.builder.atomic_rmw(at_once, host.value, values[0].value, "monotonic")
        return
    old = host.load(ir.IntType(8 * size), size)
    host.store(_computed(body, operation, space, old, values), size)
    for place, bits in targets:
        if bits:
            place.at(lane * (bits // 8)).store(old.cast(bits), bits // 8)


def _computed(body: Body, operation: Operation, space: str, old: Bits, values: list[Bits]) -> Bits:
    """Return the new value, by the function that the NumPy machine applies to arrays."""
    compute = operation_of(operation.name, operation.kind, space, keeps_subnormals=operation.keeps).compute
    dtype = np.dtype(f"u{old.type.width // 8}")
    symbols = [Symbol(body.builder, x.value, dtype, ()) for x in (old, *values)]
    try:
        with np.errstate(all="ignore"):
            found = compute(*symbols)
    except NotTraceableError as error:
        raise NotNativeError(f"atom.{operation.name}.{operation.kind}: {error}") from error
    return Bits(body, found.astype(dtype).value)  # type: ignore[attr-defined]

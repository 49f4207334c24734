# SPDX-License-Identifier: MIT
"""``atom`` and ``red``: the operations of the lanes of a warp, one after another."""

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
from wmma_emu.ptx.native.memory.operands import address_of, addresses, source_of, target_of, word
from wmma_emu.ptx.native.memory.stamps import raise_flag, state_of
from wmma_emu.ptx.native.memory.state import Checks, checks_of
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
"""The words of a record: the slot of the last range, the address, the registers of the targets and the operands."""


class Operation(NamedTuple):
    """An operation: its name and type, the bits of the target's and the operands' registers, and its alignment.

    The bits of the target are 0 if the old value is not used; ``keeps`` is whether sums keep subnormal numbers, and
    ``order`` is as in `Stamp.ATOMIC`.
    """

    name: str
    kind: str
    target: int
    operands: tuple[int, ...]
    alignment: int
    keeps: bool
    order: int

    def __str__(self) -> str:
        operands = "_".join(map(str, self.operands))
        return f"{self.name}_{self.kind}_{self.target}_{operands}_{self.alignment}_{int(self.keeps)}{self.order}"


def atomic(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``atom`` or ``red``."""
    if instruction.modifiers[:1] == ("async",):
        raise NotNativeError("red.async has no native code")
    name, kind = name_and_type(instruction)
    operands = list(instruction.operands)
    if "L2::cache_hint" in instruction.modifiers:
        operands.pop()
    targets: tuple[Operand | None, ...] = elements_of(operands.pop(0)) if instruction.mnemonic == "atom" else ()
    operand = operands.pop(0)
    if not isinstance(operand, AddressOperand):
        raise NotNativeError(f"the address of {instruction.opcode} has no native code")
    vectors = [elements_of(x) for x in operands]
    length = len(vectors[0])
    if length > 1:
        raise NotNativeError("atomic operations on vectors have no native code")
    address = address_of(layout, operand)
    target = target_of(layout, targets[0] if targets and _is_read(layout.program, targets[0]) else None)
    sources = [source_of(layout, x[0], kind) for x in vectors]
    size = bits_of_type(kind) // 8
    space, checks = space_of(instruction, operand).split("::")[0] or "generic", checks_of(layout.program)
    order = 3 if target.bits else _order(instruction, layout.program)
    operation = Operation(
        name, kind, target.bits, tuple(x.bits for x in sources), size, "noftz" in instruction.modifiers, order
    )
    full = f"memory_atomic_{space}_{address.bits}_{operation}_{checks.granule}"
    write_body = partial(_write, space=space, bits=address.bits, operation=operation, checks=checks)
    record = (slot_of(instruction.line), *address.words, target.offset, *(x.offset for x in sources))
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
            do_atomics(
                body, context, warp, record, each, lanes, space=name, operation=operation, granule=checks.granule
            )
        else:
            raise_flag(body, context, body.constant(WORD, Flag.BOUNDS))


@internal(ir.VoidType(), POINTER, POINTER, POINTER, POINTER, WORD)
def do_atomics(
    body: Body, context: Bits, warp: Bits, record: Bits, addresses: Bits, mask: Bits, *, space: str,
    operation: Operation, granule: int,
) -> None:  # fmt: skip
    """Execute the operations of the lanes of a mask in one space."""
    hosts = body.variable(POINTER, LANES, alignment=64)
    size = bits_of_type(operation.kind) // 8
    good = access(
        body, context, warp, addresses, hosts, state_of(context).at(word(record, _SLOT)), mask, space=space, size=size,
        alignment=operation.alignment, kind=f"atomic{operation.order}", granule=granule, atomics=1,
    )  # fmt: skip
    element = ir.IntType(8 * size)
    places = [warp.at(word(record, _OPERANDS + 1 + k)) for k in range(len(operation.operands))]
    with body.lanes(good) as lane:
        host = hosts.at(lane << 3).load(POINTER, 8)
        values = [
            place.at(lane * (bits // 8)).load(ir.IntType(bits), bits // 8).cast(8 * size)
            for place, bits in zip(places, operation.operands, strict=True)
        ]
        if operation.order < 3 and space == "global":  # other workers may change the bytes at the same time
            at_once = _AT_ONCE.get(operation.name) or _AT_ONCE[f"{operation.name}.{operation.kind[0]}"]
            body.builder.atomic_rmw(at_once, host.value, values[0].value, "monotonic")
        else:
            old = host.load(element, size)
            host.store(_computed(body, operation, space, old, values), size)
            if operation.target:
                place = warp.at(word(record, _OPERANDS)).at(lane * (operation.target // 8))
                place.store(old.cast(operation.target), operation.target // 8)


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

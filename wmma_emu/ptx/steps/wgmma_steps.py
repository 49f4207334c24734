# SPDX-License-Identifier: MIT
"""wgmma: asynchronous products of four warps, from shared memory and registers."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.formats.codec import Bits
from wmma_emu.instructions import INSTRUCTIONS
from wmma_emu.layouts.shared_memory_table import Major
from wmma_emu.layouts.spec import LANES, WARPS, Ints
from wmma_emu.ptx.definedness.undefined import Undefined, computed, origin_of, stacked
from wmma_emu.ptx.program.flow import registers_in
from wmma_emu.ptx.program.program import Operand, PtxInstruction, Register, VectorOperand
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import executing, operands_of, require_spelling, uniform_value
from wmma_emu.ptx.steps.lane_operations import Active, Array, BoundStep, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.matrix_operands import BoundProduct, Metadata, bind, immediate_of, sources_of, targets_of
from wmma_emu.ptx.steps.undefined_products import undefined_elements, undefined_warps
from wmma_emu.ptx.steps.wgmma_operands import Matrix, SharedMatrix
from wmma_emu.ptx.steps.wgmma_products import PendingProducts
from wmma_emu.warp.shared_operand import lines_of
from wmma_emu.warp.sparse import Extras, multiply

_SYNCHRONISING = ("wgmma.fence.sync.aligned", "wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned")


class ProductOperands(NamedTuple):
    """The operands of a wgmma.mma_async, in their order (PTX ISA 9.1, sections 9.7.15.5 and 9.7.15.6)."""

    a: tuple[Operand | None, ...] | SharedMatrix
    b: SharedMatrix
    metadata: Metadata | None
    scale_d: Operand | None
    negate_a: bool
    negate_b: bool

    @classmethod
    def of(cls, instruction: PtxInstruction, bound: BoundProduct) -> "ProductOperands":
        """Decode the operands after the accumulators."""
        entry = bound.entry
        is_float = entry.format("a").is_float
        in_registers = len(instruction.operands) > 1 and isinstance(instruction.operands[1], VectorOperand)
        transposes = (1 if in_registers else 2) * (entry.format("a").bits == 16)
        given = list(operands_of(instruction, 4 + 2 * entry.is_sparse + 2 * is_float + transposes))
        _, a, b = given[:3]
        rest = given[3:]
        metadata = None
        if entry.is_sparse:
            metadata = Metadata.of(entry, rest[0], immediate_of(instruction, rest[1], "the sparsity selector"))
            del rest[:2]
        scale_d = rest.pop(0)
        negated = [_flag(instruction, x, "imm-scale", {1: False, -1: True}) for x in rest[: 2 * is_float]]
        trans = [_flag(instruction, x, "imm-trans", {0: False, 1: True}) for x in rest[2 * is_float :]]
        majors: list[Major] = ["mn" if x else "k" for x in trans]
        b_major: Major = majors[-1] if majors else "k"
        a_major: Major = majors[0] if majors and not in_registers else "k"
        y = SharedMatrix("B", b, *lines_of(entry, "b"), entry.format("b"), b_major)
        x: tuple[Operand | None, ...] | SharedMatrix
        if in_registers:
            x = sources_of(instruction, a, entry.registers("a"))
        else:
            x = SharedMatrix("A", a, *lines_of(entry, "a"), entry.format("a"), a_major)
        return cls(x, y, metadata, scale_d, *(negated or [False, False]))


def _flag(instruction: PtxInstruction, operand: Operand | None, what: str, legal: dict[int, bool]) -> bool:
    value = immediate_of(instruction, operand, what)
    value = value - (1 << 32) if value == 0xFFFF_FFFF else value
    if value not in legal:
        raise UnsupportedInstructionError(
            f"{what} of {instruction.opcode} has to be {' or '.join(map(str, legal))}, not {value}"
        )
    return legal[value]


def _products(state: State) -> PendingProducts:
    products = state.pending
    if not isinstance(products, PendingProducts):
        products = state.pending = PendingProducts(state)
    return products


def _warps(state: State, active: Active) -> NDArray[np.bool_] | None:
    """Return the warps that execute, (blocks, warps); None for all."""
    if active is None:
        return None
    warps = np.asarray(np.broadcast_to(active, state.shape).any(axis=-1))
    return None if warps.all() else warps


def _multiply(instruction: PtxInstruction, context: CompileContext) -> BoundStep:
    bound = bind(instruction.opcode, context)
    operands = ProductOperands.of(instruction, bound)
    targets = targets_of(instruction, instruction.operands[0], bound.entry.registers("d"))

    def step(state: State, active: Active) -> None:
        active = executing(state, active)
        products, warps = _products(state), _warps(state, active)
        execution = _Execution(state, instruction, bound, operands, active, products, _Groups(state, active))
        given = execution.given()
        state.causality.meet_warpgroups(warps)
        if state.memory.asynchrony.delays(instruction):
            products.postpone(lambda warps: execution.of_warps(warps).compute(targets, given.again()), warps)
        else:
            products.compute_late(_LATER, warps)
            execution.compute(targets, given)
        products.add(targets, warps)

    return BoundStep(step, bound.not_bit_exact)


_LATER = (1 << 63) - 1
"""A number above those of all groups."""

_AT_ONCE = 1 << 24
"""The number of multiply-adds between two checks of the time limit."""


def _in_parts(state: State, bound: BoundProduct, a: Bits, b: Bits, c: Bits, indices: Ints | None) -> Bits:
    """Multiply the matrices of all warpgroups, some at a time, so that the time limit of the launch is kept."""
    count = max(len(x) for x in (a, b, c, indices) if x is not None)
    at_once = max(_AT_ONCE // (a.shape[-2] * a.shape[-1] * b.shape[-1]), 1)
    parts = []
    for first in range(0, count, at_once):
        state.check_time()
        some = slice(first, first + at_once)
        part_a, part_b, part_c = (x if len(x) == 1 else x[some] for x in (a, b, c))
        extras = Extras(indices if indices is None or len(indices) == 1 else indices[some])
        parts.append(multiply(bound.matrix.product, part_a, part_b, part_c, extras, engine=bound.engine))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class _Groups:
    """The warpgroups that execute, with conversions between arrays of all threads and (number, 4, 32)."""

    def __init__(self, state: State, active: Active) -> None:
        blocks, warps, _ = state.shape
        self.shape = state.shape
        self.number = warps // WARPS
        self.index: tuple[Array, Array] | None = None
        if active is not None or warps % WARPS:
            full = np.broadcast_to(True if active is None else active, state.shape)[:, : self.number * WARPS]
            executes = full.reshape(blocks, self.number, WARPS * LANES).any(axis=-1)
            if not executes.all() or warps % WARPS:
                self.index = np.nonzero(executes)  # type: ignore[assignment]

    def of_matrices(self, matrices: Bits) -> Bits:
        """Convert matrices (blocks or 1, warpgroups or 1, rows, k) to (number or 1, rows, k)."""
        if matrices.shape[0] == matrices.shape[1] == 1:
            return np.asarray(matrices[0])
        full = np.broadcast_to(matrices, (self.shape[0], self.number, *matrices.shape[2:]))
        return full.reshape(-1, *matrices.shape[2:]) if self.index is None else full[self.index]

    def of_registers(self, registers: Array) -> Array:
        """Convert registers (registers, blocks, warps, 32) to (registers, number, 4, 32)."""
        full = np.broadcast_to(registers, (len(registers), *self.shape))[:, :, : self.number * WARPS]
        apart = full.reshape(len(registers), self.shape[0], self.number, WARPS, LANES)
        if self.index is None:
            return apart.reshape(len(registers), -1, WARPS, LANES)
        return apart[:, self.index[0], self.index[1]]

    def to_threads(self, registers: Array) -> Array:
        """Convert registers (registers, number, 4, 32) to arrays of all threads, with zeros for the others."""
        if self.index is None:
            whole = np.broadcast_to(registers, (len(registers), self.shape[0] * self.number, WARPS, LANES))
            return whole.reshape(len(registers), *self.shape)
        full = np.zeros((len(registers), *self.shape), registers.dtype)
        inside = full[:, :, : self.number * WARPS].reshape(len(registers), self.shape[0], self.number, WARPS, LANES)
        inside[:, self.index[0], self.index[1]] = registers
        full[:, :, : self.number * WARPS] = inside.reshape(len(registers), self.shape[0], -1, LANES)
        return full


class _Given(NamedTuple):
    """The operands that a product reads when it is issued; registers of A are read with the accumulators.

    ``adds`` is whether C is added, (blocks or 1, warps or 1, 1); ``metadata`` the words of a sparse A, and whether they
    are legal, (blocks, warps, 32) both.
    """

    a: Matrix | None
    b: Matrix
    adds: Array
    metadata: tuple[Array, NDArray[np.bool_] | None] | None

    def again(self) -> "_Given":
        """Read the matrices again."""
        a, b = (None if x is None else x._replace(bits=x.again()) for x in (self.a, self.b))
        return self if b is None else self._replace(a=a, b=b)


class _Execution(NamedTuple):
    """One execution of a wgmma.mma_async."""

    state: State
    instruction: PtxInstruction
    bound: BoundProduct
    operands: ProductOperands
    active: Active
    products: PendingProducts
    groups: _Groups

    def of_warps(self, warps: NDArray[np.bool_]) -> "_Execution":
        """Return the execution by some of the warps, (blocks, warps)."""
        active = np.broadcast_to(warps[..., None], self.state.shape)
        active = active if self.active is None else active & self.active
        return self._replace(active=active, groups=_Groups(self.state, active))

    def given(self) -> _Given:
        """Read the operands that a product has when it is issued, and check all of them."""
        state, operands = self.state, self.operands
        a = None
        adds = self._adds_c()
        if isinstance(operands.a, SharedMatrix):
            a = operands.a.read(state, self.instruction, self.products, self.active)
        else:
            state.require_arrived(self.instruction, tuple(i for x in operands.a for i in registers_in(x)), self.active)
        b = operands.b.read(state, self.instruction, self.products, self.active)
        metadata = None
        if operands.metadata is not None:
            executing = state.warps(self.active)
            words, legal = operands.metadata.read(state, self.instruction, executing, self.active)
            every = None if legal is None else executing.scatter(np.repeat(legal[:, None], LANES, axis=1))
            metadata = executing.scatter(words), every
        return _Given(a, b, adds, metadata)

    def compute(self, targets: tuple[Register | None, ...], given: _Given) -> None:
        """Multiply, and write the accumulators."""
        state, groups, matrix, entry = self.state, self.groups, self.bound.matrix, self.bound.entry
        a, first = self._multiplicand(given.a)
        b = groups.of_matrices(given.b.bits).swapaxes(-1, -2)
        if self.operands.negate_b:
            b = np.asarray(b ^ b.dtype.type(entry.format("b").sign_mask))
        registers = self._accumulators(targets, given.adds)
        c = matrix.c.unpack_bits(groups.of_registers(registers), "c")
        indices, legal = None, None
        if given.metadata is not None and self.operands.metadata is not None:
            words, legal = given.metadata
            indices = matrix.indices(groups.of_registers(words[None])[0], self.operands.metadata.selector)
        d = matrix.d.pack_bits(_in_parts(state, self.bound, a, b, c, indices))
        if legal is not None:
            d = np.where(groups.of_registers(legal[None])[0], d, groups.of_registers(registers))
        lost = self._undefined(targets, given.adds, first, given.b)
        written = None if _warps(state, self.active) is None else self.active
        for k, (register, value) in enumerate(zip(targets, groups.to_threads(d), strict=True)):
            state.write(register, value, written, None if lost is None else lost._replace(bits=lost.bits[k]))
        self.products.watch()

    def _adds_c(self) -> Array:
        """Read scale-d, which enables the addition of C: bool (blocks or 1, warps or 1, 1)."""
        state, operand = self.state, self.operands.scale_d
        state.require_defined(self.instruction, operand, self.active, "scale-d")
        return uniform_value(state, self.instruction, state.read(operand, "pred"), self.active, "scale-d")

    def _multiplicand(self, known: Matrix | None) -> tuple[Bits, Matrix | Undefined | None]:
        """Return A from shared memory or registers: bits (number or 1, 64, k), and the undefined elements."""
        state, a = self.state, self.operands.a
        found: Matrix | Undefined | None = known
        if known is not None:
            bits: Bits = self.groups.of_matrices(known.bits)
        else:
            registers = () if isinstance(a, SharedMatrix) else a
            values = np.stack([np.broadcast_to(state.read(x, "b32"), state.shape) for x in registers])
            found = state.undefined_of(registers, values.dtype, self.active)
            bits = self.bound.matrix.a.unpack_bits(self.groups.of_registers(values), "a")
        sign = bits.dtype.type(self.bound.entry.format("a").sign_mask)
        return bits ^ sign if self.operands.negate_a else bits, found

    def _accumulators(self, targets: tuple[Register | None, ...], adds: Array) -> Array:
        """Read C, with zeros where scale-d is 0: (registers, blocks, warps, 32)."""
        registers = np.zeros((len(targets), *self.state.shape), self.bound.matrix.c.register_dtype)
        if not adds.any():
            return registers
        for into, register in zip(registers, targets, strict=True):
            if register is not None:
                np.copyto(into, self.state.read(register, register.type), where=adds)
        return registers

    def _undefined(
        self, targets: tuple[Register | None, ...], adds: Array, first: Matrix | Undefined | None, second: Matrix
    ) -> Undefined | None:
        """Return the undefined bits of D, (registers, blocks, warps, 32), from those of A, B and C."""
        entry, matrix, groups = self.bound.entry, self.bound.matrix, self.groups
        dtype = matrix.c.register_dtype
        sums = [None if x is None or not adds.any() else self.state.undefined_in(x, dtype) for x in targets]
        given = [*sums, _as_undefined(first), _as_undefined(second)]
        if all(x is None for x in given):
            return None
        lost: list[Array] = [np.zeros((1, 1, 1), np.bool_)] * 3
        if isinstance(first, Undefined):
            registers = np.broadcast_to(first.bits, (len(first.bits), *self.state.shape))
            lost[0] = matrix.a.unpack_bits(groups.of_registers(registers), "a") != 0
        elif first is not None and first.undefined is not None:
            lost[0] = groups.of_matrices(first.undefined)
        if second.undefined is not None:
            lost[1] = groups.of_matrices(second.undefined).swapaxes(-1, -2)
        added = [x if x is None else x._replace(bits=np.where(adds, x.bits, 0)) for x in sums]
        c = stacked(added, matrix.c.register_dtype)
        if c is not None:
            lost[2] = matrix.c.unpack_bits(groups.of_registers(c.bits), "c") != 0
        fmt = matrix.d.format
        found = np.broadcast_to(undefined_elements(*lost), (max(len(x) for x in lost), entry.m, entry.n))
        patterns = np.where(found, fmt.storage.type(fmt.mask), fmt.storage.type(0))
        return Undefined(groups.to_threads(matrix.d.pack_bits(patterns)), computed(origin_of(given)))


def _as_undefined(found: Matrix | Undefined | None) -> Undefined | None:
    """Return the warps or blocks in which an operand has undefined bits, as a narrow mask with the origin."""
    if isinstance(found, Undefined):
        return undefined_warps(found)
    if found is None or found.undefined is None or found.origin is None:
        return None
    return Undefined(found.origin != 0, found.origin)


def _synchronise(instruction: PtxInstruction, context: CompileContext) -> Step:
    opcode = require_spelling(instruction, _SYNCHRONISING)
    if "wait_group" not in opcode:
        operands_of(instruction, 0)
        is_commit = "commit" in opcode

        def commit(state: State, active: Active) -> None:
            if is_commit:
                _products(state).commit(_warps(state, active))

        return commit
    left = immediate_of(instruction, operands_of(instruction, 1)[0], "the number of groups")

    def wait(state: State, active: Active) -> None:
        _products(state).wait(left, _warps(state, active))

    return wait


@cache
def _chips() -> frozenset[str]:
    """Return the chips with warpgroup products, from the instruction table."""
    return frozenset(chip for entry in INSTRUCTIONS.values() if entry.is_warpgroup for chip in entry.archs)


def _wgmma(instruction: PtxInstruction, context: CompileContext) -> Step | BoundStep:
    if context.arch.name not in _chips():
        raise UnsupportedInstructionError(
            f"{context.arch} does not support {instruction.opcode}; wgmma exists on {', '.join(sorted(_chips()))}"
        )
    if instruction.modifiers[:1] == ("mma_async",):
        return _multiply(instruction, context)
    return _synchronise(instruction, context)


MACHINE_STEPS: dict[str, MachineStep] = {"wgmma": _wgmma}
"""The builders of the steps, by mnemonic."""

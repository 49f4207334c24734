# SPDX-License-Identifier: MIT
"""The state of a wave of blocks: the registers of all its threads, its memory, its causality order, its findings."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import Arch
from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.clock import Clock
from wmma_emu.ptx.constants import constant
from wmma_emu.ptx.definedness.registers import UndefinedRegisters
from wmma_emu.ptx.definedness.undefined import Undefined, all_bits, cast, stacked
from wmma_emu.ptx.fills import Fill
from wmma_emu.ptx.findings import CHECKS, Sightings
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.orders import Order
from wmma_emu.ptx.program.flow import registers_in
from wmma_emu.ptx.program.program import (
    Immediate,
    KernelProgram,
    Operand,
    Predicate,
    PtxInstruction,
    Register,
    SpecialRegister,
    Symbol,
)
from wmma_emu.ptx.program.special import CLOCKS
from wmma_emu.ptx.special_values import launch_registers
from wmma_emu.ptx.threads import Active, Array, Threads, Warps
from wmma_emu.ptx.widths import bits_of_type, dtype_of_bits


class Pending(Protocol):
    """Results that have not arrived: registers that an asynchronous product will write."""

    def check(self, instruction: PtxInstruction, registers: tuple[int, ...], active: Active) -> None:
        """Report a finding if the instruction uses one of these registers before its value was waited for."""


class State:
    """The threads of some blocks in the middle of a kernel.

    ``order`` determines the order in which threads access one address; None is the order of their numbers. ``live`` is
    a mask, (G, W, 32), of the threads that have not exited. It is never changed in place: an instruction that all live
    threads execute receives this array itself. ``values`` holds the registers of all threads by `Register.index`,
    followed by the carry flag; an entry is None until the register is written, and ``uninitialised`` has its value
    until then. ``watched`` are the registers that are uninitialised in some thread, or whose value has not arrived;
    ``pending`` is the asynchronous products in flight. ``steps`` counts the instructions stepped so far, each by any
    number of threads, and ``output`` is the text that the kernel has printed. ``check_time`` raises if the time limit
    is exceeded; instructions that process threads one by one call it. ``clock`` is the emulated time.
    ``register_counts`` are the numbers of registers of each warp, 0 before its first ``setmaxnreg``.
    """

    def __init__(
        self,
        program: KernelProgram,
        arch: Arch,
        threads: Threads,
        causality: CausalityOrder,
        memory: WaveMemory,
        findings: Sightings,
        order: Order | None = None,
        checks: frozenset[str] = frozenset(CHECKS),
        fill: Fill = Fill(),  # noqa: B008 - zeros draw nothing
    ) -> None:
        self.program, self.arch, self.threads = program, arch, threads
        self.causality, self.memory, self.findings, self.order = causality, memory, findings, order
        self.checks = checks
        memory.chip = arch.name
        self.shape = threads.shape
        exists = True if threads.exists is None else threads.exists
        self.live: NDArray[np.bool_] = np.logical_and(np.ones(self.shape, np.bool_), exists)
        registers = (*program.registers, carry_of(program))
        self.values: list[Array | None] = [None] * len(registers)
        self.uninitialised = [fill.register(dtype_of_bits(bits_of_type(r.type)), self.shape) for r in registers]
        self._undefined = UndefinedRegisters(
            [x.dtype for x in self.uninitialised], memory.origins, "undefined" in checks,
            begins_defined=memory.suspects is not None,
        )  # fmt: skip
        self.watched = self._undefined.watched
        self.pending: Pending | None = None
        self.steps = 0
        self.output: list[str] = []
        self.check_time: Callable[[], None] = lambda: None
        self.clock = Clock()
        self.register_counts = np.zeros(self.shape[:2], np.int16)

    def read(self, operand: Operand | None, type_name: str) -> Array:
        """Read a source operand as bit patterns of a type's width.

        The result is broadcast to all threads only if they differ. A register that is wider than the type gives its low
        bits; a narrower one is extended with zeros.
        """
        if isinstance(operand, Register):
            found = self.values[operand.index]
            value = self.uninitialised[operand.index] if found is None else found
        elif isinstance(operand, Immediate):
            return constant(operand, type_name)
        elif isinstance(operand, Predicate):
            value = self.read(operand.register, "pred")
            value = ~value if operand.negated else value
        elif isinstance(operand, SpecialRegister):
            value = self._special(operand)
        elif isinstance(operand, Symbol):
            value = self.memory.address_of(operand)
        else:
            raise UnsupportedInstructionError(f"{operand} is not a source operand of type .{type_name}")
        dtype = dtype_of_bits(bits_of_type(type_name))
        return value if value.dtype == dtype else value.astype(dtype)

    def write(
        self, register: Register | None, value: Array, active: Active, undefined: Undefined | None = None
    ) -> None:
        """Write a register of the active threads; a write to the sink, ``_``, is discarded.

        A value that is narrower than the register is extended with zeros, a wider one loses its upper bits.
        ``undefined`` marks the bits of the value that depend on uninitialised data.
        """
        if register is None:
            return
        dtype = self.uninitialised[register.index].dtype
        self.put(register.index, value if value.dtype == dtype else value.astype(dtype), active, undefined)

    def put(self, index: int, value: Array, active: Active, undefined: Undefined | None = None) -> None:
        """Write a value of the register's width to the register with this index."""
        if active is self.live:
            active = None
        if active is not None:
            old = self.values[index]
            value = np.where(active, value, self.uninitialised[index] if old is None else old)
        self.values[index] = value
        if undefined is not None or index in self.watched:
            self._undefined.write(index, active, cast(undefined, self.uninitialised[index].dtype), self.live)

    def undefined_in(self, operand: object, dtype: "np.dtype[Any]", active: Active = None) -> Undefined | None:
        """Return the undefined bits of an operand, as `read` returns its value, if any active thread has some."""
        index = registers_in(operand)
        if len(index) != 1 or index[0] not in self.watched:
            return None
        return cast(self._undefined.among(index[0], self.live if active is None else active), dtype)

    def undefined_of(self, operands: Sequence[object], dtype: "np.dtype[Any]", active: Active) -> Undefined | None:
        """Stack the undefined bits of several operands, (number, ...), if any active thread has some."""
        return stacked([self.undefined_in(x, dtype, active) for x in operands], dtype)

    def make_undefined(self, index: int, participants: NDArray[np.bool_], origin: Array) -> None:
        """Mark a register as undefined in some threads."""
        every = np.full((1, 1, 1), all_bits(self.uninitialised[index].dtype))
        self._undefined.write(index, participants, Undefined(every, origin), self.live)

    def arrived(self, index: int) -> None:
        """Note that a register no longer waits for an asynchronous product."""
        self._undefined.arrived(index)

    def require_arrived(self, instruction: PtxInstruction, registers: tuple[int, ...], active: Active) -> None:
        """Report a finding if one of these registers waits for an asynchronous product."""
        if self.pending is not None:
            self.pending.check(instruction, registers, active)

    def require_defined(self, instruction: PtxInstruction, operand: object, active: Active, what: str) -> None:
        """Report a finding if active threads use an uninitialised or pending value as ``what``: "the address"."""
        registers = registers_in(operand)
        if self.watched.isdisjoint(registers):
            return
        self.require_arrived(instruction, registers, active)
        for i in registers:
            participants = self.live if active is None else active
            found = self._undefined.among(i, participants)
            if found is None:
                continue
            used = (found.bits != 0) & participants
            self.memory.reporter.undefined(instruction, found, used, what)
            self._undefined.write(i, np.broadcast_to(used, self.shape), None, self.live)  # reported once

    def require_written(
        self, instruction: PtxInstruction, undefined: Undefined | None, active: Active, what: str
    ) -> None:
        """Report a finding if active threads use an uninitialised value of memory as ``what``."""
        if undefined is not None:
            used = (undefined.bits != 0) & (self.live if active is None else active)
            self.memory.reporter.undefined(instruction, undefined, used, what)

    def warps(self, active: Active) -> Warps:
        """Return the warps that execute an instruction together."""
        return Warps(self.shape, active)

    @cached_property
    def _of_launch(self) -> dict[str, int]:
        memory = self.memory
        return launch_registers(self.arch, self.program, memory.dynamic_shared_bytes, memory.heap.workspace)

    def _special(self, operand: SpecialRegister) -> Array:
        if operand.name in CLOCKS:
            now = self.clock.read(id(operand), self.steps)
            return np.full((1, 1, 1), now >> 32 if operand.name.endswith("_hi") else now, np.uint64)
        if operand.name == "smid":  # blocks are distributed to the multiprocessors in turn
            return np.asarray(self.threads.blocks.reshape(-1, 1, 1) % self._of_launch["nsmid"], np.uint64)
        value = self._of_launch.get(operand.name)
        return self.threads.special(operand.name) if value is None else np.full((1, 1, 1), value, np.uint64)


def carry_of(program: KernelProgram) -> Register:
    """Return the carry flag of a program, numbered as the register after all others."""
    return Register(len(program.registers), "CC.CF", "pred")

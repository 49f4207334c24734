# SPDX-License-Identifier: MIT
"""Kernels without branches on both machines: registers are given, and memory and registers are compared afterwards."""

import ctypes
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from llvmlite import ir

from wmma_emu.instructions.launches import Dim3
from wmma_emu.layouts.spec import LANES
from wmma_emu.llvm.compile import load, object_code
from wmma_emu.ptx import Module
from wmma_emu.ptx.findings import Sightings
from wmma_emu.ptx.machine.run import run
from wmma_emu.ptx.machine.wave_execution import WaveExecution
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.placement import HostAddresses
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.memory import row_of
from wmma_emu.ptx.native.memory.memory_of_launch import (
    BlockMemory,
    NativeMemory,
    WorkerMemory,
    flags_between_workers,
)
from wmma_emu.ptx.native.memory.time import begin_block, meet_lanes, pass_barrier
from wmma_emu.ptx.native.warp_image import constants_image, warp_image
from wmma_emu.ptx.native.warp_layout import EXISTING, WarpLayout
from wmma_emu.ptx.pages import aligned
from wmma_emu.ptx.threads import Threads
from wmma_emu.ptx.widths import bits_of_type, dtype_of_bits

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .b32 %r<40>; .reg .b64 %d<40>; .reg .b16 %h<20>; .reg .pred %p<10>;"

_POINTER, _WORD = ctypes.c_void_p, ctypes.c_uint32

_native: dict = {}


def native_function(name, define, *types):
    """A native function that ``define`` adds to a module."""
    if name not in _native:
        module = ir.Module()
        function = define(module)
        function.linkage = "external"
        _native[name] = load(object_code(str(module)), [function.name])[function.name]
    return ctypes.CFUNCTYPE(None, *types)(_native[name])


@cache
def prepared(body: str, before: str, count: int):
    """The prepared kernel with a body, and parameters for ``count`` arrays; one piece of shared memory begins at 0."""
    parameters = ", ".join(f".param .u64 a{i}" for i in range(count))
    kernel = Module(f"{HEAD}{before}\n.visible .entry k({parameters}) {{\n{REGISTERS}\n{body}\nret;\n}}")["k"]
    if sum(x.space == "shared" for x in kernel.program.symbols) < 2:
        kernel.program = replace(kernel.program, shared_begin=0, shared_span=None)
    return kernel


class GivenRegisters:
    """Records the last state of a launch on the NumPy machine, which begins with some registers given."""

    def __init__(self, given):
        self.given = given

    def begin(self):
        pass

    def memory(self, *arguments):
        return WaveMemory(*arguments)

    def execution(self, compiled, state, deadline, order):
        self.state = state
        for index, value in self.given.items():
            state.put(index, value.astype(state.uninitialised[index].dtype), None)
        return WaveExecution(compiled, state, deadline, order)


@dataclass
class StraightLine:
    """A kernel without branches.

    ``registers`` are the registers' values, which broadcast to (blocks, warps, 32), or functions of the arrays'
    addresses.
    """

    body: str
    registers: dict = field(default_factory=dict)
    arrays: dict = field(default_factory=dict)
    block: int = 64
    grid: int = 1
    dynamic: int = 0
    before: str = ""
    workers: int = 1
    at_host_addresses: bool = False

    def __post_init__(self):
        self.kernel = prepared(self.body, self.before, len(self.arrays))
        self.program, self.warps = self.kernel.program, -(-self.block // LANES)
        self.flags, self.kinds = Flag(0), []

    def compare(self, *registers):
        """Run on both machines: without a flag there is no finding, and all bits are equal. Return this object."""
        self._run_numpy()
        self._run_native()
        if not self.flags:
            assert self.kinds == []
            for mine, expected in zip(self.native_arrays, self.expected_arrays, strict=True):
                np.testing.assert_array_equal(mine.view(np.uint8), expected.view(np.uint8))
            exists = np.arange(self.warps * LANES).reshape(self.warps, LANES) < self.block
            for name in registers:
                np.testing.assert_array_equal(self._register(name)[:, exists], self._expected(name)[:, exists])
        return self

    def _begin(self):
        """The heap with copies of the arrays, the parameters, and the registers that are given."""
        heap = GlobalMemory(self.kernel.module.program, host=HostAddresses() if self.at_host_addresses else None)
        copies = [x.copy() if x.flags.writeable else x for x in self.arrays.values()]
        heap.expect(copies)
        addresses = {name: heap.map(x, name) for name, x in zip(self.arrays, copies, strict=True)}
        given = {}
        for register in self.program.registers:
            if register.name[1:] in self.registers:
                value = self.registers[register.name[1:]]
                value = np.asarray(value(addresses) if callable(value) else value)
                given[register.index] = np.broadcast_to(value, (self.grid, self.warps, LANES))
        return heap, copies, b"".join(x.to_bytes(8, "little") for x in addresses.values()), given

    def _run_numpy(self):
        heap, self.expected_arrays, parameters, given = self._begin()
        findings, recorder = Sightings(self.program), GivenRegisters(given)
        run(
            self.kernel.compiled, heap, parameters, Dim3(self.grid), Dim3(self.block), self.dynamic,
            binding=self.kernel.binding, findings=findings, recorder=recorder,
        )  # fmt: skip
        heap.copy_back()
        self.kinds, self.state = [x.kind for x in findings], recorder.state

    def _run_native(self):
        heap, self.native_arrays, parameters, given = self._begin()
        self.layout = WarpLayout(self.program)
        rows = [self._row(x) for x in self.program.instructions]
        written = self.kernel.compiled.written
        block = BlockMemory(self.program, self.warps, self.dynamic)
        memory = NativeMemory(block, heap, parameters, written, self.grid)
        threads = Threads(Dim3(self.grid), Dim3(self.block), np.arange(1))
        constants = constants_image(self.layout)
        self.image = warp_image(self.layout, constants, threads, self.kernel.binding.arch, heap, self.dynamic)
        contexts = np.zeros((self.workers, Word.COUNT), np.uint64)
        workers = [WorkerMemory(block, x) for x in contexts]
        for worker in workers:
            worker.begin(memory)
        self.memories = []
        for context, blocks in zip(contexts, np.array_split(np.arange(self.grid), self.workers), strict=True):
            context[Word.WARPS] = self.warps
            for block in blocks.tolist():
                self._run_block(block, context, rows, given)
        for worker in workers:
            worker.note_accessed()
        memory.note_written(workers)
        heap.copy_back()
        self.flags = Flag(int(np.bitwise_or.reduce(contexts[:, Word.FLAGS])))
        self.flags = self.flags or flags_between_workers(workers)

    def _row(self, instruction):
        if instruction.mnemonic in ("ret", "bar"):
            return instruction, None, None
        row = row_of(instruction, self.layout, self.kernel.binding)
        function = native_function(row.name, row.define, _POINTER, _POINTER, _POINTER, _WORD)
        return instruction, function, np.array(row.record, np.uint32)

    def _run_block(self, block, context, rows, given):
        memory = aligned(self.image.size, 0).reshape(self.image.shape)
        memory[:] = self.image
        self.memories.append(memory)
        for register in self.program.registers:
            if register.index in given:
                self._values(memory, register)[:] = self._stored(register, given[register.index][block])
        context[Word.BLOCK_INDEX] = block
        at = context.ctypes.data
        native_function("begin_block", begin_block.define, _POINTER)(at)
        barriers = [i for i, x in enumerate(rows) if x[0].opcode.startswith("bar.sync")]
        for first, end in zip([0, *barriers], [*barriers, len(rows)], strict=True):
            if rows[first][0].opcode.startswith("bar.sync"):
                native_function("pass_barrier", pass_barrier.define, _POINTER)(at)
            for w in range(self.warps):
                for row in rows[first:end]:
                    self._run_row(row, at, memory[w], w)

    def _run_row(self, row, at, memory, w):
        instruction, function, record = row
        mask = int(memory[EXISTING : EXISTING + 4].view(np.uint32)[0])
        if instruction.opcode.startswith("bar.warp"):
            native_function("meet_lanes", meet_lanes.define, _POINTER, _WORD)(at, w)
        elif function is not None:
            if instruction.guard is not None:
                offset = self.layout.offset_of(instruction.guard.register)
                held = int(memory[offset : offset + 4].view(np.uint32)[0])
                mask &= ~held if instruction.guard.negated else held
            if mask:
                function(at, memory.ctypes.data, record.ctypes.data, mask)

    def _values(self, memory, register):
        """A register in the memory of warps: (warps, 32) of its dtype, or (warps, 4) bytes of a predicate."""
        offset, dtype = self.layout.offset_of(register), dtype_of_bits(bits_of_type(register.type))
        if register.type == "pred":
            return memory[:, offset : offset + 4]
        return memory[:, offset : offset + LANES * dtype.itemsize].view(dtype)

    @staticmethod
    def _stored(register, values):
        return np.packbits(values != 0, axis=1, bitorder="little") if register.type == "pred" else values

    def _register(self, name):
        register = next(x for x in self.program.registers if x.name == f"%{name}")
        found = np.stack([self._values(x, register) for x in self.memories])
        return np.unpackbits(found, axis=2, bitorder="little") != 0 if register.type == "pred" else found

    def _expected(self, name):
        register = next(x for x in self.program.registers if x.name == f"%{name}")
        return np.broadcast_to(self.state.values[register.index], (self.grid, self.warps, LANES))

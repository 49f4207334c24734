# SPDX-License-Identifier: MIT
"""Kernels without branches on both machines: registers are given, and afterwards memory and registers are compared."""

import ctypes
from dataclasses import dataclass, field

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from wmma_emu.instructions.launches import Dim3
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx import Module
from wmma_emu.ptx.findings import Sightings
from wmma_emu.ptx.machine.run import run
from wmma_emu.ptx.machine.wave_execution import WaveExecution
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.memory import row_of
from wmma_emu.ptx.native.memory.memory_of_launch import NativeMemory, races_between_workers
from wmma_emu.ptx.native.memory.time import begin_block, meet_lanes, pass_barrier
from wmma_emu.ptx.native.rows import FUNCTION
from wmma_emu.ptx.native.warp_image import warp_image
from wmma_emu.ptx.native.warp_layout import EXISTING, WarpLayout
from wmma_emu.ptx.threads import Threads

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"

_compiled: dict[str, int] = {}
_kept: list = []


def compile_function(name: str, define) -> int:
    """The address of a native function."""
    if name not in _compiled:
        module = ir.Module()
        function = define(module)
        function.linkage = "external"
        exported = name.replace(".", "_")
        text = str(module).replace(f'@"{function.name}"', f'@"{exported}"')
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        parsed = llvm.parse_assembly(text, llvm.create_context())
        parsed.verify()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
        )
        parsed.triple, parsed.data_layout = machine.triple, str(machine.target_data)
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
        builder.getModulePassManager().run(parsed, builder)
        code = bytes(machine.emit_object(parsed))
        if not _kept:
            _kept.append(llvm.create_lljit_compiler())
        library = (
            llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(exported)
            .link(_kept[0], f"library {len(_kept)}")
        )  # fmt: skip
        _kept.append(library)
        _compiled[name] = library[exported]
    return _compiled[name]


def _callable(name: str, define, *types):
    return ctypes.CFUNCTYPE(None, *types)(compile_function(name, define))


_P, _W = ctypes.c_void_p, ctypes.c_uint32


def _aligned(size: int) -> np.ndarray:
    whole = np.zeros(size + 64, np.uint8)
    return whole[-whole.ctypes.data % 64 :][:size]


@dataclass
class StraightLine:
    """A kernel with a body, launched on both machines."""

    body: str
    grid: int = 1
    block: int = 32
    declarations: str = ""
    registers: dict = field(default_factory=dict)
    arrays: dict = field(default_factory=dict)
    dynamic: int = 0
    module_level: str = ""
    workers: int = 1

    def __post_init__(self) -> None:
        names = ", ".join(f".param .u64 {x}" for x in self.arrays)
        source = (
            f"{HEAD}{self.module_level}\n.visible .entry k({names}) {{\n.reg .b32 %r<40>; .reg .b64 %rd<40>; "
            f".reg .b16 %h<20>; .reg .pred %p<10>;\n{self.declarations}\n{self.body}\nret;\n}}"
        )
        self.module = Module(source)
        self.kernel = self.module["k"].prepared if hasattr(self.module["k"], "prepared") else self.module["k"]
        self.kernel = getattr(self.kernel, "kernel", self.kernel)
        self.warps = -(-self.block // LANES)

    def _heap(self) -> tuple[GlobalMemory, bytes]:
        heap = GlobalMemory(self.module.program)
        copies = {name: x.copy() if x.flags.writeable else x for name, x in self.arrays.items()}
        heap.expect(copies.values())
        addresses = [heap.map(x, name) for name, x in copies.items()]
        self.copies = copies
        return heap, b"".join(x.to_bytes(8, "little") for x in addresses)

    def _given(self, heap: GlobalMemory, parameters: bytes) -> dict[int, np.ndarray]:
        """The registers' values; a value may be a function of the arrays' addresses."""
        addresses = {
            name: int.from_bytes(parameters[8 * i : 8 * i + 8], "little") for i, name in enumerate(self.arrays)
        }
        found = {}
        for register in self.kernel.program.registers:
            if register.name in self.registers:
                value = self.registers[register.name]
                value = value(addresses) if callable(value) else value
                found[register.index] = np.broadcast_to(np.asarray(value), (self.grid, self.warps, LANES))
        return found

    def run_numpy(self) -> None:
        """Run on the NumPy machine."""
        heap, parameters = self._heap()
        compiled, case = self.kernel.compiled, self
        self.findings = Sightings(self.kernel.program)
        given = self._given(heap, parameters)

        class Recorder:
            def begin(self):
                pass

            def memory(self, *args):
                return WaveMemory(*args)

            def execution(self, compiled, state, deadline, order):
                for index, value in given.items():
                    state.values[index] = value.astype(state.uninitialised[index].dtype)
                    state._undefined.write(index, None, None, state.live)
                case.state = state
                return WaveExecution(compiled, state, deadline, order)

        run(
            compiled, heap, parameters, Dim3(self.grid), Dim3(self.block), self.dynamic,
            binding=self.kernel.binding, findings=self.findings, recorder=Recorder(),
        )  # fmt: skip
        heap.copy_back()
        self.numpy_arrays = self.copies

    def run_native(self, repeats: int = 1) -> None:
        """Run on native rows, warp after warp between barriers."""
        heap, parameters = self._heap()
        program = self.kernel.program
        layout = WarpLayout(program)
        rows = [self._row(x, layout) for x in program.instructions]
        memory = NativeMemory(
            program, heap, parameters, self.kernel.compiled.written, self.grid, self.warps, self.dynamic
        )
        given = self._given(heap, parameters)
        threads = Threads(Dim3(self.grid), Dim3(self.block), np.arange(1))
        self.image = warp_image(layout, threads, self.kernel.binding.arch, heap, self.dynamic)
        contexts = [np.zeros(Word.COUNT, np.uint64) for _ in range(self.workers)]
        workers = [memory.worker(x) for x in contexts]
        self.values: dict[str, np.ndarray] = {}
        self.warp_values = []
        shares = np.array_split(np.arange(self.grid), self.workers)
        for context, blocks in zip(contexts, shares, strict=True):
            context[Word.WARPS], context[Word.WARP_BYTES] = self.warps, layout.bytes
            for block in blocks:
                self._run_block(int(block), context, layout, rows, given, repeats)
        heap.copy_back  # noqa: B018
        memory.note_written(workers)
        heap.copy_back()
        self.native_arrays = self.copies
        self.flags = Flag(0)
        for context in contexts:
            self.flags |= Flag(int(context[Word.FLAGS]))
        if races_between_workers(workers):
            self.flags |= Flag.RACE

    def _row(self, instruction, layout):
        if instruction.mnemonic in ("ret", "bar"):
            return instruction.opcode, instruction, None, None
        row = row_of(instruction, layout, self.kernel.binding)
        if row is None:
            raise AssertionError(f"{instruction.opcode} has no row")
        function = ctypes.CFUNCTYPE(None, _P, _P, _P, _W)(compile_function(row.name, row.define))
        record = np.array(row.record, np.uint32)
        return row.name, instruction, function, record

    def _run_block(self, block, context, layout, rows, given, repeats):
        memory = _aligned(layout.bytes * self.warps).reshape(self.warps, layout.bytes)
        memory[:] = self.image
        at = context.ctypes.data
        context[Word.BLOCK_INDEX], context[Word.WARP_MEMORY], context[Word.EPOCH] = block, memory.ctypes.data, 1
        for w in range(self.warps):
            for register in self.kernel.program.registers:
                if register.index in given:
                    self._put(memory[w], layout, register, given[register.index][block, w])
        begin = _callable("begin_block", begin_block.define, _P)
        barrier = _callable("pass_barrier", pass_barrier.define, _P)
        meet = _callable("meet_lanes", meet_lanes.define, _P, _W)
        begin(at)
        segments, segment = [], []
        for row in rows:
            if row[0].startswith("bar.sync"):
                segments.append(segment)
                segment = []
            elif row[1].mnemonic != "ret":
                segment.append(row)
        segments.append(segment)
        for number, part in enumerate(segments):
            if number:
                barrier(at)
            for w in range(self.warps):
                place = memory[w].ctypes.data
                words = memory[w].view(np.uint32)
                for name, instruction, function, record in part:
                    if name.startswith("bar.warp"):
                        meet(at, w)
                        continue
                    mask = int(words[EXISTING // 4])
                    guard = instruction.guard
                    if guard is not None:
                        held = int(words[layout.offset_of(guard.register) // 4])
                        mask &= ~held if guard.negated else held
                    if mask:
                        for _ in range(repeats):
                            function(at, place, record.ctypes.data, mask)
        self.warp_values.append((block, memory, layout))

    def _put(self, memory, layout, register, values):
        offset = layout.offset_of(register)
        if register.type == "pred":
            memory[offset : offset + 4] = np.packbits(values.astype(bool), bitorder="little")
            return
        dtype = self._dtype(register)
        memory[offset : offset + LANES * dtype.itemsize].view(dtype)[:] = values.astype(dtype)

    @staticmethod
    def _dtype(register):
        from wmma_emu.ptx.widths import bits_of_type, dtype_of_bits

        return dtype_of_bits(bits_of_type(register.type))

    def register(self, name: str) -> np.ndarray:
        """The values of a register on the native machine, (blocks, warps, 32)."""
        register = next(x for x in self.kernel.program.registers if x.name == name)
        out = []
        for _, memory, layout in self.warp_values:
            offset = layout.offset_of(register)
            if register.type == "pred":
                words = np.ascontiguousarray(memory[:, offset : offset + 4])
                out.append(np.unpackbits(words, axis=1, bitorder="little").astype(bool))
                continue
            dtype = self._dtype(register)
            out.append(np.ascontiguousarray(memory[:, offset : offset + LANES * dtype.itemsize]).view(dtype))
        return np.stack(out)

    def numpy_register(self, name: str) -> np.ndarray:
        """The values of a register on the NumPy machine."""
        register = next(x for x in self.kernel.program.registers if x.name == name)
        value = self.state.values[register.index]
        return np.broadcast_to(value, (self.grid, self.warps, LANES))

    def compare(self, *registers: str) -> "StraightLine":
        """Run on both machines; bits must be equal if there is no flag, and no flag implies no finding."""
        self.run_numpy()
        self.run_native()
        kinds = [x.kind for x in self.findings]
        if not self.flags:
            assert kinds == [], kinds
            for name in self.arrays:
                assert np.array_equal(self.native_arrays[name].view(np.uint8), self.numpy_arrays[name].view(np.uint8))
            exists = np.arange(self.warps * LANES).reshape(self.warps, LANES) < self.block
            for name in registers:
                mine, theirs = self.register(name)[:, exists], self.numpy_register(name)[:, exists]
                assert np.array_equal(mine, theirs), (name, mine, theirs)
        self.kinds = kinds
        return self


assert FUNCTION

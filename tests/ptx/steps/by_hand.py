# SPDX-License-Identifier: MIT
"""A hand-made state: registers by name, shared and global memory as bytes, and one instruction at a time."""

import re
from types import SimpleNamespace

import numpy as np

from tests.ptx.memory.single_wave import order_of
from wmma_emu.instructions import arch_of
from wmma_emu.ptx.asynchrony import EAGER
from wmma_emu.ptx.definedness.origins import Origins
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.findings import Sightings
from wmma_emu.ptx.memory.reporter import Reporter
from wmma_emu.ptx.program.program import (
    AddressOperand,
    Immediate,
    KernelProgram,
    PairOperand,
    Predicate,
    PtxInstruction,
    Register,
    VectorOperand,
)
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.lane_operations import BoundStep, CompileContext
from wmma_emu.ptx.steps.table import MACHINE_STEPS
from wmma_emu.ptx.threads import Dim3, Threads

TYPES = {"%p": "pred", "%h": "b16", "%r": "b32", "%f": "f32", "%rd": "b64", "%fd": "f64"}


class BytesOfBlocks:
    """A memory with the interface that steps use: bytes of each block, one array for all spaces."""

    def __init__(self, machine, size):
        self.machine = machine
        self.bytes = np.zeros((machine.blocks, size), np.uint8)
        self.written = np.ones((machine.blocks, size), np.bool_)
        self.calls = []
        self.origins = Origins()
        self.reporter = self.suspects = self.proxies = None
        self.asynchrony = EAGER

    def _places(self, instruction, addresses, width, active, alignment):
        state = self.machine.state
        lead = np.broadcast_shapes(addresses.shape, (1, 1, 1))[:-3]
        full = np.broadcast_to(addresses, (*lead, *state.shape)).astype(np.int64)
        there = np.broadcast_to(True if active is None else active, full.shape)
        misaligned = there & (full % (alignment or width) != 0)
        outside = there & ((full < 0) | (full + width > self.bytes.shape[1]))
        for kind, wrong in (("misaligned", misaligned), ("out of bounds", outside)):
            if wrong.any():
                state.findings.add(kind, instruction, f"address {full[wrong][0]}", count=int(wrong.sum()))
        good = there & ~misaligned & ~outside
        block = np.arange(state.shape[0]).reshape(-1, 1, 1)
        return (
            np.where(good, full, 0)[..., None] + np.arange(width),
            np.broadcast_to(block, full.shape)[..., None],
            good,
        )

    def load(self, instruction, space, addresses, bytes_each, count, active, *, alignment=None, ordering="weak"):
        self.calls.append((space, bytes_each, count))
        places, block, good = self._places(instruction, addresses, bytes_each * count, active, alignment)
        values = np.where(good[..., None], self.bytes[block, places], 0).astype(np.uint8)
        unknown = ~self.written[block, places] & good[..., None]
        found = values.view(f"<u{bytes_each}")
        if not unknown.any():
            return np.moveaxis(found, -1, 0), None
        bits = np.where(unknown, np.uint8(0xFF), np.uint8(0)).view(f"<u{bytes_each}")
        origin = np.broadcast_to(self.origins.of_lanes(instruction, np.zeros((1, 1, 1))), (count, *good.shape))
        return np.moveaxis(found, -1, 0), Undefined(np.moveaxis(bits, -1, 0), origin)

    def peek(self, instruction, space, addresses, bytes_each, count, active, *, alignment):
        places, block, good = self._places(instruction, addresses, bytes_each * count, active, alignment)
        found = np.where(good[..., None], self.bytes[block, places], 0).astype(np.uint8).view(f"<u{bytes_each}")
        return np.moveaxis(found, -1, 0), None

    def store(self, instruction, space, addresses, values, active, *, alignment=None, ordering="weak", undefined=None):
        self.calls.append((space, values.dtype.itemsize, len(values)))
        width = values.dtype.itemsize * len(values)
        places, block, good = self._places(instruction, addresses, width, active, alignment)
        full = np.ascontiguousarray(np.moveaxis(np.broadcast_to(values, (len(values), *good.shape)), 0, -1))
        parts = full.view(np.uint8)
        self.bytes[np.broadcast_to(block, places.shape)[good], places[good]] = parts[good]

    def hold(self, addresses, active):
        nothing = np.zeros(0, np.int64)
        return nothing, nothing

    def release(self, pieces):
        assert not len(pieces)

    def address_of(self, symbol):
        return symbol.offset


class ByHand:
    """Threads, registers that are created when first named, and steps."""

    def __init__(self, blocks=1, warps=1, *, arch="sm_90", engine="numpy", size=1 << 14):
        self.blocks, self.warps = blocks, warps
        self.arch, self.engine = arch_of(arch), engine
        names = [f"{prefix}{i}" for prefix in TYPES for i in range(1, 161)]
        self.registers = {name: Register(i, name, TYPES[re.match(r"%[a-z]+", name)[0]]) for i, name in enumerate(names)}
        self.program = KernelProgram(
            "k", (), 0, tuple(self.registers.values()), (), (), 0, None, 0, None, None, ("",) * 10_000
        )
        threads = Threads(Dim3(blocks), Dim3(32 * warps), np.arange(blocks))
        self.memory = BytesOfBlocks(self, size)
        self.findings = Sightings(self.program)
        heap = SimpleNamespace(origins=self.memory.origins)
        self.memory.reporter = Reporter(self.program, heap, threads, self.findings)
        self.state = State(self.program, self.arch, threads, order_of(blocks, warps), self.memory, self.findings)
        self.line = 0

    def set(self, name, values):
        """Write a register of all threads."""
        register = self.registers[name]
        dtype = self.state.uninitialised[register.index].dtype
        values = np.asarray(values)
        values = values.reshape((1,) * (3 - values.ndim) + values.shape)
        self.state.write(register, values.astype(dtype), None)

    def undefined(self, name):
        """Return the undefined bits of a register, (blocks, warps, 32); None if all are defined."""
        register = self.registers[name]
        found = self.state.undefined_in(register, self.state.uninitialised[register.index].dtype)
        return None if found is None else np.broadcast_to(found.bits, self.state.shape)

    def get(self, name):
        """Read a register of all threads: (blocks, warps, 32)."""
        register = self.registers[name]
        return np.broadcast_to(self.state.read(register, register.type), self.state.shape)

    def bind(self, text):
        """Build the step of one line of PTX."""
        self.line += 1
        instruction = self.parse(text)
        bound = MACHINE_STEPS[instruction.mnemonic](instruction, CompileContext(self.program, self.arch, self.engine))
        return bound if isinstance(bound, BoundStep) else BoundStep(bound)

    def run(self, text, active=None):
        """Execute one line of PTX; return its caveat."""
        bound = self.bind(text)
        bound.step(self.state, active)
        return bound.not_bit_exact

    def parse(self, text):
        """Parse one line of the PTX in these tests."""
        opcode, _, rest = text.strip().rstrip(";").partition(" ")
        operands = re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", rest)
        mnemonic, *modifiers = opcode.split(".")
        return PtxInstruction(
            opcode, mnemonic, tuple(modifiers), tuple(map(self._operand, operands)), None, self.line, 1
        )

    def _operand(self, text):
        if text == "_":
            return None
        if text[0] == "{":
            return VectorOperand(tuple(self._operand(x.strip()) for x in text[1:-1].split(",")))
        if text[0] == "[":
            base, _, offset = text[1:-1].replace(" ", "").partition("+")
            return AddressOperand(self._operand(base), int(offset or "0", 0))
        if "|" in text:
            return PairOperand(*(self._operand(x) for x in text.split("|")))
        if text[0] == "!":
            return Predicate(self.registers[text[1:]], True)
        return self.registers[text] if text[0] == "%" else Immediate("int", int(text, 0))

    @property
    def found(self):
        """The kinds of the findings."""
        return [x.kind for x in self.findings]

    @property
    def messages(self):
        """The messages of the findings."""
        return [x.message for x in self.findings]

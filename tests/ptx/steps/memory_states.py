# SPDX-License-Identifier: MIT
"""A wave with registers, for tests of memory steps."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.ptx.memory.single_wave import SingleWave, instruction
from wmma_emu.instructions import ARCHS, Arch
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.program.program import AddressOperand, Immediate, Predicate, Register, Symbol, VectorOperand
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps import async_copies, atomics, memory_steps
from wmma_emu.ptx.steps.lane_operations import CompileContext

STEPS = memory_steps.MACHINE_STEPS | atomics.MACHINE_STEPS | async_copies.MACHINE_STEPS


@dataclass
class Stepper:
    """A state that executes instructions on a wave: registers are named by type, ``rd`` for 64 bits."""

    chunk: SingleWave
    order: np.random.Generator | None = None
    arch: Arch = ARCHS["sm_90"]
    registers: list[Register] = field(default_factory=list)
    state: State = field(init=False)

    def __post_init__(self) -> None:
        kinds = {"r": "b32", "rd": "b64", "h": "b16", "p": "pred", "c": "b8"}
        self.registers = [
            Register(i * 8 + k, f"%{name}{k}", kind) for i, (name, kind) in enumerate(kinds.items()) for k in range(8)
        ]
        self.names = {register.name[1:]: register for register in self.registers}
        chunk = self.chunk
        chunk.registers = tuple(self.registers)
        chunk.__post_init__()
        memory: WaveMemory = chunk.memory
        self.state = State(chunk.program, self.arch, chunk.threads, chunk.causality, memory, chunk.findings, self.order)
        self.binding = CompileContext(chunk.program, self.arch)

    def meet_lanes(self) -> None:
        """Execute __syncwarp() for all lanes of all warps."""
        self.chunk.causality.meet_lanes(None, np.full((1, 1, 1), 0xFFFFFFFF, np.uint32), self.state.live)

    def set(self, name: str, value) -> None:
        """Set the bits of a register: a number, or an array that broadcasts to the threads."""
        register = self.names[name]
        dtype = {"b8": np.uint8, "b16": np.uint16, "b32": np.uint32, "b64": np.uint64, "pred": bool}[register.type]
        array = np.asarray(value, dtype)
        self.state.write(register, array.reshape((1,) * (3 - array.ndim) + array.shape), None)

    def get(self, name: str) -> NDArray:
        """Return the bits of a register of all threads."""
        register = self.names[name]
        return np.broadcast_to(self.state.read(register, register.type), self.state.shape)

    def operand(self, text):
        """Read an operand: "r1", "[rd1+8]", "[16]" of shared memory, "{r1,r2}", "!p0", a number, or "_"."""
        if isinstance(text, int):
            return Immediate("int", text)
        if text == "_":
            return None
        if text[0] == "[":
            base, _, offset = text[1:-1].partition("+")
            variable = Symbol("shared", int(base), "s", 4) if base.isdigit() else self.names[base]
            return AddressOperand(variable, int(offset or 0))
        if text[0] == "{":
            return VectorOperand(tuple(self.operand(x) for x in text[1:-1].split(",")))
        if text[0] == "!":
            return Predicate(self.names[text[1:]], True)
        return self.names[text]

    def build(self, opcode: str, *operands, line: int = 1):
        """Build a step."""
        made = instruction(opcode, *(self.operand(x) for x in operands), line=line)
        return STEPS[made.mnemonic](made, self.binding)

    def do(self, opcode: str, *operands, active=None, line: int = 1) -> None:
        """Build a step, and execute it."""
        self.build(opcode, *operands, line=line)(self.state, active)

    def kinds(self) -> list[tuple[str, int]]:
        """Return the kinds and lines of the findings."""
        return [(f.kind, f.line) for f in self.chunk.findings]

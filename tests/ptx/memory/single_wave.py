# SPDX-License-Identifier: MIT
"""Waves for tests of memory: made by hand, without PTX source."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.findings import Sighting, Sightings
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.program.program import KernelProgram, ModuleProgram, PtxInstruction, Register, Symbol
from wmma_emu.ptx.threads import Dim3, Threads

EMPTY_MODULE = ModuleProgram({}, "sm_90", "8.0", b"", b"", (), (), (), ())


def instruction(opcode: str, *operands, line: int = 1) -> PtxInstruction:
    """An instruction of some line."""
    mnemonic, *modifiers = opcode.split(".")
    return PtxInstruction(opcode, mnemonic, tuple(modifiers), operands, None, line, 1)


def module_of(
    global_bytes: bytes = b"", global_symbols=(), const_bytes: bytes = b"", const_symbols=(), global_relocations=(),
    const_relocations=(),
) -> ModuleProgram:  # fmt: skip
    """A module with variables only."""
    return ModuleProgram(
        {}, "sm_90", "8.0", global_bytes, const_bytes, tuple(global_symbols), tuple(const_symbols),
        tuple(global_relocations), tuple(const_relocations),
    )  # fmt: skip


@dataclass
class SingleWave:
    """Some blocks and their memory."""

    blocks: int = 1
    warps: int = 1
    shared_bytes: int = 0
    shared_span: int | None = None
    local_bytes: int = 0
    dynamic: int = 0
    parameters: bytes = b""
    threads_of_block: int = 0
    module: ModuleProgram = EMPTY_MODULE
    symbols: tuple[Symbol, ...] = ()
    registers: tuple[Register, ...] = ()
    arrays: dict[str, NDArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.program = KernelProgram(
            "kernel", (), len(self.parameters), self.registers, (), self.symbols, self.shared_bytes, None,
            self.local_bytes, None, None, tuple(f"text of line {i}" for i in range(1, 40)),
            shared_span=self.shared_span,
        )  # fmt: skip
        self.threads = Threads(
            Dim3(self.blocks), Dim3(self.threads_of_block or self.warps * 32), np.arange(self.blocks)
        )
        self.heap = GlobalMemory(self.module)
        self.heap.expect(self.arrays.values())
        self.address = {name: self.heap.map(array, name) for name, array in self.arrays.items()}
        self.findings = Sightings(self.program)
        self.causality = order_of(self.blocks, self.warps)
        self.memory = WaveMemory(
            self.program, self.heap, self.parameters, self.threads, self.dynamic, self.findings, self.causality
        )
        self.shape = self.threads.shape

    def load(self, space: str, addresses, size: int = 4, count: int = 1, active=None, line: int = 1, **more):
        opcode = "ld" + (f".{space}" if space else "")
        return self.memory.load(
            instruction(opcode, line=line), space, np.asarray(addresses, np.uint64), size, count, active, **more
        )

    def store(self, space: str, addresses, values, active=None, line: int = 2, **more) -> None:
        opcode = "st" + (f".{space}" if space else "")
        self.memory.store(
            instruction(opcode, line=line), space, np.asarray(addresses, np.uint64), np.asarray(values), active, **more
        )

    def barrier(self) -> None:
        """All warps of all blocks wait for each other."""
        meet(self.causality, np.arange(self.blocks), np.ones((self.blocks, self.warps), bool))

    def lanes(self, step: int = 4, base: int = 0) -> NDArray[np.uint64]:
        """Consecutive addresses for the threads of a block: (1, warps, 32)."""
        count = self.shape[1] * 32
        return (np.arange(count, dtype=np.uint64) * np.uint64(step) + np.uint64(base)).reshape(1, -1, 32)

    @property
    def found(self) -> list[Sighting]:
        return list(self.findings)

    def kinds(self) -> list[str]:
        return [f.kind for f in self.findings]


def order_of(blocks: int, warps: int) -> CausalityOrder:
    """The order of a launch whose blocks all run at once."""
    order = CausalityOrder(blocks, warps)
    order.begin(np.arange(blocks))
    return order


def meet(order: CausalityOrder, blocks: NDArray[np.int64], members: NDArray[np.bool_]) -> None:
    """Let warps of some blocks wait for each other."""
    participants = np.zeros((*order.now.shape, 32), bool)
    participants[blocks] = members[..., None]
    live = np.ones(participants.shape, bool)
    order.arrive(1, participants, live)
    order.complete(1, blocks, participants, live)


def one(value: int) -> NDArray[np.uint64]:
    """A value that all threads share."""
    return np.full((1, 1, 1), value, np.uint64)


def warp_mask(shape: tuple[int, int, int], warp: int) -> NDArray[np.bool_]:
    """The threads of one warp of each block."""
    mask = np.zeros(shape, bool)
    mask[:, warp] = True
    return mask

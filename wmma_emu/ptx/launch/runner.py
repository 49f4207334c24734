# SPDX-License-Identifier: MIT
"""Single runs of a kernel with its grid and block, in some warp order, on copies of the arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from wmma_emu.instructions.launches import Dim3
from wmma_emu.ptx.findings import Sighting, Sightings
from wmma_emu.ptx.launch.arguments import (
    Argument,
    pack_parameters,
    pack_variables,
    require_aligned,
    require_relocated,
)
from wmma_emu.ptx.launch.cooperative import uses_workspace
from wmma_emu.ptx.launch.machines import NativeLaunch
from wmma_emu.ptx.launch.memory_of_arrays import memory_of
from wmma_emu.ptx.launch.options import Course, LaunchOptions
from wmma_emu.ptx.launch.prepared_kernel import PreparedKernel
from wmma_emu.ptx.launch.schedules import Run
from wmma_emu.ptx.launch.targets import require_legal
from wmma_emu.ptx.machine.compile import CompiledProgram
from wmma_emu.ptx.machine.run import LaunchRecorder, run
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.placement import HostAddresses, MovedBytes
from wmma_emu.ptx.memory.races.race import RacedBytes
from wmma_emu.ptx.memory.races.suspects import Suspects
from wmma_emu.ptx.program.special import WORKSPACE_BYTES
from wmma_emu.ptx.textures.objects import Surface, Texture


class Runner:
    """Runs a kernel with its grid and block; the callers interpret the result."""

    def __init__(self, kernel: PreparedKernel, grid: Dim3, block: Dim3, shared_bytes: int) -> None:
        self.kernel, self.grid, self.block, self.shared_bytes = kernel, grid, block, shared_bytes
        require_legal(kernel.program, kernel.called, kernel.module.arch, grid, block, shared_bytes)

    def __repr__(self) -> str:
        return f"{self.kernel.called}[{tuple(self.grid)}, {tuple(self.block)}, {self.shared_bytes}]"

    def run_once(
        self, values: Sequence[Argument], variables: Any, options: LaunchOptions, course: Course, *,
        raced: RacedBytes | None = None, suspects: Suspects | None = None, recorder: LaunchRecorder | None = None,
        compiled: CompiledProgram | None = None, moved: Sequence[MovedBytes] = (),
        spent: float = 0,
    ) -> tuple[Run, list[Sighting]]:  # fmt: skip
        """Run once on copies of the arrays, in some course; optionally with a recorder, or with another program.

        ``moved`` are the arrays that are themselves copies, and have the host addresses of others.
        ``spent`` are seconds of the time limit that have passed already.
        """
        kernel, module = self.kernel, self.kernel.module
        host = HostAddresses(moved) if options.is_at_host_addresses else None
        if host is None:
            require_relocated(values)
        heap = GlobalMemory(
            module.program, variables, limit=options.max_bytes, host=host, device_heap_bytes=options.heap_bytes
        )
        arrays = (x for value in values if type(value.value) is not bytes for x in value.arrays)
        heap.expect([*arrays, *(x.memory for x in options.reached)])
        places: dict[str, int] = {}
        pointees = {
            x.label: kind.pointee for x, kind in zip(values, kernel.types.types, strict=False)
            if type(x.value) is not bytes
        }  # fmt: skip
        shown = {x.label: x.shown or x.label for x in values if type(x.value) is not bytes}

        def place(array: Any, label: str) -> int:
            if isinstance(array, Texture | Surface):
                return heap.map_object(array, shown.get(label, label))
            memory, offset = memory_of(array)
            places[label] = heap.map(memory, shown.get(label, label), pointees.get(label, "")) + offset
            return places[label]

        parameters = pack_parameters(kernel.program, values, place)
        for name, offset, pointer in pack_variables(values, place):
            heap.variables.set_pointer(name, offset, pointer)
        if uses_workspace(
            kernel.program, kernel.called, module.arch, self.grid, self.block, self.shared_bytes, options.cooperative
        ):
            heap.workspace = heap.map(np.zeros(WORKSPACE_BYTES, np.uint8), "the grid's workspace")
        for name, value in options.reached:
            heap.map(memory_of(value)[0], name)
        require_aligned(values, places)
        kernel.check_arguments(values, places)
        native = NativeLaunch(
            kernel, options, course, spent, is_plain=recorder is None and suspects is None and compiled is None
        )
        done = native.run(heap, parameters, self.grid, self.block, self.shared_bytes)
        if done is not None:
            return Run(heap, done), []
        checks = frozenset(options.checks)
        findings = Sightings(kernel.program, checks)
        counts = run(
            compiled or kernel.compiled, heap, parameters, self.grid, self.block, self.shared_bytes,
            binding=kernel.binding, findings=findings, limits=options.limits, schedule=course.seed, checks=checks,
            fill=options.fill, raced=raced, suspects=suspects, recorder=recorder,
            cooperative=bool(options.cooperative), spent=native.spent, asynchrony=course.asynchrony,
        )  # fmt: skip
        return Run(heap, counts._replace(machine_reason=native.reason)), list(findings)

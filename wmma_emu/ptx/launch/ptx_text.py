# SPDX-License-Identifier: MIT
"""PTX source on a chip, and the state that all launches of its kernels share: variables, options, silences."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from wmma_emu.arithmetic import check_engine
from wmma_emu.instructions import Arch, arch_of
from wmma_emu.instructions.shared_addresses import first_shared_address
from wmma_emu.ptx.cuda.compile import DebugCompilation
from wmma_emu.ptx.launch.open_roundings import OpenRoundings
from wmma_emu.ptx.launch.options import LaunchOptions
from wmma_emu.ptx.launch.silences import Silence
from wmma_emu.ptx.launch.silencing_comments import silences_in
from wmma_emu.ptx.launch.sources import Sources
from wmma_emu.ptx.launch.struct_arrays import StructArray
from wmma_emu.ptx.launch.targets import require_target
from wmma_emu.ptx.launch.triton_compiled import CompiledTriton
from wmma_emu.ptx.memory.variables import ModuleMemory
from wmma_emu.ptx.names import ModuleNames
from wmma_emu.ptx.program.build import program_of


class PtxText:
    """PTX source, as the launch of any of its kernels uses it: a `Module` without its kernels."""

    triton: CompiledTriton | None = None
    sources: Mapping[str, str] | None = None
    """The text of sources that this package compiled; other source files are read."""

    paths: Mapping[str, str] | None = None
    """The paths of files on this machine that have other names in the PTX; "" is the key of the PTX file itself."""

    compiler: str = ""
    """The compiler of the CUDA C++ source: ``"NVRTC 13.5"``, ``"nvcc 13.0.88"``."""

    compiler_notes: tuple[str, ...] = ()
    """The parts of a source with host code that were left out."""

    compiler_warnings: str = ""
    """The warnings of the compiler."""

    _debug_compilation: DebugCompilation | None = None

    def __init__(
        self, text: str, arch: str | Arch, contraction: str, engine: str, name: str, options: Mapping[str, Any]
    ) -> None:
        self.arch, self.engine, self.name = arch_of(arch), check_engine(engine), name
        self.options = LaunchOptions().but(options)
        self.text = text
        self.open_roundings = OpenRoundings(text, self.arch, contraction)
        self.program = program_of(text, first_shared_address(self.arch).value)
        require_target(self.program.target, self.arch)
        self.variables = ModuleMemory(self.program)
        self.structs: dict[str, StructArray] = {}

    @cached_property
    def silences(self) -> tuple[Silence, ...]:
        """The silences in comments of the PTX and of the sources (``// wmma-emu: ignore[KIND] REASON``)."""
        of_sources = (x for name in self.files for x in silences_in(self.files.text(name), name))
        return (*silences_in(self.text), *of_sources)

    @cached_property
    def files(self) -> Sources:
        """The sources that the PTX was compiled from, if they are available."""
        return Sources(self.program, self.sources, self.paths)

    @cached_property
    def names(self) -> ModuleNames:
        """The source names of variables; they are read, or the source compiled again, at the first use."""
        how = self._debug_compilation
        return ModuleNames(self.text) if how is None else ModuleNames(self.text, how.text)

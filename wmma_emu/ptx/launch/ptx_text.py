# SPDX-License-Identifier: MIT
"""A PTX text on a chip, with what all launches of its kernels share: variables, options, sources, silences."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from wmma_emu.arithmetic import check_engine
from wmma_emu.instructions import Arch, arch_of
from wmma_emu.ptx.cuda.compile import DebugCompilation
from wmma_emu.ptx.launch.open_roundings import OpenRoundings
from wmma_emu.ptx.launch.options import LaunchOptions
from wmma_emu.ptx.launch.silences import Silence
from wmma_emu.ptx.launch.silencing_comments import silences_in
from wmma_emu.ptx.launch.sources import Sources
from wmma_emu.ptx.launch.targets import require_target
from wmma_emu.ptx.launch.triton_compiled import CompiledTriton
from wmma_emu.ptx.memory.variables import ModuleMemory
from wmma_emu.ptx.names import ModuleNames
from wmma_emu.ptx.program.build import program_of


class PtxText:
    """A text of kernels, as the launch of any of them sees it: a `Module`, without its kernels."""

    triton: CompiledTriton | None = None
    sources: Mapping[str, str] | None = None
    """Texts of sources, where the module was compiled here; others of its files are read."""

    paths: Mapping[str, str] | None = None
    """Files of this machine that the PTX calls otherwise; under "", that of the PTX itself."""

    compiler: str = ""
    """Who made the PTX of CUDA C++: ``"NVRTC 13.5"``, ``"nvcc 13.0.88"``."""

    compiler_notes: tuple[str, ...] = ()
    """What was left out of a source with code of the host."""

    compiler_warnings: str = ""
    """What the compiler warned of."""

    _debug_compilation: DebugCompilation | None = None

    def __init__(
        self, text: str, arch: str | Arch, contraction: str, engine: str, name: str, options: Mapping[str, Any]
    ) -> None:
        self.arch, self.engine, self.name = arch_of(arch), check_engine(engine), name
        self.options = LaunchOptions().but(options)
        self.text = text
        self.open_roundings = OpenRoundings(text, self.arch, contraction)
        self.program = program_of(text)
        require_target(self.program.target, self.arch)
        self.variables = ModuleMemory(self.program)

    @cached_property
    def silences(self) -> tuple[Silence, ...]:
        """What comments of the text, and of the sources, silence (``// wmma-emu: ignore[KIND] REASON``)."""
        of_sources = (x for name in self.files for x in silences_in(self.files.text(name), name))
        return (*silences_in(self.text), *of_sources)

    @cached_property
    def files(self) -> Sources:
        """The sources that it was compiled from, as far as they are at hand."""
        return Sources(self.program, self.sources, self.paths)

    @cached_property
    def names(self) -> ModuleNames:
        """What the source calls the variables; nothing is read, or compiled again, before somebody asks."""
        how = self._debug_compilation
        return ModuleNames(self.text) if how is None else ModuleNames(self.text, how.text)

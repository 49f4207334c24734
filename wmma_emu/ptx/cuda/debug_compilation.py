# SPDX-License-Identifier: MIT
"""CUDA C++ compiled once more, for what its compiler tells a debugger: names and types of variables."""

from pathlib import Path
from typing import NamedTuple

from wmma_emu.errors import WmmaEmuError
from wmma_emu.instructions import Arch
from wmma_emu.ptx.cuda.compile import compile_cuda
from wmma_emu.ptx.names.references import with_references

__all__ = ["DebugCompilation"]

_LONGEST = 3.0
"""Seconds that the source took to compile for which it is compiled once more; nothing is optimised then."""

_DEBUG = ("--device-debug", "-G")


class DebugCompilation(NamedTuple):
    """A source, how it was compiled, and how long that took."""

    source: str
    arch: str | Arch
    name: str
    options: tuple[str, ...]
    include: tuple[str | Path, ...]
    instantiate: tuple[str, ...]
    seconds: float
    compiler: str = "auto"

    def text(self) -> str:
        """The PTX with debug information, which nobody runs; "" where it would take long, or the compiler refuses."""
        if self.seconds > _LONGEST:
            return ""
        # A source that does not take references is compiled as it is.
        for source in dict.fromkeys((with_references(self.source), self.source)):
            try:
                return self._compiled(source)
            except (WmmaEmuError, OSError, UnicodeError):
                continue
        return ""

    def _compiled(self, source: str) -> str:
        options = (*self.options, *(() if set(_DEBUG) & set(self.options) else _DEBUG[:1]))
        return compile_cuda(
            source, self.arch, name=self.name, options=options, include=self.include, instantiate=self.instantiate,
            compiler=self.compiler,
        ).ptx

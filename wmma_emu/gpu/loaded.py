# SPDX-License-Identifier: MIT
"""The kernels loaded on the GPU: the most recently used ones, each assembled once; others are unloaded."""

import importlib
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from typing import Any

from wmma_emu.errors import BackendUnavailableError, shorten
from wmma_emu.gpu.availability import driver_call, driver_version

_MOST = 256


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A kernel on the GPU, the code that contains it, and its name."""

    kernel: Any
    code: Any
    name: str


class LoadedKernels:
    """Loaded kernels by their source. Users hold the GPU's lock, so that a kernel is not unloaded meanwhile."""

    def __init__(self, core: Any, target: str, most: int = _MOST) -> None:
        self._core, self._target, self._most = core, target, most
        self._kernels: OrderedDict[str, LoadedKernel] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kernels)

    def get(self, ptx: str, name: str) -> LoadedKernel:
        """Return the kernel of a source, assembling and loading it if necessary."""
        if ptx not in self._kernels:
            while len(self._kernels) >= self._most:
                _, oldest = self._kernels.popitem(last=False)
                # cuda-core does not unload code, even when it is no longer referenced
                driver_call("cuLibraryUnload", oldest.code.handle)
            self._kernels[ptx] = self._assemble(ptx, name)
        self._kernels.move_to_end(ptx)
        return self._kernels[ptx]

    def _assemble(self, ptx: str, name: str) -> LoadedKernel:
        options = self._core.ProgramOptions(arch=self._target)
        try:
            program = self._core.Program(ptx, "ptx", options)
            try:
                code = program.compile("cubin")
                return LoadedKernel(code.get_kernel(name), code, name)
            finally:
                program.close()
        except Exception as error:  # each backend of cuda-core has its own errors
            raise BackendUnavailableError(
                f"{assembler(self._core)} cannot assemble {name} for {self._target}: {shorten(error, str)}; "
                "a newer assembler may support the instruction"
            ) from error


@cache
def assembler(core: Any) -> str:
    """Return the name of the PTX assembler, with its version."""
    which_backend = getattr(getattr(core, "Linker", None), "which_backend", lambda: "unknown")
    if "driver" not in str(which_backend()).lower():
        try:
            return "nvJitLink {}.{}".format(*importlib.import_module("cuda.bindings.nvjitlink").version())
        except Exception:  # not installed, or too old to return its version: then the driver assembles
            pass
    return "driver, CUDA {}.{}".format(*driver_version())

# SPDX-License-Identifier: MIT
"""Which kernels lie on the GPU: those that were used last, each assembled once; the others are unloaded."""

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
    """A kernel on the GPU, the code that it is part of, and its name."""

    kernel: Any
    code: Any
    name: str


class LoadedKernels:
    """Kernels by their text. Whoever uses one holds the GPU's lock, so that it is not unloaded meanwhile."""

    def __init__(self, core: Any, target: str, most: int = _MOST) -> None:
        self._core, self._target, self._most = core, target, most
        self._kernels: OrderedDict[str, LoadedKernel] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kernels)

    def get(self, ptx: str, name: str) -> LoadedKernel:
        """Return the kernel of a text, assembled and loaded if it is not there."""
        if ptx not in self._kernels:
            while len(self._kernels) >= self._most:
                _, oldest = self._kernels.popitem(last=False)
                # cuda-core leaves what it loaded where it is, also when nothing refers to it any more
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
        except Exception as error:  # each backend of cuda-core has errors of its own
            raise BackendUnavailableError(
                f"{assembler(self._core)} cannot assemble {name} for {self._target}: {shorten(error, str)}; "
                "a newer one may know the instruction"
            ) from error


@cache
def assembler(core: Any) -> str:
    """Name what assembles PTX, with its version."""
    which_backend = getattr(getattr(core, "Linker", None), "which_backend", lambda: "unknown")
    if "driver" not in str(which_backend()).lower():
        try:
            return "nvJitLink {}.{}".format(*importlib.import_module("cuda.bindings.nvjitlink").version())
        except Exception:  # it is not installed, or is too old to say: then the driver assembles
            pass
    return "driver, CUDA {}.{}".format(*driver_version())

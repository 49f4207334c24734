# SPDX-License-Identifier: MIT
"""Code of numba-cuda as kernels of the emulator: its PTX, its variables, what a driver knows about a kernel."""

from collections.abc import Callable
from functools import cached_property
from math import prod
from types import SimpleNamespace
from typing import Any

from wmma_emu.errors import BackendUnavailableError
from wmma_emu.instructions.launches import LAUNCH_LIMITS
from wmma_emu.languages.numba_cuda.memory import DeviceBlock, DeviceMemory
from wmma_emu.ptx import Kernel, Module
from wmma_emu.ptx.memory.shared_layout import static_bytes

_ARCHIVE = "library"
"""The kind of a static library; the device runtime, the only one that numba-cuda links, is the emulator's own."""


class Code:
    """A loaded module: it has a handle, kernels by their names, and variables at addresses that the host may copy.

    Attributes
    ----------
    module : wmma_emu.ptx.Module
    handle : int
    """

    def __init__(self, module: Module, memory: DeviceMemory, load: Callable[[Any], int]) -> None:
        self.module, self._memory, self._load = module, memory, load
        self.blocks: list[DeviceBlock] = []
        self.handle = load(self)

    @property
    def code(self) -> bytes:
        """The PTX."""
        return self.module.text.encode()

    def get_kernel(self, name: str) -> "EmulatedKernel":
        """Return a kernel."""
        return EmulatedKernel(self.module[name], self._load)

    def variable(self, name: str) -> DeviceBlock | None:
        """Return the memory of a variable of the module, None if it has no such variable."""
        found = next((x for other, x, _ in self.module.variables.arrays() if other == name), None)
        if found is None:
            return None
        block = self._memory.add(found, is_variable=True)
        self.blocks.append(block)
        return block


class EmulatedKernel:
    """A kernel, with the attributes that the driver knows; numbers of registers are unknown, and zero."""

    blocks = ()

    def __init__(self, kernel: Kernel, load: Callable[[Any], int]) -> None:
        self.kernel = kernel
        self.handle = load(self)

    @property
    def shared_bytes(self) -> int:
        """The bytes of static shared memory of a block."""
        return static_bytes(self.kernel.program)

    @cached_property
    def attributes(self) -> SimpleNamespace:
        """The attributes by the names of ``cuda.core``."""
        program, arch = self.kernel.program, self.kernel.module.arch
        most = program.required_block or program.max_block
        variables = self.kernel.module.variables.arrays()
        return SimpleNamespace(
            num_regs=0,
            const_size_bytes=sum(x.nbytes for _, x, is_written in variables if not is_written),
            local_size_bytes=program.local_bytes,
            shared_size_bytes=self.shared_bytes,
            max_threads_per_block=prod(most) if most else LAUNCH_LIMITS[arch.name].threads,
        )  # fmt: skip


def linked_module(
    library: Any, new_linker: Callable[..., Any], cc: Any, make: Callable[..., Module], note: Callable[[str], None]
) -> Module:
    """Link the code of a library of numba-cuda, and make a module of the PTX.

    With link-time optimisation, the default of numba-cuda, nvJitLink makes the PTX, as it makes the machine code for a
    GPU. Where it makes no PTX, as of inputs that are PTX already, the emulator links the PTX of the parts, as without
    the optimisation; a note states this.
    """
    for is_optimised in (True, False) if library._lto else (False,):
        linker = new_linker(max_registers=library._max_registers, cc=cc, lto=is_optimised)
        library._link_all(linker, cc)
        linker._object_codes = parts = [x for x in linker._object_codes if x.code_type != _ARCHIVE]
        kinds = {x.code_type for x in parts}
        texts = [x.code for x in parts]
        if is_optimised:
            try:
                texts, kinds = [linker.get_linked_ptx()], {"ptx"}
            except Exception as error:  # of nvJitLink's binding
                reason = str(error).strip().splitlines()[0]
                note(f"{library.name} is linked without link-time optimisation: {reason}")
                continue
        if kinds == {"ptx"}:
            first, *others = map(_text, texts)
            return make(first, name=library.name).link(*others)
    found = ", ".join(sorted(kinds - {"ptx"}))
    raise BackendUnavailableError(
        f"{library.name} links code of the kind {found}; the emulator runs PTX: link CUDA C++, PTX or LTO-IR, and not "
        "both of the last two"
    )


def ptx_of(image: Any) -> str:
    """Return the PTX of code for a driver.

    Raises
    ------
    BackendUnavailableError
        If it is code of another kind.
    """
    kind = getattr(image, "code_type", type(image).__name__)
    if kind != "ptx":
        raise BackendUnavailableError(f"a module of the kind {kind} cannot be loaded: the emulator runs PTX")
    return _text(image.code)


def _text(code: bytes | str) -> str:
    return (code.decode() if isinstance(code, bytes) else code).strip("\0")

# SPDX-License-Identifier: MIT
"""The emulated chip as Triton's host code sees it: a device number, its properties, and loaded kernels."""

from typing import Any, NamedTuple

from wmma_emu.errors import OptionError, UnsupportedInstructionError
from wmma_emu.instructions import Arch
from wmma_emu.languages.device_properties import REGISTERS, WARP_SIZE, DeviceProperties, properties_of

ANSWERED_REGISTERS = 64
"""The registers per thread that a loaded kernel is said to use: only ptxas, which does not run, knows their number."""


class Device(int):
    """The number of the emulated device, 0, which equals no other device: Triton keeps kernels by device.

    Examples
    --------
    >>> device = Device()
    >>> int(device), device == device, device == 0, f"cuda:{device}"
    (0, True, False, 'cuda:0')
    """

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo: Any) -> "Device":
        return self


class Properties(dict[str, int]):
    """The properties of a chip by the names in Triton; those that an emulator cannot have are refused.

    Examples
    --------
    >>> from wmma_emu.instructions import arch_of
    >>> properties = answers_of(properties_of(arch_of("h100")))
    >>> properties["multiprocessor_count"], properties["max_shared_mem"]
    (132, 232448)
    """

    def __missing__(self, name: str) -> int:
        raise OptionError(
            f"an emulated chip has no property {name}, because nothing is timed here; it has {', '.join(self)}"
        )


def answers_of(device: DeviceProperties) -> Properties:
    """Return the properties of a chip that Triton's own driver has, except clock rates and bus widths."""
    return Properties(
        max_shared_mem=device.limits.shared_bytes,
        max_num_regs=REGISTERS,
        multiprocessor_count=device.residency.multiprocessors,
        warpSize=WARP_SIZE,
    )


class LoadedKernel(NamedTuple):
    """A kernel as the driver loads it: its name, and its PTX where Triton's own driver has machine code."""

    name: str
    text: str


class Utils:
    """The functions of a driver that Triton's compiled kernels and host code call."""

    def __init__(self, arch: Arch) -> None:
        self._properties = properties_of(arch)

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> tuple[Any, ...]:
        """Return the module, the function, its registers and spilled registers, and the most threads of a block."""
        return self, LoadedKernel(name, binary.decode()), ANSWERED_REGISTERS, 0, self._properties.limits.threads

    def unload_module(self, module: object) -> None:
        """Return: nothing was loaded into a GPU."""

    def set_printf_fifo_size(self, size: int) -> None:
        """Return: the emulator's output has no limit."""

    def get_device_properties(self, device: int) -> Properties:
        """Return the properties of the emulated chip."""
        return answers_of(self._properties)

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        """Return the compute capability."""
        return self._properties.capability

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise UnsupportedInstructionError(
            f"Triton's host code asks its driver for {name}, which is not modelled"
            + (": tensor maps (TMA) are filled by NVIDIA's driver" if "tma" in name else "")
        )

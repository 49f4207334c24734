# SPDX-License-Identifier: MIT
"""The memory of the warps of a block before it begins: constants, special registers, addresses of variables."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.instructions import Arch
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.memory.address_map import BASES, CODE
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.native.control_words import MachineWord
from wmma_emu.ptx.native.warp_layout import EXISTING, WARP_NUMBER, WarpLayout, bytes_of
from wmma_emu.ptx.program.program import Symbol
from wmma_emu.ptx.special_values import launch_registers
from wmma_emu.ptx.threads import Threads

OF_BLOCK = {
    **{f"{name}.{axis}": MachineWord[f"CTAID_{axis.upper()}"] for name in ("ctaid", "clusterid") for axis in "xyz"},
    "smid": MachineWord.SMID,
}
"""The special registers that differ from block to block, with the word of the context that has their value."""


def constants_image(layout: WarpLayout) -> NDArray[np.uint8]:
    """Return the memory of a warp with the constants of a kernel, (1, bytes)."""
    image = np.zeros((1, layout.bytes), np.uint8)
    for (value, bits), offset in layout.constants.items():
        _put(image, offset, bits, np.uint64(value))
    return image


def warp_image(
    layout: WarpLayout, constants: NDArray[np.uint8], threads: Threads, arch: Arch, heap: GlobalMemory,
    dynamic_bytes: int,
) -> NDArray[np.uint8]:  # fmt: skip
    """Return the memory of each warp, (warps, bytes); `filled_words` lists what is still missing."""
    image = np.empty((threads.num_warps, layout.bytes), np.uint8)
    image[...] = constants
    exists = np.ones((threads.num_warps, LANES), np.bool_) if threads.exists is None else threads.exists[0]
    _put(image, EXISTING, 1, exists)
    numbers = np.arange(threads.num_warps, dtype=np.uint32)
    image[:, WARP_NUMBER : WARP_NUMBER + 4] = numbers.view(np.uint8).reshape(-1, 4)
    of_launch = launch_registers(arch, layout.program, dynamic_bytes, heap.workspace) if layout.specials else {}
    for (name, bits), offset in layout.specials.items():
        if name not in OF_BLOCK:
            value = np.full((1, 1), of_launch[name]) if name in of_launch else threads.special(name)[0]
            _put(image, offset, bits, value)
    for (symbol, bits), offset in layout.symbols.items():
        _put(image, offset, bits, np.uint64(_address_of(symbol, heap)))
    return image


def filled_words(layout: WarpLayout) -> NDArray[np.int64]:
    """Return what is written when a block begins: the offset, the word of the context, the 32-bit words of a lane."""
    specials = layout.specials.items()
    found = [(offset, OF_BLOCK[name], bits // 32) for (name, bits), offset in specials if name in OF_BLOCK]
    return np.array(found, np.int64).reshape(-1, 3)


def _address_of(symbol: Symbol, heap: GlobalMemory) -> int:
    """Return the address of a variable in its own space, as `AddressSpaces.address_of` does."""
    if symbol.space == "code":
        return CODE + symbol.offset
    if symbol.space in ("global", "const"):
        return heap.address_of(symbol) - BASES.get(symbol.space, 0)
    return symbol.offset


def _put(image: NDArray[np.uint8], offset: int, bits: int, values: Any) -> None:
    """Write values that broadcast to (warps, 32)."""
    full = np.broadcast_to(values, (len(image), LANES))
    if bits == 1:
        raw = np.packbits(full != 0, axis=1, bitorder="little")
    else:
        raw = np.ascontiguousarray(full.astype(f"u{bits // 8}")).view(np.uint8).reshape(len(image), -1)
    image[:, offset : offset + bytes_of(bits)] = raw

# SPDX-License-Identifier: MIT
"""The fifth generation of tensor cores: products on tensor memory, data movement, and descriptors.

>>> from wmma_emu.tcgen05 import TensorMemory
>>> tmem = TensorMemory()
>>> tmem.alloc(128)
0
"""

from wmma_emu.renamed import renamed_names
from wmma_emu.tcgen05.bound import BoundTensorInstruction, bound_tensor_instruction
from wmma_emu.tcgen05.copy import COPY_SHAPES, cp
from wmma_emu.tcgen05.data_layouts import (
    DATA_PATHS,
    a_placement,
    d_placement,
    data_path,
    metadata_placement,
    scale_placement,
)
from wmma_emu.tcgen05.data_movement import DATA_MOVEMENTS, DataMovement
from wmma_emu.tcgen05.instruction_descriptor import InstructionDescriptor
from wmma_emu.tcgen05.load_store import addresses_of_warps, ld, ld_red, st
from wmma_emu.tcgen05.mma import mma
from wmma_emu.tcgen05.shapes import SHAPES, tcgen05_layout
from wmma_emu.tcgen05.shared_descriptor import SharedMemoryDescriptor
from wmma_emu.tcgen05.shared_matrix import addresses, image_of, read_matrix
from wmma_emu.tcgen05.shift import shift_down
from wmma_emu.tcgen05.tensor_memory import TensorMemory, address, column_of, lane_of
from wmma_emu.tcgen05.zero_column_mask import ZeroColumnMask

__all__ = [
    "COPY_SHAPES",
    "DATA_MOVEMENTS",
    "DATA_PATHS",
    "SHAPES",
    "BoundTensorInstruction",
    "DataMovement",
    "InstructionDescriptor",
    "SharedMemoryDescriptor",
    "TensorMemory",
    "ZeroColumnMask",
    "a_placement",
    "address",
    "addresses",
    "addresses_of_warps",
    "bound_tensor_instruction",
    "column_of",
    "cp",
    "d_placement",
    "data_path",
    "image_of",
    "lane_of",
    "ld",
    "ld_red",
    "metadata_placement",
    "mma",
    "read_matrix",
    "scale_placement",
    "shift_down",
    "st",
    "tcgen05_layout",
]


def __dir__() -> list[str]:
    return sorted(__all__)


__getattr__ = renamed_names(__name__, {"MOVES": "DATA_MOVEMENTS", "Move": "DataMovement"})

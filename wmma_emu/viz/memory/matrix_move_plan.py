# SPDX-License-Identifier: MIT
"""What a plan of ldmatrix, stmatrix or movmatrix holds: lanes of addresses, and elements of registers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.layouts.spec import Ints
from wmma_emu.warp.matrix_rows import ROW_BYTES


@dataclass(frozen=True, eq=False)
class MatrixMovePlan(Sourced):
    """Which lane gives the address of which row, and which lane's register holds which element.

    Parameters
    ----------
    mnemonic : str
        As the PTX manual spells it.
    family : {"ldmatrix", "stmatrix", "movmatrix"}
    arch : str
    shape : str
        ``"m8n8"``, ``"m8n16"``, ``"m16n8"``, ``"m16n16"``.
    matrices : int
        Matrices that are moved.
    rows : int
        Rows of memory of a matrix, 16 bytes each.
    row_elements : int
        Elements of a row: 8 of b16, else 16.
    element_bits : int
        Bits of an element in a register.
    source_bits : int
        Bits of an element in memory: 6 and 4 where ldmatrix unpacks them. Element e of a row begins at bit
        ``e * source_bits`` of its 16 bytes.
    trans : bool
        Whether what lies along a row in memory goes to different lanes.
    address_lanes : int array, (matrices, rows)
        The lane that gives the address of a row. Of movmatrix, which has none, (1, 0).
    elements : int array, (num_registers, elements of a register, 32, 3)
        Of each lane, each register and each element in it, lowest bits first: matrix, row in memory, element of that
        row. Of movmatrix: matrix, row and column that the lane is given.
    held : int array, of the same shape
        Of movmatrix: what the lane holds before. Of the others the same as ``elements``.
    evidence : Evidence

    Examples
    --------
    >>> from wmma_emu.viz.memory.ldmatrix_plan import ldmatrix_plan
    >>> plan = ldmatrix_plan("ldmatrix.m8n8.x4.b16")
    >>> plan.address_lanes[1].tolist()                         # the rows of the second matrix
    [8, 9, 10, 11, 12, 13, 14, 15]
    >>> plan.elements[1, :, 5].tolist()                        # register 1 of lane 5: matrix 1, row 1, elements 2 and 3
    [[1, 1, 2], [1, 1, 3]]
    """

    mnemonic: str
    family: str
    arch: str
    shape: str
    matrices: int
    rows: int
    row_elements: int
    element_bits: int
    source_bits: int
    trans: bool
    address_lanes: Ints
    elements: Ints
    held: Ints
    evidence: Evidence

    @property
    def num_registers(self) -> int:
        """Of every lane."""
        return int(self.elements.shape[0])

    @property
    def elements_per_register(self) -> int:
        """Elements that share a register: 2 of b16, 4 of b8."""
        return int(self.elements.shape[1])

    @property
    def holders(self) -> Ints:
        """Who holds each element: (matrices, rows, row_elements, 3), lane, register and its number in the register."""
        found = np.empty((self.matrices, self.rows, self.row_elements, 3), np.int64)
        register, element, lane = np.indices(self.elements.shape[:3])
        matrix, row, column = np.moveaxis(self.elements, -1, 0)
        found[matrix, row, column] = np.stack([lane, register, element], axis=-1)
        return found

    @property
    def lanes_with_address(self) -> int:
        """How many lanes, from lane 0 on, give an address."""
        return int(self.address_lanes.size)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as what JSON holds: numbers, strings, lists."""
        plain = {
            name: getattr(self, name)
            for name in (
                "mnemonic", "family", "arch", "shape", "matrices", "rows", "row_elements", "element_bits",
                "source_bits", "trans", "source", "status",
            )
        }  # fmt: skip
        arrays = {name: getattr(self, name).tolist() for name in ("address_lanes", "elements", "held")}
        return {**plain, "row_bytes": ROW_BYTES, "num_registers": self.num_registers, **arrays}

# SPDX-License-Identifier: MIT
"""The plan of ldmatrix, stmatrix or movmatrix: lanes of addresses, and elements of registers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.layouts.spec import Ints
from wmma_emu.warp.matrix_rows import ROW_BYTES


@dataclass(frozen=True, eq=False)
class MatrixMovePlan(Sourced):
    """The lane that gives the address of each row, and the element in each lane's registers.

    Parameters
    ----------
    mnemonic : str
        As the PTX manual spells it.
    family : {"ldmatrix", "stmatrix", "movmatrix"}
    arch : str
    shape : str
        ``"m8n8"``, ``"m8n16"``, ``"m16n8"``, ``"m16n16"``.
    matrices : int
        The number of matrices that are moved.
    rows : int
        The number of a matrix's rows in memory, 16 bytes each.
    row_elements : int
        The number of elements of a row: 8 for b16, else 16.
    element_bits : int
        Bits of an element in a register.
    source_bits : int
        Bits of an element in memory: 6 or 4 if ldmatrix unpacks them. Element e of a row begins at bit
        ``e * source_bits`` of its 16 bytes.
    trans : bool
        Whether neighbours along a row in memory are loaded into different lanes.
    address_lanes : int array, (matrices, rows)
        The lane that gives the address of each row. For movmatrix, which has none, (1, 0).
    elements : int array, (num_registers, elements of a register, 32, 3)
        For each lane, each register and each element in it, lowest bits first: matrix, row in memory, element of that
        row. For movmatrix: matrix, row and column that the lane receives.
    held : int array, of the same shape
        For movmatrix: the elements that the lane holds before. For the others: the same as ``elements``.
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
        """The registers of every lane."""
        return int(self.elements.shape[0])

    @property
    def elements_per_register(self) -> int:
        """The elements that share a register: 2 of b16, 4 of b8."""
        return int(self.elements.shape[1])

    @property
    def holders(self) -> Ints:
        """Return lane, register and index in the register of each element: (matrices, rows, row_elements, 3)."""
        found = np.empty((self.matrices, self.rows, self.row_elements, 3), np.int64)
        register, element, lane = np.indices(self.elements.shape[:3])
        matrix, row, column = np.moveaxis(self.elements, -1, 0)
        found[matrix, row, column] = np.stack([lane, register, element], axis=-1)
        return found

    @property
    def lanes_with_address(self) -> int:
        """The number of lanes, from lane 0, that give an address."""
        return int(self.address_lanes.size)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can represent: numbers, strings, lists."""
        plain = {
            name: getattr(self, name)
            for name in (
                "mnemonic", "family", "arch", "shape", "matrices", "rows", "row_elements", "element_bits",
                "source_bits", "trans", "source", "status",
            )
        }  # fmt: skip
        arrays = {name: getattr(self, name).tolist() for name in ("address_lanes", "elements", "held")}
        return {**plain, "row_bytes": ROW_BYTES, "num_registers": self.num_registers, **arrays}

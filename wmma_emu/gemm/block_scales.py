# SPDX-License-Identifier: MIT
"""Block scales that the instruction itself reads: 8-bit patterns, read part by part together with A and B."""

from numpy.typing import ArrayLike

from wmma_emu.errors import OptionError, ShapeError
from wmma_emu.formats import format_of
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import dtype_of
from wmma_emu.gemm.k_order import Run
from wmma_emu.gemm.panels import PanelOperand, filled
from wmma_emu.instructions import Instruction


class ScaleOperand(PanelOperand):
    """A user's matrix of block scales, (..., M, K / block) or (..., K / block, N); axes of k count blocks."""

    def __init__(self, array: ArrayLike, entry: Instruction, name: str, k_axis: int) -> None:
        fmt = format_of(entry.scale)
        super().__init__(array, fmt, name, k_axis)
        self._block, self._axis = entry.scale_block, k_axis

    def of_run(self, index: tuple[slice, ...], run: Run, step: int) -> Bits:
        """Return the patterns of one run; the blocks that pad its last instruction have the pattern 0."""
        if run.start % self._block:
            raise OptionError(
                f"KOrder starts a run at k = {run.start}, inside {self._block} k that share a scale; make tiles, cuts "
                "and "
                f"split_multiple multiples of {self._block}, and K too if residue is 'first'"
            )
        blocks = Run(run.start // self._block, -(-run.stop // self._block))
        bits = self.bits(index, blocks)
        missing = -(-(run.stop - run.start) // step) * step // self._block - (blocks.stop - blocks.start)
        return filled(bits, self._axis, missing)


def block_scales_of(
    entry: Instruction, scale_a: ArrayLike, scale_b: ArrayLike, shape: tuple[int, int, int]
) -> tuple[ScaleOperand, ScaleOperand]:
    """Read the block scales of a product of M x N x K."""
    m, n, k = shape
    blocks = -(-k // entry.scale_block)
    found = ScaleOperand(scale_a, entry, "scale_a", -1), ScaleOperand(scale_b, entry, "scale_b", -2)
    for operand, name, legal in zip(found, ("scale_a", "scale_b"), ((m, blocks), (blocks, n)), strict=True):
        if len(operand.shape) < 2 or operand.shape[-2:] != legal:
            fix = f"; {name}.T would fit" if operand.shape[:-3:-1] == legal else ""
            raise ShapeError(
                f"{name} has shape {operand.shape}; {entry.mnemonic} has a scale of {entry.scale} "
                f"({dtype_of(entry.scale)}) for each {entry.scale_block} k: (..., {legal[0]}, {legal[1]}){fix}"
            )
    return found

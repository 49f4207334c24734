# SPDX-License-Identifier: MIT
"""Options of `tcgen05.mma` other than D, A and B, and the instructions that support each of them."""

from dataclasses import dataclass
from typing import Any

from wmma_emu.errors import FragmentMismatchError, OptionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions import Instruction
from wmma_emu.tcgen05.zero_column_mask import ZeroColumnMask


@dataclass(frozen=True, slots=True, eq=False)
class TensorOptions:
    """The keywords of `BoundTensorInstruction.execute`, unchanged."""

    descriptor: Any = None
    scale_a: Any = None
    scale_b: Any = None
    metadata: Any = None
    enable_input_d: Any = True
    scale_input_d: Any = 0
    disable_output_lane: Any = None
    zero_column_mask: Any = None
    engine: str = "auto"

    def checked(self, instruction: Instruction) -> ZeroColumnMask | None:
        """Reject missing and unsupported options; return the mask."""
        ws = instruction.family.startswith("tcgen05.mma.ws")
        for name, given, wanted in (
            ("scale_a", self.scale_a, instruction.is_block_scaled),
            ("scale_b", self.scale_b, instruction.is_block_scaled),
            ("metadata", self.metadata, instruction.is_sparse),
        ):
            if (given is not None) != wanted:
                what = f"needs {name}=, an address of tensor memory" if wanted else f"takes no {name}"
                raise FragmentMismatchError(f"{instruction.mnemonic} {what}")
        exponent = integer_of(self.scale_input_d)
        if exponent is None or not 0 <= exponent <= 15:
            raise OptionError(f"scale_input_d is 0 to 15, not {shorten(self.scale_input_d)}")
        if exponent and (ws or not {"kind::f16", "kind::tf32"} & set(instruction.modifiers)):
            raise OptionError(
                f"scale_input_d is an option of kind::f16 and kind::tf32 without .ws, not of {instruction.mnemonic}"
            )
        if self.disable_output_lane is not None and (ws or instruction.is_block_scaled):
            raise OptionError(
                "disable_output_lane is an option of kinds without block scales, without .ws, not of "
                f"{instruction.mnemonic}"
            )
        mask = self.zero_column_mask
        if mask is None:
            return None
        if not ws:
            raise OptionError(f"a zero-column mask is an option of tcgen05.mma.ws, not of {instruction.mnemonic}")
        return mask if isinstance(mask, ZeroColumnMask) else ZeroColumnMask.decode(mask)

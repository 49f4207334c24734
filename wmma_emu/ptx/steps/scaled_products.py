# SPDX-License-Identifier: MIT
"""Products with a power of two that are rounded once: what ptxas makes of two multiplications."""

from wmma_emu.ptx.program.program import Instruction
from wmma_emu.ptx.steps.forms import Form
from wmma_emu.ptx.steps.patterns import Array
from wmma_emu.ptx.steps.rows import Rows, form_rows
from wmma_emu.scalar.rounded_single import saturate
from wmma_emu.scalar.scaled_product import POWERS, scaled_mul

__all__ = ["SCALED_ROWS"]

_PATTERNS = {name: pattern for pattern, name in POWERS.items()}


def _scaled(instruction: Instruction, power: str, ftz: str, sat: str, kind: str) -> Form:
    pattern, flushes = _PATTERNS[power], bool(ftz)

    def compute(a: Array, b: Array) -> Array:
        result: Array = scaled_mul(a, b, pattern, flushes)
        return saturate(result) if sat else result

    return Form((kind,), (kind, kind), compute)


SCALED_ROWS: Rows = form_rows("%mul", f"{'|'.join(POWERS.values())} -|ftz -|sat f32", _scaled, "9.7.3.5")
"""What `program.scaled_products` puts in the place of two products; no text spells it."""

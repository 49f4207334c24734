# SPDX-License-Identifier: MIT
"""One rounding as text: kept bits, dropped bits, and direction."""

from wmma_emu.arithmetic.explanation.notation import binary_or_hex, exact
from wmma_emu.arithmetic.explanation.steps import Rounding


def rounding_words(r: Rounding) -> str:
    """Return, for example, ``rounded RNE to f32: keeps +0x1.8p+0, drops 2 bits, 11: above half, magnitude up``."""
    return f"rounded {r.mode} to {r.format}: keeps {exact(r.sign, r.kept, r.kept_exponent)}, {direction(r)}"


def direction(r: Rounding) -> str:
    """Describe the dropped bits, the direction, and a special result."""
    if r.dropped_bits:
        bits = "1 bit" if r.dropped_bits == 1 else f"{r.dropped_bits} bits"
        text = f"drops {bits}, {binary_or_hex(r.dropped, r.dropped_bits)}: {_where(r)}"
    else:
        text = "drops nothing"
    if r.overflow:
        text += "; beyond the largest number"
    elif r.kept == 0:
        text += "; zero"
    elif r.subnormal:
        text += "; subnormal"
    return text


def _where(r: Rounding) -> str:
    """Compare the dropped bits with half a unit, and return the direction."""
    half = 1 << r.dropped_bits - 1
    if r.dropped == 0:
        return "exact"
    place = "half" if r.dropped == half else ("above half" if r.dropped > half else "below half")
    if place == "half" and r.mode == "RNE":
        place = "half, to even"
    return f"{place}, magnitude {'up' if r.up else 'cut'}"

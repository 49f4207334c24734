# SPDX-License-Identifier: MIT
"""The constants to which ptxas evaluates approximate functions, and quotients by a constant divisor.

The bits differ from the results of the chip's unit: ``docs/decisions/0024-constants-that-ptxas-knows.md``.
"""

from wmma_emu.scalar.approx_reference import approx, scaled_divisor
from wmma_emu.scalar.approx_rounded import ROUNDED_UNITS

KNOWN_NAMES = tuple(ROUNDED_UNITS)
"""The f32 functions that ptxas evaluates; ``tanh`` and all of f16, bf16 and f64 remain instructions."""


def known_approx(name: str, bits: int, ftz: bool = False) -> int:
    """Compute the constant with which ptxas replaces ``name.approx.f32`` of a constant.

    Examples
    --------
    >>> hex(known_approx("rsqrt", 0x43000000)), hex(approx("rsqrt", 0x43000000))           # 128, and the chip's unit
    ('0x3db504f3', '0x3db504f2')
    """
    if name in ("sin", "cos"):
        return ROUNDED_UNITS[name](bits)
    return approx(name, bits, ftz, units=ROUNDED_UNITS)


def known_reciprocal(divisor: int, kind: str, ftz: bool = False) -> tuple[int, int]:
    """Compute the factors with which ptxas replaces a constant divisor: a power of two, then a reciprocal.

    Examples
    --------
    >>> [hex(x) for x in known_reciprocal(0x44400000, "full")]                                            # 768
    ['0x3f800000', '0x3aaaaaab']
    >>> [hex(x) for x in known_reciprocal(0x7E800001, "full")]                                   # beyond 2**126
    ['0x3e800000', '0x17ffffe']
    """
    factor, scaled = scaled_divisor(divisor, kind, ftz)
    return factor, ROUNDED_UNITS["rcp"](scaled)

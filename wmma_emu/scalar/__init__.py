# SPDX-License-Identifier: MIT
"""The arithmetic of one lane: correctly rounded sums and products, conversions, bits, approximations."""

from wmma_emu.first_use import on_first_use

TYPE_CHECKING = False  # not imported from typing, which is slow to import
if TYPE_CHECKING:
    from wmma_emu.scalar.approx import APPROX_NAMES, approx, approx_div
    from wmma_emu.scalar.approx_status import APPROX_STATUS, ApproxStatus
    from wmma_emu.scalar.bitwise import (
        double_as_longlong,
        float_as_int,
        float_as_uint,
        int_as_float,
        longlong_as_double,
        lop3,
        lop3_lut,
        uint_as_float,
    )
    from wmma_emu.scalar.conversion import convert
    from wmma_emu.scalar.cvt import cvt
    from wmma_emu.scalar.division import div, rcp, sqrt
    from wmma_emu.scalar.environment import (
        ieee_arithmetic,
        in_ieee_arithmetic,
        require_ieee_subnormals,
        require_round_to_nearest,
    )
    from wmma_emu.scalar.fused import add, fma, mul
    from wmma_emu.scalar.prmt import prmt

__all__ = [
    "APPROX_NAMES",
    "APPROX_STATUS",
    "ApproxStatus",
    "add",
    "approx",
    "approx_div",
    "convert",
    "cvt",
    "div",
    "double_as_longlong",
    "float_as_int",
    "float_as_uint",
    "fma",
    "ieee_arithmetic",
    "in_ieee_arithmetic",
    "int_as_float",
    "longlong_as_double",
    "lop3",
    "lop3_lut",
    "mul",
    "prmt",
    "rcp",
    "require_ieee_subnormals",
    "require_round_to_nearest",
    "sqrt",
    "uint_as_float",
]

_HOMES = {
    "approx": ("APPROX_NAMES", "approx", "approx_div"),
    "approx_status": ("APPROX_STATUS", "ApproxStatus"),
    "bitwise": (
        "double_as_longlong", "float_as_int", "float_as_uint", "int_as_float", "longlong_as_double", "lop3",
        "lop3_lut", "uint_as_float",
    ),
    "conversion": ("convert",),
    "cvt": ("cvt",),
    "division": ("div", "rcp", "sqrt"),
    "environment": ("ieee_arithmetic", "in_ieee_arithmetic", "require_ieee_subnormals", "require_round_to_nearest"),
    "fused": ("add", "fma", "mul"),
    "prmt": ("prmt",),
}  # fmt: skip
"""The module of every public name."""

if not TYPE_CHECKING:  # type checkers see the imports above; with __getattr__ they would accept any name
    __getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)

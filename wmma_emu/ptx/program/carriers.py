# SPDX-License-Identifier: MIT
"""Through which instructions ptxas hands on what it knows: where all sources are known numbers, so is the result.

The rows were read out of the machine code of ptxas 12.9.86, 13.0.88, 13.4.59 and 13.5.37 for sm_80, sm_90a, sm_100a and
sm_120a: a root of the result is a number in it, or stays an instruction
(``docs/decisions/0024-constants-that-ptxas-knows.md``). What has no row hands nothing on: ``fma``, any rounding
but to nearest, quotients of integers, ``prmt``, ``lop3``, arithmetic of halves. The values are those of the chip's
instruction, always; a NaN is not handed on.
"""

import re
from functools import cache

__all__ = ["is_carrier"]

_ROWS = (
    # f64 with .rn and .sat with .rn stay instructions.
    r"(add|sub|mul)(\.rn|\.ftz|\.rn\.ftz|\.sat|\.ftz\.sat)?\.f32",
    r"(add|sub|mul)\.f64",
    r"(min|max|neg|abs)(\.ftz)?\.f32",
    r"(neg|abs)\.f64",
    r"(min|max)\.(f16|f64)",
    r"(add|sub|min|max|mul\.lo|mad\.lo)\.[su](16|32|64)",
    r"mul\.hi\.[su](16|32)",
    r"(mul|mad)\.wide\.[su](16|32)",
    r"(mul24|mad24)\.lo\.[su]32",
    r"(neg|abs)\.s(16|32|64)",
    r"(and|or|xor|not)\.(pred|b16|b32|b64)",
    r"shl\.b(16|32|64)",
    r"shr\.[sub](16|32|64)",
    r"shf\.[lr]\.(wrap|clamp)\.b32",
    r"(cnot|brev)\.b32",
    r"(popc|clz)\.b(32|64)",
    r"bfind\.[su]32",
    r"fns\.b32",
    r"bfe\.[su](32|64)",
    r"bfi\.b32",
    r"mov\.(pred|[subf](16|32|64))",
    r"selp\.[subf](16|32|64)",
    r"slct\.[subf](16|32|64)\.s32",
    r"setp\.(\w+\.)+([sub](16|32|64)|f32|f64)",
    r"set\.\w+\.f32\.f32",
    r"testp\.\w+\.f32",
    r"cvt\.[su](8|16|32|64)\.[su](8|16|32|64)",
    r"cvt\.rn\.f32\.[su](8|16|32)",
    r"cvt\.r[nz]i(\.ftz)?\.(u16|[su]32|[su]64)\.f32",
    r"cvt\.rzi\.(u16|[su]32|[su]64)\.(f16|f64)",
    r"cvt\.r[nzmp]i(\.ftz)?\.f32\.f32",
    r"cvt\.r[nzmp]i\.f64\.f64",
    r"cvt\.sat\.f32\.f32",
    r"cvt\.rn\.(f32\.f64|f16\.f32|bf16\.f32|f16x2\.f32)",
    r"cvt\.(f64\.f32|f32\.f16|f32\.bf16|f64\.f16)",
)

_ANY = re.compile("|".join(f"(?:{row})" for row in _ROWS))


@cache
def is_carrier(opcode: str) -> bool:
    """Tell whether ptxas evaluates an instruction whose sources it knows, and goes on with the result.

    Examples
    --------
    >>> is_carrier("mul.f32"), is_carrier("fma.rn.f32")
    (True, False)
    """
    return _ANY.fullmatch(opcode) is not None

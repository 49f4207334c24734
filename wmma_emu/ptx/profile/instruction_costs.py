# SPDX-License-Identifier: MIT
"""The costs of one execution of an instruction: its kind, its floating-point operations, its products."""

import re

from wmma_emu.ptx.program.program import PtxInstruction, VectorOperand

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
WARPS_OF_WGMMA = 4

_ROWS_OF_A, _BYTES_OF_K = 64, 32
"""The rows of A of a wgmma, and the bytes of a row of A along k, whatever the format."""

_OPERATIONS = {"add": 1, "sub": 1, "mul": 1, "fma": 2, "mad": 2, "div": 1, "sqrt": 1, "rsqrt": 1, "rcp": 1, "min": 1,
               "max": 1, "ex2": 1, "lg2": 1, "sin": 1, "cos": 1, "tanh": 1}  # fmt: skip
"""The floating-point operations of each mnemonic."""

_FLOATS = {"f16": 1, "bf16": 1, "f32": 1, "f64": 1, "f16x2": 2, "bf16x2": 2, "f32x2": 2}
"""The elements of each floating-point type."""

_KINDS = {
    "ld": "load", "ldu": "load", "ldmatrix": "load", "st": "store", "stmatrix": "store", "cp": "copy",
    "atom": "atomic", "red": "atomic", "mma": "matrix", "wgmma": "matrix", "tex": "texture", "tld4": "texture",
    "suld": "texture", "sust": "texture", "sured": "texture", "bar": "synchronisation", "barrier": "synchronisation",
    "membar": "synchronisation", "fence": "synchronisation", "mbarrier": "synchronisation", "bra": "control",
    "brx": "control", "call": "control", "ret": "control", "exit": "control", "trap": "control", "cvt": "conversion",
    "cvta": "conversion", "mov": "move", "shfl": "exchange", "vote": "exchange", "match": "exchange",
    "redux": "exchange", "movmatrix": "exchange", "activemask": "exchange", "elect": "exchange", "setp": "comparison",
    "set": "comparison", "selp": "comparison", "slct": "comparison", "testp": "comparison", "isspacep": "comparison",
    "nanosleep": "synchronisation", "griddepcontrol": "synchronisation", "setmaxnreg": "control", "mapa": "conversion",
    "getctarank": "conversion", "istypep": "texture", "suq": "texture", "txq": "texture", "alloca": "move",
    "stacksave": "move", "stackrestore": "move", "tensormap": "copy", **dict.fromkeys(
        ("prefetch", "prefetchu", "createpolicy", "applypriority", "discard"), "cache"
    ),
}  # fmt: skip
"""The kind of each mnemonic whose type does not decide."""


def kind_of(instruction: PtxInstruction) -> str:
    """Return the kind of an instruction in the instruction mix.

    Examples
    --------
    >>> def kind(opcode):
    ...     mnemonic, *modifiers = opcode.split(".")
    ...     return kind_of(PtxInstruction(opcode, mnemonic, (*modifiers,), (), None, 1, 1))
    >>> kind("fma.rn.f32"), kind("add.s32"), kind("wmma.load.a.sync"), kind("ld.global.f32"), kind("mad.wide.u32")
    ('float', 'integer', 'load', 'load', 'integer')
    """
    if instruction.mnemonic == "wmma":
        return {"load": "load", "store": "store"}.get(instruction.modifiers[0], "matrix")
    found = _KINDS.get(instruction.mnemonic)
    return found or ("float" if _float_of(instruction) else "integer")


def operations_of(instruction: PtxInstruction) -> int:
    """Return the floating-point operations of one thread.

    Examples
    --------
    >>> operations_of(PtxInstruction("fma.rn.f16x2", "fma", ("rn", "f16x2"), (), None, 1, 1))
    4
    """
    return _OPERATIONS.get(instruction.mnemonic, 0) * _FLOATS.get(_float_of(instruction), 0)


def shared_operand_bytes(instruction: PtxInstruction) -> int:
    """Return the bytes of shared memory that the four warps of a wgmma read together, 0 for other instructions.

    Examples
    --------
    >>> opcode = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
    >>> def of(a):
    ...     return PtxInstruction(opcode, "wgmma", tuple(opcode.split(".")[1:]), (None, a, None), None, 1, 1)
    >>> shared_operand_bytes(of(None)), shared_operand_bytes(of(VectorOperand(())))
    (2304, 256)
    """
    found = _SHAPE.search(instruction.opcode)
    if instruction.mnemonic != "wgmma" or found is None:
        return 0
    of_a = 0 if isinstance(instruction.operands[1], VectorOperand) else _ROWS_OF_A * _BYTES_OF_K
    return of_a + int(found[2]) * _BYTES_OF_K * (2 if "sp" in instruction.modifiers else 1)


def _float_of(instruction: PtxInstruction) -> str:
    """Return the floating-point type of an arithmetic instruction, "" if it has none."""
    return next((x for x in reversed(instruction.modifiers) if x in _FLOATS), "")


def products_of(instruction: PtxInstruction) -> int:
    """Return the multiply-adds of one warp that executes a matrix instruction, 0 for other instructions.

    A sparse instruction counts all products of its shape, those with the zeros of A too.

    Examples
    --------
    >>> opcode = "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"
    >>> products_of(PtxInstruction(opcode, "wgmma", tuple(opcode.split(".")[1:]), (), None, 1, 1)) == 16 * 128 * 16
    True
    """
    if kind_of(instruction) != "matrix":
        return 0
    found = _SHAPE.search(instruction.opcode)
    if found is None:
        return 0
    m, n, k = map(int, found.groups())
    return m * n * k // (WARPS_OF_WGMMA if instruction.mnemonic == "wgmma" else 1)

# SPDX-License-Identifier: MIT
"""The thin public face: names to instructions, arrays to products."""

from typing import Any

from numpy.typing import ArrayLike, NDArray

from wmma_emu.gemm import bind
from wmma_emu.instructions import DEFAULT_ARCH, Arch, arch_of, lookup
from wmma_emu.warp import BoundInstruction

__all__ = ["instruction", "mma"]


def instruction(mnemonic: str, *, arch: str | Arch = DEFAULT_ARCH, lowering: str | None = None) -> BoundInstruction:
    """Look up a matrix instruction and bind it to a chip.

    Parameters
    ----------
    mnemonic : str
        PTX; for `mma.sync` the prefix and ``row.col`` may be left out.
    arch : str
        The chip: ``"sm_70"`` ... ``"sm_120"``, or a product's name.
    lowering : str, optional
        Which compiler's sequence, where the chip runs the instruction as software; the newest by default.

    Raises
    ------
    UnsupportedInstructionError
        With the three nearest legal forms, and the first chip that has the instruction.

    Examples
    --------
    >>> import wmma_emu as we
    >>> we.instruction("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", arch="a100")
    <mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 on sm_80, recorded>
    """
    chip = arch_of(arch)
    return BoundInstruction(lookup(mnemonic, chip.name), chip, lowering)


def mma(
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None = None,
    *,
    instr: str | None = None,
    arch: str | Arch = DEFAULT_ARCH,
    engine: str = "auto",
    lowering: str | None = None,
    a_format: str | None = None,
    b_format: str | None = None,
) -> NDArray[Any]:
    """Execute one matrix instruction on matrices of its shape: D = A B + C.

    Parameters
    ----------
    A : array, shape (..., M, K)
    B : array, shape (..., K, N)
    C : array, shape (..., M, N), optional
        +0 if left out. Leading axes broadcast as in `numpy.matmul`.
    instr : str, optional
        A PTX mnemonic. By default the chip's `mma.sync` for the matrices' formats with the widest k and the
        widest accumulator.
    arch, engine, lowering, a_format, b_format
        As for `wmma_emu.gemm`.

    Returns
    -------
    array, shape (..., M, N)
        In the dtype of D.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> A, B = np.ones((16, 32), np.int8), np.full((32, 8), -3, np.int8)
    >>> we.mma(A, B, arch="sm_80")[0, 0]
    np.int32(-96)
    """
    bound = bind(A, B, instr, arch, lowering, a_format, b_format)
    return bound(A, B, C, a_format=a_format, b_format=b_format, engine=engine)

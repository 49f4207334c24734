# SPDX-License-Identifier: MIT
"""The thin public face: names to instructions, arrays to products."""

from typing import Any

from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import OptionError
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.gemm import (
    AnyBoundInstruction,
    Factors,
    Matrix,
    ProductOptions,
    bind,
    bound_to,
    kind_of_scales,
    unpack_quantised,
    without_tensor_scales,
)
from wmma_emu.instructions import DEFAULT_ARCH, Arch, arch_of, default_arch, lookup


def instruction(
    mnemonic: str, *, arch: str | Arch | None = None, lowering: str | None = None, model: str | None = None
) -> AnyBoundInstruction:
    """Look up a matrix instruction and bind it to a chip.

    Parameters
    ----------
    mnemonic : str
        PTX; for `mma.sync` the prefix and ``row.col`` may be left out.
    arch : str, optional
        The chip: ``"sm_70"`` ... ``"sm_120"``, or a product's name. Left out it is sm_90, in a kernel the kernel's.
    lowering : str, optional
        Which compiler's sequence, where the chip runs the instruction as software; the newest by default.
    model : str, optional
        Which row of the table of models, where sources disagree, ``"F=34"``; the table's default if left out. An
        unknown name raises, and lists those that are there.

    Returns
    -------
    BoundInstruction
        A `tcgen05.mma` is a `wmma_emu.tcgen05.BoundTensorInstruction`; its mnemonic goes on with what its descriptor
        says, ``tcgen05.mma.cta_group::1.kind::f16.m128n256k16.f32.f16.f16``.

    Raises
    ------
    UnsupportedInstructionError
        With the three nearest legal forms, and the chips that have the instruction.

    Examples
    --------
    >>> import wmma_emu as we
    >>> we.instruction("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", arch="a100")
    <mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 on sm_80, recorded>
    """
    chip = default_arch() if arch is None else arch_of(arch)
    return bound_to(lookup(mnemonic, chip.name), chip, lowering, model)


@takes_tensors
def mma(
    A: Matrix,
    B: Matrix,
    C: ArrayLike | None = None,
    *,
    instr: str | None = None,
    arch: str | Arch = DEFAULT_ARCH,
    engine: str = "auto",
    lowering: str | None = None,
    model: str | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    a_format: str | None = None,
    b_format: str | None = None,
) -> NDArray[Any]:
    """Execute one matrix instruction on matrices of its shape: D = A B + C.

    Parameters
    ----------
    A : array, shape (..., M, K)
        Of NumPy, PyTorch (on the CPU) or JAX.
    B : array, shape (..., K, N)
        Or of `wmma_emu.quantise`, with their block scales; a tensor scale has no place here.
    C : array, shape (..., M, N), optional
        +0 if left out. Leading axes broadcast as in `numpy.matmul`.
    instr : str, optional
        A PTX mnemonic. By default the chip's `mma.sync` for the matrices' formats with the widest k and the
        widest accumulator; with block scales the one that has them, on sm_100 and sm_103 a `tcgen05.mma`.
    scale_a : array, shape (..., M, K / block), optional
    scale_b : array, shape (..., K / block, N), optional
        Block scales of an instruction that has them: ml_dtypes.float8_e8m0fnu, float8_e4m3fn (nothing negative, -0
        neither), or raw uint8, of which ue4m3 does not read the sign bit.
    arch, engine, lowering, model, a_format, b_format
        As for `wmma_emu.gemm`.

    Returns
    -------
    array, shape (..., M, N)
        In the dtype of D; a tensor of torch, or an array of JAX, if an operand is one.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> A, B = np.ones((16, 32), np.int8), np.full((32, 8), -3, np.int8)
    >>> we.mma(A, B, arch="sm_80")[0, 0]
    np.int32(-96)
    """
    given = Factors(A, B, scale_a, scale_b, a_format, b_format)
    factors = without_tensor_scales(unpack_quantised(given), "one instruction")
    kind = kind_of_scales(factors.scale_a, factors.scale_b)
    if kind == "float":
        raise OptionError(
            "scale_a and scale_b are no block scales, which have 8 bits; a kernel multiplies sums by others, as "
            "wmma_emu.gemm does: use it, or leave them out"
        )
    bound = bind(factors, ProductOptions(instr, arch, lowering, model))
    scales = {"scale_a": factors.scale_a, "scale_b": factors.scale_b} if kind else {}
    return bound(factors.a, factors.b, C, a_format=a_format, b_format=b_format, engine=engine, **scales)

# SPDX-License-Identifier: MIT
"""The main public functions: lookup of instructions by name, and products of arrays."""

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
from wmma_emu.renamed import renamed_names

__getattr__ = renamed_names(__name__, {"compare_archs": "compare_archs", "explain": "explain"}, "wmma_emu.gemm")


def instruction(
    mnemonic: str, *, arch: str | Arch | None = None, lowering: str | None = None, model: str | None = None
) -> AnyBoundInstruction:
    """Look up a matrix instruction and bind it to a chip.

    Parameters
    ----------
    mnemonic : str
        PTX; for `mma.sync` the prefix and ``row.col`` may be omitted.
    arch : str, optional
        The chip: ``"sm_70"`` ... ``"sm_120"``, or a product's name. By default sm_90, in a kernel the kernel's chip.
    lowering : str, optional
        The compiler's sequence, if the chip executes the instruction in software; by default the newest.
    model : str, optional
        The entry of the table of models, if sources disagree, ``"F=34"``; by default the table's default. An
        unknown name raises an error that lists the known ones.

    Returns
    -------
    BoundInstruction
        A `tcgen05.mma` is a `wmma_emu.tcgen05.BoundTensorInstruction`; its mnemonic ends with the contents of its
        descriptor, ``tcgen05.mma.cta_group::1.kind::f16.m128n256k16.f32.f16.f16``.

    Raises
    ------
    UnsupportedInstructionError
        If the instruction is not legal; the message has the three nearest legal forms, and the chips that support it.

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
        Arrays of NumPy, PyTorch (on the CPU) or JAX.
    B : array, shape (..., K, N)
        Also of `wmma_emu.quantise`, with their block scales; a tensor scale is not supported.
    C : array, shape (..., M, N), optional
        +0 if omitted. Leading axes broadcast as in `numpy.matmul`.
    instr : str, optional
        A PTX mnemonic. By default the chip's `mma.sync` for the matrices' formats with the widest k and the
        widest accumulator; with block scales the one that supports them, on sm_100 and sm_103 a `tcgen05.mma`.
    scale_a : array, shape (..., M, K / block), optional
    scale_b : array, shape (..., K / block, N), optional
        Block scales of an instruction that has them: ml_dtypes.float8_e8m0fnu, float8_e4m3fn (without negative numbers
        and -0), or raw uint8, of which ue4m3 does not read the sign bit.
    arch, engine, lowering, model, a_format, b_format
        As for `wmma_emu.gemm`.

    Returns
    -------
    array, shape (..., M, N)
        In the dtype of D; a torch tensor or a JAX array if an operand is one.

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
            "scale_a and scale_b are not block scales, which have 8 bits; other scales are multiplied with sums in "
            "a kernel, as in wmma_emu.gemm: use it, or omit them"
        )
    bound = bind(factors, ProductOptions(instr, arch, lowering, model))
    scales = {"scale_a": factors.scale_a, "scale_b": factors.scale_b} if kind else {}
    return bound(factors.a, factors.b, C, a_format=a_format, b_format=b_format, engine=engine, **scales)

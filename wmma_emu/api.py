# SPDX-License-Identifier: MIT
"""The thin public face: names to instructions, arrays to products."""

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike, NDArray

from wmma_emu.arithmetic.explanation import Explanation
from wmma_emu.errors import OptionError
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.gemm import (
    Bound,
    ByChip,
    Comparison,
    KOrder,
    Matrix,
    bind,
    bound_to,
    compare_chips,
    explain_element,
    kind_of_scales,
    taken_apart,
    without_tensor_scales,
)
from wmma_emu.instructions import DEFAULT_ARCH, Arch, Instruction, arch_of, default_arch, lookup

__all__ = ["compare_archs", "explain", "instruction", "mma"]


def instruction(
    mnemonic: str, *, arch: str | Arch | None = None, lowering: str | None = None, model: str | None = None
) -> Bound:
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
        With the three nearest legal forms, and the first chip that has the instruction.

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
    a, b, of_a, of_b, _ = without_tensor_scales(taken_apart(A, B, scale_a, scale_b), "one instruction")
    kind = kind_of_scales(of_a, of_b)
    if kind == "float":
        raise OptionError(
            "scale_a and scale_b are no block scales, which have 8 bits; a kernel multiplies sums by others, as "
            "wmma_emu.gemm does: use it, or leave them out"
        )
    bound = bind(a, b, instr, arch, lowering, a_format, b_format, model, of_a, of_b)
    scales = {"scale_a": of_a, "scale_b": of_b} if kind else {}
    return bound(a, b, C, a_format=a_format, b_format=b_format, engine=engine, **scales)


def explain(
    ins: Bound | Instruction | str | None,
    A: Matrix,
    B: Matrix,
    C: ArrayLike | None = None,
    *,
    row: int,
    col: int,
    arch: str | Arch | None = None,
    lowering: str | None = None,
    model: str | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    a_format: str | None = None,
    b_format: str | None = None,
) -> Explanation:
    """Say why one element of D = A B + C has its bits: every term, shift, cut, sum and rounding.

    Parameters
    ----------
    ins : BoundInstruction, BoundTensorInstruction, Instruction, str or None
        An instruction bound to a chip; or a row of the table, a mnemonic, or ``"fma.f32"``; None is the default for
        the matrices.
    A : array, shape (M, K)
    B : array, shape (K, N)
    C : array, shape (M, N), optional
        Of NumPy, PyTorch (on the CPU) or JAX. Any sizes, as for `wmma_emu.gemm`: K is filled with +0, blocks of k with
        scales of pattern 0, and instructions follow one another over k. A and B of `wmma_emu.quantise` bring block
        scales along, but may have no tensor scale.
    row, col : int
        The element of D.
    arch, lowering, model
        The chip, the compiler's sequence and the row of the table of models, if ``ins`` is not bound to one.
    scale_a : array, shape (M, K / block), optional
    scale_b : array, shape (K / block, N), optional
        Block scales of an instruction that has them, as for `wmma_emu.mma`. Those in float32 of a kernel are none.
    a_format, b_format : str, optional
        Formats of packed 4-bit and 1-bit matrices, given as uint8, packed along k, lowest k lowest.

    Returns
    -------
    Explanation
        Data; ``str()`` of it is the explanation as text.

    Raises
    ------
    OutOfBoundsError
        If D has no such element.
    FragmentMismatchError
        For shapes and dtypes that do not fit, and batches of more than one: one matrix is explained at a time.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> A, B = np.array([[1.5, 2**-13]], np.float16), np.array([[1.5], [2**-13]], np.float16)
    >>> e = we.explain("m16n8k8.f32.f16.f16.f32", A, B, row=0, col=0, arch="a100")
    >>> [(t.name, t.exponent, t.shift, t.kept, t.cut_bits) for t in e.steps[0].terms if t.kind == "finite"]
    [('k=0', 0, 0, 37748736, 0), ('k=1', -26, 26, 0, 22)]
    >>> hex(e.result)
    '0x40100000'
    """
    return explain_element(ins, A, B, C, row, col, arch, lowering, a_format, b_format, model, scale_a, scale_b)


@takes_tensors
def compare_archs(
    A: Matrix,
    B: Matrix,
    C: ArrayLike | None = None,
    *,
    instr: str | None = None,
    archs: Iterable[str | Arch] | None = None,
    reference: str | Arch | None = None,
    engine: str = "auto",
    k_order: KOrder | None = None,
    lowering: ByChip = None,
    model: ByChip = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    scale_order: str | None = None,
    a_format: str | None = None,
    b_format: str | None = None,
) -> Comparison:
    """Multiply matrices on several chips, and say where the bits differ and how far.

    Parameters
    ----------
    A, B, C : arrays
        Of any size, as for `wmma_emu.gemm`, tensors of torch and arrays of JAX among them; A and B of
        `wmma_emu.quantise` too.
    instr : str, optional
        A mnemonic; by default each chip's own default for the matrices.
    archs : list of str, optional
        Chips; one that lacks the instruction raises. By default all that have it, in the order of their numbers.
    reference : str, optional
        The chip against which the others are held; the first by default.
    k_order : KOrder, optional
        The same order of accumulation on every chip, as for `wmma_emu.gemm`. Its tile and cuts have to be multiples of
        the k of every chip's instruction.
    lowering : str or dict, optional
        Whose machine code, where a chip runs the instruction as software: for all chips, and one that is named and has
        no such lowering raises; or by chip, ``{"sm_90": "ptxas-12.4"}``, the others having their newest.
    model : str or dict, optional
        Which row of the table of models, where sources disagree: for all chips, or by chip, ``{"sm_120": "F=34"}``.
    scale_a, scale_b : arrays, optional
        As for `wmma_emu.gemm`. Of block scales only chips are compared that have such an instruction.
    engine, scale_order, a_format, b_format
        As for `wmma_emu.gemm`.

    Returns
    -------
    Comparison
        ``results`` and ``ulps`` by chip; ``.worst(arch)``, ``.statistics(arch)``; ``str()`` of it is a table, and
        ``.svg()`` a picture. The results are tensors of torch, or arrays of JAX, if an operand is one, and else NumPy
        arrays, of CuPy and Dask arrays too.

    Raises
    ------
    UnsupportedInstructionError
        For chips, instructions, lowerings and models that do not exist or are not on a chip that is named.
    FragmentMismatchError
        For shapes and dtypes that do not fit.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> A, B = np.full((1, 16), 1.75 * 2**-12, np.float16), np.full((16, 1), 2**-12, np.float16)
    >>> A[0, 0] = B[0, 0] = 1
    >>> found = we.compare_archs(A, B, archs=["a100", "h100"])
    >>> found.differing, found.ulps["sm_90"]
    ({'sm_80': 0, 'sm_90': 1}, array([[4]], dtype=uint64))
    >>> found.largest("sm_90")
    (4, (0, 0))
    """
    return compare_chips(
        A, B, C, instr, archs, reference, engine, a_format, b_format, k_order, lowering, model, scale_a, scale_b,
        scale_order,
    )  # fmt: skip

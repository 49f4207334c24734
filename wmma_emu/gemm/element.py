# SPDX-License-Identifier: MIT
"""One element of a product of matrices: the row and the column that it is made of, and why it has its bits."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.arithmetic import FMA_F32, DotProduct
from wmma_emu.arithmetic.explanation import Explanation, explain_dot
from wmma_emu.errors import (
    ArgumentError,
    ArgumentValueError,
    CallError,
    FragmentMismatchError,
    OptionError,
    OutOfBoundsError,
    ShapeError,
    shorten,
)
from wmma_emu.formats.arrays import as_numpy, integer_of
from wmma_emu.gemm.choice import kind_of_scales
from wmma_emu.gemm.k_order import Run
from wmma_emu.gemm.operands import Bound, bind, check_c, missing_k, product_for, result_shape, step_of_k
from wmma_emu.gemm.options import Factors, ProductOptions
from wmma_emu.gemm.quantised import Matrix, taken_apart, without_tensor_scales
from wmma_emu.gemm.scales import scales_of
from wmma_emu.instructions import DEFAULT_ARCH, Arch, Instruction, arch_of
from wmma_emu.warp import BoundMatrixInstruction, matrix_bits
from wmma_emu.warp.sparse import compress

_LONGEST = 1 << 20
"""Columns of A that are explained: some thousand bytes for each of them."""


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
    >>> e = we.explain("m16n8k16.f32.f16.f16.f32", A, B, row=0, col=0, arch="a100")
    >>> [(t.name, t.exponent, t.shift, t.kept, t.cut_bits) for t in e.steps[0].terms if t.kind == "finite"]
    [('k=0', 0, 0, 37748736, 0), ('k=1', -26, 26, 0, 22)]
    >>> hex(e.result)
    '0x40100000'
    """
    given = Factors(A, B, scale_a, scale_b, a_format, b_format)
    factors = without_tensor_scales(taken_apart(given), "explain")
    x, y = _matrix(factors.a, "A"), _matrix(factors.b, "B")
    row, col = _within("row", row, x.shape[0]), _within("column", col, y.shape[1])
    if x.shape[1] > _LONGEST:
        raise ArgumentValueError(
            f"A has {x.shape[1]} columns: an explanation keeps every step, of at most {_LONGEST} k; explain a part of "
            "them, with what the others give as C"
        )
    name, chip, product, instruction = resolve_product(ins, factors, arch, lowering, model)
    a = matrix_bits(x[row : row + 1], product.a, "A", packed_axis=-1, named=a_format)
    b = matrix_bits(y[:, col : col + 1], product.b, "B", packed_axis=-2, named=b_format)
    shape = result_shape((x.shape[0], a.shape[1]), (b.shape[0], y.shape[1]))
    c = 0
    if C is not None:
        z = _matrix(C, "C")
        check_c(z.shape, shape)
        c = int(matrix_bits(z[row : row + 1, col : col + 1], product.c, "C")[0, 0])
    k = a.shape[1]
    missing = missing_k(k, product, step_of_k(product, instruction))
    scales = _scales(instruction, product, factors, (row, col), (*shape, k))
    ks = None
    if instruction is not None and instruction.is_sparse:
        try:
            packed, found = compress(instruction, np.pad(a, ((0, 0), (0, missing))))
        except FragmentMismatchError as error:  # one row was looked at, which it counts as the first
            raise type(error)(str(error).replace("row 0,", f"row {row},", 1)) from None
        ks = found[0].tolist()
        a, b = packed, np.pad(b, ((0, missing), (0, 0)))[ks]
    left, right = a[0].tolist(), b[:, 0].tolist()
    return explain_dot(product, left, right, c, instruction=name, arch=chip, row=row, column=col, ks=ks, k=k, **scales)


def _scales(
    instruction: Instruction | None,
    product: DotProduct,
    factors: Factors,
    place: tuple[int, int],
    sizes: tuple[int, int, int],
) -> dict[str, list[int]]:
    """Patterns of the block scales of one row of A and one column of B, of whole instructions; nothing without."""
    given = {"scale_a": factors.scale_a, "scale_b": factors.scale_b}
    if kind_of_scales(**given) == "float":
        raise OptionError(
            "scale_a and scale_b are float32, and explain says why the sums have their bits that a kernel then "
            "multiplies by them; leave them out, and of scales of 128 k explain those k of A and B"
        )
    one, other = (None if x is None else _matrix(x, name) for name, x in given.items())
    matrices = factors._replace(scale_a=one, scale_b=other)
    blocks = scales_of(matrices, None, product, instruction, sizes, "").blocks
    if blocks is None or instruction is None:
        return {}
    index = tuple(slice(x, x + 1) for x in place)
    parts = (x.of_run(index, Run(0, sizes[2]), instruction.k) for x in blocks)
    return dict(zip(given, (x.ravel().tolist() for x in parts), strict=True))


def resolve_product(
    ins: BoundMatrixInstruction | Instruction | str | None,
    factors: Factors,
    arch: str | Arch | None,
    lowering: str | None,
    model: str | None = None,
) -> tuple[str, str, DotProduct, Instruction | None]:
    """The instruction's name, the chip's, what is computed, and the row of the table, if it is one."""
    if isinstance(ins, BoundMatrixInstruction):
        for what, given, bound in (
            ("arch", arch if arch is None else arch_of(arch).name, ins.arch.name),
            ("lowering", lowering, ins.model.lowering),
            ("model", model, ins.model.name),
        ):
            if given not in (None, bound):
                raise OptionError(
                    f"{what}={shorten(given)} was given, but {shorten(ins)} is bound to {bound!r} already; "
                    f"pass the mnemonic with {what}=, or leave {what} out"
                )
        return ins.mnemonic, ins.arch.name, ins.product, ins.instruction
    chip = arch_of(DEFAULT_ARCH if arch is None else arch)
    if not isinstance(ins, str | Instruction | None):
        raise CallError(
            f"ins is {shorten(ins)}; pass what wmma_emu.instruction returns, a mnemonic, or None for the default"
        )
    options = ProductOptions(ins, chip, lowering, model)
    if isinstance(ins, str) and ins == "fma.f32":
        return ins, FMA_F32.model.arch, *product_for(factors, options)
    bound_ins = bind(factors, options)
    return bound_ins.mnemonic, chip.name, bound_ins.product, bound_ins.instruction


def _matrix(array: ArrayLike, name: str) -> NDArray[Any]:
    """A user's matrix, not converted yet; leading axes of length 1 do not count."""
    given = as_numpy(array, name)
    if given.ndim > 2 and set(given.shape[:-2]) != {1}:
        raise ShapeError(
            f"{name} has shape {given.shape}; one matrix is explained at a time: index the batch, {name}[i]"
        )
    if given.ndim < 2:
        raise ShapeError(f"{name} has shape {given.shape}; a matrix is wanted: add an axis of length 1")
    return given.reshape(given.shape[-2:])


def _within(what: str, index: object, size: int) -> int:
    place = integer_of(index)
    if place is None:
        raise ArgumentError(f"the {what} is {shorten(index)}, which is not an integer")
    if not 0 <= place < size:
        legal = f"0 to {size - 1}" if size else "none"
        raise OutOfBoundsError(f"there is no {what} {shorten(place)} in D; legal are {legal}")
    return place

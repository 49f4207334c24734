# SPDX-License-Identifier: MIT
"""The explanation of one element of D, from a row of A, a column of B and c."""

from collections.abc import Sequence
from dataclasses import replace

from wmma_emu.arithmetic.explanation.explanation import Explanation
from wmma_emu.arithmetic.explanation.notation import decimal
from wmma_emu.arithmetic.explanation.trace import trace
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.table import FMA_F32
from wmma_emu.errors import ShapeError


def explain_dot(
    product: DotProduct,
    a: list[int],
    b: list[int],
    c: int,
    *,
    instruction: str,
    arch: str,
    row: int = 0,
    column: int = 0,
    ks: list[int] | None = None,
    k: int | None = None,
    scale_a: Sequence[int] = (),
    scale_b: Sequence[int] = (),
) -> Explanation:
    """Explain one element of D.

    Parameters
    ----------
    product : DotProduct
    a, b : list of int
        Patterns of the row of A and the column of B, of equal length; +0 pads the last instruction. If A is sparse,
        its packed elements, and the elements of B that they multiply.
    c : int
    instruction, arch : str
        The instruction and the chip of the product.
    row, column : int
        The position of the element.
    ks : list of int, optional
        If A is sparse, the k of each packed element, for whole instructions; by default consecutive k.
    k : int, optional
        If A is sparse, the K of the matrices.
    scale_a, scale_b : sequence of int, optional
        Patterns of the block scales of the row and of the column, one for each ``product.scale_block`` products; the
        last instruction is padded with 0.

    Examples
    --------
    >>> from wmma_emu.arithmetic import FMA_F32
    >>> e = explain_dot(FMA_F32, [0x3F80_0000], [0x4000_0000], 0, instruction="fma.f32", arch="every chip")
    >>> print(e.executions[0].steps[0].operation, hex(e.result), e.value)
    fma 0x40000000 2.0
    """
    if product == FMA_F32:
        # One chain, whatever its length.
        product = replace(product, k=max(len(a), 1))
    zeros = [0] * (-len(a) % product.k)
    left, right = (*a, *zeros), (*b, *zeros)
    scales = [_filled(product, x, len(a), len(left)) for x in (scale_a, scale_b)]
    executions = trace(product, list(left), list(right), c, ks, *scales)
    result, model = executions[-1].result if executions else c, product.model
    return Explanation(
        instruction=instruction, arch=arch, lowering=model.lowering, model=model.describe(), evidence=model.evidence,
        note=model.note, row=row, column=column, a_format=product.a.name, b_format=product.b.name,
        c_format=product.c.name, d_format=product.d.name, k=len(a) if k is None else k, a=left, b=right,
        ks=tuple(range(len(left)) if ks is None else ks), c=c, executions=executions, result=result,
        value=decimal(result, product.d), scale_format=product.scale.name if product.scale else "",
        scale_a=scales[0], scale_b=scales[1], scale_block=product.scale_block, model_name=model.name,
    )  # fmt: skip


def _filled(product: DotProduct, scales: Sequence[int], count: int, filled: int) -> tuple[int, ...]:
    """Return the scales of ``count`` products, padded with 0 for the last instruction."""
    block = product.scale_block
    wanted = -(-count // block) if block else 0
    if len(scales) not in (wanted, filled // block if block else 0):
        raise ShapeError(f"{len(scales)} block scales for {count} products; expected {wanted}")
    return (*scales, *[0] * (filled // block - len(scales))) if block else ()

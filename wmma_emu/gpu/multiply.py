# SPDX-License-Identifier: MIT
"""Products of matrices with an instruction of this machine's GPU, as ``ins(A, B, C)`` in the emulator."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import OptionError, shorten
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.gpu.execute import execute
from wmma_emu.warp import BoundInstruction, BoundMatrixInstruction
from wmma_emu.warp.options import check_scales
from wmma_emu.warp.registers import BoundOperand


@takes_tensors
def multiply(
    ins: BoundInstruction,
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None = None,
    *,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
) -> NDArray[Any]:
    """Multiply matrices of an instruction's shape on the GPU: D = A B + C.

    Parameters
    ----------
    ins : BoundInstruction
        An instruction bound to the GPU's own chip.
    A : array, shape (..., M, K)
        For a sparse instruction, all of A, including the zeros that its packed form omits.
    B : array, shape (..., K, N)
    C : array, shape (..., M, N), optional
        +0 by default. In the dtypes of the formats, or raw bits; leading axes broadcast.
    scale_a, scale_b : array, shape (..., M, scale_vec), (..., scale_vec, N), optional
        Block scales, if the instruction has them.

    Returns
    -------
    array, shape (..., M, N)
        In the dtype of D.

    Raises
    ------
    FragmentMismatchError
        If a shape or dtype does not match the instruction.
    BackendUnavailableError
        If no GPU is available; see `wmma_emu.gpu.execute`.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
    >>> A, B = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)
    >>> if we.gpu.available() and we.gpu.device().arch == "sm_90":
    ...     assert np.array_equal(we.gpu.multiply(ins, A, B), ins(A, B))
    """
    if not isinstance(ins, BoundMatrixInstruction):
        raise OptionError(f"ins={shorten(ins)} is not bound to a chip; pass wmma_emu.instruction(name, arch=...)")
    entry = ins.instruction
    a, b = to_bits(A, ins.a.format, "A"), to_bits(B, ins.b.format, "B")
    c = np.zeros((entry.m, entry.n), ins.c.format.storage) if C is None else to_bits(C, ins.c.format, "C")
    check_scales(entry, scale_a, scale_b)
    keywords: dict[str, Any] = {}
    for bound, scales in ((ins.scale_a, scale_a), (ins.scale_b, scale_b)):
        if bound is not None and scales is not None:
            keywords[bound.name] = bound.pack(scales)
    if entry.is_sparse:
        packed, keywords["metadata"] = ins.compress(from_bits(a, ins.a.format))
        a = to_bits(packed, ins.a.format, "A")
    a, b, c = (_for_every_quad_pair(bits, operand) for bits, operand in ((a, ins.a), (b, ins.b), (c, ins.c)))
    second = from_bits(b, ins.b.format) if entry.is_warpgroup else ins.b.pack_bits(b)
    d = ins.d.unpack_bits(execute(ins, ins.a.pack_bits(a), second, ins.c.pack_bits(c), **keywords), "D")
    return from_bits(d[..., 0, :, :] if len(ins.d.matrix_shape) > 2 else d, ins.d.format)


def _for_every_quad_pair(bits: Bits, operand: BoundOperand) -> Bits:
    """Repeat the matrix four times if a warp multiplies four, as m8n8k4 of f16 does."""
    shape = operand.matrix_shape
    if len(shape) == 2 or bits.shape[-2:] != shape[-2:]:
        return bits
    return np.broadcast_to(bits[..., None, :, :], (*bits.shape[:-2], *shape))

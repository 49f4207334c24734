# SPDX-License-Identifier: MIT
"""The engines by name, and the one call through which every product goes."""

from collections.abc import Callable
from math import prod

import numpy as np

from wmma_emu.arithmetic import numpy_engine, reference
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError, shorten
from wmma_emu.formats.codec import Bits

__all__ = ["ENGINES", "check_engine", "matmul"]

Engine = Callable[[DotProduct, Bits, Bits, Bits, numpy_engine.Progress | None], Bits]


def _reference_matmul(
    product: DotProduct, a: Bits, b: Bits, c: Bits, progress: numpy_engine.Progress | None = None
) -> Bits:
    """Every element through `wmma_emu.arithmetic.reference.dot`, instruction after instruction over K."""
    d = np.empty(c.shape, product.d.storage)
    for done, (index, i, j) in enumerate(np.ndindex(c.shape)):
        row, column = a[index, i].tolist(), b[index, :, j].tolist()
        running = int(c[index, i, j])
        for k in range(0, len(row), product.k):
            running = reference.dot(product, row[k : k + product.k], column[k : k + product.k], running)
        d[index, i, j] = running
        if progress is not None and done % 1024 == 0:
            progress(done / c.size)
    return d


ENGINES: dict[str, Engine] = {"reference": _reference_matmul, "numpy": numpy_engine.matmul}
"""Every engine: all give the same bits."""


def check_engine(engine: str) -> str:
    """Resolve ``"auto"`` to the fastest engine that is installed.

    Raises
    ------
    UnsupportedInstructionError
        For an engine that does not exist.
    """
    if isinstance(engine, str) and engine == "auto":
        return "numpy"
    if not isinstance(engine, str) or engine not in ENGINES:
        raise UnsupportedInstructionError(
            f"there is no engine {shorten(engine)}; the engines are 'auto', {', '.join(map(repr, ENGINES))}"
        )
    return engine


def matmul(
    product: DotProduct,
    a: Bits,
    b: Bits,
    c: Bits,
    engine: str = "auto",
    progress: numpy_engine.Progress | None = None,
) -> Bits:
    """Compute D = A B + C on bit patterns, with the model of one instruction on one chip.

    Parameters
    ----------
    product : DotProduct
    a : unsigned integer array, shape (..., M, K)
    b : unsigned integer array, shape (..., K, N)
    c : unsigned integer array, shape (..., M, N)
        Patterns of the product's formats. Leading axes broadcast as in `numpy.matmul`. K is the instruction's k
        or, where D can be the next instruction's C, a multiple of it: instructions follow one another over
        ascending k.
    engine : {"auto", "reference", "numpy"}
    progress : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    unsigned integer array, shape (..., M, N)

    Examples
    --------
    >>> from wmma_emu.arithmetic import dot_product_of, matmul
    >>> from wmma_emu.instructions import lookup
    >>> p = dot_product_of(lookup("m16n8k32.s32.s8.s8.s32"), "sm_90")
    >>> ones = np.ones((32, 32), np.uint8)
    >>> hex(matmul(p, ones[:16], ones[:, :8], np.zeros((16, 8), np.uint32))[0, 0])
    '0x20'
    """
    run = ENGINES[check_engine(engine)]
    k = a.shape[-1]
    if k % product.k or (k != product.k and not product.chains):
        raise FragmentMismatchError(
            f"K = {k} is not {product.k}" + (", nor a multiple of it" if product.chains else "")
        )
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    shape = (*batch, *c.shape[-2:])
    if prod(b.shape[:-2]) == 1:
        # One B for all: the batch is more rows.
        a, c = _rows_of_all(a, batch), _rows_of_all(c, batch)
        return run(product, a, b.reshape(1, *b.shape[-2:]), c, progress).reshape(shape)
    a, b, c = (_one_batch_axis(x, batch) for x in (a, b, c))
    return run(product, a, b, c, progress).reshape(shape)


def _rows_of_all(x: Bits, batch: tuple[int, ...]) -> Bits:
    """Put the matrices of a batch one below the other."""
    return np.broadcast_to(x, batch + x.shape[-2:]).reshape(1, prod(batch) * x.shape[-2], x.shape[-1])


def _one_batch_axis(x: Bits, batch: tuple[int, ...]) -> Bits:
    """Broadcast and flatten the leading axes; a matrix that all products share is not copied."""
    if prod(x.shape[:-2]) == 1:
        return np.broadcast_to(x.reshape(x.shape[-2:]), (prod(batch), *x.shape[-2:]))
    return np.broadcast_to(x, batch + x.shape[-2:]).reshape(prod(batch), *x.shape[-2:])

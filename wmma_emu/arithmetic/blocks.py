# SPDX-License-Identifier: MIT
"""Division of D into blocks, which are multiplied in threads.

An engine multiplies one block at a time, from all of its rows of A and columns of B; blocks are independent. The loops
of NumPy and of compiled code let other threads run meanwhile.
"""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np

from wmma_emu.arithmetic.blas import one_thread_each
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.errors import OptionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.codec import Bits

Progress = Callable[[float], None]
"""A callback that receives the completed share of the work from time to time."""

BlockEngine = Callable[[DotProduct, Bits, Bits, Bits, Bits, Progress | None], None]
"""A function that writes d for the a, b, c of a block; shapes (batch, m, k), (batch, k, n), (batch, m, n)."""

_MOST_THREADS = 256
"""The largest number of threads: more than the cores of a machine gain nothing, and systems reject a few thousand."""

_WORTH_A_THREAD = 1 << 22
"""The minimum multiply-adds of a block: a few milliseconds, compared with 0.1 ms to start a thread."""

_ROWS = 1024
_COLUMNS = 1024
"""The maximum multiply-adds of a block, halved if more than `_MANY` threads hold prepared operands. An engine prepares
A and B again for each block, at the cost of tens of multiply-adds per element, so that a block should have hundreds of
rows and columns."""

_MANY = 8

_FEWEST = 128
"""The smallest rows and columns of blocks that are reduced so that every thread has one."""


class _Block(NamedTuple):
    matrices: slice
    rows: slice
    columns: slice


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def thread_count(threads: int | None) -> int:
    """Check a number of threads; None stands for every core. At most `_MOST_THREADS` are started.

    Raises
    ------
    UnsupportedInstructionError
        If the value is not a positive integer.

    Examples
    --------
    >>> thread_count(3), thread_count(10**9)
    (3, 256)
    """
    if threads is None:
        return available_cores()
    count = integer_of(threads)
    if count is None or count < 1:
        raise OptionError(f"threads={shorten(threads)} is not a number of threads; pass 1 or more, or omit it")
    return min(count, _MOST_THREADS)


def multiply_blocks(
    run: BlockEngine,
    product: DotProduct,
    a: Bits,
    b: Bits,
    c: Bits,
    threads: int,
    progress: Progress | None = None,
) -> Bits:
    """Compute D = A B + C for every matrix of a batch, one block of D after another.

    At most ``threads`` are used; small products use one.
    """
    d = np.empty(c.shape, product.d.storage)
    work = c.size * max(a.shape[-1], 1)
    workers = max(min(threads, work // _WORTH_A_THREAD), 1)
    blocks = list(_blocks(c.shape, workers))

    def multiply(block: _Block, progress: Progress | None = None) -> None:
        matrices, rows, columns = block
        run(
            product, a[matrices, rows], b[matrices, :, columns], c[matrices, rows, columns], d[matrices, rows, columns],
            progress,
        )  # fmt: skip

    with one_thread_each():
        if workers == 1 or len(blocks) == 1:
            _one_after_another(multiply, blocks, c.size, progress)
        else:
            _in_threads(multiply, blocks, c.size, workers, progress)
    return d


def _one_after_another(
    multiply: Callable[[_Block, Progress | None], None], blocks: list[_Block], total: int, progress: Progress | None
) -> None:
    done = 0
    for block in blocks:
        multiply(block, None if progress is None else _share_of(block, done, total, progress))
        done += _size(block)


def _share_of(block: _Block, done: int, total: int, progress: Progress) -> Progress:
    """Report a share of one block as a share of all."""
    return lambda share: progress((done + share * _size(block)) / total)


def _in_threads(
    multiply: Callable[[_Block, Progress | None], None],
    blocks: list[_Block],
    total: int,
    workers: int,
    progress: Progress | None,
) -> None:
    done, stop = 0, threading.Event()

    def go_on(share: float) -> None:
        """Report progress, and stop if another block failed or Ctrl-C was pressed."""
        if stop.is_set():
            raise CancelledError

    with ThreadPoolExecutor(workers, thread_name_prefix="wmma_emu") as pool:
        pending = {pool.submit(multiply, block, go_on): block for block in blocks}
        try:
            while pending:
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    future.result()
                    done += _size(pending.pop(future))
                if progress is not None:
                    progress(done / total)
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _size(block: _Block) -> int:
    """Return the number of elements of D."""
    matrices, rows, columns = block
    size: int = (matrices.stop - matrices.start) * (rows.stop - rows.start) * (columns.stop - columns.start)
    return size


def _blocks(shape: tuple[int, ...], workers: int) -> Iterator[_Block]:
    """Yield the parts of a batch of matrices: ranges of the batch for small matrices, otherwise pieces of each."""
    batch, m, n = shape
    if not batch * m * n:
        return
    if m * n <= _FEWEST * _FEWEST and batch > 1:
        size = max(min(batch // workers, _ROWS * _COLUMNS // (m * n)), 1)
        for start in range(0, batch, size):
            yield _Block(slice(start, min(start + size, batch)), slice(0, m), slice(0, n))
        return
    rows, columns = _block_sides(m, n, -(-workers // batch))
    for index in range(batch):
        for column in range(0, n, columns):
            for row in range(0, m, rows):
                yield _Block(
                    slice(index, index + 1),
                    slice(row, min(row + rows, m)),
                    slice(column, min(column + columns, n)),
                )


def _block_sides(m: int, n: int, wanted: int) -> tuple[int, int]:
    """Return the rows and columns of a block: at most the maximum, fewer to get ``wanted`` blocks of similar size."""
    parts = 1 if wanted <= _MANY else 2
    rows, columns = min(m, _ROWS // parts), min(n, _COLUMNS // parts)
    while -(-m // rows) * -(-n // columns) < wanted:
        if rows >= columns and rows > _FEWEST:
            rows = -(-rows // 2)
        elif columns > _FEWEST:
            columns = -(-columns // 2)
        elif rows > _FEWEST:
            rows = -(-rows // 2)
        else:
            break
    # Blocks have similar sizes, without a small remainder next to full blocks.
    return -(-m // -(-m // rows)), -(-n // -(-n // columns))

# SPDX-License-Identifier: MIT
"""Cut D into blocks, and multiply them in threads.

An engine multiplies one block at a time, from all of its rows of A and columns of B, and no block needs another. The
loops of NumPy and of compiled code let other threads run meanwhile.
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
"""Called now and then with the share of the work that is done."""

BlockEngine = Callable[[DotProduct, Bits, Bits, Bits, Bits, Progress | None], None]
"""From a block's a, b, c to its d, which is written; shapes (batch, m, k), (batch, k, n), (batch, m, n)."""

_MOST_THREADS = 256
"""More than a machine has cores gain nothing, and systems refuse some thousands."""

_WORTH_A_THREAD = 1 << 22
"""Multiply-adds of a block, at the least: some milliseconds, against the 0.1 ms that a thread takes to begin."""

_ROWS = 1024
_COLUMNS = 1024
"""Of a block at the most, and half as many where more than `_MANY` threads hold what they made ready. What an engine
makes ready of A and B it makes ready for each block again, at a cost of some tens of multiply-adds an element, so that
a block should be some hundreds of rows and columns."""

_MANY = 8

_FEWEST = 128
"""Rows and columns to which blocks are cut in order that every thread has one."""


class _Block(NamedTuple):
    matrices: slice
    rows: slice
    columns: slice


def available_cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def thread_count(threads: int | None) -> int:
    """Check a number of threads; None is every core. No more are ever started than `_MOST_THREADS`.

    Raises
    ------
    UnsupportedInstructionError
        For what is no positive whole number.

    Examples
    --------
    >>> thread_count(3), thread_count(10**9)
    (3, 256)
    """
    if threads is None:
        return available_cores()
    count = integer_of(threads)
    if count is None or count < 1:
        raise OptionError(
            f"threads={shorten(threads)} is no number of threads; give 1 or more, or leave it out"
        )
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
    """Compute D = A B + C for every matrix of a batch, block after block of D.

    No more than ``threads`` are used; small products take one.
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
        """What a block calls now and then: Ctrl-C is not to wait for its end."""
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
    """Elements of D."""
    matrices, rows, columns = block
    size: int = (matrices.stop - matrices.start) * (rows.stop - rows.start) * (columns.stop - columns.start)
    return size


def _blocks(shape: tuple[int, ...], workers: int) -> Iterator[_Block]:
    """Cut a batch of matrices into parts: of small matrices a range of the batch, else pieces of each."""
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
    """Rows and columns of a block: at most what fits, fewer where there are to be ``wanted`` of about one size."""
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
    # Blocks of one size: none of a few left-over rows beside full ones.
    return -(-m // -(-m // rows)), -(-n // -(-n // columns))

# SPDX-License-Identifier: MIT
"""One panel of D over all of K.

Runs of instructions, promotion to float32, ranges of k and the sum of their results.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from wmma_emu.arithmetic import DotProduct, matmul
from wmma_emu.arithmetic.blocks import Progress
from wmma_emu.errors import OptionError
from wmma_emu.formats.codec import Bits
from wmma_emu.gemm.elementwise import add, converted
from wmma_emu.gemm.k_order import KOrder, Run, sum_format
from wmma_emu.gemm.panels import Parts
from wmma_emu.gemm.sparse import matmul_over_k
from wmma_emu.instructions import Instruction
from wmma_emu.layouts import granularity_of

Operands = Callable[[Run], Parts]

Promotion = Callable[[Bits, Bits, int], Bits]
"""A function that adds sums which start at +0 to the float32 sum: it takes that sum, these sums, and their first k."""


@dataclass(frozen=True, slots=True)
class Accumulation:
    """The accumulation of one product, the same for all of its panels; ``step`` is the k of one instruction."""

    product: DotProduct
    instruction: Instruction | None
    step: int
    order: KOrder | None
    engine: str
    threads: int | None

    @property
    def is_sparse(self) -> bool:
        """Whether A is sparse and packed first."""
        return self.instruction is not None and self.instruction.is_sparse

    @property
    def result_format(self) -> str:
        """The format of the result of `panel`, which is the epilogue's input."""
        return self.product.d.name if self.order is None else sum_format(self.product)

    def panel(
        self,
        operands: Operands,
        c: Bits,
        k: int,
        deepest: int,
        progress: Progress | None = None,
        promote: Promotion | None = None,
    ) -> Bits:
        """Accumulate, starting from ``c``, which has the shape of the result.

        ``deepest`` is the largest number of k to read at once.
        """
        order = self.order or KOrder()
        sums = []
        for start, stop in order.ranges(k, self.step):
            first = c if start == 0 else np.broadcast_to(self.product.c.storage.type(0), c.shape)
            groups = order.groups(start, stop, self.step, deepest)
            report = _ProgressOfRun(progress, k)
            sums.append(partial(self._range, groups, operands, first, report, promote or _plain_promotion))
        return _reduced(sums, order, self.product)

    def _range(
        self, groups: Iterator[list[Run]], operands: Operands, c: Bits, report: "_ProgressOfRun", promote: Promotion
    ) -> Bits:
        """Return the sum of one range, in the format in which ranges are added."""
        product = self.product
        if self.order is None or not self.order.promote_every:
            d = self._chain(next(groups), operands, c, report)
            return d if self.order is None else converted(d, product.d.name, sum_format(product))
        total, zero = c, np.broadcast_to(product.c.storage.type(0), c.shape)
        for runs in filter(None, groups):
            total = promote(total, self._chain(runs, operands, zero, report), runs[0].start)
        return total

    def _chain(self, runs: list[Run], operands: Operands, c: Bits, report: "_ProgressOfRun") -> Bits:
        """Run instruction after instruction; D of one is C of the next."""
        d = c
        for run in runs:
            self._check_start(run)
            d = self._multiply(operands(run), d, report.of(run))
        return converted(c, self.product.c.name, self.product.d.name) if d is c else d

    def _check_start(self, run: Run) -> None:
        """Reject a start inside the group of k of which a sparse A keeps some."""
        if self.instruction is None or not self.instruction.is_sparse:
            return
        chunk = granularity_of(self.instruction).chunk
        if run.start % chunk:
            raise OptionError(
                f"KOrder starts a run at k = {run.start}, inside {chunk} k of which a sparse A keeps {chunk // 2}; "
                "make "
                f"tiles, cuts and split_multiple multiples of {chunk}, and K too if residue is 'first'"
            )

    def _multiply(self, parts: Parts, c: Bits, progress: Progress | None) -> Bits:
        if self.instruction is not None and self.instruction.is_sparse:
            return matmul_over_k(self.instruction, self.product, parts, c, self.engine, self.threads, progress)
        return matmul(
            self.product, parts.a, parts.b, c, engine=self.engine, progress=progress, threads=self.threads,
            scale_a=parts.scale_a, scale_b=parts.scale_b,
        )  # fmt: skip


def _plain_promotion(total: Bits, sums: Bits, start: int) -> Bits:
    return add(total, sums, "f32")


class _ProgressOfRun(NamedTuple):
    """A converter from the completed share of one run to that of all of K."""

    progress: Progress | None
    k: int

    def of(self, run: Run) -> Progress | None:
        """Return the function that takes the share of a run."""
        progress, k = self
        if progress is None:
            return None
        return lambda share: progress((run.start + share * (run.stop - run.start)) / k)


def _reduced(sums: Sequence[Callable[[], Bits]], order: KOrder, product: DotProduct) -> Bits:
    """Add the sums of the ranges, computing each when it is needed."""
    fmt = sum_format(product)
    if len(sums) == 1:
        return sums[0]()
    plus = partial(_plus, product=product, fmt=fmt)
    if order.reduction == "serial":
        total = _stored(sums[0](), order, fmt)
        for later in sums[1:]:
            total = _stored(plus(later(), total), order, fmt)
        return total
    stored = (_stored(x(), order, fmt) for x in (sums[::-1] if order.reduction == "descending" else sums))
    return _pairwise(stored, plus) if order.reduction == "pairwise" else reduce(plus, stored)


def _pairwise(sums: Iterable[Bits], plus: Callable[[Bits, Bits], Bits]) -> Bits:
    """Add neighbours first, in the manner of a binary counter, so that few sums are kept at a time."""
    held: list[tuple[int, Bits]] = []
    for total in sums:
        level = 0
        while held and held[-1][0] == level:
            total = plus(held.pop()[1], total)
            level += 1
        held.append((level, total))
    total = held.pop()[1]
    while held:  # an odd sum is added to the one before it
        total = plus(held.pop()[1], total)
    return total


def _stored(bits: Bits, order: KOrder, fmt: str) -> Bits:
    """Round to the format in which a sum is stored in memory, and read it back."""
    if order.partials in ("", fmt):
        return bits
    return converted(converted(bits, fmt, order.partials), order.partials, fmt)


def _plus(x: Bits, y: Bits, product: DotProduct, fmt: str) -> Bits:
    if fmt == "s32":
        return x + y  # unsigned: modulo 2**32
    return add(x, y, fmt, nan=product.model.nan)

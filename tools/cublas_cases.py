# SPDX-License-Identifier: MIT
"""Which matrix products of cuBLAS are recorded, their inputs, and which of them a plain loop over k explains."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.recording_inputs import random_words
from wmma_emu.formats import encode, format_of

VERSION = 1

CORNER = 16
"""Rows and columns of the bits that are stored whole."""


class Case(NamedTuple):
    """One product D = A B, (m, k) times (k, n), inputs and output of one format.

    ``transposed`` is ``NN``, ``NT`` or ``TN``: T where a matrix lies column by column in memory. ``strict`` forbids
    reductions in a narrower format, as ``torch.backends.cuda.matmul.allow_*_reduced_precision_reduction = False``
    does. ``why_not`` says why the bits are not those of a plain loop over k, empty where they are.
    """

    fmt: str
    m: int
    n: int
    k: int
    transposed: str = "NN"
    strict: bool = True
    why_not: str = ""

    @property
    def key(self) -> str:
        mode = "strict" if self.strict else "default"
        return f"{self.fmt}|{self.m}x{self.n}x{self.k}|{self.transposed}|{mode}"

    @property
    def expected_equal(self) -> bool:
        return not self.why_not


_SQUARES = tuple((x, x, x) for x in (16, 64, 128, 256, 512, 1024))
_RECTANGLES = ((64, 96, 1024), (256, 128, 512), (1024, 1024, 2048))
_OTHER = {
    (33, 65, 130): "K is no multiple of 16: consistent with a kernel that takes the partial tile of k first",
    (64, 128, 8192): "few tiles and a long k: the library splits k among blocks and adds their sums",
}


def _cases(fmt: str) -> list[Case]:
    cases = [Case(fmt, *shape) for shape in (*_SQUARES, *_RECTANGLES)]
    for shape, reason in _OTHER.items():
        # The order shows in no bit of this bf16 product.
        same = (fmt, shape) == ("bf16", (33, 65, 130))
        cases.append(Case(fmt, *shape, why_not="" if same else reason))
    cases += [Case(fmt, *shape, transposed=x) for shape in ((128, 128, 128), (256, 128, 512)) for x in ("NT", "TN")]
    cases += [Case(fmt, x, x, x, strict=False) for x in (256, 1024)]
    return cases


CASES: tuple[Case, ...] = (*_cases("f16"), *_cases("bf16"))


def inputs(case: Case, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw A and B as patterns (uint16): sums of four uniform integers, times a power of two, rounded to nearest even.

    They depend on format and shape alone. The standard deviation is 1.15.
    """
    fmt = format_of(case.fmt)
    key = f"wmma_emu product {VERSION}|{seed}|{case.fmt}|{case.m}x{case.n}x{case.k}"
    drawn = []
    for name, shape in (("A", (case.m, case.k)), ("B", (case.k, case.n))):
        words = random_words(f"{key}|{name}", shape[0] * shape[1])
        parts = sum(((words >> np.uint64(16 * i)) & np.uint64(0xFFFF)).astype(np.int64) for i in range(4))
        values = (parts - 2 * 0xFFFF).astype(np.float64) * 2.0**-15
        drawn.append(encode(values, fmt).reshape(shape))
    return drawn[0], drawn[1]

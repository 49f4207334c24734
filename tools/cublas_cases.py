# SPDX-License-Identifier: MIT
"""Which matrix products of cuBLAS are recorded, and their inputs."""

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.recording_inputs import random_words
from wmma_emu.formats import decode, encode, format_of
from wmma_emu.gemm import PRESETS
from wmma_emu.gemm.preset_table import batch_of

VERSION = 1

CORNER = 16
"""Rows and columns of the bits that are stored whole."""

Array = NDArray[Any]


class CublasProduct(NamedTuple):
    """Products D = A B, (m, k) times (k, n), by one function of PyTorch: one, or a batch of ``matrices``.

    ``transposed`` is ``NN``, ``NT`` or ``TN``: T where a matrix lies column by column in memory. ``strict`` forbids
    reductions in a narrower format, as ``torch.backends.cuda.matmul.allow_*_reduced_precision_reduction = False``
    does. ``out`` is the format of D, if it is not that of A. ``call`` is ``matmul``; ``addmm``, which adds ``beta``
    times C; ``addmm cancel``, of a C that leaves little of the sum, so that every rounding shows; ``linear``, which
    adds a bias to every row; ``scaled_mm`` or ``scaled_mm fast`` (``use_fast_accum``), whose scales are four times
    alpha and 1/4; ``int_mm``.
    """

    fmt: str
    m: int
    n: int
    k: int
    transposed: str = "NN"
    strict: bool = True
    call: str = "matmul"
    out: str = ""
    alpha: float = 1.0
    beta: float = 0.0
    matrices: int = 1

    @property
    def shape(self) -> str:
        return f"{batch_of(self.matrices)}{self.m}x{self.n}x{self.k}"

    @property
    def key(self) -> str:
        mode = "strict" if self.strict else "default"
        if self.call != "matmul":
            mode = self.call
        if self.adds_c or self.alpha != 1:
            mode += f" {self.alpha} {self.beta}"
        return f"{self.fmt}|{self.shape}|{self.transposed}|{mode}" + (f"|{self.out}" if self.out else "")

    @property
    def adds_c(self) -> bool:
        return self.call.startswith("addmm")

    @property
    def out_format(self) -> str:
        return self.out or self.fmt

    @property
    def preset(self) -> str:
        """The name for ``like=`` of `wmma_emu.gemm`; empty if the format has no preset."""
        name = f"cublas-sm90-{self.fmt}" + ("-fast" if "fast" in self.call else "")
        return name if any(entry.name == name for entry in PRESETS) else ""


_SQUARES = tuple((x, x, x) for x in (16, 64, 128, 256, 512, 1024))
_RECTANGLES = ((64, 96, 1024), (256, 128, 512), (1024, 1024, 2048))
_RESIDUES = ((33, 65, 130), (40, 48, 40), (64, 64, 100), (64, 64, 136), (65, 127, 255), (128, 64, 1000), (64, 64, 2001))
"""The sizes whose K is not a multiple of a tile's."""
_LONG = ((64, 128, 8192), (64, 64, 4096), (128, 128, 4096), (128, 128, 16384), (64, 256, 8192), (32, 64, 16384),
         (256, 256, 8192), (16, 1024, 4096))  # fmt: skip
"""Few tiles of D, and a long K."""
_LAYERS = ((128, 768, 768), (128, 3072, 768), (128, 768, 3072), (16, 4096, 4096), (512, 1024, 256))
"""The sizes of neural networks; B is column-major, like PyTorch's weights."""
_EPILOGUES = ((128, 128, 256), (256, 128, 512), (64, 128, 8192))
_FP8 = ((64, 64, 64), (64, 64, 256), (128, 128, 512), (128, 256, 1024), (256, 128, 2048), (64, 128, 8192),
        (512, 512, 512), (64, 64, 1008), (1024, 1024, 1024), (128, 768, 3072), (16, 4096, 4096))  # fmt: skip


def _half(fmt: str) -> list[CublasProduct]:
    cases = [CublasProduct(fmt, *shape) for shape in (*_SQUARES, *_RECTANGLES, *_RESIDUES, *_LONG)]
    cases += [
        CublasProduct(fmt, *shape, transposed=x) for shape in ((128, 128, 128), (256, 128, 512)) for x in ("NT", "TN")
    ]
    cases += [
        CublasProduct(fmt, *shape, transposed="NT") for shape in ((64, 128, 8192), (16, 1024, 4096), (33, 65, 130))
    ]
    cases += [
        CublasProduct(fmt, *shape, strict=False) for shape in ((256,) * 3, (1024,) * 3, (64, 128, 8192), (33, 65, 130))
    ]
    cases += [CublasProduct(fmt, *shape, transposed="NT") for shape in _LAYERS]
    for shape in _EPILOGUES:
        cases += [
            CublasProduct(fmt, *shape, call="addmm", alpha=x, beta=y) for x, y in ((1.0, 1.0), (0.3, 0.7), (0.3, 1.0))
        ]
        cases += [CublasProduct(fmt, *shape, call="addmm cancel", alpha=x, beta=y) for x, y in ((0.3, 0.7), (0.3, 1.0))]
        cases.append(CublasProduct(fmt, *shape, transposed="NT", call="linear"))
    return cases


def _others() -> list[CublasProduct]:
    cases = [
        CublasProduct("e4m3", *shape, transposed="NT", call=call, out=out)
        for shape in _FP8
        for call in ("scaled_mm", "scaled_mm fast")
        for out in ("bf16", "f32")
    ]
    cases += [
        CublasProduct("e4m3", 128, 128, 512, transposed="NT", call="scaled_mm", out=x, alpha=0.3)
        for x in ("bf16", "f32")
    ]
    cases += [
        CublasProduct("s8", *x, transposed="NT", call="int_mm", out="s32")
        for x in ((32, 64, 64), (128, 128, 512), (256, 128, 2048))
    ]
    shapes = ((64, 64, 64), (128, 128, 256), (256, 128, 512), (512, 512, 512), (33, 65, 130), (64, 128, 8192))
    for fmt, out in (("tf32", "f32"), ("f32", "")):
        cases += [CublasProduct(fmt, *shape, out=out) for shape in shapes]
    return cases


CASES: tuple[CublasProduct, ...] = (*_half("f16"), *_half("bf16"), *_others())

_GPT2, _LLAMA, _VIT = (((768, 768), (768, 1536), (768, 3072), (3072, 768)),
                       ((2048, 2048), (2048, 1024), (2048, 5632), (5632, 2048)),
                       ((768, 768), (768, 1536), (768, 3072), (3072, 768)))  # fmt: skip
_LINEAR = (
    *((512, *widths, "linear") for widths in _GPT2),
    *((197, *widths, "linear") for widths in _VIT),
    *((512, *widths, "matmul") for widths in _LLAMA),
    (1, 768, 1000, "linear"), (1, 512, 1000, "linear"), (512, 768, 50257, "matmul"),
)  # fmt: skip
"""Linear layers of the networks in examples/models: rows, widths of input and output, and `linear` with a bias."""


def _layer(fmt: str, rows: int, width: int, out: int, call: str) -> list[CublasProduct]:
    """Return the product of a linear layer, and those of the gradients of its input and of its weight."""
    return [
        CublasProduct(fmt, rows, out, width, "NT", strict=False, call=call),
        CublasProduct(fmt, rows, width, out, "NN", strict=False),
        CublasProduct(fmt, out, width, rows, "TN", strict=False),
    ]


_HEADS = (12, 32)
"""The heads of attention in GPT-2 and in the layer of Llama: 512 queries and keys of 64 elements."""


def _attention(fmt: str, heads: int) -> list[CublasProduct]:
    """Return the two products of attention that is not fused: scores, and values."""
    return [
        CublasProduct(fmt, 512, 512, 64, "NT", strict=False, call="bmm", matrices=heads),
        CublasProduct(fmt, 512, 64, 512, "NN", strict=False, call="bmm", matrices=heads),
    ]


MODEL_CASES: tuple[CublasProduct, ...] = (
    *(case for fmt in ("bf16", "f16") for layer in _LINEAR for case in _layer(fmt, *layer)),
    *(case for fmt in ("bf16", "f16") for heads in _HEADS for case in _attention(fmt, heads)),
)
"""Products of whole models, forward and backward, in a second file."""


def inputs(case: CublasProduct, seed: int) -> tuple[Array, Array]:
    """Draw A and B as patterns: sums of four uniform integers, times a power of two, rounded to nearest even.

    They depend on format and shape alone. The standard deviation is 1.15; that of 8-bit integers 37. A batch has a
    first axis.
    """
    return _operands(case.fmt, case.m, case.n, case.k, case.matrices, seed)


@lru_cache(maxsize=2)
def _operands(fmt: str, m: int, n: int, k: int, matrices: int, seed: int) -> tuple[Array, Array]:
    case = CublasProduct(fmt, m, n, k, matrices=matrices)
    batch = (matrices,) if matrices > 1 else ()
    both = _drawn(case, seed, "A", (*batch, m, k), fmt), _drawn(case, seed, "B", (*batch, k, n), fmt)
    for x in both:
        x.flags.writeable = False
    return both


def addend(case: CublasProduct, seed: int) -> Array:
    """Return C of an ``addmm``, or the bias of a ``linear``, in the format of D: drawn as A and B are, or what cancels
    A B.

    A B is exact in float64, whatever the order of its sums: both are multiples of 2**-15, and not large.
    """
    if case.call == "addmm cancel":
        A, B = (decode(x, format_of(case.fmt)) for x in inputs(case, seed))
        return encode(-case.alpha / case.beta * (A @ B), format_of(case.out_format))
    shape = (1, case.n) if case.call == "linear" else (case.m, case.n)
    return _drawn(case, seed, "C", shape, case.out_format)


def _drawn(case: CublasProduct, seed: int, name: str, shape: tuple[int, ...], fmt: str) -> Array:
    return drawn(f"wmma_emu product {VERSION}|{seed}|{case.fmt}|{case.shape}|{name}", shape, fmt)


def drawn(key: str, shape: tuple[int, ...], fmt: str) -> Array:
    """Return patterns that a key determines."""
    words = random_words(key, prod(shape))
    parts = sum(((words >> np.uint64(16 * i)) & np.uint64(0xFFFF)).astype(np.int64) for i in range(4)) - 2 * 0xFFFF
    if fmt == "s8":
        return np.clip(parts >> 10, -128, 127).astype(np.int8).view(np.uint8).reshape(shape)
    return encode(parts.astype(np.float64) * 2.0**-15, format_of(fmt)).reshape(shape)

# SPDX-License-Identifier: MIT
"""The inputs: formats with the instruction that multiplies them, and the contents of matrices."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

RNG = np.random.Generator


@dataclass(frozen=True)
class FormatRow:
    """A format of A and B, and the keywords of `wmma_emu.gemm` that choose the instruction; () is the default one."""

    dtype: Any
    options: tuple[tuple[str, str], ...] = ()
    scale: float = 1.0
    slow: bool = False
    """Multiplied at a quarter of the size."""


FORMATS = {
    "f16": FormatRow(np.float16),
    "bf16": FormatRow(ml_dtypes.bfloat16),
    "tf32": FormatRow(np.float32, (("instr", "m16n8k8.f32.tf32.tf32.f32"),)),
    "e4m3": FormatRow(ml_dtypes.float8_e4m3fn),
    "e5m2": FormatRow(ml_dtypes.float8_e5m2),
    "s8": FormatRow(np.int8, (), 40),
    "u8 satfinite": FormatRow(np.uint8, (("instr", "m16n8k32.s32.u8.u8.s32.satfinite"),), 40),
    "b1": FormatRow(np.bool_, (("instr", "m16n8k256.s32.b1.b1.s32.and.popc"),)),
    "f64": FormatRow(np.float64, (), 1.0, True),
    "fma.f32": FormatRow(np.float32, (("instr", "fma.f32"),), 1.0, True),
}

CHIPS = {
    "f16": ("sm_70", "sm_75", "sm_80", "sm_89", "sm_90"),
    "e4m3": ("sm_89", "sm_90"),
    "e5m2": ("sm_89", "sm_90"),
}
"""The chips whose models are compared in time."""


def _raw(rng: RNG, shape: tuple[int, int], row: FormatRow) -> Any:
    """Every pattern as likely: full of infinities, NaN and far exponents."""
    dtype = np.dtype(row.dtype)
    return rng.integers(0, 256, (shape[0], shape[1] * dtype.itemsize), np.uint8).view(dtype)


def _gaussian(rng: RNG, shape: tuple[int, int], row: FormatRow) -> Any:
    numbers = rng.standard_normal(shape, np.float32) * row.scale
    if row.dtype is np.bool_:
        return numbers > 0
    return (abs(numbers) if row.dtype is np.uint8 else numbers).astype(row.dtype)


def _wide(rng: RNG, shape: tuple[int, int], row: FormatRow) -> Any:
    """Return numbers with exponents over the whole range of the format."""
    limit = np.log2(float(ml_dtypes.finfo(row.dtype).max)) - 1
    exponents = rng.uniform(-limit, limit, shape)
    return (rng.choice([-1.0, 1.0], shape) * np.exp2(exponents)).astype(np.float32).astype(row.dtype)


def _nan(rng: RNG, shape: tuple[int, int], row: FormatRow) -> Any:
    return np.full(shape, np.nan, np.float32).astype(row.dtype)


def _zeros(rng: RNG, shape: tuple[int, int], row: FormatRow) -> Any:
    return np.zeros(shape, row.dtype)


DATA: dict[str, Callable[[RNG, tuple[int, int], FormatRow], Any]] = {
    "Gaussian": _gaussian, "raw bits": _raw, "all exponents": _wide, "all NaN": _nan, "zeros": _zeros,
}  # fmt: skip


def matrices(fmt: str, size: int, data: str = "Gaussian") -> tuple[Any, Any]:
    """A and B, square, from a seed."""
    rng = np.random.default_rng(size)
    return tuple(DATA[data](rng, (size, size), FORMATS[fmt]) for _ in range(2))  # type: ignore[return-value]

# SPDX-License-Identifier: MIT
"""Multiply-adds a second of `wmma_emu.gemm`, each case compared with `np.matmul` of the same size and threads."""

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

import wmma_emu as we
from benchmarks.inputs import CHIPS, FORMATS, matrices
from benchmarks.machine import cores, installed
from benchmarks.timing import Run, blas_threads, in_rounds, summary

ENGINES = ("numpy", "native")
HOSTILE = ("Gaussian", "zeros", "all exponents", "all NaN", "raw bits")


@dataclass(frozen=True)
class Case:
    """One product: what is multiplied, by which model, how."""

    part: str
    fmt: str
    size: int
    engine: str
    threads: int
    arch: str = "sm_90"
    data: str = "Gaussian"

    def run(self) -> Run:
        A, B = matrices(self.fmt, self.size, self.data)
        options: dict[str, Any] = dict(FORMATS[self.fmt].options)
        return Run(lambda: we.gemm(A, B, arch=self.arch, engine=self.engine, threads=self.threads, **options))


def engines() -> tuple[str, ...]:
    return tuple(x for x in ENGINES if x == "numpy" or installed("llvmlite"))


def cases(sizes: list[int], size: int, hostile_size: int) -> list[Case]:
    """The timed cases: over sizes, threads, formats, chips, and contents of matrices."""
    found, two = [], min(2, cores())
    for engine in engines():
        found += [Case("sizes", "f16", x, engine, cores()) for x in sizes]
        found += [Case("threads", "f16", size, engine, x) for x in sorted({1, two, cores()})]
        found += [Case("formats", x, size // 4 if entry.slow else size, engine, two) for x, entry in FORMATS.items()]
        found += [Case("chips", x, size, engine, two, arch) for x, archs in CHIPS.items() for arch in archs]
        found += [Case("data", x, hostile_size, engine, two, data=y) for x in ("f16", "bf16") for y in HOSTILE]
    return found


def rounds_of(size: int, most: int) -> int:
    """Fewer rounds of what takes long."""
    return max(1, min(most, 3 if size > 1024 else most))


def measure(wanted: list[Case], most: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Time the cases of each part together; one that an engine lacks is said, and left out."""
    records = []
    for part in dict.fromkeys(x.part for x in wanted):
        say(part)
        records += _measured([x for x in wanted if x.part == part], most, say)
    return records


def _measured(wanted: list[Case], most: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", we.UnverifiedModelWarning)
        able = [x for x in wanted if _works(x, say)]
        beside = sorted({(x.size, x.threads) for x in able})
        runs = [x.run() for x in able]
        runs += [_matmul(size, threads, dtype) for size, threads in beside for dtype in (np.float32, np.float64)]
        sizes = [x.size for x in able] + [size for size, _ in beside for _ in range(2)]
        times = in_rounds(runs, [rounds_of(x, most) for x in sizes])
    theirs = {
        (*place, name): summary(times[len(able) + 2 * i + j], place[0] ** 3)["median"]
        for i, place in enumerate(beside)
        for j, name in enumerate(("float32", "float64"))
    }
    return [
        {**asdict(case), "mac_per_second": summary(found, case.size**3), "rounds": len(found),
         "matmul_float32": theirs[case.size, case.threads, "float32"],
         "matmul_float64": theirs[case.size, case.threads, "float64"]}
        for case, found in zip(able, times, strict=False)
    ]  # fmt: skip


def _works(case: Case, say: Callable[[str], None]) -> bool:
    A, B = matrices(case.fmt, 32, case.data)
    try:
        we.gemm(A, B, arch=case.arch, engine=case.engine, threads=1, **dict(FORMATS[case.fmt].options))
    except we.WmmaEmuError as error:
        say(f"  left out: {case.fmt} on {case.arch} with {case.engine}: {str(error).partition(';')[0]}")
        return False
    return True


def _matmul(size: int, threads: int, dtype: Any) -> Run:
    rng = np.random.default_rng(size)
    a, b = (rng.standard_normal((size, size)).astype(dtype) for _ in range(2))
    return Run(lambda: a @ b, partial(blas_threads, threads))

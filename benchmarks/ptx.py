# SPDX-License-Identifier: MIT
"""How long real kernels take from their PTX: Triton's matmul and flash attention, the interpreter, the parser.

The interpreter's rate counts all thread-instructions in the time that the matrix products leave: `BoundInstruction
.execute` is timed within the same launches, and its time subtracted.
"""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import ptx_parse
from benchmarks.machine import installed
from benchmarks.timing import seconds
from examples.ptx.cases import CASES, Case
from examples.ptx.texts import compiled
from wmma_emu.ptx.launch.module import Module
from wmma_emu.warp import BoundInstruction

FULL = {"matmul f16": "triton_f16_512", "flash attention": "triton_flash_attention_512"}
QUICK = {"matmul f16": "triton_f16", "flash attention": "triton_flash_attention"}


class Clock:
    """Seconds that were spent in something."""

    spent = 0.0


@contextmanager
def timed_products() -> Iterator[Clock]:
    """Within it, the time of all matrix products is added up."""
    clock, execute = Clock(), BoundInstruction.execute

    def timed(*given: Any, **more: Any) -> Any:
        start = time.perf_counter()
        try:
            return execute(*given, **more)
        finally:
            clock.spent += time.perf_counter() - start

    with mock.patch.object(BoundInstruction, "execute", timed):
        yield clock


def engines() -> list[str]:
    return [x for x in ("auto", "numpy", "native") if x != "native" or installed("llvmlite")]


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return the seconds of each kernel with each engine, and of `np.matmul` of the same sizes in float32."""
    records = []
    for what, name in (QUICK if quick else FULL).items():
        for engine in engines():
            records.append(_measure(what, CASES[name], engine, 1 if quick else 5))
    found = ptx_parse.measure()
    records.append({"what": "parser", "instructions": found["instructions"], "rate": found["instructions/s"]})
    return records


def _measure(what: str, case: Case, engine: str, rounds: int) -> dict[str, Any]:
    module = Module(compiled(case.text), engine=engine, findings="raise", machine="numpy")
    kernel, arguments = module[case.kernel], case.draw(1)
    launch = kernel[case.grid, case.block, case.shared]
    report = launch(*arguments)  # includes the compilation
    wide = [x.astype(np.float32) for x in arguments if isinstance(x, np.ndarray)]
    whole, products, beside = [], [], []
    for _ in range(rounds):
        with timed_products() as clock:
            whole.append(seconds(lambda: launch(*arguments)))
        products.append(clock.spent)
        beside.append(seconds(lambda: _beside(what, wide)))
    left = [x - y for x, y in zip(whole, products, strict=True)]
    return {
        "what": what, "shape": "x".join(map(str, arguments[0].shape)), "engine": engine,
        "seconds": statistics.median(whole), "fastest": min(whole), "slowest": max(whole),
        "products": statistics.median(products), "matmul": statistics.median(beside),
        "instructions": report.instructions, "steps": report.steps,
        "rate": report.instructions / statistics.median(left),
    }  # fmt: skip


def _beside(what: str, arrays: list[Any]) -> Any:
    """The same products in float32."""
    if what == "flash attention":
        q, k, v = arrays[:3]
        return (q @ k.swapaxes(1, 2)) @ v
    return arrays[0] @ arrays[1]

# SPDX-License-Identifier: MIT
"""A short kernel for each kind of finding: with a bug that causes only this finding, and in a fixed version."""

import difflib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wmma_emu.ptx.findings import slug_of
from wmma_emu.ptx.launch.module import Module
from wmma_emu.ptx.launch.report import Report
from wmma_emu.ptx.launch.tensor_map import tensor_map

TARGET = "sm_80"
"""The chip that kernels are compiled for, unless they need another chip."""


class Example(NamedTuple):
    """The launch of a kernel: the threads of a block, the arguments, the number of blocks, and the chip."""

    block: int
    arguments: Callable[[], tuple[Any, ...]]
    grid: int = 1
    target: str = TARGET


HOPPER = "sm_90a"

_ints = partial(np.arange, dtype=np.int32)
_floats = partial(np.arange, dtype=np.float32)
_bytes = partial(np.arange, dtype=np.uint8)


def _input(count: int) -> Any:
    """Return an array that its kernel must not change."""
    array = _floats(count)
    array.flags.writeable = False
    return array


EXAMPLES = {
    "out of bounds": Example(32, lambda: (_ints(60), 60, 7), grid=2),
    "misaligned": Example(32, lambda: (_floats(132), _floats(128))),
    "uninitialised": Example(64, lambda: (_ints(64), _ints(64))),
    "partly uninitialised": Example(32, lambda: (_bytes(32), _bytes(32), _bytes(64))),
    "read-only": Example(32, lambda: (_input(32), _floats(32), 0.5)),
    "race": Example(64, lambda: (_ints(64), _ints(64))),
    "race of an unused value": Example(64, lambda: (_ints(32),)),
    "race within a warp": Example(32, lambda: (_ints(32), _ints(32))),
    "lanes store to one place": Example(32, lambda: (_ints(32) - 8, _ints(1))),
    "race of equal bytes": Example(64, lambda: (_ints(64) - 48, _ints(1))),
    "missing wait": Example(32, lambda: (_ints(32), _ints(32))),
    "mbarrier not initialised": Example(32, lambda: (_ints(32),)),
    "over-arrival": Example(32, lambda: (_ints(32),)),
    "transaction bytes": Example(1, lambda: (_ints(256), _ints(1)), target="sm_90"),
    "wrong parity": Example(64, lambda: (), target="sm_90"),
    "missing proxy fence": Example(64, lambda: (_ints(64), _ints(64)), target=HOPPER),
    "omitted proxy fence": Example(64, lambda: (_ints(256), _ints(256)), target=HOPPER),
    "stale tensor map": Example(32, lambda: (tensor_map(_floats(32), (32,)), _ints(32)), target=HOPPER),
    "copy by several lanes": Example(32, lambda: (_ints(32), _ints(32)), target=HOPPER),
    "copy in flight at the end": Example(64, lambda: (_ints(64), _ints(64)), target=HOPPER),
    "load in flight at the end": Example(1, lambda: (_ints(256), _ints(1)), target=HOPPER),
    "barrier divergence": Example(32, lambda: (_ints(32), _ints(32))),
    "barriers at several instructions": Example(64, lambda: (_ints(32), _ints(32))),
    "deadlock": Example(96, lambda: (_ints(96),)),
    "partial warp": Example(32, lambda: (_ints(32), _ints(32))),
    "illegal metadata": Example(32, lambda: (0x3C003C00, 0x40004000, _floats(128))),
    "illegal operand": Example(32, lambda: (_ints(32), _ints(32))),
    "trap": Example(32, lambda: (_floats(32), _floats(32))),
}
"""The launch for each kind."""


FOLDER = Path(__file__).parent / "kernels"
"""The kernels in CUDA C++ and in the PTX that `tools.build_finding_ptx` makes: with the bug, and fixed."""


def source_of(kind: str, fixed: bool = False) -> str:
    """Return the CUDA C++ source of a kernel."""
    return _read(kind, fixed, "cu")


def ptx_of(kind: str, fixed: bool = False) -> str:
    """Return the committed PTX of a kernel."""
    return _read(kind, fixed, "ptx")


def _read(kind: str, fixed: bool, ending: str) -> str:
    return (FOLDER / f"{slug_of(kind)}{'.fixed' if fixed else ''}.{ending}").read_text(encoding="utf-8")


def launch_of(kind: str, fixed: bool = False) -> Report:
    """Launch the kernel that shows a kind of finding, and return the report.

    Examples
    --------
    >>> [x.kind for x in launch_of("race").findings], [x.kind for x in launch_of("race", fixed=True).findings]
    (['race'], [])
    """
    example = EXAMPLES[kind]
    module = Module(ptx_of(kind, fixed), arch=example.target, findings="report")
    module.sources = {f"{slug_of(kind)}.cu": source_of(kind, fixed)}
    return module.kernel[example.grid, example.block](*example.arguments())


FIRST_LINE = 2
"""The line of a source at which the kernel starts, after the licence."""


class Changed(NamedTuple):
    """A line of the fix: ``sign`` is "+" for an added line, "-" for a removed one, " " for an unchanged one."""

    sign: str
    text: str


def shown_source(kind: str, fixed: bool = False) -> list[str]:
    r"""Return the lines of a kernel without its licence.

    Examples
    --------
    >>> print(*shown_source("out of bounds"), sep="\n")
    __global__ void fill(int* x, int n, int value)
    {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i <= n)
            x[i] = value;
    }
    """
    return source_of(kind, fixed).splitlines()[FIRST_LINE - 1 :]


def fix_of(kind: str) -> Iterator[Changed]:
    r"""Yield the lines that fix a kernel, with one line before and after each group.

    Examples
    --------
    >>> print(*(x.sign + x.text for x in fix_of("out of bounds")), sep="\n")
         int i = blockIdx.x * blockDim.x + threadIdx.x;
    -    if (i <= n)
    +    if (i < n)
             x[i] = value;
    """
    lines = difflib.unified_diff(shown_source(kind), shown_source(kind, fixed=True), n=1, lineterm="")
    for line in list(lines)[2:]:
        if not line.startswith("@@"):
            yield Changed(line[:1], line[1:])

# SPDX-License-Identifier: MIT
"""NVIDIA's compute-sanitizer samples: the kernels of memcheck's, racecheck's, initcheck's and synccheck's demos."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import wmma_emu as we
from tools.labelled_suites.case import LabelledLaunch, LabelledProgram

__all__ = ["FOLDER", "cases"]

FOLDER = "compute-sanitizer-samples"

_FILL = 'extern "C" __global__ void fill(char* p, int n) { int i = threadIdx.x; if (i < n) p[i] = 0; }'


def cases(folder: Path, _: str) -> Iterator[LabelledProgram]:
    for program, label, launches in _TABLE:
        file, _, _ = program.partition(":")
        text = _device_code((folder / file).read_text())
        for variant, options in (("-O3", ()), ("-G", ("-G",))):
            yield LabelledProgram("nvidia", program, variant, label, text, launches, options)


def _device_code(text: str) -> str:
    """Leave out what only the host has; the lines stay where they are."""
    main = re.search(r"^int main ?\(", text, re.MULTILINE)
    text = text[: main.start()] if main else text
    text = re.sub(r"^#include <(iostream|cassert|cstdio|stdio.h|stdlib.h)>", "", text, flags=re.MULTILINE)
    host = re.compile(r"^static void run_\w+\(void\)\n\{.*?^\}", re.MULTILINE | re.DOTALL)
    return host.sub(lambda x: "\n" * x[0].count("\n"), text)


def _one(kernel: str, block: int, arguments: Callable[[], list[Any]]) -> Callable[[Any], list[LabelledLaunch]]:
    return lambda module: [LabelledLaunch(kernel, 1, block, arguments())]


def _uninitialised(count: int) -> Any:
    return we.ptx.empty(count, np.int32)


def _partly_set(
    count: int, written: int, launch: Callable[[Any], LabelledLaunch]
) -> Callable[[Any], list[LabelledLaunch]]:
    """Return launches with uninitialised memory as from cudaMalloc; a launch sets some bytes, like cudaMemset."""

    def launches(module: Any) -> list[LabelledLaunch]:
        array = _uninitialised(count)
        we.ptx.Module.from_cuda(_FILL)["fill"][1, 512](array, np.int32(written), findings="raise")
        return [launch(array)]

    return launches


_TABLE = (
    ("Memcheck/memcheck_demo.cu:misaligned", "misaligned", _one("unaligned_kernel", 1, list)),
    ("Memcheck/memcheck_demo.cu:out of bounds", "out of bounds", _one("out_of_bounds_kernel", 1, list)),
    ("Racecheck/block_error.cu", "race", _one("sumKernel", 128, lambda: [np.zeros(128, np.int32), _uninitialised(1)])),
    ("Racecheck/warp_error.cu", "race", _one("sumKernel", 64, lambda: [np.zeros(64, np.int32), _uninitialised(1)])),
    (
        "Synccheck/divergent_threads.cu", "barrier divergence",
        _one("myKernel", 64, lambda: [_uninitialised(64 * 16 - 16), _uninitialised(1)]),
    ),
    ("Synccheck/illegal_syncwarp.cu", "illegal membermask", _one("myKernel", 32, lambda: [_uninitialised(1)])),
    (
        "Initcheck/memset_error.cu", "uninitialised",
        _partly_set(64, 64, lambda x: LabelledLaunch("vectorAdd", 2, 32, [x])),
    ),
    (
        "Suppressions/suppressions_initcheck_demo.cu", "uninitialised",
        _partly_set(123, 123 * 4 - 1, lambda x: LabelledLaunch("mult", 1, 123, [x, _uninitialised(123), 123])),
    ),
)  # fmt: skip

# SPDX-License-Identifier: MIT
"""The start-up times: of imports, compared with NumPy's, and of the command line."""

import compileall
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import wmma_emu
from benchmarks.timing import seconds

_CLOCK = "import time; start = time.perf_counter()"
_SAY = "print(time.perf_counter() - start)"

IMPORTS = {
    "import numpy": f"{_CLOCK}; import numpy; {_SAY}",
    "import ml_dtypes, NumPy there": f"import numpy; {_CLOCK}; import ml_dtypes; {_SAY}",
    "import wmma_emu, both there": f"import numpy, ml_dtypes; {_CLOCK}; import wmma_emu; {_SAY}",
    "wmma_emu.gemm, both there": f"import numpy, ml_dtypes, wmma_emu; {_CLOCK}; wmma_emu.gemm; {_SAY}",
    "wmma_emu.instruction, both there": f"import numpy, ml_dtypes, wmma_emu; {_CLOCK}; wmma_emu.instruction; {_SAY}",
    "wmma_emu.ptx.Module, both there": f"import numpy, ml_dtypes, wmma_emu; {_CLOCK}; wmma_emu.ptx.Module; {_SAY}",
    "the first small product": "import numpy, wmma_emu; x = numpy.ones((16, 16), numpy.float16); "
                               f"{_CLOCK}; wmma_emu.gemm(x, x); {_SAY}",
}  # fmt: skip
"""Code that prints seconds."""

_LAYOUT = ("-m", "wmma_emu", "layout")
_FILES = ("A.npy", "B.npy")

COMMANDS = {
    "python -c pass": ("-c", "pass"),
    "wmma-emu --version": ("-m", "wmma_emu", "--version"),
    "wmma-emu list": ("-m", "wmma_emu", "list"),
    "wmma-emu show": ("-m", "wmma_emu", "show", "m16n8k16.f32.f16.f16.f32"),
    "wmma-emu compare, two chips": ("-m", "wmma_emu", "compare", "a100", "h100"),
    "wmma-emu gemm, 16 x 16": ("-m", "wmma_emu", "gemm", *_FILES, "-o", "D.npy"),
    "wmma-emu explain, 16 x 16": ("-m", "wmma_emu", "explain", *_FILES, "3", "5"),
    "wmma-emu compare, 16 x 16": ("-m", "wmma_emu", "compare", *_FILES),
    "wmma-emu layout, 16 x 16": (*_LAYOUT, "m16n8k16.f32.f16.f16.f32", "--operand", "A"),
    "wmma-emu layout, 64 x 256": (*_LAYOUT, "wgmma.m64n256k16.f32.f16.f16", "--operand", "D"),
    "wmma-emu layout --format svg": (*_LAYOUT, "m16n8k16.f32.f16.f16.f32", "--operand", "A", "--format", "svg"),
}
"""Whole processes."""


def measure(rounds: int) -> list[dict[str, object]]:
    """Seconds of each, in rounds, with the package's bytecode there, as an installer leaves it."""
    compileall.compile_dir(Path(wmma_emu.__file__).parent, quiet=2)
    with TemporaryDirectory() as folder:
        for name in _FILES:
            np.save(Path(folder, name), np.ones((16, 16), np.float16))
        runs: dict[str, Callable[[], float]] = {name: partial(_import, code) for name, code in IMPORTS.items()}
        runs |= {name: partial(_command, folder, *arguments) for name, arguments in COMMANDS.items()}
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                times[name].append(run())
    return [
        {"what": name, "seconds": statistics.median(found), "fastest": min(found), "slowest": max(found)}
        for name, found in times.items()
    ]


def _import(code: str) -> float:
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def _command(folder: str, *arguments: str) -> float:
    return seconds(lambda: subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, check=True))

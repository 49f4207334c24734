# SPDX-License-Identifier: MIT
"""The launches whose counters are compared: access patterns, branches, and whole kernels."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from examples.ptx.cases import CASES
from examples.ptx.texts import compiled
from tools.cuda_driver import find_nvcc, three
from tools.profile_kernels import branches, hopper_patterns, patterns
from tools.profile_kernels.public_code import sources
from tools.profile_kernels.third_party import module_of, third_party

ROOT = Path(__file__).parents[2]
TARGET = "sm_90a"
CHECKOUTS = Path(os.environ.get("WMMA_EMU_CHECKOUTS", ROOT.parent / "checkouts"))
"""The folder of other projects; see `tools.profile_kernels.third_party`."""

_PART_OF = {"atom": "atomics", "red": "atomics", "ld": "loads", "st": "stores"}
_SEED = 29


class Launched(NamedTuple):
    """A launch: ``part`` is the group in which it is measured, ``module`` the name of its PTX."""

    name: str
    part: str
    module: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    arguments: tuple[Any, ...]


def all_launches() -> Iterator[Launched]:
    """Yield every launch, part by part."""
    yield from _patterns()
    yield from _branches()
    yield from _hopper()
    yield from _examples()
    yield from _transpositions()
    yield from _ladder()
    yield from _others()


def text_of(module: str) -> str:
    """Return the PTX of a module."""
    if module == "patterns":
        return patterns.source()
    if module == "branches":
        return branches.source()
    if module == "hopper_patterns":
        return hopper_patterns.source()
    if module.startswith("other_"):
        name = module.removeprefix("other_")
        text = re.sub(r"^\.version .*$", ".version 9.0", module_of(CHECKOUTS, name).text, count=1, flags=re.MULTILINE)
        return _only(text, {kernel for found, kernel, *_ in third_party(CHECKOUTS) if found == name})
    if module.startswith("example_"):
        return compiled(module.removeprefix("example_"))
    return _of_cuda(ROOT / "examples" / "profiling" / f"{module}.cu")


def _only(text: str, kernels: set[str]) -> str:
    """Leave out the other kernels of a module: files with many instances of a template assemble slowly."""
    kept: list[str] = []
    depth, skips = 0, False
    for line in text.split("\n"):
        found = re.match(r"(?:\.\w+ )*\.entry (\w+)", line)
        skips = found[1] not in kernels if found else skips
        depth += line.count("{") - line.count("}")
        if not skips:
            kept.append(line)
        if not depth and "}" in line:
            skips = False
    return "\n".join(kept)


@cache
def _of_cuda(path: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.ptx"
        command = [find_nvcc(), "-ptx", "-lineinfo", f"-arch={TARGET}", "-o", str(out), str(path)]
        subprocess.run(command, check=True, capture_output=True)
        return out.read_text()


def _part(form: str) -> str:
    space, *rest = form.split("_")
    if space == "local":
        return "local"
    if {"none", "half", "never", "all"} & set(rest):
        return "filled_copies"
    if space in ("shared", "global"):
        return f"{space}_{_PART_OF[rest[0]]}"
    return "copies" if space == "copy" else "matrix_moves"


def _patterns() -> Iterator[Launched]:
    memory, out = np.zeros(patterns.SHARED_BYTES // 4 + 1024, np.uint32), np.zeros(256, np.uint32)
    found = [
        Launched(f"{form.name}: {name}", _part(form.name), "patterns", form.name, (1,), (32,), 0, (x, memory, out))
        for form in patterns.forms()
        for name, x in patterns.patterns(form)
    ]
    yield from sorted(found, key=lambda x: x.part)


def _branches() -> Iterator[Launched]:
    for kernel, name, counts in branches.cases():
        out = np.zeros(len(counts), np.uint32)
        yield Launched(f"{kernel}: {name}", "branches", "branches", kernel, (1,), (len(counts),), 0, (counts, out))


def _hopper() -> Iterator[Launched]:
    for name, (_, threads) in hopper_patterns.kernels().items():
        part = "products" if name.startswith("wgmma") else "bulk_copies"
        yield Launched(name, part, "hopper_patterns", name, (1,), (threads,), 0, (np.zeros(4096, np.uint32),))


def _examples() -> Iterator[Launched]:
    for case in CASES.values():
        if case.text == "printing":
            continue
        yield Launched(
            case.name, "examples", f"example_{case.text}", case.kernel, case.grid, case.block, case.shared,
            case.draw(_SEED),
        )  # fmt: skip


def _transpositions() -> Iterator[Launched]:
    n = 64
    x = np.arange(n * n, dtype=np.float32)
    for kernel in ("scattered", "conflicting", "padded", "swizzled"):
        yield Launched(f"transposition {kernel}", "ladder", "transpositions", kernel, (n // 32, n // 32), (32, 8), 0,
                       (x, np.zeros_like(x), n))  # fmt: skip


LADDER = {
    "step01_naive": ((32, 8), (32, 8)), "step02_coalesced": ((32, 8), (32, 8)), "step03_shared": ((32, 32), (32, 32)),
    "step04_column": ((64, 64), (512,)), "step05_square": ((64, 64), (256,)), "step06_vectors": ((64, 64), (256,)),
    "step07_swizzled": ((64, 64), (256,)), "step08_wmma": ((32, 32), (128,)), "step09_wmma_shared": ((64, 64), (128,)),
    "step10_buffered": ((64, 64), (128,)),
}  # fmt: skip
"""The elements of D that a block of each step computes, and its threads."""


def _ladder() -> Iterator[Launched]:
    M, N, K = 128, 128, 128
    rng = np.random.Generator(np.random.PCG64([_SEED]))
    drawn: list[NDArray[Any]] = [rng.integers(-4, 5, x).astype(np.float32) for x in ((M, K), (K, N))]
    for kernel, (tile, block) in LADDER.items():
        a, b = (x.astype(np.float16) for x in drawn) if int(kernel[4:6]) > 7 else drawn
        tiles = N // tile[0], M // tile[1]
        grid = (M // tile[0], N // tile[1]) if kernel == "step01_naive" else tiles
        yield Launched(kernel, "ladder", "matmul_ladder", kernel, grid, block, 0, (a, b, np.zeros((M, N), np.float32),
                       M, N, K))  # fmt: skip


def _others() -> Iterator[Launched]:
    for module, kernel, grid, block, shared, arguments in third_party(CHECKOUTS):
        name = module_of(CHECKOUTS, module)[kernel].called
        part = "public" if any(x.module == module for x in sources()) else "others"
        yield Launched(f"{module} {name}", part, f"other_{module}", kernel, grid, block, shared, arguments)


def sizes_of(launch: Launched) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return x, y and z of the grid and of the block."""
    return three(launch.grid), three(launch.block)

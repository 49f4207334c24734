# SPDX-License-Identifier: MIT
"""Compare `wmma_emu.scalar.approx` and `approx_div` with this machine's GPU, on every input where that can be.

    python -m tools.prove_approx --json approx.json

The emulator's own code runs on the GPU, as integer arithmetic on CuPy arrays, next to the instruction: all 2**32 words
of every f32 instruction and upper words of f64, all 2**16 of f16 and bf16, 2**32 pairs of each division. Mismatches are
counted and shown; exit status 1 if any bit differs. ``--sweeps FILE`` stores all results of binades that have some.
"""

import argparse
import json
import lzma
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from tools.approx_gpu import INSTRUCTIONS, emulate, operands, run
from tools.approx_inputs import DIVISION_GENERATORS, pairs, words

WORDS = 1 << 32
CHUNK = 1 << 26
STEPS = 1 << 24
"""Inputs of ``rsqrt.approx.f64``, whose steps run on the CPU."""

SHOWN = 24
MOST_SWEEPS = 40
_SHIFT = {"f32": 23, "f64": 52, "b16": 7, "b32": 23}


def batches(instruction: str, seed: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Return inputs of an instruction, chunk by chunk, each with the name of its generator."""
    import cupy

    kind = INSTRUCTIONS[instruction]
    if operands(instruction) == 2:
        for chunk in range(WORDS // CHUNK):
            generator = DIVISION_GENERATORS[chunk % len(DIVISION_GENERATORS)]
            yield generator, pairs(cupy, generator, CHUNK, 1000 * seed + chunk)
    elif instruction == "rsqrt.approx.f64":
        yield "random", (words(cupy, STEPS // 2, seed),)
        yield "moderate", (words(cupy, STEPS // 2, seed + 1) >> np.uint64(2) | np.uint64(0x3F00 << 48),)
    elif kind == "b16":
        yield "all", (cupy.arange(1 << 16, dtype=np.uint16),)
    elif kind == "b32":
        yield "random", (words(cupy, CHUNK, seed).astype(np.uint32),)
    else:
        for start in range(0, WORDS, CHUNK):
            upper = cupy.arange(start, start + CHUNK, dtype=np.uint64)
            if kind == "f32":
                yield "all", (upper.astype(np.uint32),)
            else:
                yield "all", (upper << np.uint64(32) | words(cupy, CHUNK, start // CHUNK) >> np.uint64(32),)


def on_cpu(instruction: str, inputs: Any) -> Any:
    """Emulate in all cores of this machine."""
    import cupy

    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        parts = pool.map(emulate, [instruction] * 64, np.array_split(cupy.asnumpy(inputs), 64))
        return cupy.asarray(np.concatenate(list(parts)))


def prove(instruction: str, seed: int) -> dict[str, Any]:
    """Compare an instruction on all its inputs."""
    import cupy

    started, kind = time.perf_counter(), INSTRUCTIONS[instruction]
    done: dict[str, int] = {}
    wrong: dict[str, int] = {}
    bins = np.zeros(4096 if kind == "f64" else 512, np.int64)
    examples: list[list[str]] = []
    for generator, inputs in batches(instruction, seed):
        theirs = run(instruction, *inputs)
        ours = (on_cpu if instruction == "rsqrt.approx.f64" else emulate)(instruction, *inputs)
        different = cupy.flatnonzero(ours != theirs)
        done[generator] = done.get(generator, 0) + theirs.size
        wrong[generator] = wrong.get(generator, 0) + int(different.size)
        if different.size:
            upper = (inputs[-1][different].astype(np.uint64) >> np.uint64(_SHIFT[kind])).astype(np.int64)
            bins += cupy.asnumpy(cupy.bincount(upper, minlength=len(bins)))
            chosen = different[:: max(1, different.size // SHOWN)][:SHOWN]
            columns = [cupy.asnumpy(x[chosen]) for x in (*inputs, theirs, ours)]
            examples += [[hex(int(x)) for x in row] for row in zip(*columns, strict=True)]
    found: dict[str, Any] = {"inputs": sum(done.values()), "mismatches": sum(wrong.values())}
    if len(done) > 1:
        found["families"] = {generator: [count, wrong[generator]] for generator, count in done.items()}
    if examples:
        found["by_upper_bits"] = {hex(i): int(bins[i]) for i in np.flatnonzero(bins)}
        found["examples"] = {"columns": "inputs, GPU, emulator", "rows": examples[: 40 * SHOWN]}
    return found | {"seconds": round(time.perf_counter() - started, 2)}


def sweep(instruction: str, upper: int) -> tuple[str, list[int], bytes]:
    """Encode all 2**23 results of a binade: dtype of second differences, first two results, the bytes."""
    import cupy

    y = cupy.asnumpy(run(instruction, cupy.arange(upper << 23, upper + 1 << 23, dtype=np.uint32))).astype(np.int64)
    differences = np.diff(y, n=2)
    dtype = next(x for x in ("int8", "int32", "int64") if np.abs(differences).max() <= np.iinfo(x).max)
    return dtype, y[:2].tolist(), lzma.compress(differences.astype(dtype).tobytes(), preset=2)


def store_sweeps(path: Path, report: dict[str, Any]) -> None:
    """Store all results of some binades in which something differs."""
    wanted = [
        (instruction, int(upper, 16))
        for instruction, found in report["instructions"].items()
        if INSTRUCTIONS[instruction] == "f32" and operands(instruction) == 1
        for upper in list(found.get("by_upper_bits", {}))[:12]
    ][:MOST_SWEEPS]
    arrays: dict[str, Any] = {}
    about = {}
    with ThreadPoolExecutor() as pool:
        for case, (dtype, first, data) in zip(wanted, pool.map(lambda x: sweep(*x), wanted), strict=True):
            about[f"{case[0]}|{case[1]:#x}"] = {"dtype": dtype, "first": first}
            arrays[f"{case[0]}|{case[1]:#x}"] = np.frombuffer(data, np.uint8)
    np.savez(path, about=np.array(json.dumps(about)), **arrays)


def machine() -> dict[str, Any]:
    """Return the GPU and the versions of the results."""
    import cupy

    import wmma_emu as we

    device = we.gpu.device()
    return {
        "gpu": device.name, "driver": device.driver, "date": time.strftime("%Y-%m-%d"), "cupy": cupy.__version__,
        "nvrtc": ".".join(map(str, cupy.cuda.nvrtc.getVersion())), "numpy": np.__version__,
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="where the counts go")
    parser.add_argument("--sweeps", type=Path, help="where the results of binades with mismatches go")
    parser.add_argument("--only", nargs="*", choices=list(INSTRUCTIONS), default=list(INSTRUCTIONS), metavar="PTX")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    report: dict[str, Any] = {"machine": machine(), "seed": given.seed, "instructions": {}}
    for instruction in given.only:
        found = report["instructions"][instruction] = prove(instruction, given.seed)
        print(f"{instruction}: {found['inputs']} inputs, {found['mismatches']} differ, {found['seconds']} s",
              *found.get("examples", {}).get("rows", [])[:3], flush=True)  # fmt: skip
        if given.json:
            given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if given.sweeps:
        store_sweeps(given.sweeps, report)
    return int(any(x["mismatches"] for x in report["instructions"].values()))


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""Compare `wmma_emu.scalar`'s approximate functions with this machine's GPU on every input there is.

    python -m tools.prove_approx --json approx.json

The emulator's own code runs on the GPU, as integer arithmetic on CuPy arrays, beside the instruction: all 2**32 words
of every f32 instruction and of the upper half of f64, all 2**16 of f16 and bf16, 2**32 pairs of a division. Mismatches
are counted and shown; ``--sweeps FILE`` stores, of binades that have some, all results as second differences. Exit
status 1 if any bit differs.
"""

import argparse
import json
import lzma
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from tools.approx_gpu import INSTRUCTIONS, operands, run
from wmma_emu.scalar.approx_double import rcp64h, rsqrt64h
from wmma_emu.scalar.approx_narrow import NARROW
from wmma_emu.scalar.approx_sequences import SEQUENCES, divide_approx, divide_full
from wmma_emu.scalar.approx_multiply import multiply

WORDS = 1 << 32
CHUNK = 1 << 26
SHOWN = 24
MOST_SWEEPS = 40

ALWAYS = [("tanh.approx.f32", e) for e in range(113, 125)]
"""Binades whose results are stored in any case."""


def emulated(instruction: str) -> Callable[..., Any]:
    """The emulator's function of int64 words for an instruction."""
    name, *words = instruction.split(".")
    ftz = "ftz" in words
    match name, words[-1]:
        case "div", _:
            divide = divide_full if words[0] == "full" else divide_approx
            return lambda a, b: divide(a, b, ftz)
        case "mul", _:
            return lambda a, b: multiply(a, b, ftz=ftz)
        case _, "f32":
            return SEQUENCES[name, ftz]
        case _, "f64":
            return {"rcp": rcp64h, "rsqrt": rsqrt64h}[name]
        case _, form:
            scalar = NARROW[name, form.removesuffix("x2")]
            if form.endswith("x2"):
                return lambda x: scalar(x & 0xFFFF) | scalar(x >> 16) << 16
            return scalar


def words(count: int, start: int, dtype: Any) -> Any:
    import cupy

    return cupy.arange(start, start + count, dtype=np.int64).astype(dtype)


def _hash(xp: Any, x: Any) -> Any:
    """splitmix64's finaliser."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def pairs(chunk: int, seed: int) -> tuple[str, Any, Any]:
    """Two words an element: random ones, or of a family that is hard for a division."""
    import cupy

    index = cupy.arange(CHUNK, dtype=np.uint64) + np.uint64(chunk * CHUNK + (seed << 40))
    h = _hash(cupy, index * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x632BE59BD9B4E019))
    a, b = (h >> np.uint64(32)).astype(np.uint32), h.astype(np.uint32)
    more = _hash(cupy, h).astype(np.uint32)
    family = ("random", "near 2**-126", "large b", "subnormal b", "subnormal a", "few bits", "subnormal quotient",
              "special")[chunk % 8]  # fmt: skip
    field = np.uint32(0x807F_FFFF)

    def exponents(x: Any, low: int, count: int, by: Any) -> Any:
        return x & field | ((by % np.uint32(count) + np.uint32(low)) << np.uint32(23))

    match family:
        case "near 2**-126":
            # A quotient whose exponent is -127 or -126.
            b = exponents(b, 100, 100, more)
            e = (b >> np.uint32(23)) & np.uint32(255)
            a = a & field | (((e + (more >> np.uint32(20)) % np.uint32(3) - np.uint32(127 + 0)) & np.uint32(255)) << np.uint32(23))
        case "large b":
            b = exponents(b, 252, 3, more)
        case "subnormal b":
            b = b & field
        case "subnormal a":
            a = a & field
            b = exponents(b, 80, 100, more)
        case "few bits":
            a, b = a & np.uint32(0xFFC0_0000) ^ (more & np.uint32(3)), b & np.uint32(0xFFF0_0000) ^ (more >> 4 & np.uint32(3))
        case "subnormal quotient":
            b = exponents(b, 130, 120, more)
            e = (b >> np.uint32(23)) & np.uint32(255)
            e = cupy.maximum(e.astype(np.int32) - 127 - ((more >> np.uint32(20)) % np.uint32(26)).astype(np.int32), 0)
            a = a & field | e.astype(np.uint32) << np.uint32(23)
        case "special":
            table = cupy.asarray(SPECIAL)
            a = cupy.where(more & np.uint32(1), a, table[a % np.uint32(len(SPECIAL))])
            b = cupy.where(more & np.uint32(2), b, table[b % np.uint32(len(SPECIAL))])
    return family, a, b


_HALF_SPECIAL = [0, 1, 2, 3, 0x7FFFFF, 0x7FFFFE, 0x400000, 0x800000, 0x800001, 0x3F800000, 0x3F7FFFFF, 0x3F800001,
                 0x7E800000, 0x7E800001, 0x7E7FFFFF, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000,
                 0x7FFFFFFF, 0x4B800000, 0x00FFFFFF, 0x01000000, 0x7EFFFFFF, 0x40400000]  # fmt: skip
SPECIAL = np.array([x | s for x in _HALF_SPECIAL for s in (0, 0x8000_0000)], np.uint32)


def batches(instruction: str, seed: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Inputs of an instruction, chunk by chunk, as the GPU takes them."""
    kind = INSTRUCTIONS[instruction]
    if operands(instruction) == 2:
        for chunk in range(WORDS // CHUNK):
            family, a, b = pairs(chunk, seed)
            yield family, (a, b)
    elif kind == "b16":
        yield "all", (words(1 << 16, 0, np.uint16),)
    elif kind == "b32":
        for chunk in range(2):
            yield "random", (pairs(8 * chunk, seed + 1)[1],)
    else:
        for start in range(0, WORDS, CHUNK):
            if kind == "f64":
                yield "all", (words(CHUNK, start, np.uint64) << np.uint64(32) | np.uint64(start * 977 & 0xFFFF_FFFF),)
            else:
                yield "all", (words(CHUNK, start, np.uint32),)


def prove(instruction: str, seed: int) -> dict[str, Any]:
    """Compare an instruction on all its inputs."""
    import cupy

    started, function, kind = time.perf_counter(), emulated(instruction), INSTRUCTIONS[instruction]
    count = wrong = 0
    families: dict[str, list[int]] = {}
    bins = np.zeros(4096 if kind == "f64" else 512, np.int64)
    examples: list[list[str]] = []
    for family, inputs in batches(instruction, seed):
        theirs = run(instruction, *inputs)
        if kind == "f64":
            low = theirs & np.uint64(0xFFFF_FFFF)
            theirs = (theirs >> np.uint64(32)).astype(np.int64) + (low != 0) * (1 << 33)
            ours = function((inputs[0] >> np.uint64(32)).astype(np.int64))
        else:
            theirs = theirs.astype(np.int64)
            ours = function(*(x.astype(np.int64) for x in inputs))
        different = cupy.flatnonzero(ours != theirs)
        n = int(different.size)
        count += theirs.size
        wrong += n
        tally = families.setdefault(family, [0, 0])
        tally[0] += theirs.size
        tally[1] += n
        if n:
            shift = {"f32": 23, "f64": 52, "b16": 7, "b32": 23}[kind]
            words_ = inputs[-1][different].astype(np.uint64)
            bins += cupy.asnumpy(cupy.bincount((words_ >> np.uint64(shift)).astype(np.int64), minlength=len(bins)))
            if len(examples) < 40 * SHOWN:
                step = max(1, n // SHOWN)
                chosen = cupy.concatenate([different[:4], different[::step][: SHOWN], different[-4:]])
                columns = [cupy.asnumpy(x[chosen]) for x in (*inputs, theirs, ours)]
                examples += [[hex(int(v)) for v in row] for row in zip(*columns, strict=True)]
    return {
        "inputs": count, "mismatches": wrong, "seconds": round(time.perf_counter() - started, 2),
        **({"families": families} if len(families) > 1 else {}),
        **({"by_upper_bits": {hex(i): int(bins[i]) for i in np.flatnonzero(bins)}, "examples": examples} if wrong else {}),
    }  # fmt: skip


def sweep(instruction: str, upper: int) -> tuple[str, list[int], bytes]:
    """All 2**23 results of a binade (sign and exponent), as compressed second differences."""
    y = run(instruction, words(1 << 23, upper << 23, np.uint32)).get().astype(np.int64)
    d = np.diff(y, n=2)
    dtype = "int8" if np.abs(d).max() < 128 else "int64" if np.abs(d).max() >= 1 << 31 else "int32"
    return dtype, y[:2].tolist(), lzma.compress(d.astype(dtype).tobytes(), preset=2)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="where the counts go")
    parser.add_argument("--sweeps", type=Path, help="where the results of binades with mismatches go")
    parser.add_argument("--only", nargs="*", help="instructions; all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="start no further instruction after so many")
    given = parser.parse_args(arguments)
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    report: dict[str, Any] = {
        "gpu": properties["name"].decode(), "cuda_driver": cupy.cuda.runtime.driverGetVersion(),
        "cupy": cupy.__version__, "numpy": np.__version__, "nvrtc": list(cupy.cuda.nvrtc.getVersion()), "seed": given.seed,
        "instructions": {},
    }  # fmt: skip
    started, failed = time.perf_counter(), False
    wanted = [x for x in INSTRUCTIONS if (not given.only or x in given.only) and x != "rsqrt.approx.f64"]
    for instruction in wanted:
        if time.perf_counter() - started > given.seconds:
            print(f"{instruction}: no time", flush=True)
            failed = True
            continue
        try:
            found = prove(instruction, given.seed)
        except Exception as error:
            traceback.print_exc(limit=8)
            found = {"error": repr(error)[:500], "mismatches": -1}
        report["instructions"][instruction] = found
        failed |= found["mismatches"] != 0
        print(f"{instruction}: {found.get('inputs')} inputs, {found['mismatches']} differ, {found.get('seconds')} s",
              found.get("families", ""), str(found.get("by_upper_bits", ""))[:300], found.get("examples", [])[:3], flush=True)  # fmt: skip
        if given.json:
            given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if given.sweeps:
        store(given.sweeps, report)
    return int(failed)


def store(path: Path, report: dict[str, Any]) -> None:
    """Store sweeps of what differs, and whole results of the small formats."""
    wanted = list(ALWAYS)
    for instruction, found in report["instructions"].items():
        if INSTRUCTIONS[instruction] == "f32" and operands(instruction) == 1:
            bins = [int(x, 16) for x in found.get("by_upper_bits", {})]
            wanted += [(instruction, x) for x in bins[:12]]
    wanted = list(dict.fromkeys(wanted))[:MOST_SWEEPS]
    arrays: dict[str, Any] = {}
    about: dict[str, Any] = {}
    with ThreadPoolExecutor(16) as pool:
        for (instruction, upper), (dtype, first, data) in zip(wanted, pool.map(lambda x: sweep(*x), wanted), strict=True):
            key = f"{instruction}|{upper:#x}"
            about[key] = {"dtype": dtype, "first": first}
            arrays[key] = np.frombuffer(data, np.uint8)
    for instruction, kind in INSTRUCTIONS.items():
        if kind == "b16":
            arrays[instruction] = run(instruction, words(1 << 16, 0, np.uint16)).get()
    for instruction in ("rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64", "rsqrt.approx.f64"):
        for exponent in (0, 1, 2, 1022, 1023, 1024, 2043, 2044, 2045, 2046, 2047):
            step = 1 if exponent in (1023, 1024) and "ftz" in instruction else 64
            hi = words((1 << 20) // step, 0, np.uint64) * np.uint64(step) | np.uint64(exponent << 20)
            y = run(instruction, hi << np.uint64(32)).get()
            arrays[f"{instruction}|{exponent}"] = y if instruction == "rsqrt.approx.f64" else (y >> np.uint64(32)).astype(np.uint32)
    arrays["about"] = np.array(json.dumps(about))
    np.savez_compressed(path, **arrays)
    print(path, path.stat().st_size, {k: len(v) for k, v in arrays.items() if "|0x" in k})


if __name__ == "__main__":
    sys.exit(main())

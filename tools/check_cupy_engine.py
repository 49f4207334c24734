# SPDX-License-Identifier: MIT
"""The cupy engine on a GPU: adversarial inputs compared with the CPU's engines, and its speed compared with the GPU's
own product.

    python -m tools.check_cupy_engine --outputs 1e8 --json cupy.json

Every family of inputs is drawn for every distinct way of computing that has it, as many elements of D for each way,
until the family has that many elements. Exit status 1 if any bit differs.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from wmma_emu.arithmetic import DotProduct, cupy_engine, dot_product_of, matmul, models_for
from wmma_emu.gemm import KOrder, gemm
from wmma_emu.generators import GENERATORS, draw, generators_of
from wmma_emu.instructions import INSTRUCTIONS, lookup

SIDE = 1024
"""Rows and columns of a product, about: many tiles of A by many of B."""

SPEED = {
    "sm_80 f16 m16n8k16": ("m16n8k16.f32.f16.f16.f32", "sm_80"),
    "sm_70 f16 wmma m16n16k16": ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "sm_70"),
    "sm_90 f16 m16n8k16": ("m16n8k16.f32.f16.f16.f32", "sm_90"),
    "sm_120 f16 m16n8k16": ("m16n8k16.f32.f16.f16.f32", "sm_120"),
    "sm_90 bf16 m16n8k16": ("m16n8k16.f32.bf16.bf16.f32", "sm_90"),
    "sm_90 tf32 m16n8k8": ("m16n8k8.f32.tf32.tf32.f32", "sm_90"),
    "sm_80 f16 sums m16n8k16": ("m16n8k16.f16.f16.f16.f16", "sm_80"),
    "sm_90 f16 sums m16n8k16": ("m16n8k16.f16.f16.f16.f16", "sm_90"),
    "sm_89 e4m3 m16n8k32": ("m16n8k32.f32.e4m3.e4m3.f32", "sm_89"),
    "sm_90 e4m3 m16n8k32": ("m16n8k32.f32.e4m3.e4m3.f32", "sm_90"),
    "sm_90 e4m3 wgmma k32": ("wgmma.m64n8k32.f32.e4m3.e4m3", "sm_90"),
    "sm_120 e4m3 m16n8k32": ("m16n8k32.f32.e4m3.e4m3.f32", "sm_120"),
    "sm_80 s8 m16n8k32": ("m16n8k32.s32.s8.s8.s32", "sm_80"),
    "sm_80 f64 m8n8k4": ("m8n8k4.f64.f64.f64.f64", "sm_80"),
}
"""The timed cases: name, mnemonic, chip. The first two are timed at full size."""


class Way(NamedTuple):
    """One way of computing, with an instruction and a chip that use it."""

    mnemonic: str
    arch: str
    lowering: str
    product: DotProduct


class Share(NamedTuple):
    """One job of a process: some input generators of one way, and the number of elements of D of each."""

    way: Way
    generators: dict[str, int]
    seed: int


def distinct_ways() -> list[Way]:
    """Return one way for every set of parameters, formats, k and modifiers in the tables."""
    found: dict[tuple[object, ...], Way] = {}
    for entry in INSTRUCTIONS.values():
        for arch in entry.archs:
            for model in models_for(entry, arch):
                p = DotProduct.of(model, entry)
                key = (*model.parameters, p.a, p.b, p.c, p.d, p.k, p.satfinite, p.bit_operation, p.rounding)
                found.setdefault(key, Way(entry.mnemonic, arch, model.lowering, p))
    return list(found.values())


def shares_of(ways: list[Way], outputs: int, seed: int) -> list[Share]:
    """Divide each generator's elements equally among the ways that use it; the slowest first."""
    having = Counter(generator for way in ways for generator in generators_of(INSTRUCTIONS[way.mnemonic]))
    shares = []
    for way in ways:
        names = generators_of(INSTRUCTIONS[way.mnemonic])
        wanted = {generator: -(-outputs // having[generator]) for generator in names}
        names = list(wanted)
        shares += [Share(way, {x: wanted[x] for x in names[i::3]}, seed) for i in range(3) if names[i::3]]
    slow = {"fma_chain": 8, "aligned_sum": 1, "integer": 0.1, "popcount": 0.1}
    return sorted(shares, key=lambda x: -slow[x.way.product.model.arithmetic] * sum(x.generators.values()))


def compare(share: Share) -> tuple[Share, dict[str, int], dict[str, int], list[str]]:
    """Compute a share on the GPU and the CPU; how many elements of each family were compared, and how many differ."""
    way, entry = share.way, INSTRUCTIONS[share.way.mnemonic]
    done: dict[str, int] = Counter()
    wrong: dict[str, int] = Counter()
    examples: list[str] = []
    for generator, wanted in share.generators.items():
        seed = share.seed
        while done[generator] < wanted:
            seed += 1
            columns = -(-min(SIDE, wanted // SIDE + 1) // entry.n)
            a, b, c, _ = draw(entry, generator, seed, max(SIDE // entry.m, 1), columns, columns)
            rows = a.reshape(-1, a.shape[-1])
            across = np.ascontiguousarray(b.transpose(1, 0, 2)).reshape(b.shape[1], -1)
            sums = np.tile(c.transpose(1, 0, 2).reshape(entry.m, -1), (len(a), 1))
            found = cupy_engine.matmul(way.product, rows, across, sums)
            # The CPU's engines take turns.
            engine = "native" if seed % 2 else "numpy"
            expected = matmul(way.product, rows, across, sums, engine=engine, threads=1)
            different = np.argwhere(found != expected)
            done[generator] += found.size
            wrong[generator] += len(different)
            for place in map(tuple, different[:2]):
                examples.append(
                    f"{generator}, seed {seed}, {place}: {int(found[place]):#x}, not {int(expected[place]):#x}"
                )
    return share, done, wrong, examples


def campaign(outputs: int, processes: int, seed: int) -> dict[str, Any]:
    """Compare everything; print a table of the families."""
    ways, started = distinct_ways(), time.perf_counter()
    done: dict[str, int] = Counter()
    wrong: dict[str, int] = Counter()
    per_way: dict[str, int] = Counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        for future in as_completed([pool.submit(compare, share) for share in shares_of(ways, outputs, seed)]):
            share, counts, different, examples = future.result()
            done.update(counts)
            wrong.update(different)
            per_way[f"{share.way.arch} {share.way.mnemonic} {share.way.lowering}"] += sum(counts.values())
            for example in examples:
                print(f"{share.way.arch} {share.way.mnemonic} {share.way.lowering}: {example}", flush=True)
    seconds = time.perf_counter() - started
    print(f"{'generator':24}{'elements':>16}{'different':>12}")
    for generator in GENERATORS:
        if done[generator]:
            print(f"{generator:24}{done[generator]:16,}{wrong[generator]:12,}")
    print(f"{'all':24}{sum(done.values()):16,}{sum(wrong.values()):12,}")
    print(f"{len(per_way)} ways of computing, at least {min(per_way.values()):,} elements of each, {seconds:.0f} s")
    return {
        "elements": dict(done), "different": dict(wrong), "elements_of_each_way": dict(per_way), "seconds": seconds,
    }  # fmt: skip


def timed(call: Any, repeats: int = 3) -> list[float]:
    """Return the seconds of each repetition, by the GPU's events, after one that is not counted."""
    import cupy

    call()
    seconds = []
    for _ in range(repeats):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        call()
        end.record()
        end.synchronize()
        seconds.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return seconds


def libraries(size: int) -> Iterator[tuple[str, list[float]]]:
    """Return the GPU's own f16 product at the same size, through the libraries that are installed."""
    import cupy

    a, b = (cupy.random.standard_normal((size, size), dtype=np.float32).astype(np.float16) for _ in range(2))
    yield "cupy.matmul f16 (cuBLAS)", timed(lambda: cupy.matmul(a, b))
    try:
        import torch
    except ImportError:
        return
    x, y = torch.from_dlpack(a), torch.from_dlpack(b)
    # Both libraries use the default stream, on which the events are recorded.
    yield "torch.matmul f16 (cuBLAS)", timed(lambda: torch.matmul(x, y))


def operands(product: DotProduct, size: int) -> tuple[Any, Any, Any]:
    """Return normal numbers, in the product's formats, on the GPU."""
    import cupy

    from wmma_emu.formats import encode

    rng = np.random.default_rng(1)
    sample = rng.standard_normal(1 << 20)
    if product.a.is_float:
        codes = [encode(sample, product.a), encode(sample, product.b)]
    else:
        codes = [rng.integers(0, product.a.mask, 1 << 20, np.uint64, endpoint=True).astype(product.a.storage)] * 2
    a, b = (cupy.asarray(x)[cupy.random.randint(0, 1 << 20, (size, size))] for x in codes)
    return a, b, cupy.zeros((size, size), product.c.storage)


def speed(size: int, rest: int) -> dict[str, Any]:
    """Time what `SPEED` names, the first two at ``size``, the others at ``rest``; and the libraries at ``size``."""
    rows: dict[str, dict[str, Any]] = {}

    def note(name: str, size: int, seconds: list[float]) -> None:
        rows[name] = {"size": size, "seconds": seconds, "macs_per_second": size**3 / median(seconds)}
        print(f"{name:28}{size:7}^3{median(seconds):12.4f} s{size**3 / median(seconds):12.3e} MAC/s", flush=True)

    for name, seconds in options(rest):
        note(name, rest, seconds)
    for index, (name, (mnemonic, arch)) in enumerate(SPEED.items()):
        product = dot_product_of(lookup(mnemonic, arch), arch)
        here = size if index < 2 else rest
        a, b, c = operands(product, here)
        note(name, here, timed(lambda product=product, a=a, b=b, c=c: cupy_engine.matmul(product, a, b, c)))
        del a, b, c
    for name, seconds in libraries(size):
        note(name, size, seconds)
    fastest = max(row["macs_per_second"] for name, row in rows.items() if "cuBLAS" in name)
    for name in list(SPEED)[:2]:
        rows[name]["cublas_is_faster_by"] = fastest / rows[name]["macs_per_second"]
        print(f"{name}: cuBLAS multiplies {rows[name]['cublas_is_faster_by']:.0f} times as fast")
    return rows


OPTIONS: dict[str, dict[str, Any]] = {
    "gemm, no option": {},
    "gemm, alpha, beta, bias": {"alpha": 0.5, "beta": 2},
    "gemm, splits=4": {"k_order": KOrder(tile=64, splits=4)},
    "gemm, promote_every=4": {"k_order": KOrder(tile=64, promote_every=4)},
}
"""Options of `wmma_emu.gemm` with f16 matrices on sm_90, by the name of their line."""


def options(size: int) -> Iterator[tuple[str, list[float]]]:
    """Time `wmma_emu.gemm` of CuPy arrays with each of `OPTIONS`, an addend and a bias where there is a beta."""
    import cupy

    a, b, c = (cupy.random.standard_normal((size, size), dtype=np.float32).astype(np.float16) for _ in range(3))
    for name, given in OPTIONS.items():
        addends = {"C": c, "bias": c[0]} if "beta" in given else {}
        yield name, timed(lambda given={**given, **addends}: gemm(a, b, engine="cupy", out_dtype="f16", **given))


def machine() -> dict[str, str]:
    """Return the machine and the versions."""
    import cupy

    runtime = cupy.cuda.runtime
    properties = runtime.getDeviceProperties(runtime.getDevice())
    return {
        "gpu": properties["name"].decode(), "cuda_driver": str(runtime.driverGetVersion()), "cupy": cupy.__version__,
        "numpy": np.__version__, "cores": str(os.cpu_count()), "date": time.strftime("%Y-%m-%d"),
    }  # fmt: skip


def main() -> int:
    """Read the command line, run both parts, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outputs", type=float, default=1e8, help="elements of D of each family; 0 compares nothing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--size", type=int, default=8192, help="of the matrices that are timed; 0 times nothing")
    parser.add_argument("--rest", type=int, default=4096, help="size of the other timed products")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    report: dict[str, Any] = {"machine": machine()}
    if given.size:
        report["speed"] = speed(given.size, given.rest)
    if given.outputs:
        report["campaign"] = campaign(int(given.outputs), given.processes, given.seed)
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n")
    return int(any(report.get("campaign", {}).get("different", {}).values()))


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""Record how many cycles ldmatrix and stmatrix take at addresses that conflict in banks, and at others.

    python -m tools.record_bank_conflicts --out tests/data/sm90_bank_conflicts.npz

Sixteen warps of one block execute an instruction 256 times each at the same 32 addresses, so that they wait
for the memory; the cycles between two barriers, divided by the number of instructions, are recorded, of several tries
the least. Keys are the forms of the table: float32, a number for each pattern of `patterns`. They are durations: no two
recordings are equal to the last bit.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.cuda_driver import Device, compile_cubins, target_of, versions
from tools.recording_inputs import random_words
from tools.recordings import add_source, recording_parser, save_arrays
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES, MatrixMove

VERSION = 1
WARPS, ROUNDS, UNROLLED = 16, 32, 8
SHARED_BYTES = 48 << 10

_KERNEL = """
extern "C" __global__ void {kernel}(const unsigned* addresses, float* cycles, unsigned count)
{{
    __shared__ __align__(128) char memory[{shared}];
    const unsigned base = (unsigned)__cvta_generic_to_shared(memory);
    const unsigned zero = addresses[32 * count];  // which no compiler knows to be 0: each access counts as another
    unsigned r[{unrolled}][4], sum = 0;
    for (auto& row : r) for (auto& x : row) x = threadIdx.x;
    for (unsigned pattern = 0; pattern < count; ++pattern) {{
        unsigned address = base + addresses[32 * pattern + threadIdx.x % 32];
        float least = 1e30f;
        for (int attempt = 0; attempt < 4; ++attempt) {{
            __syncthreads();
            const long long start = clock64();
            for (int i = 0; i < {rounds}; ++i) {{
#pragma unroll
                for (int j = 0; j < {unrolled}; ++j, address += zero)
                    asm volatile("{ptx}" : {outputs} : {inputs} : "memory");
                for (int j = 0; j < {unrolled}; ++j) sum += r[j][0] * (j + 3);
            }}
            asm volatile("mov.u32 %0, %0;" : "+r"(sum) :: "memory");
            __syncthreads();
            least = fminf(least, float(clock64() - start) / ({warps} * {rounds} * {unrolled}));
        }}
        if (threadIdx.x == 0) cycles[pattern] = least + (sum == 0x12345678 ? 1e-3f : 0);
    }}
}}
"""


def patterns() -> NDArray[np.uint32]:
    """Return addresses of 32 lanes, in many patterns: (patterns, 32), multiples of 16 bytes below `SHARED_BYTES`."""
    return np.array(list(_patterns()), np.uint32)


def _patterns() -> Iterator[NDArray[Any]]:
    lane = np.arange(32)
    for pitch in range(32, 512, 16):
        yield lane % 16 * pitch + lane // 16 * 16
    yield from (lane * 0, lane % 8 * 16, lane % 8 * 128, lane // 8 * 16, lane * 128, lane // 8 * 128 + lane % 8 * 16)
    for name, count, rows in (("any", 300, SHARED_BYTES // 16), ("alike", 100, 64), ("few", 100, 16)):
        drawn = random_words(f"bank conflicts {VERSION}|{name}", 32 * count) % np.uint64(rows)
        yield from drawn.reshape(count, 32).astype(np.int64) * 16
    drawn = random_words(f"bank conflicts {VERSION}|apart", 60 * 4 * 8 * 2).reshape(60, 4, 8, 2)
    for order, far in zip(drawn[..., 0].argsort(axis=-1), drawn[..., 1] % np.uint64(256), strict=True):
        yield (order * 16 + far.astype(np.int64) * 128).reshape(32)  # none within a matrix, some between them


def forms(capability: int) -> list[MatrixMove]:
    """Return the forms of m8n8 that a chip supports."""
    first = {"ldmatrix": 75, "stmatrix": 90}
    rows = (x for x in MATRIX_MOVES.values() if x.shape == "m8n8" and x.family in first)
    return [x for x in rows if first[x.family] <= capability]


def kernel_of(move: MatrixMove) -> str:
    """Return the name of a form's kernel."""
    return move.mnemonic.replace(".", "_")


def source_of(move: MatrixMove) -> str:
    """Write the kernel of a form."""
    names = ", ".join(f"%{i}" for i in range(move.num_registers))
    registers = ", ".join(f'"{{}}"(r[j][{i}])' for i in range(move.num_registers))
    load = move.family == "ldmatrix"
    operands = f"{{{names}}}, [%{move.num_registers}]" if load else f"[%{move.num_registers}], {{{names}}}"
    outputs = registers.replace("{}", "=r" if load else "+r")
    return _KERNEL.format(
        kernel=kernel_of(move), ptx=f"{move.mnemonic} {operands};", outputs=outputs, inputs='"r"(address)',
        shared=SHARED_BYTES, warps=WARPS, rounds=ROUNDS, unrolled=UNROLLED,
    )  # fmt: skip


def measure(move: MatrixMove, addresses: NDArray[np.uint32], run_twice: Any) -> NDArray[np.float32]:
    """Return the cycles of an instruction for each pattern."""
    given = np.append(addresses.reshape(-1), np.uint32(0))
    one, other = run_twice(
        kernel_of(move), [given], (len(addresses),), np.float32, len(addresses), threads=32 * WARPS
    )  # fmt: skip
    least: NDArray[np.float32] = np.minimum(one, other)
    return least


def main(arguments: Sequence[str] | None = None) -> int:
    given = recording_parser(__doc__).parse_args(arguments)
    device = Device()
    entries = forms(device.capability)
    files = {f"{kernel_of(entry)}.cu": "// SPDX-License-Identifier: MIT\n" + source_of(entry) for entry in entries}
    with tempfile.TemporaryDirectory() as folder:
        for cubin in compile_cubins(files, Path(folder), target_of(device.capability)):
            device.load(cubin)
    measured = {entry.mnemonic: measure(entry, patterns(), device.run_twice) for entry in entries}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    save_arrays(given.out, measured, version=VERSION)
    add_source(
        given.out, gpu=device.name, **versions(),
        generator=f"tools/record_bank_conflicts.py, patterns version {VERSION}",
        contents="mnemonic -> cycles of an instruction for each pattern of addresses",
    )  # fmt: skip
    device.close()
    print(f"{given.out}: {len(measured)} forms, {len(patterns())} patterns, {given.out.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""Record what the CUDA C++ kernels of examples/ compute on this GPU.

    python -m tools.record_examples --out tests/data/sm90_examples.npz [--compare OTHER.npz]

Only outputs are stored, under the name of the example; the inputs are drawn again from the seed. The SHA-256 of each
.cu file is stored with them, so that a kernel that changed is recorded again.
"""

import hashlib
import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.cuda_driver import Device, compile_cubins, target_of, versions
from tools.recording_inputs import random_words
from tools.recordings import add_source, compare, inputs_checksum, load_arrays, recording_parser, save_arrays
from wmma_emu.formats import encode, format_of

VERSION = 1

FOLDER = Path(__file__).parents[1] / "examples"

Array = NDArray[Any]


class Example(NamedTuple):
    """One kernel and its launch.

    Parameters
    ----------
    name : str
        Of the kernel, and of the files in examples/.
    inputs : tuple of (format, shape)
        Matrices as the Python example takes them.
    in_memory : function
        The transformation of the inputs before they are copied to the GPU: ``lambda A, B: (A, B.T)`` for a
        column-major B.
    shape : tuple of int
        Of the output in memory.
    scalars, blocks, threads : tuple of int
    from_memory : function
        The output as the Python example returns it.
    since : int
        The first chip that has its instructions, by compute capability.
    """

    name: str
    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    in_memory: Callable[..., tuple[Array, ...]]
    shape: tuple[int, ...]
    scalars: tuple[int, ...]
    blocks: tuple[int, ...]
    threads: tuple[int, ...]
    from_memory: Callable[[Array], Array] = lambda D: D
    since: int = 75

    @property
    def source(self) -> Path:
        return FOLDER / f"{self.name}.cu"

    @property
    def digest(self) -> str:
        """SHA-256 of the source, however its lines end."""
        return hashlib.sha256(self.source.read_text(encoding="utf-8").encode()).hexdigest()

    @property
    def output_dtype(self) -> str:
        return "u4" if self.name == "lop3" else "f4"


def _padded(matrix: Array) -> Array:
    return np.pad(matrix, [(0, -size % 16) for size in matrix.shape])


EXAMPLES = (
    Example("naive_wmma", (("f16", (64, 64)), ("f16", (64, 48))), lambda A, B: (A, B.T), (64, 48), (64, 48, 64),
            (4, 5), (32,)),
    Example("warp_id", (("f16", (128, 128)), ("f16", (128, 128))), lambda A, B: (A, B), (128, 128), (128,),
            (9,), (256,)),
    Example("bounds_checked", (("f16", (40, 70)), ("f16", (70, 50))), lambda A, B: (_padded(A).T, _padded(B).T),
            (64, 48), (48, 64, 80), (2, 3), (64, 2), lambda D: D.T[:40, :50]),
    Example("mma_tf32", (("f32", (8, 16, 8)), ("f32", (8, 8, 8)), ("f32", (8, 16, 8))), lambda A, B, C: (A, B, C),
            (8, 16, 8), (8,), (9,), (32,), since=80),
    Example("tf32_shared", (("f32", (128, 64)), ("f32", (64, 64))), lambda A, B: (A, B), (128, 64), (128, 64, 64),
            (3, 3), (128,), since=80),
    Example("lop3", (("b32", (992,)),) * 3, lambda a, b, c: (a, b, c), (992,), (992,), (4,), (256,)),
)  # fmt: skip


def inputs(example: Example, seed: int) -> tuple[Array, ...]:
    """Draw an example's inputs: random significands over thirteen powers of two, so that a product has bits to cut."""
    drawn = []
    for i, (name, shape) in enumerate(example.inputs):
        words = random_words(f"wmma_emu example {VERSION}|{seed}|{example.name}|{i}", math.prod(shape)).reshape(shape)
        if name == "b32":
            drawn.append(words.astype(np.uint32))
            continue
        fmt = format_of(name)
        whole = 1 << fmt.fraction_bits
        significand = whole + (words & np.uint64(whole - 1)).astype(np.int64)
        exponent = ((words >> np.uint64(40)) % np.uint64(13)).astype(np.int64) - 6 - fmt.fraction_bits
        value = np.ldexp(np.where(words >> np.uint64(63), -significand, significand).astype(np.float64), exponent)
        drawn.append(encode(value, fmt).view(np.float16 if name == "f16" else np.float32))
    return tuple(drawn)


def record(examples: Sequence[Example], run: Callable[..., Array], seed: int) -> dict[str, Array]:
    """Launch kernels; returns their outputs as the Python examples do."""
    results = {}
    for x in examples:
        memory = [np.ascontiguousarray(y) for y in x.in_memory(*inputs(x, seed))]
        d = run(x.name, memory, x.shape, x.output_dtype, *x.scalars, blocks=x.blocks, threads=x.threads)
        results[x.name] = np.ascontiguousarray(x.from_memory(d))
    return results


def checksum(example: Example, seed: int) -> int:
    a, b, *c = inputs(example, seed)
    return inputs_checksum(a, b, *(c or [np.empty(0)]))


def save(path: Path, results: dict[str, Array], seed: int, **metadata: Any) -> None:
    """Write a recording."""
    checksums = {x.name: checksum(x, seed) for x in EXAMPLES}
    digests = {x.source.name: x.digest for x in EXAMPLES}
    save_arrays(path, results, version=VERSION, seed=seed, inputs=checksums, sources=digests, **metadata)


def load(path: Path) -> dict[str, tuple[tuple[Array, ...], Array]]:
    """Read inputs and output of every example.

    Raises
    ------
    ValueError
        If the inputs, or a kernel in CUDA C++, are no longer those of the recording.
    """
    arrays, metadata = load_arrays(path)
    for x in EXAMPLES:
        if metadata.get("sources", {}).get(x.source.name) != x.digest:
            raise ValueError(f"{path}: {x.source.name} is no longer the file that was recorded; record again")
        if metadata["inputs"].get(x.name) != checksum(x, metadata["seed"]):
            raise ValueError(f"{path}: the inputs of {x.name} are no longer those of the recording")
    return {x.name: (inputs(x, metadata["seed"]), arrays[x.name]) for x in EXAMPLES}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = recording_parser(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    device = Device()
    asked = [x for x in EXAMPLES if x.since <= device.capability]
    with tempfile.TemporaryDirectory() as folder:
        files = {x.source.name: x.source.read_text(encoding="utf-8") for x in asked}
        for cubin in compile_cubins(files, Path(folder), target_of(device.capability)):
            device.load(cubin)
    results = record(asked, device.run, given.seed)
    gpu = {"gpu": device.name, **versions()}
    device.close()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    save(given.out, results, given.seed, **gpu)
    add_source(
        given.out, **gpu, contents="outputs of the CUDA C++ kernels of examples/, by name",
        generator=f"tools/record_examples.py, inputs version {VERSION}", seed=given.seed,
    )  # fmt: skip
    print(f"{given.out}: {len(results)} kernels, {given.out.stat().st_size} bytes")
    return compare(results, given.compare)


if __name__ == "__main__":
    sys.exit(main())

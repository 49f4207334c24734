# SPDX-License-Identifier: MIT
"""Recording what PTX kernels leave in memory: the same text runs on a GPU and on the emulator, and is compared.

A recording has, for every case, a digest of all results and a few of them; inputs are drawn again.
"""

import os
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.cuda_driver import Device, compile_cubins, target_of, versions
from tools.recordings import add_source, compare, digest, load_arrays, recording_parser, save_arrays
from wmma_emu import ptx

Array = NDArray[Any]

HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"

NAME = "KERNEL"
"""The placeholder of the kernel's name in PTX source."""

Measure = Callable[[Sequence["TextCase"]], tuple[dict[str, str], list[Array]]]
"""A function that runs cases, and returns the GPU's description and the results of each."""

_SHOWN = 3
_SAMPLED = 32


@dataclass(frozen=True)
class TextCase:
    """A kernel, whose parameters are pointers to the inputs and to the results.

    Attributes
    ----------
    rows : tuple of str
        What is recorded; each has its own row of results.
    text : str
        The kernel in PTX.
    inputs : tuple of arrays
    count : int
        Results of a row.
    dtype : str
    blocks, threads : int
    """

    rows: tuple[str, ...]
    text: str
    inputs: tuple[Array, ...]
    count: int
    dtype: str
    blocks: int
    threads: int

    def named(self, name: str) -> str:
        """Return the PTX of the kernel under a name."""
        return self.text.replace(NAME, name)


def emulated(case: TextCase) -> Array:
    """Run a kernel on the emulator; anything that it finds wrong is an error."""
    out = np.zeros((len(case.rows), case.count), case.dtype)
    kernel = ptx.Module(HEAD + case.named("k"), arch="sm_90a", findings="raise")["k"]
    kernel[case.blocks, case.threads](*(x.copy() for x in case.inputs), out)
    return out


def results_of(case: TextCase) -> dict[str, Array]:
    """Run a kernel on the emulator; results by row."""
    return dict(zip(case.rows, emulated(case), strict=True))


def samples(results: Array) -> Array:
    """Choose the results of a row that are stored."""
    return results[np.linspace(0, len(results) - 1, _SAMPLED).astype(np.intp)]


def checksum(cases: Sequence[TextCase]) -> int:
    """Return a checksum of all inputs and sources, so that a change is detected."""
    total = 0
    for case in cases:
        for part in (case.text.encode(), *(x.tobytes() for x in case.inputs)):
            total = zlib.crc32(part, total)
    return total


def load(path: Path, cases: Sequence[TextCase]) -> dict[str, tuple[int, bytes]]:
    """Read the digest and the samples of every row.

    Raises
    ------
    ValueError
        If the recording is not of these cases.
    """
    arrays, metadata = load_arrays(path)
    if metadata["checksum"] != checksum(cases):
        raise ValueError(f"{path}: the kernels or the inputs are no longer those of the recording; record again")
    names = [(row, np.dtype(case.dtype).itemsize) for case in cases for row in case.rows]
    found: dict[str, tuple[int, bytes]] = {}
    stored: dict[tuple[int, int], bytes] = {}
    data, start = arrays["samples"].tobytes(), 0
    for (name, size), number in zip(names, arrays["digests"].tolist(), strict=True):
        if (number, size) not in stored:
            stored[number, size] = data[start : start + size * _SAMPLED]
            start += size * _SAMPLED
        found[name] = number, stored[number, size]
    if start != len(data):
        raise ValueError(f"{path}: {len(data) - start} bytes of samples belong to no row")
    return found


def differing(case: TextCase, theirs: Array, ours: dict[str, Array]) -> Iterator[tuple[str, str]]:
    """Name the rows that differ, and show some results."""
    for row, one in zip(case.rows, theirs, strict=True):
        other = ours.get(row, one)
        found = np.flatnonzero(one != other)
        if found.size:
            shown = [f"[{i}] GPU {one[i]:#x}, emulator {other[i]:#x}" for i in found[:: -(-found.size // _SHOWN)]]
            yield row, f"{row}: {found.size} of {case.count} differ: {'; '.join(shown)}"


def record(
    document: str | None, name: str, cases: Sequence[TextCase], contents: str, arguments: Sequence[str] | None = None,
    emulate: Callable[[TextCase], dict[str, Array]] = results_of, measure: Measure | None = None,
) -> int:  # fmt: skip
    """Run the command line of a recording tool; cases that ``emulate`` omits are not compared."""
    parser = recording_parser(document)
    parser.add_argument("--differing", type=Path, help="npz file for all results of what differs from the emulator")
    given = parser.parse_args(arguments)
    started = time.monotonic()
    about, results = (measure or on_gpu)(cases)
    digests: list[np.uint64] = []
    stored: list[Array] = []
    known: set[tuple[int, int]] = set()
    for theirs in results:
        for entry in theirs:
            number = digest(entry)
            digests.append(number)
            key = int(number), entry.itemsize
            if key not in known:
                known.add(key)
                stored.append(np.frombuffer(samples(entry).tobytes(), np.uint8))
    arrays = {"digests": np.array(digests, np.uint64), "samples": np.concatenate(stored)}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    save_arrays(given.out, arrays, checksum=checksum(cases), **about)
    add_source(given.out, **about, contents=contents, generator=f"tools/{name}.py, checksum {checksum(cases):08x}")
    wrong: dict[str, Array] = {}
    for case, theirs in zip(cases, results, strict=True):
        for entry, text in differing(case, theirs, emulate(case)):
            wrong[entry] = theirs[case.rows.index(entry)]
            print(text, flush=True)
    if given.differing and wrong:
        np.savez_compressed(given.differing, **wrong)
    print(f"{given.out}: {len(digests)} rows, {len(wrong)} differ, {time.monotonic() - started:.1f} s")
    return compare(arrays, given.compare) or int(bool(wrong))


def on_gpu(cases: Sequence[TextCase]) -> tuple[dict[str, str], list[Array]]:
    """Compile the kernels and run them; say on what."""
    device = Device()
    files = 2 * (os.cpu_count() or 1)
    texts = {
        f"cases{i}.ptx": HEAD + "".join(x.named(f"k{n}") for n, x in enumerate(cases) if n % files == i)
        for i in range(min(files, len(cases)))
    }
    with tempfile.TemporaryDirectory() as folder:
        for cubin in compile_cubins(texts, Path(folder), target_of(device.capability)):
            device.load(cubin)
    results = [
        device.run(f"k{n}", x.inputs, (len(x.rows), x.count), x.dtype, blocks=x.blocks, threads=x.threads)
        for n, x in enumerate(cases)
    ]
    found = versions()
    about = {"gpu": device.name, "driver": found["driver"], "ptxas": found.get("ptxas", "unknown")}
    device.close()
    return about, results

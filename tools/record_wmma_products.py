# SPDX-License-Identifier: MIT
"""Record the products of mma.h on this GPU, memory in, memory out: every overload of `mma_sync` and `bmma_sync`.

    python -m tools.record_wmma_products --out tests/data/sm90_wmma_products.npz [--compare OTHER.npz]

Only D is stored, as matrices; A, B and C are drawn again from the seed, and `tools.wmma_products` gives their layout in
memory. Keys:

- ``product|MNEMONIC``: D patterns (tiles, rows, columns), the tiles of all input generators one after another;
- ``edited|MNEMONIC``: D of the first tile, then for each of `tools.wmma_probes.edits` the bits that differ from it;
- ``satfinite|MNEMONIC``: D registers of f16 products with PTX 6.3's ``.satfinite``;
- ``float_to_tf32``: the results of `wmma::__float_to_tf32` for `tools.wmma_probes.tf32_patterns`;
- ``alignment``: for each fragment, what a load at each of `tools.wmma_alignment.OFFSETS` bytes did.
"""

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tools import nvrtc, wmma_alignment, wmma_probes
from tools.cuda_driver import FILLS, Device, compile_cubins, target_of, versions
from tools.recording_inputs import VERSION
from tools.recordings import add_source, compare, inputs_checksum, load_arrays, recording_parser, save_arrays
from tools.wmma_products import HEAD, TILES, Bits, WmmaOverload, products
from wmma_emu.instructions import arch_of

FILES = 8
"""Source files that the kernels are spread over, to be compiled in parallel."""


class Gpu(Protocol):
    """The part of `Device` that a recording uses; the tests pass an emulated device."""

    def run(self, *arguments: Any, **size: Any) -> NDArray[Any]: ...
    def run_twice(self, *arguments: Any, **size: Any) -> tuple[NDArray[Any], NDArray[Any]]: ...


class Recorded(NamedTuple):
    """A product with its inputs and what the GPU returned, as patterns (tiles, rows, columns)."""

    product: WmmaOverload
    a: Bits
    b: Bits
    c: Bits
    d: Bits


def edited(asked: Sequence[WmmaOverload]) -> list[WmmaOverload]:
    """Choose the products whose fragments are edited."""
    return [x for x in asked if x.mnemonic in wmma_probes.EDITED]


def has_tf32(asked: Sequence[WmmaOverload]) -> bool:
    """Return whether the chip multiplies tf32; mma.h rounds to it there only."""
    return any(x.row.a == "tf32" for x in asked)


def sources(asked: Sequence[WmmaOverload]) -> dict[str, str]:
    """Return CUDA C++ and PTX of all kernels except those of `tools.wmma_alignment`."""
    files = {f"products{i}.cu": HEAD + "".join(x.source for x in asked[i::FILES]) for i in range(FILES)}
    rounding = wmma_probes.TF32_SOURCE if has_tf32(asked) else ""
    probes = "".join(map(wmma_probes.edited_source, edited(asked)))
    files["probes.cu"] = HEAD + rounding + wmma_probes.EDIT_SOURCE + probes
    files["satfinite.ptx"] = wmma_probes.saturated_source()
    return files


def record(asked: Sequence[WmmaOverload], seed: int, gpu: Gpu) -> dict[str, NDArray[Any]]:
    """Run everything but the loads off the alignment."""
    arrays = {f"product|{x.mnemonic}": x.record(gpu.run_twice, seed, FILLS) for x in asked}
    arrays |= {f"edited|{x.mnemonic}": wmma_probes.record_edits(x, gpu.run_twice, seed) for x in edited(asked)}
    arrays |= {f"satfinite|{x}": wmma_probes.record_saturated(x, gpu.run, seed, TILES) for x in wmma_probes.SATURATED}
    if has_tf32(asked):
        arrays["float_to_tf32"] = wmma_probes.record_tf32(gpu.run)
    return arrays


def checksum(product: WmmaOverload, seed: int) -> int:
    """Return a checksum of a product's inputs in memory."""
    a, b, c = product.images(seed)
    return inputs_checksum(a, b, c)


def save(
    path: Path, arrays: dict[str, NDArray[Any]], asked: Sequence[WmmaOverload], seed: int, **metadata: Any
) -> None:
    """Write a recording."""
    inputs = {x.mnemonic: checksum(x, seed) for x in asked}
    inputs["float_to_tf32"] = inputs_checksum(*[wmma_probes.tf32_patterns()] * 3)
    save_arrays(path, arrays, version=VERSION, seed=seed, tiles=TILES, inputs=inputs, **metadata)


def read_products(path: Path) -> Iterator[Recorded]:
    """Read the products of a recording.

    Raises
    ------
    ValueError
        If the inputs, or their order in memory, differ from the recording's.
    """
    arrays, metadata = load_arrays(path)
    if (metadata["version"], metadata["tiles"]) != (VERSION, TILES):
        raise ValueError(f"{path} was recorded with version {metadata['version']} of the inputs, this is {VERSION}")
    for product in products(metadata["arch"]):
        if checksum(product, metadata["seed"]) != metadata["inputs"][product.mnemonic]:
            raise ValueError(f"{path}: the inputs of {product.mnemonic} are no longer those of the recording")
        a, b, c = product.inputs(metadata["seed"])
        yield Recorded(product, a, b, c, arrays[f"product|{product.mnemonic}"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = recording_parser(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    nvrtc.add_option(parser)
    given = parser.parse_args(arguments)
    compiling, asking = nvrtc.chosen(given.compiler, compile_cubins, versions)
    started = time.monotonic()
    device = Device()
    capability = device.capability
    arch = arch_of(f"sm_{capability}")
    asked = products(arch.name)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        files = sources(asked) | {"alignment.cu": wmma_alignment.source(capability)}
        *cubins, alignment = compiling(files, Path(folder), target_of(capability))
        print(f"{len(asked)} products, compiled after {time.monotonic() - started:.1f} s", flush=True)
        for cubin in cubins:
            device.load(cubin)
        arrays = record(asked, given.seed, device)
        metadata = {"arch": arch.name, "gpu": device.name, **asking()}
        device.close()
        save(given.out, arrays, asked, given.seed, **metadata)  # refused loads may take more with them
        print(f"recorded after {time.monotonic() - started:.1f} s", flush=True)
        loads = Path(folder, "loads.cubin")
        loads.write_bytes(alignment)
        answers = wmma_alignment.record(capability, wmma_alignment.start_process(loads))
    arrays["alignment"] = np.array(list(answers.values()))
    save(given.out, arrays, asked, given.seed, **metadata, fragments=list(answers))
    del metadata["arch"]
    add_source(
        given.out, **metadata, contents="D of every product of mma.h, and more; see tools/record_wmma_products.py",
        generator=f"tools/record_wmma_products.py, inputs version {VERSION}", seed=given.seed, tiles=TILES,
    )  # fmt: skip
    print(wmma_alignment.summary(answers))
    print(f"{given.out}: {len(arrays)} arrays, {given.out.stat().st_size} bytes, {time.monotonic() - started:.1f} s")
    return compare(arrays, given.compare)


if __name__ == "__main__":
    sys.exit(main())

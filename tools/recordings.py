# SPDX-License-Identifier: MIT
"""Files of recordings: arrays with equal ones stored once, where they come from, the readers, and the command line."""

import argparse
import datetime
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.recording_inputs import VERSION, generators_of, regenerate_inputs
from wmma_emu.instructions import INSTRUCTIONS, Instruction, lookup

Array = NDArray[Any]


@dataclass(frozen=True)
class RecordedRegisters:
    """One input generator of one instruction: registers in and out, (registers, tiles, 32), as `execute` takes them.

    ``keywords`` are passed to `execute`: metadata and selector of a sparse instruction.
    """

    mnemonic: str
    generator: str
    a: Array
    b: Array
    c: Array
    d: Array
    keywords: dict[str, Any] = field(default_factory=dict)

    def first_tiles(self, count: int | None) -> "RecordedRegisters":
        """Return the same case with fewer tiles."""
        kept = slice(count)
        keywords = {key: x[kept] if key == "metadata" else x for key, x in self.keywords.items()}
        b = self.b[kept] if INSTRUCTIONS[self.mnemonic].is_warpgroup else self.b[:, kept]
        return RecordedRegisters(
            self.mnemonic, self.generator, self.a[:, kept], b, self.c[:, kept], self.d[:, kept], keywords
        )


def digest(array: Array) -> np.uint64:
    """Return eight bytes of the BLAKE2b hash of an array's bits, in memory order, little-endian."""
    plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return np.frombuffer(hashlib.blake2b(plain.tobytes(), digest_size=8).digest(), "<u8")[0]


def save_arrays(path: str | Path, arrays: dict[str, Array], **metadata: Any) -> None:
    """Write arrays to an npz file, equal ones once, with metadata as JSON in the array ``metadata``."""
    stored: dict[str, Array] = {}
    first: dict[tuple[str, tuple[int, ...], bytes], str] = {}
    same: list[tuple[str, str]] = []
    for key, array in arrays.items():
        identity = (array.dtype.str, array.shape, hashlib.sha256(np.ascontiguousarray(array).tobytes()).digest())
        if identity in first:
            same.append((key, first[identity]))
        else:
            first[identity] = key
            stored[key] = array
    text = np.array(json.dumps(metadata, sort_keys=True))
    pairs = np.array(same).reshape(-1, 2)
    np.savez_compressed(path, metadata=text, same=pairs, **stored)


def load_arrays(path: str | Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Read what `save_arrays` wrote; of any other npz file all arrays, and no metadata."""
    with np.load(path) as file:
        arrays = {key: file[key] for key in file.files}
    metadata = json.loads(str(arrays.pop("metadata"))) if "metadata" in arrays else {}
    for key, stored in arrays.pop("same", np.empty((0, 2), np.str_)).tolist():
        arrays[key] = arrays[stored]
    return arrays, metadata


def add_source(path: str | Path, **entry: Any) -> None:
    """Record the origin of a file in ``sources.json`` in its folder, with its SHA-256 and today's date."""
    path = Path(path)
    index = path.parent / "sources.json"
    sources = json.loads(index.read_text()) if index.exists() else {}
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    sources[path.name] = {"date": datetime.date.today().isoformat(), "sha256": digest, **entry}
    index.write_text(json.dumps(sources, indent=2, sort_keys=True) + "\n")


def differences(one: dict[str, Array], other: dict[str, Array]) -> list[str]:
    """Return keys that only one recording has, or whose arrays differ in any bit."""

    def bits(array: Array) -> tuple[str, tuple[int, ...], bytes]:
        return array.dtype.str, array.shape, array.tobytes()

    both = sorted(one | other)
    return [key for key in both if key not in one or key not in other or bits(one[key]) != bits(other[key])]


def recording_parser(description: str | None) -> argparse.ArgumentParser:
    """Parse the command line of a recording script: the file to write, and a file to compare with."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out", type=Path, required=True, help="npz file to write; sources.json in its folder is updated"
    )
    parser.add_argument("--compare", type=Path, help="exit with status 1 unless this file holds the same")
    return parser


def compare(
    recorded: dict[str, Array], path: Path | None, load: Callable[[Path], dict[str, Array]] | None = None
) -> int:
    """Return the exit status of a recording script: 1 if a file to compare with was given and differs."""
    if path is None:
        return 0
    different = differences(recorded, load(path) if load else load_arrays(path)[0])
    print(f"{len(different)} arrays differ from {path}: {', '.join(different[:5])}")
    return 1 if different else 0


def inputs_checksum(a: Array, b: Array, c: Array) -> int:
    """Return Checksum of an instruction's inputs, so that a generator that has changed is noticed."""
    return zlib.crc32(b"".join(x.astype(x.dtype.newbyteorder("<")).tobytes() for x in (a, b, c)))


def save_registers(
    path: str | Path, results: dict[str, Array], generators: tuple[str, ...], seed: int, tiles: int, **metadata: Any
) -> None:
    """Write the D registers of instructions, the tiles of their input generators one after another."""
    checksums = {x: inputs_checksum(*all_inputs(x, generators, seed, tiles)) for x in results}
    save_arrays(
        path, {f"{mnemonic}|D": d for mnemonic, d in results.items()}, version=VERSION, seed=seed, tiles=tiles,
        families=generators, inputs=checksums, **metadata,
    )  # fmt: skip


def all_inputs(mnemonic: str, generators: tuple[str, ...], seed: int, tiles: int) -> tuple[Array, ...]:
    """Draw A, B and C of all input generators that an instruction has of these, side by side."""
    row = INSTRUCTIONS[mnemonic]
    drawn = [regenerate_inputs(row, x, seed, tiles) for x in generators_of(row) if x in generators]
    return tuple(np.concatenate(parts, axis=1) for parts in zip(*drawn, strict=True))


def read_registers(path: str | Path) -> Iterator[RecordedRegisters]:
    """Read register recordings: those of `tools.record_registers`, or ones that hold their inputs.

    The latter have keys ``instruction|generator|A`` (B, C, D; E is metadata), names without their prefix, sparse ones
    followed by ``#sel0``, and arrays [tile, register, lane]; of `wgmma` [tile, warp, register, lane], and B as the
    bytes of rows [n][k].

    Raises
    ------
    ValueError
        If the generator of inputs is not the one that the recording was made with.
    """
    arrays, metadata = load_arrays(path)
    if not metadata:
        yield from _with_inputs(arrays)
        return
    if metadata["version"] != VERSION:
        raise ValueError(f"{path} was recorded with version {metadata['version']} of the inputs, this is {VERSION}")
    seed, tiles, generators = metadata["seed"], metadata["tiles"], tuple(metadata["families"])
    for mnemonic, checksum in metadata["inputs"].items():
        a, b, c = all_inputs(mnemonic, generators, seed, tiles)
        if inputs_checksum(a, b, c) != checksum:
            raise ValueError(f"{path}: the inputs of {mnemonic} are no longer those of the recording")
        d = arrays[f"{mnemonic}|D"]
        names = [x for x in generators_of(INSTRUCTIONS[mnemonic]) if x in generators]
        for i, generator in enumerate(names):
            part = np.s_[:, i * tiles : (i + 1) * tiles]
            yield RecordedRegisters(mnemonic, generator, a[part], b[part], c[part], d[part])


def _with_inputs(arrays: dict[str, Array]) -> Iterator[RecordedRegisters]:
    for key in arrays:
        name, _, rest = key.partition("|")
        if not rest.endswith("|D"):
            continue
        generator = rest.removesuffix("|D")
        mnemonic, _, selector = name.partition("#sel")
        entry = lookup(f"mma.{mnemonic}" if mnemonic.startswith("sp.") else mnemonic)
        parts = {x: arrays[f"{name}|{generator}|{x}"] for x in ("ABCDE" if entry.is_sparse else "ABCD")}
        registers_first = {x: np.moveaxis(array, -2, 0) for x, array in parts.items() if x in "ACD"}
        b = _columns(entry, parts["B"]) if entry.is_warpgroup else np.moveaxis(parts["B"], 1, 0)
        keywords = {"metadata": parts["E"], "selector": int(selector)} if entry.is_sparse else {}
        a, c, d = (registers_first[x] for x in "ACD")
        yield RecordedRegisters(entry.mnemonic, generator, a, b, c, d, keywords)


def _columns(entry: Instruction, memory: Array) -> Array:
    """Return B of `wgmma`, (tiles, k, n), from the bytes of its columns."""
    storage = entry.format("b").storage
    columns = np.ascontiguousarray(memory).view(storage).reshape(len(memory), entry.n, entry.k)
    return columns.swapaxes(1, 2)

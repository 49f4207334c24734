# SPDX-License-Identifier: MIT
"""Launches of an emulated program as bundles, which `tools.launch_bundles` records on a GPU and compares."""

import gzip
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.launch_bundles import digest
from wmma_emu.ptx import Struct
from wmma_emu.ptx.launch.arguments import Argument
from wmma_emu.ptx.launch.memory_of_arrays import Raw, memory_of
from wmma_emu.ptx.launch.options import Launching

__all__ = ["BundleWriter", "Memory", "memory_of_launch"]

Bytes = NDArray[np.uint8]

_SCRATCH = "the_global_scratch"

_VERSION = (9, 0)
"""The newest version of PTX that the driver of CUDA 13.0 reads. Triton writes the newest that its ptxas reads."""


class Memory(NamedTuple):
    """The memory of a launch: its pieces by their names, with their addresses, and its arguments.

    Arguments are as `tools.launch_bundles` reads them.
    """

    arguments: list[dict[str, Any]]
    arrays: dict[str, Bytes]
    addresses: dict[str, int]


def memory_of_launch(values: Sequence[Argument], pointed: Mapping[str, NDArray[Any]] | None = None) -> Memory:
    """Divide the memory that arguments reach into pieces that do not overlap, and make pointers to them.

    A piece begins as many bytes before the memory as it needs to begin at a multiple of 16, as on the host. ``pointed``
    is memory that only pointers in data reach.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from wmma_emu.ptx import raw
    >>> x = np.zeros(8, np.float32)
    >>> two = [Argument(SimpleNamespace(), name, raw(x[i:])) for i, name in enumerate(["all", "rest"])]
    >>> memory = memory_of_launch(two)
    >>> memory.arguments[1]["pointers"], list(memory.arrays)
    ([[0, 'all', 4]], ['all'])
    """
    found: list[tuple[int, int, str, Bytes]] = []
    for value in values:
        for array in value.arrays:
            if array.nbytes:
                found.append((array.ctypes.data, array.nbytes, _name_of(value.label), array))
    found += [(x.ctypes.data, x.nbytes, name, x) for name, x in (pointed or {}).items()]
    pieces = _pieces(found)
    names = [x.name for x in pieces]
    for i, piece in enumerate(pieces):
        if names.count(piece.name) > 1:
            pieces[i] = piece._replace(name=f"{piece.name}_{i}")

    def place(value: Any) -> tuple[str, int] | None:
        array, offset = memory_of(value)
        if not array.nbytes:
            return None
        piece = next(x for x in pieces if x.start <= array.ctypes.data < x.start + len(x.content))
        return piece.name, int(array.ctypes.data) - piece.start + offset

    described = [_argument(x.value, place) for x in values]
    return Memory(described, {x.name: x.content for x in pieces}, {x.name: x.start for x in pieces})


def _name_of(label: str) -> str:
    """Return a short name for a label of a launch, "argument 0 (x) of k" or "the global scratch of k"."""
    named = re.search(r"\((\w+)\)", label)
    return named[1] if named else label.split(" of ")[0].replace(" ", "_")


class _Piece(NamedTuple):
    start: int
    name: str
    content: Bytes


def _pieces(found: list[tuple[int, int, str, Any]]) -> list[_Piece]:
    groups: list[list[tuple[int, int, str, Any]]] = []
    end = 0
    for one in sorted(found, key=lambda x: (x[0], -x[1])):
        if groups and one[0] < end:
            groups[-1].append(one)
        else:
            groups.append([one])
        end = max(end, one[0] + one[1])
    pieces = []
    for group in groups:
        start = group[0][0]
        before = start % 16
        content = np.zeros(before + max(x[0] + x[1] for x in group) - start, np.uint8)
        for place, size, _, array in group:
            flat = np.frombuffer(_view(array), np.uint8)
            content[before + place - start :][:size] = flat
        pieces.append(_Piece(start - before, group[0][2], content))
    return pieces


def _view(array: NDArray[Any]) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _argument(value: Any, place: Callable[[Any], tuple[str, int] | None]) -> dict[str, Any]:
    if isinstance(value, bytes):
        return {"bytes": value.hex(), "pointers": []}
    if isinstance(value, np.ndarray | Raw):
        found = place(value)
        return {"bytes": bytes(8).hex(), "pointers": [] if found is None else [[0, *found]]}
    if not isinstance(value, Struct):
        raise TypeError(f"a bundle cannot hold {value!r}, a texture or a surface")
    pointed: list[Any] = []

    def mark(array: Any) -> int:
        pointed.append(array)
        return int.from_bytes(b"pointer" + bytes([len(pointed)]), "big")

    packed = bytearray(value.pack(mark))
    pointers: list[list[Any]] = []
    for i, array in enumerate(pointed):
        offset = packed.index((b"pointer" + bytes([i + 1]))[::-1])
        packed[offset : offset + 8] = bytes(8)
        found = place(array)
        pointers += [] if found is None else [[offset, *found]]
    return {"bytes": packed.hex(), "pointers": sorted(pointers), "struct": True}


class BundleWriter:
    """Writes a bundle for each launch of a case, once for each PTX text; ``observe`` is the option of a launch.

    Parameters
    ----------
    folder : Path
        The folder of bundles.
    case : str
        The name of the case, which begins the names of its bundles.
    chip : str
        The chip on which the launch is recorded, and which is emulated in the comparison.
    source : mapping
        The entries of ``launch.json`` about the origin.
    every : bool
        Whether launches of PTX that was launched before are written too.
    pointed : mapping, optional
        Arrays by their names that only pointers in data reach.
    """

    def __init__(
        self, folder: Path, case: str, chip: str, source: Mapping[str, str], *, every: bool = False,
        pointed: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:  # fmt: skip
        self._folder, self._case, self._chip, self._source = folder, case, chip, dict(source)
        self._every, self._pointed = every, pointed or {}
        self._seen: set[str] = set()
        self.written: list[Path] = []

    def observe(self, launching: Launching) -> Callable[[object], None] | None:
        """Keep the memory before the launch, and return a function that writes the bundle after it."""
        kernel, launch = launching.launch.kernel, launching.launch
        key = digest(np.frombuffer(f"{kernel.name} {kernel.module.text}".encode(), np.uint8))
        if key in self._seen and not self._every:
            return None
        self._seen.add(key)
        before = memory_of_launch(launching.arguments, self._pointed)

        def finish(_: object) -> None:
            after = memory_of_launch(launching.arguments, self._pointed)
            self._write(launch, before, after.arrays, launching.cooperative)

        return finish

    def _write(self, launch: Any, before: Memory, after: Mapping[str, Bytes], cooperative: bool) -> None:
        kernel = launch.kernel
        text = readable_by_the_driver(kernel.module.text)
        folder = self._folder / f"{self._case}--{len(self.written):02d}--{kernel.name[:60]}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "module.ptx.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        with (folder / "arrays.npz").open("wb") as file:
            np.savez_compressed(file, **before.arrays)  # type: ignore[arg-type]
        said = {
            "kernel": kernel.name, "grid": [*launch.grid], "block": [*launch.block], "shared": launch.shared_bytes,
            "arch": self._chip, "arguments": before.arguments, "cooperative": cooperative,
            "after": {x: digest(y) for x, y in after.items()}, "emulated": kernel.module.arch.name,
            "source": self._source | {"case": self._case},
        }  # fmt: skip
        holds_addresses = self._pointed or _SCRATCH in before.arrays  # tensor maps, if the kernel makes any
        said |= {"addresses": before.addresses} if holds_addresses else {}
        (folder / "launch.json").write_text(json.dumps(said, indent=1) + "\n")
        self.written.append(folder)


def readable_by_the_driver(text: str) -> str:
    """Return PTX with a version that the driver reads, if it has a newer one; it uses no newer feature.

    Examples
    --------
    >>> readable_by_the_driver(".version 9.4 .target sm_90"), readable_by_the_driver(".version 8.7 .target sm_90")
    ('.version 9.0 .target sm_90', '.version 8.7 .target sm_90')
    """
    head, version, rest = re.split(r"(?m)^(\s*\.version\s+\d+\.\d+)", text, maxsplit=1)
    major, minor = map(int, version.split()[-1].split("."))
    return text if (major, minor) <= _VERSION else f"{head}.version {_VERSION[0]}.{_VERSION[1]}{rest}"

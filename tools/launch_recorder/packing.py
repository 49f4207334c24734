# SPDX-License-Identifier: MIT
"""Bundles and recordings, as `tools.launch_bundles` reads them, of the folders that the recorder wrote."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.launch_recorder.one_kernel import kernels_in, only_kernel

__all__ = ["Region", "TextOfKernels", "launches_in", "pack"]

Array = NDArray[Any]

_MODULE = "module.ptx.gz"
_ALIGNMENT = 8


class Region(NamedTuple):
    """An allocation, or a variable of the module, before and after a launch. ``after`` is None if it did not change."""

    name: str
    address: int
    is_variable: bool
    before: Array
    after: Array | None


class TextOfKernels:
    """The PTX of a program, by the names of its kernels."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._text = {name: text for text in texts for name in kernels_in(text)}

    def __getitem__(self, kernel: str) -> str:
        """Return the text of one kernel alone.

        Raises
        ------
        OSError
            If no file has it: the program was compiled from something else.
        """
        if kernel not in self._text:
            raise OSError(f"no PTX file has the kernel {kernel}; the files have {len(self._text)} others")
        return only_kernel(self._text[kernel], kernel)


def launches_in(raw: Path) -> list[Path]:
    """Return the folders of launches, at any depth, in the order in which a program did them."""
    return sorted(x.parent for x in raw.rglob("launch.json"))


def pack(launch: Path, bundle: Path, recording: Path, text: str, arch: str, source: dict[str, Any]) -> None:
    """Write the bundle of a launch, and its arrays as the GPU left them.

    Parameters
    ----------
    launch : Path
        A folder that the recorder wrote.
    bundle : Path
        The folder that is made.
    recording : Path
        The name of the recording, to which the name of the module and an ending are added.
    text : str
        PTX with the kernel.
    arch : str
        What the emulator runs it for.
    source : dict
        Where the program is from.
    """
    said = json.loads((launch / "launch.json").read_text())
    regions = list(_regions(launch, said["regions"], text))
    used = list(_used(regions, said["arguments"]))
    bundle.mkdir(parents=True, exist_ok=True)
    written: dict[str, Any] = {x: said[x] for x in ("kernel", "grid", "block", "cluster", "shared", "arguments")}
    written |= {"arch": arch, "variables": {x.name: x.name for x in used if x.is_variable}, "source": source}
    if any(_reached(y, regions) for x in used for y in (x.before, x.after) if y is not None):
        written["addresses"] = {x.name: x.address for x in used if not x.is_variable}
    (bundle / "launch.json").write_text(json.dumps(written, indent=1) + "\n")
    (bundle / _MODULE).write_bytes(gzip.compress(text.encode(), mtime=0))
    np.savez_compressed(bundle / "arrays.npz", **{x.name: x.before for x in used})  # type: ignore[arg-type]
    recording.parent.mkdir(parents=True, exist_ok=True)
    status = said["error"] or "recorded"
    if said["unsteady"]:
        status = f"not the same twice: {', '.join(said['unsteady'])}"
    target = recording.with_name(f"{recording.name}--{_MODULE}.txt")
    target.write_text(status + "\n")
    if not said["error"]:
        changed: dict[str, Any] = {x.name: x.after for x in used if x.after is not None}
        np.savez_compressed(target.with_suffix(".npz"), **changed)


def _regions(launch: Path, described: list[dict[str, Any]], text: str) -> Iterator[Region]:
    """Yield allocations, and those variables that the text of the kernel uses, not only declares."""
    for number, region in enumerate(described):
        if region["variable"] and text.count(region["name"]) < 2:
            continue
        before, after = (launch / f"{number}.{x}" for x in ("before", "after"))
        arrays = np.fromfile(before, np.uint8), np.fromfile(after, np.uint8) if region["changed"] else None
        yield Region(region["name"], region["address"], region["variable"], *arrays)


def _used(regions: list[Region], arguments: list[dict[str, Any]]) -> Iterator[Region]:
    """Yield what a kernel can reach from its parameters and variables, and what changed."""
    by_name = {x.name: x for x in regions}
    waiting = [name for argument in arguments for _, name, _ in argument["pointers"]]
    waiting += [x.name for x in regions if x.is_variable or x.after is not None]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _reached(by_name[name].before, regions)
    yield from (x for x in regions if x.name in reached)


def _reached(content: Array, regions: list[Region]) -> list[str]:
    """Return the allocations whose addresses are written in an array."""
    words = content[: content.size // _ALIGNMENT * _ALIGNMENT].view(np.uint64)
    allocations = [x for x in regions if not x.is_variable]
    return [x.name for x in allocations if ((words >= x.address) & (words < x.address + x.before.size)).any()]

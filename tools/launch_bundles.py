# SPDX-License-Identifier: MIT
"""Launches as folders, so that a kernel compiled on one machine can be recorded on another, and compared later.

    python -m tools.launch_bundles record BUNDLES OUT       # on a machine with a GPU: the driver compiles and launches
    python -m tools.launch_bundles compare BUNDLES OUT      # anywhere: compare the emulator with the recording
    python -m tools.launch_bundles emulate BUNDLES          # anywhere: the emulator alone

A bundle is a folder with ``launch.json``, ``arrays.npz`` and one or more modules, ``*.ptx`` or ``*.cubin``. An argument
is the bytes of its parameter, and the places in it where the address of an array is written; ``"struct": true`` says
that it is a structure, as whatever has an address and more than 8 bytes is anyway::

    {"kernel": "saxpy", "grid": [4, 1, 1], "block": [128, 1, 1], "shared": 0, "arch": "sm_90",
     "arguments": [{"bytes": "0000000000000000", "pointers": [[0, "x", 0]]}, {"bytes": "00020000", "pointers": []}],
     "source": {"repository": "...", "revision": "...", "file": "...", "licence": "..."}}

An argument with ``"object": ["texture", "x", {"filter": "linear"}]`` is a texture or a surface of an array.
``"variables"`` says which arrays ``__device__`` and ``__constant__`` variables of the text begin with, by their names.

``"addresses"`` says where the arrays were on the GPU, if they hold addresses of each other.

A module may be compressed, ``*.ptx.gz``. ``"after"`` has the hashes of the arrays after the launch, as the program that
made the bundle saw them on the chip ``"emulated"``; ``emulate`` compares them.
"""

import argparse
import hashlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.bundle_addresses import translate
from tools.bundle_launcher import (
    bits_of,
    bundles_in,
    image_of,
    made_object,
    modules_of,
    name_of,
    read_bundle,
    record,
)  # fmt: skip
from tools.ordered_atomics import ordered_atomics
from wmma_emu.errors import WmmaEmuError
from wmma_emu.ptx import Module, Report, Struct, raw
from wmma_emu.ptx.program.special import reads_grid_workspace

Array = NDArray[Any]

_SHOWN = 3
_ALIGNMENT = 256


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["record", "compare", "emulate"])
    parser.add_argument("bundles", type=Path, help="a folder of bundles, at any depth, or one of them")
    parser.add_argument("out", type=Path, nargs="?", help="where recordings are written, or read")
    parser.add_argument("--only", default="", help="bundles whose path holds this")
    parser.add_argument("--workers", type=int, default=8, help="processes that record at a time (default: %(default)s)")
    given = parser.parse_args(argv)
    found = [x for x in bundles_in(given.bundles) if given.only in str(x)]
    if not found:
        parser.error(f"{given.bundles} holds no bundle, a folder with a launch.json, whose path has {given.only!r}")
    if given.action == "emulate":
        return max([_emulate_one(x) for x in found])
    if given.out is None:
        parser.error(f"{given.action} needs OUT, the folder of recordings")
    if given.action == "record":
        return record(given.bundles, found, given.out, given.workers)
    return max([_compare_one(x, given.out / name_of(given.bundles, x)) for x in found])


def digest(array: Array) -> str:
    """Return the hash of the bits of an array.

    Examples
    --------
    >>> digest(np.zeros(2, np.uint8))
    '96a296d224f285c67bee93c30f8a3091'
    """
    return hashlib.sha256(bits_of(array)).hexdigest()[:32]


def _emulated(bundle: Path, chip: str = "arch") -> tuple[dict[str, Array], str, list[str]]:
    """Run a bundle on the emulator: the arrays as the kernel leaves them, what the report says, and its findings."""
    arrays, report = emulated_bundle(bundle, chip)
    return arrays, f"{report.instructions:,} instructions", [str(x) for x in report.findings]


def emulated_bundle(bundle: Path, chip: str = "arch", **options: Any) -> tuple[dict[str, Array], Report]:
    """Run a bundle on the emulator with options of a launch: the arrays as the kernel leaves them, and the report.

    ``chip`` is the entry that names the chip: ``"arch"``, of the recording, or ``"emulated"``, of the program.
    """
    launch, arrays = read_bundle(bundle)
    arch = launch.get(chip, launch["arch"])
    return emulated(launch, arrays, module_of(text_of(bundle), arch, name=bundle.name, **options))


def text_of(bundle: Path) -> str:
    """Return the PTX of a bundle."""
    return image_of(next(x for x in modules_of(bundle) if ".ptx" in x.suffixes)).decode()


def module_of(text: str, arch: str, **options: Any) -> Module:
    """Load the text of a bundle; what is found in a launch is reported, and a launch may take any time."""
    return Module(text, arch, **{"findings": "report", "max_seconds": None} | options)


def emulated(launch: dict[str, Any], arrays: dict[str, Array], module: Module) -> tuple[dict[str, Array], Report]:
    """Launch what a `launch.json` describes: copies of the arrays as the kernel leaves them, and the report."""
    arrays = {name: _copied(x) for name, x in arrays.items()}
    theirs: dict[str, int] = launch.get("addresses", {})
    mine = {name: arrays[name].ctypes.data for name in theirs}
    translate(arrays, theirs, mine)
    for variable, name in launch.get("variables", {}).items():
        module.variable(variable).reshape(-1).view(np.uint8)[:] = arrays[name].reshape(-1).view(np.uint8)
    arguments = [_argument(x, arrays) for x in launch["arguments"]]
    grid, block = tuple(launch["grid"]), tuple(launch["block"])
    prepared = module[launch["kernel"]][grid, block, launch["shared"]]
    options: dict[str, Any] = {"cooperative": reads_grid_workspace(prepared.kernel.program) or None}
    if theirs:
        options |= {"addresses": "host", "reachable": {name: arrays[name] for name in theirs}}
    report = prepared(*arguments, **options)
    for variable, name in launch.get("variables", {}).items():
        arrays[name] = module.variable(variable).reshape(-1).view(np.uint8).copy()
    translate(arrays, mine, theirs)
    return arrays, report


def _copied(array: Array) -> Array:
    """Return a copy whose address is a multiple of 256, like the address of an allocation."""
    memory = np.zeros(array.nbytes + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    copy: Array = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _argument(argument: dict[str, Any], arrays: dict[str, Array]) -> Any:
    given = bytes.fromhex(argument["bytes"])
    if "object" in argument:
        return made_object(argument["object"], arrays)
    if not argument["pointers"]:
        return given
    fields: list[Any] = []
    end = 0
    for offset, name, further in argument["pointers"]:
        fields += [np.uint8(x) for x in given[end:offset]]
        fields.append(raw(arrays[name].reshape(-1).view(np.uint8)[further:]))
        end = offset + 8
    is_struct = len(given) > 8 or argument.get("struct", False)
    return Struct(*fields, *(np.uint8(x) for x in given[end:])) if is_struct else fields[0]


def _emulate_one(bundle: Path) -> int:
    started = time.perf_counter()
    try:
        arrays, text, findings = _emulated(bundle, "emulated")
    except WmmaEmuError as error:
        print(f"{bundle.name}: refused: {str(error).splitlines()[0]}", flush=True)
        return 1
    launch, before = read_bundle(bundle)
    changed = [x for x in arrays if bits_of(arrays[x]) != bits_of(before[x])]
    other = [x for x, y in launch.get("after", {}).items() if digest(arrays[x]) != y]
    seconds = time.perf_counter() - started
    print(
        f"{bundle.name}: {text}, {seconds:.1f} s, {len(findings)} findings; changed: {', '.join(changed) or 'none'}"
        f"{'; not as in the program: ' if other else ''}{', '.join(other)}",
        flush=True,
    )
    for finding in findings[:_SHOWN]:
        print(f"    {finding.splitlines()[0][:200]}")
    return int(bool(other))


def _compare_one(bundle: Path, recorded: Path) -> int:
    """Print a line for each recording of a bundle."""
    try:
        arrays, text, findings = _emulated(bundle)
    except WmmaEmuError as error:
        print(f"{recorded.name}: refused: {str(error).splitlines()[0]}", flush=True)
        return 1
    before, worst = read_bundle(bundle)[1], 0
    for module in modules_of(bundle):
        path = recorded.with_name(f"{recorded.name}--{module.name}.npz")
        status = path.with_suffix(".txt").read_text().strip() if path.with_suffix(".txt").exists() else "not recorded"
        if not path.exists():
            lines = [f"the GPU: {status}"]
        else:
            with np.load(path, allow_pickle=False) as file:
                after = before | {x: file[x] for x in file.files}
            lines = list(_differences(arrays, after))
            lines = lines or [f"equal ({sum(bits_of(before[x]) != bits_of(after[x]) for x in after)} arrays changed)"]
            lines += [status] if status != "recorded" else []
            lines += _orders(bundle) if not lines[0].startswith("equal") or status != "recorded" else []
        equal = lines[0].startswith("equal")
        worst = max(worst, int(not equal))
        print(f"{recorded.name}, {module.name}: {'; '.join(lines)}; {text}, {len(findings)} findings", flush=True)
    return worst


def _orders(bundle: Path) -> list[str]:
    """Name the atomic operations that may explain other bits."""
    launch = read_bundle(bundle)[0]
    named = ordered_atomics(module_of(text_of(bundle), launch["arch"]).program.kernels[launch["kernel"]])
    return [f"the order of {x} may matter" for x in dict.fromkeys(map(str, named))]


def _differences(mine: dict[str, Array], theirs: dict[str, Array]) -> Iterator[str]:
    for name in mine:
        one, other = (x[name].reshape(-1).view(f"u{x[name].itemsize}") for x in (mine, theirs))
        places = np.flatnonzero(one != other)
        if len(places):
            shown = ", ".join(f"[{i}] {int(one[i]):#x} here, {int(other[i]):#x} there" for i in places[:_SHOWN])
            yield f"{name}: {len(places)} of {one.size} elements differ: {shown}"


if __name__ == "__main__":
    sys.exit(main())
